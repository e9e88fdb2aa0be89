"""The visible checks of lesson 0's exercises, one function each."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from mlc_course.exercise import UnmetCheck, breaks, called, check, given, returns, sealed, shown
from mlc_course.lessons.lesson_00_measuring_honestly.logs import PICTURED, QUIET, SLOWER
from mlc_course.words import marked, tr

FLAWS = (
    "cold first call",
    "unequal threads",
    "best against mean",
    "different moments",
    "unchecked result",
)
SEALS = {
    "A": "447a48778a2d",
    "B": "3fb664137286",
    "C": "d1898c640689",
    "D": "a36e4b985297",
    "E": "b853ef6d618f",
}


def five_flaws(chosen: object) -> None:
    """Check how many flaws are matched."""
    hint = marked("imagine that the flaw which you named is mended: is the script honest now?")
    check(given(chosen), sealed(FLAWS, SEALS, hint=hint))


def fair_ratio(ratio: Callable[..., float]) -> None:
    """Check a ratio on a quiet log, on the one in the picture, and where ours is slower."""
    check(
        called(ratio),
        returns(QUIET, result=1.25, hint=marked("a quiet log: 10 ms of NumPy's, 8 ms of ours")),
        returns(
            PICTURED,
            result=1.25,
            tolerance=0.01,
            hint=marked(
                "the log in the picture: compare only what happened at about the same time"
            ),
        ),
        returns(
            SLOWER,
            result=0.5,
            tolerance=0.01,
            hint=marked("here ours takes twice as long, and the machine got slower on the way"),
        ),
    )


def floor(floor_s: Callable[..., float]) -> None:
    """Check a floor where operations rule, where bytes rule, and where both count."""
    exact = 1e-9
    check(
        called(floor_s),
        returns(
            2e9,
            0.0,
            100.0,
            20.0,
            result=0.02,
            tolerance=exact,
            hint=marked("no bytes: 2e9 / 100e9"),
        ),
        returns(
            0.0,
            4e9,
            100.0,
            20.0,
            result=0.2,
            tolerance=exact,
            hint=marked("no operations: 4e9 / 20e9"),
        ),
        returns(
            4e9,
            4e8,
            100.0,
            20.0,
            result=0.04,
            tolerance=exact,
            hint=marked("40 ms of operations and 20 ms of bytes, at the same time"),
        ),
    )


def counter_example(three_rounds: object) -> None:
    """Check that the two figures name different winners."""
    claim = marked("the median of the ratios and the ratio of the medians name one winner")
    check(given(three_rounds), breaks(claim, medians_agree))


def medians_agree(rounds: Any) -> str | None:
    """Say why the two figures name the same winner; None where they do not."""
    pairs = rounds if type(rounds) is list else []
    readings = [s for each in pairs for s in (each if type(each) is list else [each])]
    if not (
        [len(each) if type(each) is list else 0 for each in pairs] == [2, 2, 2]
        and all(type(s) in (int, float) and 0 < s < 1e6 for s in readings)
    ):
        raise UnmetCheck(
            tr("not three rounds"),
            expected=tr("[[numpy_s, ours_s], ...]: three pairs of seconds, each above 0"),
            got=shown(rounds),
        )
    ratio = statistics.median(n / o for n, o in rounds)
    numpy_s, ours_s = (statistics.median(side) for side in zip(*rounds, strict=True))
    if ratio <= 1:
        return tr(
            "the median of the ratios is {ratio:.3f}; it must say that ours is faster", ratio=ratio
        )
    if numpy_s >= ours_s:
        return tr(
            "the medians are {numpy:g} s and {ours:g} s; they must say that ours is slower",
            numpy=numpy_s,
            ours=ours_s,
        )
    return None
