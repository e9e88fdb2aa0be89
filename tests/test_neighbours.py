from __future__ import annotations

import psutil
import pytest

from mlc_course.neighbours import busy_neighbours


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def test_neighbours_are_there_inside_and_gone_after() -> None:
    before = children()
    with busy_neighbours(2):
        assert len(children() - before) == 2
    assert children() == before


def test_neighbours_are_gone_after_an_interrupt() -> None:
    before = children()
    with pytest.raises(KeyboardInterrupt), busy_neighbours(1):
        raise KeyboardInterrupt
    assert children() == before


def test_no_neighbours_are_no_processes() -> None:
    before = children()
    with busy_neighbours(0):
        assert children() == before
