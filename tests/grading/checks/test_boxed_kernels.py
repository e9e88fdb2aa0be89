"""Kernels that an exercise asks for: what is accepted in any form, and what is told of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlc_course.grading.checks import findings_here, runs
from mlc_course.grading.checks.checking import Demand
from mlc_course.grading.process import Verdict, boxed

REVERSED = runs(
    outputs={"out": (64,)},
    inputs={"a": (64,)},
    exact=lambda a: a.reshape(2, 32)[:, ::-1].reshape(-1),
    blocks=2,
    most={"sectors": 16, "barriers": 1},
)


def told(answer: Any, check: Any = REVERSED) -> str:
    (found,) = findings_here(Demand(boxed(answer), (check,)))
    return "" if found.verdict is Verdict.MET else str(found)


def through_a_tile(t, out, a):
    tile = t.shared("tile", 32)
    i = t.block.x * 32 + t.thread.x
    tile[31 - t.thread.x] = a[i]
    yield t.barrier()
    out[i] = tile[t.thread.x]


def straight(t, b, c):
    first = t.block.x * t.threads.x
    b[first + 31 - t.thread.x] = c[first + t.thread.x]


def without_a_barrier(t, out, a):
    tile = t.shared("tile", 32)
    i = t.block.x * 32 + t.thread.x
    tile[31 - t.thread.x] = a[i]
    out[i] = tile[t.thread.x]


def not_reversed(t, out, a):
    i = t.block.x * 32 + t.thread.x
    out[i] = a[i]


def half(t, out, a):
    if t.thread.x < 16:
        straight_index = t.block.x * 32 + t.thread.x
        out[straight_index] = a[t.block.x * 32 + 31 - t.thread.x]


def two_barriers(t, out, a):
    tile = t.shared("tile", 32)
    i = t.block.x * 32 + t.thread.x
    tile[31 - t.thread.x] = a[i]
    yield t.barrier()
    out[i] = tile[t.thread.x]
    yield t.barrier()


def reads_twice(t, out, a):
    first = t.block.x * 32
    x = a[first + t.thread.x]
    out[first + 31 - t.thread.x] = x + a[first + t.thread.x] - x


def past_the_end(t, out, a):
    i = t.block.x * 32 + t.thread.x
    out[i] = a[64 - i]


def spoils(t, out, a):
    first = t.block.x * 32
    out[first + 31 - t.thread.x] = a[first + t.thread.x]
    a[first + t.thread.x] = 0


def no_number(t, out, a):
    out[t.block.x * 32 + t.thread.x] = None + 1


def empty(t, out, a):
    raise NotImplementedError


@pytest.mark.parametrize("kernel", [through_a_tile, straight])
def test_any_right_kernel_is_accepted(kernel: Any) -> None:
    assert told(kernel) == ""


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (without_a_barrier, "race: thread 31 writes tile[0], thread 0 reads it"),
        (not_reversed, "of 64 are wrong, first out[0]"),
        (half, "nothing: no thread writes it"),
        (two_barriers, "too many barriers"),
        (reads_twice, "too many sectors"),
        (past_the_end, "thread 0 of block 0 reads a[64], and a[64] ends at 63"),
        (spoils, "an input is written"),
        (no_number, "TypeError"),
        (empty, "no answer yet"),
        (7, "another kind"),
    ],
)
def test_a_wrong_kernel_is_told_why(kernel: Any, words: str) -> None:
    assert words in told(kernel)


def test_a_hint_says_which_line_moves_most() -> None:
    assert "most are at line " in told(reads_twice)


def test_a_kernel_with_other_arguments_is_told() -> None:
    check = runs(outputs={"out": (4,)}, inputs={}, exact=lambda: np.zeros(4))
    assert "your kernel takes other arguments" in told(straight, check)


def four_at_once(t, out, a):
    i = 4 * t.thread.x
    v = a[i : i + 4]
    v = a[i : i + 4]
    out[i : i + 4] = v


@pytest.mark.parametrize(("most", "words"), [(128, "got       192"), (192, "")])
def test_a_wide_access_is_one_to_each_of_its_elements(most: int, words: str) -> None:
    copies = runs(
        outputs={"out": (64,)},
        inputs={"a": (64,)},
        exact=lambda a: a,
        threads=16,
        most={"accesses": most},
    )
    said = told(four_at_once, copies)
    assert words in said and bool(said) == bool(words)
