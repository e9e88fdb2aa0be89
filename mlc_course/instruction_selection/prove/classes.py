"""Lanes that are the same question, up to the names of their variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import Formula, walk


@dataclass(frozen=True)
class LaneClass:
    """The first lane of a class, and how many lanes it stands for."""

    lane: int
    wanted: Formula
    found: Formula
    lanes: int


def lane_classes(wanted: Sequence[Formula], found: Sequence[Formula]) -> list[LaneClass]:
    """Return one question for all pairs of lanes that differ only in the names of variables.

    Two pairs are in one class if some renaming of variables, from one to one and with the same
    ranges, turns one pair into the other; then equality for all inputs of one is that of the other.

    Raises:
        UsageError: the numbers of lanes differ, or one name has two ranges.
    """
    if len(wanted) != len(found):
        raise UsageError(
            "the lanes to compare are not as many",
            expected=f"{len(wanted)} lanes",
            got=f"{len(found)} lanes",
        )
    _check_names([*wanted, *found])
    numbers: dict[tuple[object, ...], int] = {}
    first: dict[tuple[int, int], int] = {}
    count: dict[int, int] = {}
    for lane, (x, y) in enumerate(zip(wanted, found, strict=True)):
        at = first.setdefault(_shape(x, y, numbers), lane)
        count[at] = count.get(at, 0) + 1
    return [LaneClass(lane, wanted[lane], found[lane], lanes) for lane, lanes in count.items()]


def _shape(x: Formula, y: Formula, numbers: dict[tuple[object, ...], int]) -> tuple[int, int]:
    """Return two numbers that are equal for pairs that are equal up to names.

    A node's number stands for its operator, its parameters, its interval and the numbers of its
    operands; a variable's for its range and its place among the variables of the pair.
    """
    at: dict[Formula, int] = {}
    seen = 0
    for each in walk(x, y):
        if each.op == "var":
            key: tuple[object, ...] = ("var", seen, each.lo, each.hi)
            seen += 1
        else:
            below = tuple(at[operand] for operand in each.operands)
            key = (each.op, each.params, each.lo, each.hi, below)
        at[each] = numbers.setdefault(key, len(numbers))
    return at[x], at[y]


def _check_names(roots: Sequence[Formula]) -> None:
    known: dict[object, Formula] = {}
    for each in walk(*roots):
        if each.op == "var" and known.setdefault(each.params[0], each) is not each:
            other = known[each.params[0]]
            raise UsageError(
                f"the variable {each} has two ranges",
                expected="one range for each name",
                got=f"{other.lo} to {other.hi}, and {each.lo} to {each.hi}",
            )
