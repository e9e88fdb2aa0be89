"""Traces read and replayed."""

from __future__ import annotations

import pytest

from mlc_course.errors import CourseError, StepError
from mlc_course.tensor_program.ladders import ladder, scheduled
from mlc_course.tensor_program.problems import make_workload, matmul
from mlc_course.tensor_program.schedule import data_steps, steps
from mlc_course.tensor_program.schedule.trace import lines, replayed, stages
from mlc_course.tensor_program.tir import Schedule, same_structure

PROGRAM = matmul(64, 64, 64).program()


def tiled(sch: Schedule) -> None:
    steps.tile(sch, "C", m=16, n=8)
    steps.reorder(sch, "C", "k", "m_1", "n_1")
    steps.vectorize(sch, "C", "n_1")
    steps.hoist_init(sch, "C", "k")


def test_a_trace_is_read_with_the_names_of_that_moment() -> None:
    sch = Schedule(PROGRAM)
    tiled(sch)
    assert lines(sch, PROGRAM) == (
        "split(m, [None, 16])",
        "split(n, [None, 8])",
        "reorder(m_0, n_0, m_1, n_1)",
        "reorder(k, m_1, n_1)",
        "vectorize(n_1)",
        "decompose_reduction(C, k)",
    )


def test_a_sampled_number_is_read_as_what_was_drawn() -> None:
    sch = Schedule(PROGRAM, seed=1)
    first = sch.get_loops(sch.get_sblock("C"))[0]
    sch.split(first, sch.sample_perfect_tile(first, 2, 16))
    (line,) = lines(sch, PROGRAM)
    outer, inner = (int(sch.get(loop).extent) for loop in sch.get_loops(sch.get_sblock("C"))[:2])
    assert line == f"split(m, [{outer}, {inner}])"


def test_a_layout_is_read_as_a_function_of_indices() -> None:
    sch = Schedule(PROGRAM)
    data_steps.pack(sch, "C", "B", along="n", panel=16)
    said = lines(sch, PROGRAM)
    assert said[0] == "cache_read(C, 1, 'global')"
    assert "// 16" in said[1] and said[1].startswith("transform_layout(C, lambda ")


def test_each_stage_is_the_program_after_one_instruction_more() -> None:
    found = stages(PROGRAM, tiled)
    names = [stage.name for stage in found]
    assert names == [
        "start",
        *("split", "split 2", "reorder", "reorder 2", "vectorize", "decompose_reduction"),
    ]
    assert found[0].program == Schedule(PROGRAM).mod.script()
    scripts = [stage.program for stage in found]
    assert len(set(scripts)) == len(scripts), "every stage changes something"
    sch = Schedule(PROGRAM)
    steps.split(sch, "C", "m", 16)
    assert scripts[1] == sch.mod.script()


@pytest.mark.parametrize("name", ["matmul", "softmax", "conv2d"])
def test_a_replay_gives_every_rung_again_or_says_that_it_does_not(name: str) -> None:
    workload = make_workload(name)
    for rung in ladder(name):
        sch = scheduled(workload, rung)
        *_, last = stages(workload.program(), rung.apply)
        assert last.program == sch.mod.script()
        same = same_structure(replayed(workload.program(), sch.trace).mod, sch.mod)
        assert (last.name == "not in the trace") == (not same)


def test_what_a_trace_does_not_record_is_said() -> None:
    rung = next(rung for rung in ladder("softmax") if rung.name == "polynomial-exp")
    *_, last = stages(make_workload("softmax").program(), rung.apply)
    assert last.name == "not in the trace"


def test_a_step_that_is_refused_is_refused_here_too() -> None:
    with pytest.raises(CourseError):
        stages(PROGRAM, lambda sch: steps.split(sch, "C", "m", 7))


def test_a_trace_that_does_not_fit_is_told() -> None:
    sch = Schedule(PROGRAM)
    steps.split(sch, "C", "m", 16)
    with pytest.raises(StepError, match="the trace does not fit this program"):
        replayed(make_workload("softmax", (4, 4)).program(), sch.trace)
