"""Answers travel as data: plain values and arrays, as JSON text that nobody has to trust.

What a student's program hands in crosses a process border as text. Reading it runs none of the
student's code: no pickles, no subclasses with an ``__eq__`` of their own, no lazy objects.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError

Array = NDArray[Any]
# A value is None, a bool, int, float or str, an array, or a list or dict of values.
Value = Any

KINDS = ("bool", "int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64")
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
    if isinstance(value, np.generic) and str(value.dtype) in KINDS:
        return value.item()
    if kind in (list, tuple):
        return [_encode(each, depth - 1) for each in value]
    if kind is dict and all(type(key) is str for key in value):
        return {key: _encode(each, depth - 1) for key, each in value.items()}
    raise UsageError(
        "an answer of a type that does not count",
        expected="a number, a string, None, a NumPy array, or lists and dicts of these",
        got=_type_name(value),
    )


def _type_name(value: object) -> str:
    """The type's name, and of an array's or a dict's what is wrong with it."""
    if type(value) is np.ndarray:
        return f"an array of {value.dtype}"
    if type(value) is dict:
        return "a dict with a key that is not a string"
    return type(value).__qualname__


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


def difference(got: Value, expected: Value, *, tolerance: float) -> str | None:
    """Say where a value differs from the expected one; None where it does not.

    Types must be the same (an int where a float is expected will do), shapes and dtypes of arrays
    too, and NaN equals nothing. Floats may differ by ``tolerance``, relative to the expected one;
    those of an array, relative to its largest element.
    """
    if isinstance(expected, np.generic):
        expected = expected.item()  # as an answer's are, on their way here
    if isinstance(expected, np.ndarray):
        return _array_difference(got, expected, tolerance)
    if isinstance(expected, list | tuple):
        if type(got) is not list or len(got) != len(expected):
            return f"{_short(got)} is not a list of {len(expected)}"
        pairs = zip(got, expected, strict=True)
        found = ((i, difference(g, e, tolerance=tolerance)) for i, (g, e) in enumerate(pairs))
        return next((f"[{i}]: {text}" for i, text in found if text), None)
    if isinstance(expected, dict):
        if type(got) is not dict or sorted(got) != sorted(expected):
            return f"{_short(got)} has not the keys {', '.join(sorted(expected))}"
        items = ((k, difference(got[k], e, tolerance=tolerance)) for k, e in expected.items())
        return next((f"[{key!r}]: {text}" for key, text in items if text), None)
    if isinstance(expected, float) and type(got) in (int, float):
        return None if _near(got, expected, tolerance) else _short(got)
    return None if type(got) is type(expected) and got == expected else _short(got)


def _near(got: float, expected: float, tolerance: float) -> bool:
    try:
        return math.isclose(got, expected, rel_tol=tolerance, abs_tol=ROUNDING)
    except OverflowError:  # an int that no float can hold
        return False


def _array_difference(got: Value, expected: Array, tolerance: float) -> str | None:
    if type(got) is not np.ndarray:
        return f"{_short(got)} is not an array"
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"an array of {got.dtype} with shape {got.shape}"
    scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=0))
    wrong = ~np.isclose(got, expected, rtol=tolerance, atol=tolerance * scale)
    if not wrong.any():
        return None
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} elements, first at {first}: {got[first]}"


def _short(value: Value) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
