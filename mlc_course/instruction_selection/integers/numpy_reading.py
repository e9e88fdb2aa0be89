"""Formulas read as NumPy: each node is computed in the narrowest type that holds its values.

A sum or a product of which only the low bits are read (it ends in a ``wrap``) is computed in the
narrowest type that has those bits. Nothing is computed in a type that is too narrow: NumPy would
wrap without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mlc_course.errors import SizeError
from mlc_course.instruction_selection.integers.formula import Formula, walk
from mlc_course.instruction_selection.integers.types import IntType

Array: TypeAlias = "npt.NDArray[np.signedinteger | np.unsignedinteger]"
Compiled: TypeAlias = Callable[..., Array]

_RING = ("add", "sub", "mul")
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}


def evaluate(root: Formula, values: Mapping[Formula, npt.ArrayLike]) -> Array:
    """Return the values of a formula for arrays of its variables, which must broadcast together.

    Raises:
        SizeError: no NumPy integer type holds every intermediate value.
    """
    inputs = tuple(each for each in walk(root) if each.op == "var")
    return compiled((root,), inputs)(*(np.asarray(values[each]) for each in inputs))[0]


@lru_cache(maxsize=65536)
def compiled(roots: tuple[Formula, ...], inputs: tuple[Formula, ...]) -> Callable[..., list[Array]]:
    """Return a function from arrays of the variables, in that order, to one array a formula.

    Arrays of inputs must hold values of their variables' intervals, in any integer type. A formula
    without variables gives an array without axes.

    Raises:
        SizeError: no NumPy integer type holds every intermediate value.
    """
    types = narrow_types(*roots)
    kinds = {each: kept for each, (kept, _) in types.items()}
    names = {each: f"x{i}" for i, each in enumerate(inputs)}
    lines: list[str] = []

    def use(each: Formula, kind: IntType) -> str:
        if each.op == "const":
            return f"np.{kind.dtype}({kind.wrapped(each.lo)})"
        same = kinds[each] == kind
        return names[each] if same else f"{names[each]}.astype(np.{kind.dtype})"

    for each in walk(*roots):
        kind = kinds[each]
        if each.op == "const":
            continue
        if each.op == "var":
            lines.append(f"{names[each]} = {names[each]}.astype(np.{kind.dtype}, copy=False)")
            continue
        at = types[each][1]
        names[each] = name = f"v{len(lines)}"
        text = _expression(each, [use(x, at) for x in each.operands], at)
        lines.append(
            f"{name} = {text}" if at == kind else f"{name} = ({text}).astype(np.{kind.dtype})"
        )
    results = ", ".join(
        f"np.asarray({use(root, kinds[root])})" if root.op == "const" else names[root]
        for root in roots
    )
    arguments = ", ".join(f"x{i}" for i in range(len(inputs)))
    body = "\n    ".join([*lines, f"return [{results}]"])
    made: dict[str, Callable[..., list[Array]]] = {}
    exec(f"def run({arguments}):\n    {body}\n", {"np": np}, made)
    return made["run"]


def narrow_types(*roots: Formula) -> dict[Formula, tuple[IntType, IntType]]:
    """Return for each node the narrowest type to keep it in, and the one to compute it in.

    The second holds operands and result alike, as machines and NumPy need it; for variables and
    constants the two are the same.

    Raises:
        SizeError: no integer type holds every intermediate value.
    """
    demanded = _demanded_bits(roots)
    found = {}
    for each in walk(*roots):
        kind = _kind_of(each, demanded[each])
        found[each] = kind, _computed_in(each, kind) if each.operands else kind
    return found


def _demanded_bits(roots: Sequence[Formula]) -> dict[Formula, int | None]:
    """Return how many low bits of each node are read; ``None`` where the whole value is."""
    demanded: dict[Formula, int | None] = dict.fromkeys(roots)
    for each in reversed(list(walk(*roots))):
        if each.op == "wrap":
            passed: int | None = int(str(each.params[0])[1:])
        elif each.op in _RING:
            passed = demanded[each]
        else:
            passed = None
        for x in each.operands:
            before = demanded.get(x, passed)
            demanded[x] = None if before is None or passed is None else max(before, passed)
    return demanded


def _kind_of(each: Formula, demanded: int | None) -> IntType:
    """Return the narrowest type that holds a node's values, or its low bits where those do."""
    exact = _narrowest(each.lo, each.hi)
    if demanded is not None and each.op in _RING:
        modular = next(IntType(signed=False, bits=b) for b in (8, 16, 32, 64) if b >= demanded)
        if exact is None or modular.bits < exact.bits:
            return modular
    if exact is None:
        raise SizeError(
            "an intermediate value fits in no NumPy integer",
            expected="values of 64 bits",
            got=f"{each.op} with values from {each.lo} to {each.hi}",
        )
    return exact


def _narrowest(lo: int, hi: int) -> IntType | None:
    for bits in (8, 16, 32, 64):
        for signed in (False, True):
            if (kind := IntType(signed, bits)).holds(lo, hi):
                return kind
    return None


def _computed_in(each: Formula, kind: IntType) -> IntType:
    """Return the type in which a node is computed: it holds operands and result alike."""
    if each.op in _RING and not kind.holds(each.lo, each.hi):
        return kind  # only low bits are wanted
    if each.op in ("wrap", "concat"):
        to = _type(each)
        bits = next(b for b in (8, 16, 32, 64) if b >= to.bits)
        return IntType(signed=to.signed and bits == to.bits, bits=bits)
    lo, hi = min(x.lo for x in (each, *each.operands)), max(x.hi for x in (each, *each.operands))
    found = _narrowest(lo, hi)
    if found is None:
        raise SizeError(
            "operands and result fit in no common NumPy integer",
            expected="values of 64 bits",
            got=f"{each.op} with values from {lo} to {hi}",
        )
    return found


def _expression(each: Formula, operands: Sequence[str], at: IntType) -> str:
    kind = f"np.{at.dtype}"
    match each.op:
        case "add" | "sub" | "mul" | "and" | "or" | "xor":
            return f"{operands[0]} {_SIGNS[each.op]} {operands[1]}"
        case "eq":
            return f"({operands[0]} == {operands[1]}).astype({kind})"
        case "gt":
            return f"({operands[0]} > {operands[1]}).astype({kind})"
        case "min":
            return f"np.minimum({operands[0]}, {operands[1]})"
        case "max":
            return f"np.maximum({operands[0]}, {operands[1]})"
        case "shr":
            return f"{operands[0]} >> {kind}({min(_number(each, 0), at.bits - 1)})"
        case "where":
            return f"np.where({operands[0]} != 0, {operands[1]}, {operands[2]})"
        case "wrap":
            return _masked(operands[0], _type(each), at)
        case "slice":
            index, bits = _number(each, 0), _number(each, 1)
            mask = at.wrapped((1 << bits) - 1)
            return f"({operands[0]} >> {kind}({min(index * bits, at.bits - 1)})) & {kind}({mask})"
        case "concat":
            bits = _type(each).bits // len(operands)
            joined = " | ".join(f"({x} << {kind}({i * bits}))" for i, x in enumerate(operands))
            return _masked(f"({joined})", _type(each), at)
        case "var" | "const":
            raise AssertionError(each.op)


def _masked(text: str, to: IntType, at: IntType) -> str:
    """Return the text of a value's low bits, where ``text`` is already in the type ``at``."""
    if to.bits == at.bits:
        return text
    low = f"({text} & np.{at.dtype}({(1 << to.bits) - 1}))"
    if not to.signed:
        return low
    half = f"np.{at.dtype}({1 << (to.bits - 1)})"
    return f"(({low} ^ {half}) - {half}).astype(np.int{at.bits})"


def _type(each: Formula) -> IntType:
    of = each.params[0]
    assert isinstance(of, IntType)
    return of


def _number(each: Formula, at: int) -> int:
    value = each.params[at]
    assert isinstance(value, int)
    return value
