# mypy: ignore-errors
from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlc_course.errors import UsageError
from mlc_course.machine import describe
from mlc_course.tensor_program.ladders import LADDERS, scheduled
from mlc_course.tensor_program.problems import make_workload
from mlc_course.tensor_program.schedule import data_steps, steps
from mlc_course.tensor_program.tir.access_strides import Access, Loop, accesses
from mlc_course.tensor_program.tir.tvm import PrimFunc, Schedule, T, tirx


def test_a_matmul_reads_three_elements_and_writes_one() -> None:
    m, n, k = Loop("m", 4, "serial"), Loop("n", 6, "serial"), Loop("k", 5, "serial")
    loops = (m, n, k)
    assert accesses(make_workload("matmul", (4, 5, 6)).program()) == (
        Access("C_init", "C", True, loops, (6, 1, 0)),
        Access("C", "C", False, loops, (6, 1, 0)),
        Access("C", "A", False, loops, (5, 0, 1)),
        Access("C", "B", False, loops, (0, 1, 6)),
        Access("C", "C", True, loops, (6, 1, 0)),
    )


def test_a_packed_operand_is_read_straight_on() -> None:
    sch = Schedule(make_workload("matmul", (8, 16, 32)).program())
    steps.tile(sch, "C", n=8, m=4)
    data_steps.pack(sch, "C", "B", along="n", panel=8)
    steps.reorder(sch, "C", "k", "m_1", "n_1")
    steps.vectorize(sch, "C", "n_1")
    (read,) = (each for each in accesses(sch) if each.block == "C" and each.buffer == "B_global")
    assert [loop.name for loop in read.loops] == ["n_0", "m_0", "k", "m_1", "n_1"]
    assert read.strides == (16 * 8, 0, 8, 0, 1)
    assert read.loops[-1].kind == "vectorized"


@pytest.mark.parametrize("name", LADDERS)
def test_every_access_of_every_ladder_is_affine_but_a_clamped_one(name: str) -> None:
    for rung in LADDERS[name](describe()):
        program = scheduled(make_workload(name), rung)
        found = accesses(program)
        assert found
        unknown = {e.buffer for e in found if None in e.strides}
        assert unknown <= set(re.findall(r"(\w+)\[T.min\(", program.mod.script()))


@T.prim_func(s_tir=True)
def gather(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.sblock("B"):
            v, w = T.axis.remap("SS", [i, j])
            B[v, w] = B[v, A[v, w]]


def test_an_address_that_depends_on_data_has_no_stride() -> None:
    by_data = [each for each in accesses(gather) if each.strides == (None, None)]
    assert [(each.buffer, each.writes) for each in by_data] == [("B", False)]


@T.prim_func(s_tir=True)
def endless(A: T.Buffer((8,), "float32")):
    while A[0] < T.float32(1.0):
        A[0] = A[1]


def test_a_while_loop_is_refused() -> None:
    with pytest.raises(UsageError, match="not known"):
        accesses(endless)


small = st.integers(-4, 9)


@given(st.lists(st.integers(1, 6), min_size=2, max_size=3), small, small, small, st.integers(1, 6))
def test_strides_are_what_every_iteration_moves(
    extents: list[int], a: int, b: int, c: int, divisor: int
) -> None:
    """A stride that is stated holds everywhere; what is not stated cannot be a plain sum."""
    loops = [tirx.Var(f"i{n}", "int32") for n in range(len(extents))]
    buffer = tirx.decl_buffer((64, 8), "float32", name="B")

    def place(at: tuple) -> tuple:
        total = a * at[0] + b * at[-1] + c
        return total // divisor, total % divisor + 2 * at[-1]

    body = tirx.BufferStore(buffer, tirx.const(1.0), list(place(tuple(loops))))
    for loop, extent in reversed(list(zip(loops, extents, strict=True))):
        body = tirx.For(loop, 0, extent, tirx.ForKind.SERIAL, body)
    (found,) = accesses(PrimFunc([buffer], body))
    for axis, stride in enumerate(found.strides):
        moves = set()
        for at in itertools.product(*map(range, extents)):
            after = tuple(x + (n == axis) for n, x in enumerate(at))
            if after[axis] < extents[axis]:
                (r0, c0), (r1, c1) = place(at), place(after)
                moves.add(8 * (r1 - r0) + c1 - c0)
        if stride is not None:
            assert moves <= {stride}
        elif divisor == 1 or (a % divisor == 0 and b % divisor == 0):
            pytest.fail(f"no stride, though every step moves by {moves}")
