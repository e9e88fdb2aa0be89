"""The visible checks of lesson 4's exercises."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from mlc_course.exercise import UnmetCheck, breaks, called, check, given, returns, shown

SMALL, LARGE = 3, 4  # lines in the two caches of the counter-example
MOST_USES = 24


def distances(answer: Any) -> None:
    """Exercise 1."""
    check(
        called(answer),
        returns([5, 5], result=[None, 0], hint="a first use has no distance: None"),
        returns([1, 2, 1, 2], result=[None, None, 1, 1], hint="one other line in between"),
        returns(
            [1, 2, 2, 3, 1],
            result=[None, None, 0, None, 2],
            hint="line 2 is used twice in between, and counts once",
        ),
        returns(
            [4, 1, 4, 2, 4],
            result=[None, None, 1, None, 1],
            hint="only lines since the *last* use of the same line count",
        ),
        returns([], result=[], hint="no uses, no distances"),
    )


def attainable(answer: Any) -> None:
    """Exercise 2."""
    roofs = 100.0, {"L1": 200.0, "memory": 24.0}
    add = 1e6, {"L1": 12e6, "memory": 12e6}  # y = x + y: two reads and a write per operation
    product = 2e9, {"L1": 12e6, "memory": 12e6}  # 1000 x 1000 matrices, each moved once
    naive = 2e9, {"L1": 8e9, "memory": 12e6}  # the same; each operand comes from L1 each time
    stays = 1e6, {"L1": 12e6, "memory": 0}  # y = x + y again, on vectors that stay in the cache
    check(
        called(answer),
        returns(*add, *roofs, result=[2.0, "memory"], hint="1/12 operation a byte, times 24 GB/s"),
        returns(*product, *roofs, result=[100.0, "peak"], hint="nothing is faster than the peak"),
        returns(
            *naive, *roofs, result=[50.0, "L1"], hint="every level is a limit: which is lowest?"
        ),
        returns(
            *stays,
            *roofs,
            result=[1e6 / 12e6 * 200, "L1"],
            hint="a level without traffic limits nothing",
        ),
    )


def mended(answer: Any) -> None:
    """Exercise 3."""
    check(
        called(answer),
        returns([None, None], 8, result=2, hint="the first use of a line misses in every cache"),
        returns([None, 0], 1, result=1, hint="distance 0: the line is the one that was used last"),
        returns(
            [None, None, 1, 1],
            1,
            result=4,
            hint="a cache of one line holds only the line used last: distance 1 misses",
        ),
        returns([None, None, 1, 1], 2, result=2, hint="two lines are enough for distance 1"),
        returns([None, 3, 0, 2], 3, result=2, hint="with 3 lines, distance 3 misses and 2 hits"),
    )


def fifo_misses(lines: Sequence[int], ways: int) -> int:
    """Count the misses of a cache that drops the line which *came in* first, used or not."""
    held: deque[int] = deque(maxlen=ways)
    missed = 0
    for line in lines:
        if line not in held:
            missed += 1
            held.append(line)  # the one that came in first falls out
    return missed


def larger_is_never_worse(value: Any) -> str | None:
    """Return why the claim holds for this walk, or None where it is broken."""
    if type(value) is not list or not all(type(line) is int for line in value):
        raise UnmetCheck("not a walk", expected="a list of whole numbers", got=shown(value))
    if not 1 <= len(value) <= MOST_USES:
        raise UnmetCheck(
            "too short or too long a walk",
            expected=f"1 to {MOST_USES} uses",
            got=f"{len(value)} uses",
        )
    small, large = (fifo_misses(value, ways) for ways in (SMALL, LARGE))
    if large > small:
        return None
    return f"{small} misses with {SMALL} lines, {large} with {LARGE}"


def belady(my_walk: Any) -> None:
    """Exercise 4."""
    check(given(my_walk), breaks("a larger cache never misses more", larger_is_never_worse))
