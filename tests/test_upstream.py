"""Faults of TVM that the course avoids; one that fails here is mended: see docs/upstream.md."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from odd_programs import KINDS
from private_buffers import carried, temporary

from mlc_course.tensor_program.legality import run_as
from mlc_course.tensor_program.problems import aligned
from mlc_course.tensor_program.tir import Schedule, T, compile_program, shared_tensor

LANES = run_as(temporary, "i", "vectorized")


@pytest.mark.parametrize("program", [LANES, carried], ids=["temporary", "carried"])
def test_upstream_still_loses_what_is_private(program) -> None:
    x, z = aligned(np.arange(1, 9, dtype=np.float32)), aligned(np.full(8, np.nan))
    compile_program(program)(shared_tensor(x), shared_tensor(z))
    right = 2 * x + 1 if program is LANES else np.concatenate([[0], 2 * x[:-1]])
    assert not np.array_equal(z, right)


@T.prim_func(s_tir=True)
def falling(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[(7 - i) // 4 + 4] = A[i]


@T.prim_func(s_tir=True)
def negative(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(2):
        B[(22 + (i - 17) // 8) % 7] = A[i]


@pytest.mark.parametrize("program", [falling, negative], ids=["falling", "negative"])
def test_upstream_still_divides_wrongly(program) -> None:
    a, b = aligned(np.arange(1, 9, dtype=np.float32)), aligned(np.zeros(8))
    compile_program(program)(shared_tensor(a), shared_tensor(b))
    right = np.zeros(8, np.float32)
    for i in range(8 if program is falling else 2):
        right[(7 - i) // 4 + 4 if program is falling else (22 + (i - 17) // 8) % 7] = a[i]
    assert not np.array_equal(b, right)


def parallel(sch: Schedule) -> None:
    sch.parallel(sch.get_loops(sch.get_sblock("Y"))[1])


def test_upstream_still_breaks_copies_when_a_root_is_annotated() -> None:
    sch = Schedule(KINDS["windows"].program(6, 4, 7))
    copy = sch.copy()
    trial = copy.copy()
    parallel(trial)
    copy.annotate(copy.get_sblock("root"), "key", 1)
    parallel(copy)
    assert len(sch.get_loops(sch.get_sblock("Y"))) == 0
