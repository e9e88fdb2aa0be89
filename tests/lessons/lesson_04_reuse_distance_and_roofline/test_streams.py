from __future__ import annotations

from collections.abc import Callable

import pytest

from mlc_course.errors import SizeError
from mlc_course.lessons.lesson_03_memory_hierarchy import streams
from mlc_course.machine import describe
from mlc_course.tensor_program.ladders import Rung, contest
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.processor import flops
from mlc_course.tensor_program.tir import Schedule

PROBLEMS = {
    "dot": (streams.dot, streams.dot_in_vectors),
    "relu": (streams.relu, streams.in_vectors),
    "exp": (streams.exp, streams.in_vectors),
}
Apply = Callable[[Schedule], None]


@pytest.mark.parametrize("name", PROBLEMS)
def test_ours_and_numpy_compute_the_same(name: str) -> None:
    make, apply = PROBLEMS[name]
    pair = contest(make(1 << 12), rung=Rung(name, "", apply))  # checks ours
    pair.numpy()
    problem = make(1 << 12)
    inputs, out = problem.inputs(), problem.output()
    problem.numpy(*inputs, out)
    problem.check(out, problem.reference(inputs))


@pytest.mark.parametrize("name", PROBLEMS)
def test_vectors_are_as_wide_as_the_machine(name: str) -> None:
    make, apply = PROBLEMS[name]
    sch = Schedule(make(1 << 12).program())
    apply(sch)
    lanes = describe().lanes * (4 if name == "dot" else 1)
    assert f"T.vectorized({lanes})" in sch.mod.script()


def operations(problem: Workload, apply: Apply) -> float:
    sch = Schedule(problem.program())
    apply(sch)
    return flops(sch) / problem.sizes["length"]


def test_exp_does_far_more_with_an_element_than_relu() -> None:
    each = {name: operations(make(1 << 12), apply) for name, (make, apply) in PROBLEMS.items()}
    assert each["relu"] == 1
    assert each["dot"] == pytest.approx(2, rel=0.02)
    assert 10 < each["exp"] < 40


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_length_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(SizeError):
        PROBLEMS[name][0](0)
