"""The lines that the reader of lesson 21 writes: right ones, and wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mlc_course.lessons.lesson_21_capstone.blanks import cuts_of, fewest, may_wait, place_of


@pytest.mark.parametrize(
    ("blank", "line"),
    [
        (cuts_of, lambda n: 1 << n - 1),
        (may_wait, lambda divisor, axis: list(divisor)[axis] in ("1",)),
        (place_of, lambda dims, dim: {d: n for n, d in enumerate(dims)}.get(dim)),
        (fewest, lambda counts, room: sorted(c for c in counts if c[2] <= room)[0]),
    ],
)
def test_another_right_line_is_right(blank: Any, line: Callable[..., Any]) -> None:
    assert blank(line).right, str(blank(line))


@pytest.mark.parametrize(
    ("blank", "line"),
    [
        (cuts_of, lambda n: 2**n),
        (cuts_of, lambda n: n),
        (cuts_of, lambda n: 2 ** (n - 1) + 0.5),
        (may_wait, lambda divisor, axis: "1" in divisor),
        (may_wait, lambda divisor, axis: divisor[1] == "1"),
        (may_wait, lambda divisor, axis: divisor[axis] != "1"),
        (place_of, lambda dims, dim: dims.index(dim)),
        (place_of, lambda dims, dim: dim in dims),
        (place_of, lambda dims, dim: 0),
        (fewest, lambda counts, room: min(counts)),
        (fewest, lambda counts, room: min(c for c in counts if c[2] < room)),
        (fewest, lambda counts, room: min(counts, key=lambda c: c[1])),
        (fewest, lambda counts, room: counts[0]),
    ],
)
def test_a_wrong_line_is_wrong(blank: Any, line: Callable[..., Any]) -> None:
    assert not blank(line).right
