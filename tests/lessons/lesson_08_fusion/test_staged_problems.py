"""The problems of lesson 8: every way to fuse them is right, and moves what the lesson says."""

from __future__ import annotations

import dataclasses
import functools

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_08_fusion.staged_problems import PROBLEMS, Counted, staged
from mlc_course.tensor_program.ladders import Rung, contest
from mlc_course.tensor_program.memory import Cache

pytestmark = pytest.mark.slow


@functools.cache
def counted(problem: str, way: str) -> Counted:
    return staged(problem).count(way)


WAYS = [(name, each.name) for name, problem in PROBLEMS.items() for each in problem.fusions]


@pytest.mark.parametrize(("problem", "way"), WAYS)
def test_every_way_computes_its_problem(problem: str, way: str) -> None:
    each = staged(problem)
    plain = Rung(way, "", each.fusion(way).apply)
    contest(each.counted, (), plain)  # raises WrongResult when it does not
    contest(each.counted, (), dataclasses.replace(plain, apply=each.quick(way)))


@pytest.mark.parametrize(("problem", "way"), WAYS)
def test_no_way_moves_more_bytes_of_memory_than_the_stages_apart(problem: str, way: str) -> None:
    apart, fused = counted(problem, "apart"), counted(problem, way)
    assert fused.traffic.bytes() <= apart.traffic.bytes()
    assert fused.flops >= apart.flops


def test_the_bytes_that_the_lesson_counts_on_paper() -> None:
    array = 4 * 128 * 256
    bytes_of = {way: counted(*way).traffic.bytes() / array for way in WAYS[:9]}
    assert bytes_of["scale_shift_clip", "apart"] == 8
    assert bytes_of["scale_shift_clip", "all inlined"] == 3
    assert bytes_of["softmax", "apart"] == pytest.approx(8, abs=0.05)
    assert bytes_of["softmax", "row by row"] == pytest.approx(3, abs=0.05)


def test_products_save_more_than_half() -> None:
    apart, merged = (
        counted("matmul_exp_matmul", way).traffic.bytes() for way in ("apart", "merged")
    )
    assert apart > 2 * merged


def test_too_deep_is_computed_again() -> None:
    found = {s.block: s.times for s in counted("softmax", "sum per 64 columns").stages}
    assert found == {"Max": 1, "Exp": 4, "Sum": 4, "P": 1}
    found = {s.block: s.times for s in counted("matmul_exp_matmul", "first in second").stages}
    assert found == {"C": 2, "D": 2, "F": 1}


def test_other_caches_may_be_asked_for() -> None:
    found = staged("scale_shift_clip").count("apart", Cache())
    assert len(found.traffic.levels) == 1


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UsageError, match="no staged problem") as caught:
        staged("attention")
    assert "softmax" in str(caught.value)
    with pytest.raises(UsageError, match="softmax: no such fusion"):
        staged("softmax").count("merged")
