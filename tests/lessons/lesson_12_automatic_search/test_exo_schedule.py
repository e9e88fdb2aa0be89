"""Exo: each step computes the same, and what cannot be proved is refused."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.errors import MachineError, SizeError, WrongResult
from mlc_course.lessons.lesson_12_automatic_search import exo_schedule
from mlc_course.lessons.lesson_12_automatic_search.exo_schedule import exo
from mlc_course.tensor_program.problems import make_workload

SIZES = (32, 24, 128, 192)


@pytest.fixture(scope="module")
def steps() -> dict[str, Any]:
    naive = exo_schedule.naive(*SIZES)
    together = exo_schedule.rows_together(naive)
    once = exo_schedule.fill_once(together)
    return {
        "naive": naive,
        "together": together,
        "once": once,
        "panels": exo_schedule.by_panels(once),
        "beforehand": exo_schedule.beforehand(together),
    }


def test_the_buffer_moves_into_the_outer_loop_and_shrinks(steps: dict[str, Any]) -> None:
    assert "    D: f32[32, 128]" in str(steps["naive"])
    loop, buffer = str(steps["together"]).splitlines()[2:4]
    assert loop.strip() == "for mo in seq(0, 2):"
    assert buffer.strip() == "D: f32[16, 128] @ DRAM"


def test_the_guard_fills_it_in_the_first_iteration_only(steps: dict[str, Any]) -> None:
    for name in ("once", "panels"):
        assert str(steps[name]).count("if no == 0:") == 1
    order = [line.strip() for line in str(steps["panels"]).splitlines()]
    assert order.index("for lo in seq(0, 2):") == order.index("if no == 0:") - 1
    assert "if" not in str(steps["beforehand"])


@pytest.mark.skipif(not exo_schedule.compiler(), reason="Exo emits C, and there is no compiler")
def test_every_step_computes_the_same_as_numpy(steps: dict[str, Any]) -> None:
    found = exo_schedule.race(make_workload("matmul_exp_matmul", SIZES), steps, budget_s=0.05)
    assert list(found) == list(steps)


@pytest.mark.skipif(not exo_schedule.compiler(), reason="Exo emits C, and there is no compiler")
def test_arrays_of_another_shape_are_refused(steps: dict[str, Any]) -> None:
    other = make_workload("matmul_exp_matmul", (32, 24, 128, 128))
    with pytest.raises(SizeError, match="arrays of other shapes"):
        exo_schedule.race(other, {"naive": steps["naive"]})


def test_exo_refuses_a_sum_that_would_run_twice(steps: dict[str, Any]) -> None:
    total = steps["together"].find("F[_] += _")
    said = exo_schedule.refusal(lambda: exo.add_loop(steps["together"], total, "again", "2"))
    assert "not idempotent" in said
    assert "/" not in said, "no path of this machine"


def test_a_step_that_exo_takes_is_no_refusal(steps: dict[str, Any]) -> None:
    with pytest.raises(WrongResult, match="Exo takes this step"):
        exo_schedule.refusal(lambda: exo.simplify(steps["naive"]))


@pytest.mark.parametrize(
    "sizes", [(17, 8, 64, 64), (16, 8, 65, 64), (16, 8, 64, 0), (0, 8, 64, 64)]
)
def test_sizes_that_no_tile_divides_are_refused(sizes: tuple[int, int, int, int]) -> None:
    with pytest.raises(SizeError, match="tiles do not fit"):
        exo_schedule.naive(*sizes)


def test_a_machine_without_a_compiler_is_told(
    steps: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exo_schedule.shutil, "which", lambda name: None)
    with pytest.raises(MachineError, match="no compiler"):
        exo_schedule.native(steps["naive"])
