from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import Tried
from machines import shaped
from schedules import Program
from threadpoolctl import threadpool_info

from mlc_course import machine
from mlc_course.errors import SizeError, UsageError, WrongResult
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.ladders import matmul_exp_matmul
from mlc_course.tensor_program.ladders import rungs as ladder_module
from mlc_course.tensor_program.ladders.catalogue import (
    ARTICLE_LADDERS,
    LADDERS,
    QUICK_SIZES,
    ladder,
)
from mlc_course.tensor_program.ladders.micro_kernels import RegisterTile, register_tile
from mlc_course.tensor_program.ladders.rungs import Rung, climb, scheduled, select
from mlc_course.tensor_program.ladders.tiles_in_place import tiles_in_block
from mlc_course.tensor_program.problems import (
    Array,
    Workload,
    contract,
    elementwise,
    make_workload,
    placeholders,
)
from mlc_course.tensor_program.schedule import lookup, steps
from mlc_course.tensor_program.tir import Schedule, compile_program, shared_tensor, te

pytestmark = pytest.mark.slow

NAME = "matmul_exp_matmul"
RUNGS = [rung.name for rung in ladder(NAME)]
ARTICLE = [rung.name for rung in ladder(NAME, article=True)]
TILED = RUNGS[RUNGS.index("tile") :]  # those that depend on the machine's register tile
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


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", ARTICLE[2:])
def test_every_rung_of_the_article_is_right(name: str, sizes: tuple[int, ...]) -> None:
    (rung,) = select(ladder(NAME, article=True), [name])
    assert error_of(rung, NAME, sizes) < 1e-5


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
    work, rungs = make_workload(name), ladder(name, shaped("AVX2"))
    programs = {scheduled(work, rung).mod.script() for rung in rungs}
    assert len(programs) == len(rungs)


def test_the_naive_rung_changes_nothing() -> None:
    work = make_workload(NAME, SIZES[1])
    naive = ladder(NAME)[0]
    assert scheduled(work, naive).mod.script() == Schedule(work.program()).mod.script()


def every_ladder() -> list[tuple[Rung, ...]]:
    isas = ("AVX-512", "AVX2", "NEON", "SSE")
    ours = [ladder(name, shaped(isa)) for name in LADDERS for isa in isas]
    return [*ours, *(ladder(name, article=True) for name in ARTICLE_LADDERS)]


def test_a_ladder_has_one_setback_at_most_and_the_next_rung_takes_its_reason_away() -> None:
    for rungs in every_ladder():
        places = [place for place, rung in enumerate(rungs) if rung.setback]
        assert len(places) <= 1
        for place in places:
            assert rungs[place + 1].name in rungs[place].setback


def test_the_article_s_ladder_is_refused_for_other_workloads() -> None:
    with pytest.raises(UsageError, match="the article has no ladder for 'matmul'") as caught:
        ladder("matmul", article=True)
    assert NAME in str(caught.value)


def test_the_article_s_ladder_does_not_depend_on_the_machine() -> None:
    work = make_workload(NAME, SIZES[0])
    for wide, narrow in zip(
        *(ladder(NAME, shaped(isa), article=True) for isa in ("AVX-512", "NEON")), strict=True
    ):
        assert scheduled(work, wide).mod.script() == scheduled(work, narrow).mod.script()


def test_a_workload_without_a_ladder_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(UsageError) as caught:
        ladder("rms_norm")
    assert all(name in str(caught.value) for name in LADDERS)


# --- the structure that the article's rungs claim -------------------------------------------------


def climbed_to(
    name: str, sizes: tuple[int, ...] = (32, 16, 64, 64), isa: str = "AVX-512"
) -> Program:
    program = Program(NAME, *sizes)
    program.sch = scheduled(program.work, rung_for(isa, name))
    return program


def test_reorder_walks_along_rows() -> None:
    program = climbed_to("reorder")
    assert list(program.loops("C")) == ["m", "k", "l"]
    assert list(program.loops("F")) == ["m", "l", "n"]


def article_to(name: str) -> Program:
    program = Program(NAME, 32, 16, 64, 64)
    (rung,) = select(ladder(NAME, article=True), [name])
    program.sch = scheduled(program.work, rung)
    return program


@pytest.mark.parametrize("isa", ["AVX-512", "AVX2", "NEON"])
def test_tile_is_the_machine_s(isa: str) -> None:
    program = Program(NAME, 128, 16, 128, 128)
    program.sch = scheduled(program.work, rung_for(isa, "tile"))
    tile = register_tile(shaped(isa), 128, 128)
    for p in matmul_exp_matmul.PRODUCTS:
        loops = program.loops(p.block)
        assert loops["m_1_1"] == tile.rows
        assert program.kind(p.block, [*loops][-1]) == "vectorized"
        assert loops[[*loops][-1]] & (loops[[*loops][-1]] - 1) == 0
        assert program.kind(p.block, "m_1_1") == "unrolled"


@pytest.mark.parametrize(("rows", "inner", "tiles"), [(64, 8, 4), (1024, 1024, 16), (9, 8, 1)])
def test_a_block_of_tiles_is_a_core_s_share_and_fits_the_second_cache(
    rows: int, inner: int, tiles: int
) -> None:
    here = replace(shaped("AVX-512"), cores=2, l2_bytes=1 << 20)
    assert tiles_in_block(here, RegisterTile(8, 32), rows, inner) == tiles


def test_the_article_s_tile_is_the_article_s() -> None:
    loops = article_to("tile").loops("C")
    assert {name: loops[name] for name in ("m_1", "l_1", "k_1")} == {"m_1": 16, "l_1": 8, "k_1": 8}


def test_merge_loops_has_one_outer_loop_around_both_products() -> None:
    program = climbed_to("merge-loops")
    outermost = {next(iter(program.loops(block))) for block in ("C_update", "D", "F_update")}
    assert len(outermost) == 1


def test_vectorize_and_parallel_are_what_they_say() -> None:
    assert article_to("vectorize").kind("C_update", "l_1") == "vectorized"
    program = climbed_to("parallel")
    assert program.kind("F_update", next(iter(program.loops("F_update")))) == "parallel"


@pytest.mark.parametrize("isa", ["AVX-512", "AVX2", "SSE", "NEON"])
def test_the_micro_kernel_is_unrolled_rows_of_vectors(isa: str) -> None:
    program = climbed_to("micro-kernel", isa=isa)
    tile = register_tile(shaped(isa), 32, 64)
    assert program.loops("C_update")["m_1"] == tile.rows
    assert tile.columns % program.loops("C_update")[list(program.loops("C_update"))[-1]] == 0
    assert program.kind("C_update", "m_1") == "unrolled"
    assert program.kind("C_update", list(program.loops("C_update"))[-1]) == "vectorized"


def test_the_last_rung_calls_no_exp() -> None:
    assert "T.exp(" in climbed_to("larger-stays").sch.mod.script()
    assert "T.exp(" not in climbed_to("polynomial-exp").sch.mod.script()


@pytest.mark.parametrize(
    ("sizes", "outermost", "copies"),
    [
        ((400, 700, 500), "n_0", {"B"}),
        ((500, 700, 400), "m_0", {"B"}),
        ((64, 128, 480), "n_0", {"B"}),
        ((8, 128, 500), "n_0", set()),
    ],
)
@pytest.mark.parametrize("isa", ["AVX-512", "AVX2", "NEON"])
def test_sizes_say_what_stays_and_what_is_packed(
    isa: str, sizes: tuple[int, int, int], outermost: str, copies: set[str]
) -> None:
    program = Program("matmul", *sizes)
    (last,) = select(ladder("matmul", shaped(isa)), ["larger-stays"])
    last.apply(program.sch)
    assert next(iter(program.loops("C_update"))).startswith(outermost)
    names = [name for name in lookup.blocks(program.sch) if name.startswith(("A_", "B_"))]
    assert {name[0] for name in names} == copies
    program.check()


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


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which every call takes too long."""
    monkeypatch.setattr(ladder_module, "LONG_S", 0.0)


TALL = (64, 9, 6, 7)
ROW_BY_ROW, OTHER = select(ladder(NAME), ["naive", "reorder"])


def test_a_slow_rung_is_timed_on_some_of_its_rows(timed: list[str], slow: None) -> None:
    (climbed,) = climb(make_workload(NAME, TALL), [ROW_BY_ROW])
    assert climbed.rows == 16
    assert climbed.comparison.timing.seconds == (4.0,)  # the clock says one second for a quarter
    assert climbed.relative_error < 1e-5
    assert "(64, 9)" in climbed.program


def test_thorough_times_all_rows(timed: list[str], slow: None) -> None:
    (climbed,) = climb(make_workload(NAME, TALL), [ROW_BY_ROW], thorough=True)
    assert (climbed.rows, climbed.comparison.timing.seconds) == (None, (1.0,))


def test_other_rungs_and_few_rows_and_quick_calls_are_timed_whole(timed: list[str]) -> None:
    assert [c.rows for c in climb(make_workload(NAME, TALL), [ROW_BY_ROW])] == [None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ladder_module, "LONG_S", 0.0)
        assert [c.rows for c in climb(make_workload(NAME, TALL), [OTHER])] == [None]
        assert [c.rows for c in climb(make_workload(NAME, (31, 9, 6, 7)), [ROW_BY_ROW])] == [None]


def test_a_part_is_made_of_the_same_program_only(slow: None, timed: list[str]) -> None:
    tall = make_workload(NAME, TALL)

    def twice() -> list[te.Tensor]:
        a, b, e = placeholders(tall.operands)
        doubled = elementwise("D", contract("C", "mlk", a, b), lambda x: te.exp(x) + te.exp(x))
        return [a, b, e, contract("F", "mnl", doubled, e)]

    with pytest.raises(WrongResult):
        list(climb(replace(tall, expression=twice), [ROW_BY_ROW]))
    with pytest.raises(WrongResult):
        list(climb(replace(tall, name="unknown", expression=twice), [ROW_BY_ROW]))


def test_a_call_of_more_than_a_second_is_timed_once(slow: None) -> None:
    (climbed,) = climb(small(), [OTHER], budget_s=5.0)
    assert len(climbed.comparison.ratios) == 1
    assert climbed.comparison.mark == " (few rounds)" or climbed.comparison.warning


def test_a_climb_is_measured_beside_numpy() -> None:
    (climbed,) = climb(small(), select(ladder(NAME), ["reorder"]), budget_s=0.0)
    assert climbed.comparison.timing.name == "reorder"
    assert climbed.comparison.baseline.name == "NumPy"
    assert len(climbed.comparison.ratios) >= 2


def test_a_climb_on_one_thread_wakes_no_others() -> None:
    # They would spin for a tenth of a second, into what is timed next.
    work, threads = small(), []

    def exact(*inputs: Array) -> Array:
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        threads.extend(pool["num_threads"] for pool in pools)
        return work.exact(*inputs)

    (climbed,) = climb(replace(work, exact=exact), [OTHER], budget_s=0.0)
    assert threads and set(threads) == {1}


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
