"""Answers travel as data: plain values and arrays, as JSON text that nobody has to trust.

What a student's program hands in crosses a process border as text. Reading it runs none of the
student's code: no pickles, no subclasses with an ``__eq__`` of their own, no lazy objects.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Generator, Iterable, Set
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.words import marked, tr

Array = NDArray[Any]
NAMES = {bool: "True or False", int: "a whole number (int)", float: "a float"}
TEXT = marked("a string is the text of a value: give the value itself, without str(...) or quotes")
ONE = marked("a single value is asked for")
A_LIST = marked("several values are returned as a list, [a, b], or a tuple, (a, b)")
OUT_OF_LIST = marked("take it out of the list: [...][0]")
MAKES_INT = "// divides whole numbers and gives an int, / gives a float; int(...) converts"

# A value is None, a bool, int, float or str, an array, or a list or dict of values.
Value = Any

KINDS = ("bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64")
LONG_FLOAT = re.compile(r"\d+\.\d{6,}(e[-+]?\d+)?")
ARRAYS = {"U": "strings", "O": "Python objects"}
ARRAY = "array"  # the key that marks an encoded array
DEEPEST = 20
ROUNDING = 1e-12  # a float that should be 0 may be this far from it


def to_text(value: Value) -> str:
    """A value as text that ``from_text`` reads; raises ``UsageError`` for any other type."""
    return json.dumps(_encode(value, DEEPEST))


def from_text(text: str | bytes) -> Value:
    """Read what ``to_text`` wrote; raises ``UsageError`` for anything else."""
    try:
        return _decode(json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError("an answer that cannot be read", got=str(error)[:200]) from None


def _encode(value: Value, depth: int) -> Any:
    kind = type(value)
    if depth == 0:
        raise UsageError("an answer is nested too deeply", expected=f"at most {DEEPEST} levels")
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is np.ndarray and str(value.dtype) in KINDS:
        raw = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {ARRAY: raw, "dtype": str(value.dtype), "shape": list(value.shape)}
    if isinstance(value, np.generic) and (str(value.dtype) in KINDS or kind is np.str_):
        return value.item()
    if kind in (list, tuple):
        return [_encode(each, depth - 1) for each in value]
    if kind is dict and all(type(key) is str for key in value):
        return {key: _encode(each, depth - 1) for key, each in value.items()}
    raise UsageError(
        "an answer of a type that does not count",
        expected="a number, a string, None, a NumPy array, or lists and dicts of these",
        got=_type_name(value),
        hint=_way_out(value),
    )


def _type_name(value: object) -> str:
    """The type's name, and of an array's or a dict's what is wrong with it."""
    if type(value) is np.ndarray:
        return f"an array of {ARRAYS.get(value.dtype.kind, value.dtype)}"
    if type(value) is dict:
        return "a dict with a key that is not a string"
    return "a function" if callable(value) else type(value).__qualname__


def _way_out(value: object) -> str | None:
    """How to make a value of it that counts, where there is a way."""
    if callable(value):
        return "call it, with (...) behind its name, and give what it returns"
    if isinstance(value, Generator):
        return "list(...) makes a list of it; a function with yield in it makes generators"
    if type(value) is dict:
        return "keys are strings, in quotes; and does the exercise ask for a dict?"
    if isinstance(value, Set):
        return "sorted(...) makes a list of it"
    if type(value) is np.ndarray:
        return "array.tolist() makes a list of it"
    if isinstance(value, Iterable):
        return "list(...) makes a list of it"
    return "float(...) makes a number of it" if isinstance(value, Number) else None


def _decode(tree: Any) -> Value:
    if isinstance(tree, list):
        return [_decode(each) for each in tree]
    if isinstance(tree, str):
        tree.encode()  # half of a character, which JSON may hold, is no text
    if not isinstance(tree, dict):
        return tree
    if ARRAY not in tree:
        return {key: _decode(each) for key, each in tree.items()}
    if tree["dtype"] not in KINDS:
        raise ValueError(f"dtype {tree['dtype']!r}")
    raw = base64.b64decode(tree[ARRAY], validate=True)
    return np.frombuffer(raw, tree["dtype"]).reshape(tree["shape"]).copy()


@dataclass(frozen=True)
class Difference:
    """What an answer has where another value was expected.

    ``expected`` is there when the form alone is wrong: the values are right, in another dtype,
    shape, order or kind of container. Then it and ``hint`` say more than the exercise can.
    """

    found: str
    expected: str = ""
    hint: str = ""
    place: str = ""

    @property
    def got(self) -> str:
        """What was found, and where in a list or dict it was."""
        return (
            tr("at {place}: {found}", place=self.place, found=self.found)
            if self.place
            else self.found
        )

    def at(self, place: object) -> Difference:
        """The same difference, in an element of a list or under a key of a dict."""
        return replace(self, place=f"[{place!r}]{self.place}")


def difference(got: Value, expected: Value, *, tolerance: float) -> Difference | None:
    """Say where a value differs from the expected one; None where it does not.

    Types must be the same (an int where a float is expected will do), shapes and dtypes of arrays
    too, and NaN equals nothing. Floats may differ by ``tolerance``, relative to the expected one;
    those of an array, relative to its largest element.
    """
    found = _place(got, expected, tolerance)
    if found is None:
        return None
    whole = shown(got)
    if found.place and not found.expected and not whole.endswith("..."):
        found = Difference(whole)  # short enough to compare with what is expected
    return found


def _place(got: Value, expected: Value, tolerance: float) -> Difference | None:
    """The difference of two values, or of the first elements of them that differ."""
    if isinstance(expected, np.generic):
        expected = expected.item()  # as an answer's are, on their way here
    if isinstance(expected, tuple):
        expected = list(expected)
    found = _difference(got, expected, tolerance)
    return _form(got, expected, tolerance) or found if found else None


def _difference(got: Value, expected: Value, tolerance: float) -> Difference | None:
    if isinstance(expected, np.ndarray):
        return _array_difference(got, expected, tolerance)
    if isinstance(expected, list):
        if type(got) is not list:
            return Difference(
                tr("{value}, which is no list or tuple", value=shown(got)),
                hint=TEXT if type(got) is str else A_LIST,
            )
        if len(got) != len(expected):
            return Difference(
                tr(
                    "{value}, of length {length} and not {right}",
                    value=shown(got),
                    length=len(got),
                    right=len(expected),
                )
            )
        pairs = enumerate(zip(got, expected, strict=True))
        return _first((i, _place(g, e, tolerance)) for i, (g, e) in pairs)
    if isinstance(expected, dict):
        if type(got) is not dict or sorted(got) != sorted(expected):
            return Difference(
                tr(
                    "{value}, not a dict with the keys {keys}",
                    value=shown(got),
                    keys=", ".join(sorted(expected)),
                )
            )
        items = expected.items()
        return _first((key, _place(got[key], e, tolerance)) for key, e in items)
    if isinstance(expected, float) and type(got) in (int, float):
        return None if _near(got, expected, tolerance) else Difference(shown(got))
    if type(got) is type(expected) and got == expected:
        return None
    return Difference(shown(got), hint=_kind_hint(got, expected))


def _kind_hint(got: Value, expected: Value) -> str:
    """What to say about the kind of a value where another one is expected, or nothing."""
    if type(got) is str and type(expected) in NAMES:
        return TEXT if any(map(str.isdigit, got)) else ""
    return ONE if type(got) in (list, dict, np.ndarray) else ""


def _near(got: float, expected: float, tolerance: float) -> bool:
    try:
        return math.isclose(got, expected, rel_tol=tolerance, abs_tol=ROUNDING)
    except OverflowError:  # an int that no float can hold
        return False


def _array_difference(got: Value, expected: Array, tolerance: float) -> Difference | None:
    if type(got) is not np.ndarray:
        said = tr("{value}, which is no array", value=shown(got))
        return Difference(said, hint=TEXT if type(got) is str else "")
    if got.shape != expected.shape:
        return Difference(tr("an array with shape {shape}", shape=got.shape))
    other = "" if got.dtype == expected.dtype else tr(", in {dtype}", dtype=got.dtype)
    numbers, wanted = (
        each.astype(np.int8) if each.dtype == bool else each for each in (got, expected)
    )
    scale = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0))
    wrong = ~np.isclose(numbers, wanted, rtol=tolerance, atol=tolerance * scale)
    if wrong.any():
        first = tuple(int(i) for i in np.argwhere(wrong)[0])
        place = tr(
            "{count} of {size} elements differ, the first at {place}",
            count=int(wrong.sum()),
            size=wrong.size,
            place=first,
        )
        return Difference(f"{place}: {shown(got[first].item())}{other}")
    return Difference(tr("an array of {dtype}", dtype=got.dtype)) if other else None


def _first(differences: Iterable[tuple[object, Difference | None]]) -> Difference | None:
    return next((found.at(place) for place, found in differences if found), None)


def _form(got: Value, expected: Value, tolerance: float) -> Difference | None:
    """Say how to mend the form of an answer whose values are right; None where they are not."""
    if isinstance(expected, np.ndarray):
        return _array_form(got, expected, tolerance)
    if isinstance(expected, list):
        return _list_form(got, expected, tolerance)
    if isinstance(expected, bool | int | float):
        return _number_form(got, expected, tolerance)
    return None


def _array_form(got: Value, expected: Array, tolerance: float) -> Difference | None:
    dtype, wanted = str(expected.dtype), tr("an array of {dtype}", dtype=expected.dtype)
    if type(got) is list and len(got) == 1 and not _difference(got[0], expected, tolerance):
        return Difference(tr("the right array, in a list"), wanted, OUT_OF_LIST)
    if type(got) is list:
        made = _as_array(got)
        if made is None or _array_difference(made.astype(dtype), expected, tolerance):
            return None
        return Difference(
            tr("the right values, in a list"),
            wanted,
            tr("np.array(..., np.{dtype}) makes an array of it", dtype=dtype),
        )
    if type(got) is not np.ndarray or got.size != expected.size:
        return None
    moved = got.reshape(expected.shape).astype(dtype)
    if _array_difference(moved, expected, tolerance):
        return None
    if got.shape != expected.shape:
        return Difference(
            tr("the right values, in shape {shape}", shape=got.shape),
            tr("shape {shape}", shape=expected.shape),
            tr("array.reshape(...) gives the same elements another shape"),
        )
    return Difference(
        tr("the right values, in {dtype}", dtype=got.dtype),
        wanted,
        tr("array.astype(np.{dtype}) converts them", dtype=dtype),
    )


def _as_array(rows: Value) -> Array | None:
    """The array of a list of numbers, or of equally long rows of them; None for other lists."""
    try:
        made = np.array(rows)
    except ValueError:
        return None
    return made if made.dtype.kind in "if" else None


def _list_form(got: Value, expected: list[Value], tolerance: float) -> Difference | None:
    if type(got) is np.ndarray:
        if difference(got.tolist(), expected, tolerance=tolerance):
            return None
        return Difference(
            tr("the right values, in an array"), tr("a list"), tr("array.tolist() makes a list")
        )
    if type(got) is not list or len(got) != len(expected):
        return None
    if not all(isinstance(each, list | tuple) for each in expected):
        return None  # numbers in another order are other numbers
    rest = list(got)
    for each in expected:
        at = (i for i, g in enumerate(rest) if not _difference(g, each, tolerance))
        found = next(at, None)
        if found is None:
            return None
        del rest[found]
    return Difference(
        tr("the right elements, in another order: {value}", value=shown(got)),
        tr("the order that the exercise asks for"),
        tr("sorted(...) sorts lists by their first elements"),
    )


def _number_form(got: Value, expected: float, tolerance: float) -> Difference | None:
    kind = NAMES[type(expected)]
    number, form, hint = got, "", ""
    if type(got) is str:
        try:
            right = _near(float(got), float(expected), tolerance)
        except ValueError:
            return None
        form = tr("the right value, as a string: {value}", value=shown(got))
        return Difference(form, kind, TEXT) if right else None
    if type(got) is np.ndarray and got.size == 1:
        number, form = got.item(), tr("in an array of shape {shape}", shape=got.shape)
        hint = tr("array.item() is the number in it")
    elif type(got) is list and len(got) == 1:
        number, form, hint = got[0], tr("in a list"), OUT_OF_LIST
    elif type(got) in NAMES and type(expected) is not float:
        form = f"as {NAMES[type(got)]}: {shown(got)}" if type(got) is not bool else f"as {got}"
        hint = tr("return True or False") if type(expected) is bool else MAKES_INT
    if not hint or type(number) not in NAMES or not _near(number, float(expected), tolerance):
        return None
    return Difference(tr("the right value, {form}", form=form), kind, hint)


def shown(value: Value, *, most: int = 80, digits: int = 10) -> str:
    """A value as one line for a message, as Python writes it, in at most so many characters."""
    if isinstance(value, np.ndarray):
        listed = value.ndim and value.size <= 9
        value = (
            value.tolist()
            if listed
            else tr("an array of {dtype} with shape {shape}", dtype=value.dtype, shape=value.shape)
        )
        text = str(value)
    else:
        text = " ".join(repr(value).split())
    text = LONG_FLOAT.sub(lambda found: str(float(f"{float(found[0]):.{digits}g}")), text)
    return text if len(text) <= most else text[: most - 3] + "..."
