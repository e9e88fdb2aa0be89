"""The verdict on a graph whose segments were compared one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlc_course.mugraph.programs import published, workload
from mlc_course.mugraph.verify import plain_verdict, read_verdict, together, verify

SURE = verify(workload("lora"), published("lora_fused"), seed=0)
SMALL = replace(SURE, error_bound=3e-10, sizes=({"d": 2, "n": 4},), at_given=4)


def test_errors_add_up() -> None:
    both = together([SURE, SMALL, SURE], 2)
    assert both.equal
    assert both.error_bound == pytest.approx(2 * SURE.error_bound + SMALL.error_bound)
    assert both.outputs == (0, 1)
    assert "equal segment by segment, 3 of them" in str(both)
    assert f"{both.error_bound:.1e}" in str(both)


def test_one_segment_that_differs_makes_the_whole_different() -> None:
    different = verify(workload("attention"), workload("gqa"), seed=0)
    assert not different.equal
    assert not together([SURE, different], 1).equal


def test_segments_on_small_sizes_are_said() -> None:
    said = str(together([SURE, SURE], 1))
    assert "small sizes" not in said
    assert "(1 on small sizes, and in 4 tests at the given sizes)" in str(
        together([SURE, SMALL], 1)
    )


def test_a_verdict_by_segments_is_read_back() -> None:
    both = together([SURE, SMALL], 1)
    assert str(read_verdict(plain_verdict(both))) == str(both)
