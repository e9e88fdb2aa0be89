"""Demands of the exercises of lesson 15, one function for each graded cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlc_course.exercise import UnmetCheck, boxed, breaks, check, given, holds, runs, shown
from mlc_course.mugraph.box import Request, lane_addresses
from mlc_course.mugraph.ir import Array

WITNESS = '{"element": ..., "writer": ..., "reader": ...}, whole numbers from 0 to 63'


def rows(answer: Any, *, count: int = 8, columns: int = 256) -> None:
    """Check sums of rows: a block a row, and no sector moved twice."""
    check(
        boxed(answer),
        runs(
            outputs={"out": (count,)},
            inputs={"a": (count, columns)},
            exact=lambda a: a.sum(axis=1),
            blocks=count,
            threads=32,
            most={"sectors": count * columns // 8 + count},
        ),
    )


def five(answer: Any, *, elements: int = 256) -> None:
    """Check five-point sums: each block reads each element that it needs once."""
    blocks = -(-elements // 64)
    read = sum(min(64 * b + 66, elements) - max(64 * b - 2, 0) for b in range(blocks))
    check(
        boxed(answer),
        runs(
            outputs={"out": (elements,)},
            inputs={"a": (elements,)},
            exact=_five_points,
            blocks=blocks,
            threads=64,
            most={"accesses": elements + read},
        ),
    )


def witness(answer: Any) -> None:
    """Check that two threads race over an element of the colleague's tile."""
    check(given(answer), holds(_races, kind="counter-example"))


def repaired(answer: Any) -> None:
    """Check the repaired kernel: right in every order, with at most five barriers."""
    check(
        boxed(answer),
        runs(
            outputs={"out": (64,)},
            inputs={"a": (64,)},
            exact=_twice,
            threads=64,
            most={"barriers": 5, "accesses": 2 * 64},
        ),
    )


def rule(answer: Any) -> None:
    """Check that the padding makes a tile of so many columns slower."""
    check(given(answer), breaks("one column of padding never makes it slower", _never_slower))


def _five_points(a: Array) -> Array:
    padded = np.pad(a, 2)
    return np.asarray(sum(padded[k : k + len(a)] for k in range(5)))


def _twice(a: Array) -> Array:
    for _ in range(2):
        a = a + np.append(a[1:], 0)
    return a


def _races(value: Any) -> str:
    """Return which threads race in the loop of the colleague's kernel."""
    keys = ["element", "reader", "writer"]
    if type(value) is not dict or sorted(map(str, value)) != keys:
        raise UnmetCheck("not a witness", expected=WITNESS, got=shown(value))
    if not all(type(n) is int and 0 <= n < 64 for n in value.values()):
        raise UnmetCheck("not a witness", expected=WITNESS, got=shown(value))
    element, writer, reader = value["element"], value["writer"], value["reader"]
    if writer == reader:
        raise UnmetCheck(
            "a thread does not race with itself", expected="two threads", got=shown(value)
        )
    if writer != element or writer == 63:
        raise UnmetCheck(
            f"thread {writer} does not write tile[{element}] in the loop",
            expected="the thread that writes this element",
            got=shown(value),
        )
    if reader != element - 1:
        raise UnmetCheck(
            f"thread {reader} does not read tile[{element}] in the loop",
            expected="another thread that reads this element",
            got=shown(value),
        )
    return f"threads {writer} and {reader} race over tile[{element}]"


def _never_slower(value: Any) -> str | None:
    """Return why a number of columns does not break the colleague's rule, or None if it does."""
    if type(value) is not int or not 1 <= value <= 64:
        raise UnmetCheck("not a number of columns", expected="1 to 64", got=shown(value))
    plain, padded = (
        Request(lane_addresses(0, 4 * pitch), 4, "shared").wavefronts
        for pitch in (value, value + 1)
    )
    if padded > plain:
        return None
    return f"{value} columns: wavefronts {plain} without padding, {padded} with it"
