"""Random index expressions of loops, and nests of loops around a statement."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from mlc_course.tensor_program.tir import tirx

Index = Callable[..., Any]


def truth(condition: Any) -> Any:
    """A condition as a number."""
    return int(condition) if isinstance(condition, bool) else tirx.Cast("int32", condition)


def there_and_back(value: Any) -> Any:
    """The same number, by way of 64 bits."""
    return value if isinstance(value, int) else tirx.Cast("int32", tirx.Cast("int64", value))


def drawn(rng: random.Random, loops: int, depth: int) -> tuple[str, Index]:
    """An index as text and as a function of the loops, for TVM's expressions and for numbers."""
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.3:
            number = rng.randint(-9, 70)
            return str(number), lambda at, low, high, n=number: n
        which = rng.randrange(loops)
        return f"i{which}", lambda at, low, high: at[which]
    form = rng.choice(["+", "+", "-", "*", "//", "%", "min", "max", "<", "cast"])
    a_text, a = drawn(rng, loops, depth - 1)
    if form == "cast":
        return f"cast({a_text})", lambda at, low, high: there_and_back(a(at, low, high))
    if form in ("*", "//", "%"):
        n = rng.randint(1, 9)
        made: dict[str, Index] = {
            "*": lambda at, low, high: a(at, low, high) * n,
            "//": lambda at, low, high: a(at, low, high) // n,
            "%": lambda at, low, high: a(at, low, high) % n,
        }
        return f"({a_text} {form} {n})", made[form]
    b_text, b = drawn(rng, loops, depth - 1)
    pair: dict[str, Index] = {
        "+": lambda at, low, high: a(at, low, high) + b(at, low, high),
        "-": lambda at, low, high: a(at, low, high) - b(at, low, high),
        "min": lambda at, low, high: low(a(at, low, high), b(at, low, high)),
        "max": lambda at, low, high: high(a(at, low, high), b(at, low, high)),
        "<": lambda at, low, high: truth(a(at, low, high) < b(at, low, high)),
    }
    return f"({a_text} {form} {b_text})", pair[form]


def nest(extents: list[int], body: Callable[[list[Any]], Any], inner: str = "SERIAL") -> Any:
    """Loops i0, i1, ... around a statement; the innermost one is of the kind ``inner``."""
    loops = [tirx.Var(f"i{n}", "int32") for n in range(len(extents))]
    stmt, kind = body(loops), tirx.ForKind[inner]
    for loop, extent in reversed(list(zip(loops, extents, strict=True))):
        stmt, kind = tirx.For(loop, 0, extent, kind, stmt), tirx.ForKind.SERIAL
    return stmt
