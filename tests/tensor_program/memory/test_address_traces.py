# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlc_course.errors import UsageError
from mlc_course.tensor_program.ladders import ladder, scheduled, select
from mlc_course.tensor_program.memory.address_traces import address_trace
from mlc_course.tensor_program.memory.cache import Cache, count
from mlc_course.tensor_program.problems import make_workload, matmul
from mlc_course.tensor_program.tir import PAGE, T


def test_a_product_touches_what_its_loops_say() -> None:
    rows, depth, columns = 2, 3, 2
    stream = address_trace(matmul(rows, depth, columns).program())
    expected = []
    for m in range(rows):
        for n in range(columns):
            for k in range(depth):
                c = ("C", (m, n))
                expected += [c] if k == 0 else []
                expected += [c, ("A", (m, k)), ("B", (k, n)), c]
    owners = [stream.buffers[owner] for owner in stream.owners]
    pairs = zip(owners, stream.addresses, strict=True)
    assert [(buffer.name, buffer.element(int(byte))) for buffer, byte in pairs] == expected
    assert [buffer.start % PAGE for buffer in stream.buffers] == [0, 0, 0]


@settings(max_examples=8, deadline=None)
@given(size=st.integers(1, 400))
def test_chunks_of_any_size_are_the_same_stream(size: int) -> None:
    stream = address_trace(matmul(3, 5, 4).program())
    chunks = list(stream.chunks(size))
    assert all(where.size == size for where, _ in chunks[:-1])
    for n, whole in enumerate((stream.addresses, stream.owners)):
        assert np.array_equal(np.concatenate([chunk[n] for chunk in chunks]), whole)


@pytest.mark.parametrize("name", ["naive", "tile", "micro-kernel"])
def test_there_are_as_many_accesses_as_the_cache_counts(name: str) -> None:
    (rung,) = select(ladder("matmul"), [name])
    program = scheduled(make_workload("matmul", (64, 64, 64)), rung)
    (counts,) = count(program, Cache())
    assert address_trace(program).addresses.size == counts.accesses


@T.prim_func(s_tir=True)
def nothing(A: T.Buffer((8,), "float32")):
    T.evaluate(0)


def test_a_program_that_touches_nothing_has_an_empty_stream() -> None:
    assert address_trace(nothing).addresses.size == 0


@T.prim_func(s_tir=True)
def gather(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            v = T.axis.spatial(8, i)
            B[v] = B[A[v]]


def test_what_has_no_answer_is_refused() -> None:
    stream = address_trace(matmul(2, 2, 2).program())
    with pytest.raises(UsageError, match="buffer A is not there"):
        stream.buffers[0].element(17)
    with pytest.raises(UsageError, match="no access"):
        next(stream.chunks(0))
    with pytest.raises(UsageError, match="depend on its data"):
        address_trace(gather)
