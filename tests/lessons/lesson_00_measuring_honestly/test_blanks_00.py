"""The lines that a reader writes: the answer is right, wrong ones are told what is wrong."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest

from mlc_course.lessons.kit import Blank
from mlc_course.lessons.lesson_00_measuring_honestly import blanks

HEADS = {
    "warm_readings": "def written(call, count):\n",
    "paired_ratio": "def written(rounds):\n",
    "gflops": "def written(flops, seconds):\n",
}


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def written(name: str, lines: str) -> Any:
    """What the reader's cell defines with these lines in place of the dots."""
    space: dict[str, Any] = {"seconds": seconds, "statistics": statistics}
    exec(HEADS[name] + lines, space)
    return space["written"]


@pytest.mark.parametrize("name", HEADS)
def test_the_answer_is_right_and_dots_are_empty(name: str) -> None:
    blank: Blank = getattr(blanks, name)
    assert blank(written(name, blank.answer)).right
    assert blank(written(name, '    """What to do."""\n    ...')).empty


READ = "return [seconds(call) for _ in range(count)]"
MEDIANS = "statistics.median(n for n, o in rounds) / statistics.median(o for n, o in rounds)"


@pytest.mark.parametrize(
    ("name", "lines", "told"),
    [
        ("warm_readings", f"    {READ}", "reading 1 is of the first call"),
        ("warm_readings", "    call()\n    return seconds(call)", "no list of readings"),
        ("warm_readings", "    call()\n    [seconds(call) for _ in range(count)]", "no list"),
        ("warm_readings", f"    call()\n    call()\n    {READ}", "another number of calls"),
        ("warm_readings", f"    call()\n    {READ[:-1]}][1:]", "not 4 readings"),
        ("paired_ratio", f"    return {MEDIANS}", "one ratio for each round first"),
        ("paired_ratio", "    return statistics.median(o / n for n, o in rounds)", "NumPy's time"),
        ("paired_ratio", "    return statistics.mean(n / o for n, o in rounds)", "2, 3 and 8"),
        ("paired_ratio", "    return min(n / o for n, o in rounds)", "2, 3 and 8"),
        ("gflops", "    return flops / seconds", "3 GFLOP/s"),
        ("gflops", "    return flops / 1e9", "half the time"),
        ("gflops", "    return seconds / flops * 1e9", "3 GFLOP/s"),
    ],
)
def test_wrong_lines(name: str, lines: str, told: str) -> None:
    found = getattr(blanks, name)(written(name, lines))
    assert not found.right
    assert told in str(found)


@pytest.mark.parametrize("name", HEADS)
def test_hints_lead_on_and_none_is_the_answer(name: str) -> None:
    blank: Blank = getattr(blanks, name)
    assert len(blank.hints) == 3
    assert not any(blank.answer.splitlines()[-1].strip() in hint for hint in blank.hints)
