from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import Tried
from schedules import Program
from test_micro_kernels import shaped

from mlc_course import machine
from mlc_course.errors import SizeError, UsageError, WrongResult
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.ladders import rungs as ladder_module
from mlc_course.tensor_program.ladders.catalogue import LADDERS, QUICK_SIZES, ladder
from mlc_course.tensor_program.ladders.rungs import Rung, climb, scheduled, select
from mlc_course.tensor_program.problems import (
    Array,
    Workload,
    contract,
    elementwise,
    make_workload,
    placeholders,
)
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule, compile_program, shared_tensor, te

pytestmark = pytest.mark.slow

NAME = "matmul_exp_matmul"
RUNGS = [rung.name for rung in ladder(NAME)]
TILED = RUNGS[RUNGS.index("stage-memory") :]  # those that depend on the machine's register tile
SIZES = [(64, 16, 128, 64), (20, 19, 11, 31), (1, 1, 1, 1), (100, 199, 101, 301)]


@functools.cache
def problem(name: str, sizes: tuple[int, ...]) -> tuple[Workload, list[Array], Array]:
    """A workload with its inputs and its result in float64."""
    work = make_workload(name, sizes)
    inputs = work.inputs()
    return work, inputs, work.reference(inputs)


def error_of(rung: Rung, name: str, sizes: tuple[int, ...], *, cpu: str | None = None) -> float:
    """Relative error of a rung; raises ``WrongResult`` when it computes something else."""
    work, inputs, reference = problem(name, sizes)
    out = work.output()
    run = compile_program(scheduled(work, rung), cpu=cpu)
    run(*map(shared_tensor, inputs), shared_tensor(out))
    return work.check(out, reference)


def rung_for(isa: str, name: str) -> Rung:
    (rung,) = select(ladder(NAME, shaped(isa)), [name])
    return rung


# --- every rung is right --------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", RUNGS)
def test_every_rung_is_right(name: str, sizes: tuple[int, ...]) -> None:
    assert error_of(rung_for("AVX-512", name), NAME, sizes) < 1e-5


@pytest.mark.parametrize("sizes", SIZES[1:])
@pytest.mark.parametrize("isa", ["AVX2", "NEON"])
@pytest.mark.parametrize("name", TILED)
def test_every_rung_is_right_in_the_tiles_of_other_machines(
    name: str, isa: str, sizes: tuple[int, ...]
) -> None:
    assert error_of(rung_for(isa, name), NAME, sizes) < 1e-5


@pytest.mark.skipif(
    machine.describe().isa not in ("AVX2", "AVX-512"), reason="this processor lacks AVX2"
)
@pytest.mark.parametrize("name", TILED)
def test_every_rung_is_right_as_machine_code_with_avx2_only(name: str) -> None:
    assert error_of(rung_for("AVX2", name), NAME, SIZES[-1], cpu="haswell") < 1e-5


OTHERS: dict[str, tuple[tuple[int, ...], ...]] = {
    "matmul": ((10, 19, 31), (1, 1, 1)),
    "linear_relu": ((10, 19, 31), (1, 1, 1)),
    "softmax": ((7, 19), (1, 1), (6, 40)),
    "conv2d": ((3, 11, 7, 5, 2, 4), (1, 1, 1, 1, 1, 1)),
}


@pytest.mark.parametrize(
    ("name", "sizes"), [(name, sizes) for name, table in OTHERS.items() for sizes in table]
)
def test_every_rung_of_the_other_ladders_is_right(name: str, sizes: tuple[int, ...]) -> None:
    for rung in ladder(name):
        assert error_of(rung, name, sizes) < 1e-5, rung.name


LARGEST = {"conv2d": (6, 14, 14, 6, 4, 4)}  # of drawn sizes; a kernel fits into its image


@pytest.mark.fuzz
@pytest.mark.parametrize("name", LADDERS)
def test_rungs_are_right_on_sizes_that_are_drawn(
    name: str, seed: int, full: bool, tried: Tried
) -> None:
    rng = random.Random(f"{name} {seed}")
    for _ in range(40 if full else 1):
        largest = LARGEST.get(name, [100] * len(QUICK_SIZES[name]))
        sizes = tuple(rng.randint(min(4, most // 3), most) for most in largest)
        isa = rng.choice(["AVX-512", "AVX2", "NEON"])
        rung = rng.choice(ladder(name, shaped(isa)))
        assert error_of(rung, name, sizes) < 1e-5, (rung.name, sizes, isa)
        tried("rungs at drawn sizes", 1)


def test_the_tables_have_all_ladders() -> None:
    assert LADDERS.keys() == {NAME, *OTHERS} == QUICK_SIZES.keys()


@pytest.mark.parametrize("name", LADDERS)
def test_rungs_are_named_apart_and_say_why(name: str) -> None:
    rungs = ladder(name)
    assert len({rung.name for rung in rungs}) == len(rungs)
    assert rungs[0].name == "naive"
    for rung in rungs:
        assert rung.why.endswith(".")
        assert len(rung.why.split()) > 3


@pytest.mark.parametrize("name", LADDERS)
def test_no_two_rungs_are_the_same_program(name: str) -> None:
    work = make_workload(name, QUICK_SIZES[name])
    programs = {scheduled(work, rung).mod.script() for rung in ladder(name)}
    assert len(programs) == len(ladder(name))


def test_the_naive_rung_changes_nothing() -> None:
    work = make_workload(NAME, SIZES[1])
    naive = ladder(NAME)[0]
    assert scheduled(work, naive).mod.script() == Schedule(work.program()).mod.script()


def test_a_workload_without_a_ladder_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(UsageError) as caught:
        ladder("rms_norm")
    assert all(name in str(caught.value) for name in LADDERS)


# --- the structure that the article's rungs claim -------------------------------------------------


def climbed_to(name: str, sizes: tuple[int, ...] = (32, 16, 64, 64)) -> Program:
    program = Program(NAME, *sizes)
    program.sch = scheduled(program.work, rung_for("AVX-512", name))
    return program


def test_reorder_walks_along_rows() -> None:
    program = climbed_to("reorder")
    assert list(program.loops("C")) == ["m", "k", "l"]
    assert list(program.loops("F")) == ["m", "l", "n"]


def test_tile_is_the_article_s() -> None:
    loops = climbed_to("tile").loops("C")
    assert {name: loops[name] for name in ("m_1", "l_1", "k_1")} == {"m_1": 16, "l_1": 8, "k_1": 8}


def test_merge_loops_has_one_outer_loop_around_both_products() -> None:
    program = climbed_to("merge-loops")
    outermost = {next(iter(program.loops(block))) for block in ("C_update", "D", "F_update")}
    assert len(outermost) == 1


def test_vectorize_and_parallel_are_what_they_say() -> None:
    assert climbed_to("vectorize").kind("C_update", "l_1") == "vectorized"
    program = climbed_to("parallel")
    assert program.kind("F_update", next(iter(program.loops("F_update")))) == "parallel"


def test_the_micro_kernel_is_unrolled_rows_of_vectors() -> None:
    program = climbed_to("micro-kernel")
    assert program.loops("C_update")["m_1"] == 4
    assert program.loops("C_update")["l_1"] == 64
    assert program.kind("C_update", "m_1") == "unrolled"
    assert program.kind("C_update", "l_1") == "vectorized"


def test_the_last_rung_calls_no_exp() -> None:
    assert "T.exp(" in climbed_to("pack-per-panel").sch.mod.script()
    assert "T.exp(" not in climbed_to("polynomial-exp").sch.mod.script()


# --- select ---------------------------------------------------------------------------------------


def test_select_keeps_the_order_of_the_ladder() -> None:
    chosen = select(ladder(NAME), ["tile", "naive"])
    assert [rung.name for rung in chosen] == ["naive", "tile"]


def test_select_refuses_an_unknown_rung_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        select(ladder(NAME), ["naive", "tiled", "elevator"])
    assert "no such rung 'tiled'" in str(caught.value)
    assert "pack-per-panel" in str(caught.value)


# --- climb ----------------------------------------------------------------------------------------


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Rungs that were timed, by a clock that says one second each."""
    names: list[str] = []

    def instead(
        candidates: dict[str, Callable[[], object]], baseline: Any, **choices: Any
    ) -> dict[str, Comparison]:
        (name,) = candidates
        names.append(name)
        return {name: Comparison(Timing(name, (1.0,)), Timing(baseline[0], (2.0,)))}

    monkeypatch.setattr(ladder_module, "compare", instead)
    return names


def small() -> Workload:
    return make_workload(NAME, (4, 5, 6, 7))


def test_a_climb_yields_each_rung_as_it_is_done(timed: list[str]) -> None:
    rungs = select(ladder(NAME), ["naive", "reorder"])
    steps_up = climb(small(), rungs)
    assert timed == []
    first = next(steps_up)
    assert timed == ["naive"]
    assert (first.rung, first.comparison.ratio) == (rungs[0], 2.0)
    assert first.relative_error < 1e-5
    assert "def main" in first.program
    assert [climbed.rung.name for climbed in steps_up] == ["reorder"]


def test_a_climb_is_measured_beside_numpy() -> None:
    (climbed,) = climb(small(), select(ladder(NAME), ["reorder"]), budget_s=0.0)
    assert climbed.comparison.timing.name == "reorder"
    assert climbed.comparison.baseline.name == "NumPy"
    assert len(climbed.comparison.ratios) >= 2


def wrong_program() -> list[te.Tensor]:
    """Twice the exp of the workload."""
    a, b, e = placeholders(small().operands)
    doubled = elementwise("D", contract("C", "mlk", a, b), lambda x: te.exp(x) + te.exp(x))
    return [a, b, e, contract("F", "mnl", doubled, e)]


def test_a_rung_that_computes_something_else_is_not_timed(timed: list[str]) -> None:
    work = replace(small(), expression=wrong_program)
    with pytest.raises(WrongResult) as caught:
        list(climb(work, ladder(NAME)))
    assert caught.value.__notes__ == [f"in rung 'naive' of {work.title}"]
    assert timed == []


def test_a_rung_that_does_not_compile_is_named(timed: list[str]) -> None:
    def vectors_of_vectors(sch: Schedule) -> None:
        sch.vectorize(sch.get_loops(sch.get_sblock("D"))[0])
        sch.vectorize(sch.get_loops(sch.get_sblock("D"))[1])

    rung = Rung("vectors", "More is more.", vectors_of_vectors)
    with pytest.raises(Exception, match="Vectorize") as caught:
        list(climb(small(), [rung]))
    assert caught.value.__notes__ == [f"in rung 'vectors' of {small().title}"]
    assert timed == []


def test_a_baseline_that_computes_something_else_is_refused(timed: list[str]) -> None:
    work = replace(small(), numpy=lambda a, b, e, out: np.matmul(a, b @ e, out=out))
    with pytest.raises(WrongResult):
        list(climb(work, ladder(NAME)))
    assert timed == []


def test_a_rung_that_does_not_apply_is_named_with_its_workload() -> None:
    rung = Rung("thirds", "Three is a lucky number.", lambda sch: steps.split(sch, "C", "m", 3))
    with pytest.raises(SizeError) as caught:
        list(climb(small(), [rung]))
    assert caught.value.__notes__ == [
        "in step split('C', 'm', 3)",
        "in rung 'thirds' of matmul_exp_matmul (M=4, K=5, L=6, N=7)",
    ]
