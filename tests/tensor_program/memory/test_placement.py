# mypy: ignore-errors
"""Buffers are where TVM puts them: those that take turns share memory, as cachegrind sees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from machines import HASWELL
from under_valgrind import compiled, data_misses, needs_valgrind

from mlc_course.errors import UsageError
from mlc_course.machine import VECTOR_REGISTERS
from mlc_course.tensor_program.ladders import ladder, scheduled, select
from mlc_course.tensor_program.memory import Cache, address_trace, count, reuse, traffic
from mlc_course.tensor_program.problems import make_workload, matmul
from mlc_course.tensor_program.schedule import data_steps, lookup, steps
from mlc_course.tensor_program.tir import PAGE, PrimFunc, Schedule, T, te

ALL = Cache(1 << 23, 16)  # holds everything


# --- chains of stages -----------------------------------------------------------------------------


def made(*tensors: te.Tensor) -> Schedule:
    return Schedule(te.create_prim_func([*tensors]))


def input_of(rows: int, columns: int) -> te.Tensor:
    return te.placeholder((rows, columns), "float32", "X")


def doubled(name: str, x: te.Tensor) -> te.Tensor:
    return te.compute(x.shape, lambda *at: x(*at) * 2.0, name=name)


def flipped(name: str, x: te.Tensor) -> te.Tensor:
    rows, columns = x.shape
    return te.compute((columns, rows), lambda i, j: x[j, i] + 1.0, name=name)


def in_place() -> Schedule:
    """Four elementwise stages: S, T and U have one place."""
    x = v = input_of(96, 80)
    for name in "STU":
        v = doubled(name, v)
    return made(x, doubled("Y", v))


def in_turns() -> Schedule:
    """Four transposes: none can be done in place, so S and U share one, and T has another."""
    x = v = input_of(96, 56)
    for name in "STU":
        v = flipped(name, v)
    return made(x, flipped("Y", v))


def kept() -> Schedule:
    """S is read by the last stage too, and lends its place to nobody."""
    x = input_of(64, 72)
    s = doubled("S", x)
    u = flipped("U", flipped("T", s))
    return made(x, te.compute(x.shape, lambda i, j: u[i, j] + s[i, j], name="Y"))


def shrinking() -> Schedule:
    """Each stage is smaller than the one before; U, no larger than S, takes over its place."""
    x = input_of(96, 128)
    s = te.compute((96, 64), lambda i, j: x[i, 2 * j] + x[i, 2 * j + 1], name="S")
    t = te.compute((48, 64), lambda i, j: s[2 * i, j] + s[2 * i + 1, j], name="T")
    u = flipped("U", t)
    return made(x, te.compute((96, 128), lambda i, j: u[j // 2, i // 2] * x[i, j], name="Y"))


def row_by_row() -> Schedule:
    """Stages of one row at a time, each in a workspace of 1.5 KiB."""
    x = v = input_of(96, 384)
    for name in "STU":
        v = doubled(name, v)
    sch = made(x, doubled("Y", v))
    for block in ("U", "T", "S"):
        steps.compute_per_iteration(sch, block, of="Y", at=lookup.loops(sch, "Y")[0])
    return sch


def on_the_stack() -> Schedule:
    """The same with rows of half a kibibyte, for which TVM takes no workspace."""
    x = v = input_of(96, 128)
    for name in "STU":
        v = doubled(name, v)
    sch = made(x, doubled("Y", v))
    for block in ("U", "T", "S"):
        steps.compute_per_iteration(sch, block, of="Y", at=lookup.loops(sch, "Y")[0])
    return sch


CHAINS = (in_place, in_turns, kept, shrinking, row_by_row, on_the_stack)


def places(program: Schedule | PrimFunc) -> dict[str, int]:
    """The page where each buffer begins, parameters first."""
    return {each.name: each.start // PAGE for each in address_trace(program).buffers}


def test_a_stage_that_reads_each_element_once_works_in_place() -> None:
    found = places(in_place())
    assert found["S"] == found["T"] == found["U"] == 2 * -(-96 * 80 * 4 // PAGE)
    assert found["X"] == 0


def test_a_buffer_lends_its_place_when_its_values_are_not_needed_any_more() -> None:
    found = places(in_turns())
    assert found["S"] == found["U"] != found["T"]
    found = places(kept())
    assert found["S"] not in (found["T"], found["U"])


def test_a_smaller_buffer_takes_over_the_place_of_a_larger_one() -> None:
    found = places(shrinking())
    assert found["U"] == found["S"] != found["T"]


def test_the_traffic_of_a_place_goes_to_the_buffer_that_has_it() -> None:
    array = 4 * 96 * 80
    found = traffic(in_place(), ALL)
    assert {each.buffer: each.fetched for each in found.buffers} == {
        "X": (array,),
        "Y": (array,),
        "S": (array,),  # the lines come once, with the first of the three
        "T": (0,),
        "U": (0,),
    }
    assert found.of("U").returned == (array,)
    assert all(found.of(name).returned == (0,) for name in "XST")


def test_distances_are_those_of_the_shared_lines() -> None:
    program = in_turns()
    found = reuse(program)
    assert (found.first["S"], found.first["U"]) == (96 * 56 * 4 // 64, 0)
    for lines in (1, 16, 200, 1000):
        (counts,) = count(program, Cache(64 * lines, lines))
        assert found.misses(lines) == counts.misses
    owners = [found.again[name].sum() + found.first[name] for name in "SU"]
    assert owners == [2 * 96 * 56] * 2


def panels() -> PrimFunc:
    """Two parallel loops, each with a panel of its own, which it gives back."""

    @T.prim_func(s_tir=True)
    def program(X: T.Buffer((4, 512), "float32"), Y: T.Buffer((4, 512), "float32")):
        for i in T.parallel(4):
            with T.sblock("first"):
                v = T.axis.spatial(4, i)
                P = T.sblock_alloc_buffer((512,), "float32")
                for j in range(512):
                    P[j] = X[v, 511 - j]
                for j in range(512):
                    Y[v, j] = P[511 - j]
        for i in T.parallel(4):
            with T.sblock("second"):
                v = T.axis.spatial(4, i)
                Q = T.sblock_alloc_buffer((512,), "float32")
                for j in range(512):
                    Q[j] = Y[v, 511 - j]
                for j in range(512):
                    Y[v, j] = Q[511 - j]

    return program


def test_parallel_loops_take_the_same_place_one_after_the_other() -> None:
    found = places(panels())
    assert found["P"] == found["Q"] == 4


# --- what is refused ------------------------------------------------------------------------------


def large_tile() -> Schedule:
    """A product whose tile of 64 x 64 sums no processor's vector registers can hold."""
    sch = Schedule(matmul(64, 64, 64).program())
    steps.tile(sch, "C", m=64, n=64)
    steps.reorder(sch, "C", "k", "m_1", "n_1")
    data_steps.accumulate_locally(sch, "C", at="n_0")
    return sch


@pytest.mark.parametrize("counted", [count, traffic, reuse, address_trace])
def test_a_tile_that_is_sure_to_spill_is_no_register(counted: Callable[..., object]) -> None:
    room = max(bits // 8 * registers for bits, registers in VECTOR_REGISTERS.values())
    assert room < 4 * 64 * 64
    with pytest.raises(UsageError, match="buffer C_local: too large for registers") as caught:
        counted(large_tile())
    assert caught.value.got == "16,384 bytes"
    assert "registers=()" in caught.value.hint


def test_what_is_not_taken_for_registers_may_have_any_size() -> None:
    (counts,) = count(large_tile(), registers=())
    assert counts.accesses > 64**3


# --- against cachegrind ---------------------------------------------------------------------------

SIZES = M, K, L, N = 96, 128, 96, 160


def check(program: Schedule, shapes: list[tuple[int, int]], folder: Path) -> None:
    """Compare the misses of a cache, and of one that holds everything, with cachegrind's."""
    library = compiled(program, shapes, folder, cpu="haswell")
    counted = [each.misses for each in count(program, Cache(), ALL)]
    assert counted == pytest.approx(data_misses(library, Cache()), rel=0.03)


@pytest.mark.slow
@needs_valgrind
@pytest.mark.parametrize("name", [rung.name for rung in ladder("matmul_exp_matmul", HASWELL)])
def test_every_rung_misses_as_often_as_cachegrind_says(name: str, tmp_path: Path) -> None:
    (rung,) = select(ladder("matmul_exp_matmul", HASWELL), [name])
    program = scheduled(make_workload("matmul_exp_matmul", SIZES), rung)
    check(program, [(M, K), (K, L), (L, N), (M, N)], tmp_path)


@pytest.mark.slow
@needs_valgrind
@pytest.mark.parametrize("chain", CHAINS)
def test_every_chain_misses_as_often_as_cachegrind_says(
    chain: Callable[[], Schedule], tmp_path: Path
) -> None:
    program = chain()
    shape = address_trace(program).buffers[0].shape
    check(program, [shape] * 2, tmp_path)


def test_a_buffer_of_a_statement_has_a_place_too() -> None:
    @T.prim_func(s_tir=True)
    def allocated(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        C = T.alloc_buffer((64,), "float32")
        for i in range(64):
            C[i] = A[i]
        for i in range(64):
            B[i] = C[63 - i]

    found = count(allocated, Cache(bytes=32 << 10))[0]
    assert found.misses == 3 * 64 * 4 // 64


def test_a_program_without_accesses_misses_nothing() -> None:
    @T.prim_func(s_tir=True)
    def idle(A: T.Buffer((64,), "float32")):
        for i in range(0):
            A[i] = T.float32(0)

    assert count(idle, Cache())[0].misses == 0
    assert not sum(reuse(idle).first.values())
    assert address_trace(idle).addresses.size == 0
