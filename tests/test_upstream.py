"""Faults of TVM that the course avoids; one that fails here is mended: see docs/upstream.md."""

# mypy: ignore-errors
from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from private_buffers import carried, temporary

from mlc_course.instruction_selection.prove import Proved
from mlc_course.instruction_selection.tvm_intrinsics import (
    TVM_INTRINSICS,
    check_intrinsic,
    check_intrinsics,
    run_intrinsic,
)
from mlc_course.tensor_program.ladders import checked
from mlc_course.tensor_program.legality import run_as
from mlc_course.tensor_program.problems import aligned, make_workload
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule, T, compile_program, shared_tensor, tvm

HELPERS = Path(__file__).parent / "helpers"
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


@T.prim_func(s_tir=True)
def nested(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[(i % 4 + 2) // 4] = A[i]


@T.prim_func(s_tir=True)
def rising(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[(i + 1) // 5 - i // 5] = A[i]


@T.prim_func(s_tir=True)
def by_negative(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i % 2 // -2 + 4] = A[i]


QUOTIENTS = {
    falling: lambda i: (7 - i) // 4 + 4,
    negative: lambda i: (22 + (i - 17) // 8) % 7,
    nested: lambda i: (i % 4 + 2) // 4,
    rising: lambda i: (i + 1) // 5 - i // 5,
    by_negative: lambda i: i % 2 // -2 + 4,
}


def compiled_by_tvm(program):
    return tvm.compile_module(program.with_attr("global_symbol", "main"), tvm.cpu_target())["main"]


@pytest.mark.parametrize(
    "program", QUOTIENTS, ids=["falling", "negative", "nested", "rising", "by negative"]
)
def test_upstream_still_divides_wrongly(program) -> None:
    a, b = aligned(np.arange(1, 9, dtype=np.float32)), aligned(np.zeros(8))
    compiled_by_tvm(program)(shared_tensor(a), shared_tensor(b))
    right = np.zeros(8, np.float32)
    for i in range(2 if program is negative else 8):
        right[QUOTIENTS[program](i)] = a[i]
    assert not np.array_equal(b, right)


@T.prim_func(s_tir=True)
def subtracted(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(5):
        B[i - (i + 3) % 5 + 4] = A[i]


def test_upstream_still_divides_by_zero() -> None:
    with pytest.raises(RuntimeError, match="Divide by zero"):
        compiled_by_tvm(subtracted)


TWO_CONDITIONS = """
from mlc_course.tensor_program.tir import T, tvm

@T.prim_func(s_tir=True)
def main(X: T.Buffer((120,), "float32"), Y: T.Buffer((120,), "float32")):
    for i, j, k, l in T.grid(5, 2, 2, 6):
        if i * 3 + k >= 11:
            Y[i * 24 + j * 12 + k * 6 + l] = T.if_then_else(
                i * 2 - j * 2 + k * 8 - l > 11, X[i * 24 + j * 12 + k * 6 + l], T.float32(0)
            )

tvm.compile_module(main.with_attr("global_symbol", "main"), tvm.cpu_target())
"""


def test_upstream_still_recurses_without_end_on_two_conditions(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TWO_CONDITIONS)
    done = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True)
    assert done.returncode == -signal.SIGSEGV


ROOT_ANNOTATED = """
from odd_programs import KINDS
from mlc_course.tensor_program.tir import Schedule

def parallel(sch):
    sch.parallel(sch.get_loops(sch.get_sblock("Y"))[1])

sch = Schedule(KINDS["windows"].program(6, 4, 7))
copy = sch.copy()
trial = copy.copy()
parallel(trial)
copy.annotate(copy.get_sblock("root"), "key", 1)
parallel(copy)
print(len(sch.get_loops(sch.get_sblock("Y"))))
"""


def test_upstream_still_breaks_copies_when_a_root_is_annotated() -> None:
    # In a process of its own: the copies share memory that is freed, so in a process that has done
    # other things the schedule may look whole.
    done = subprocess.run(
        [sys.executable, "-c", ROOT_ANNOTATED],
        env={**os.environ, "PYTHONPATH": str(HELPERS)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "0", done.stderr


def in_four_sums() -> Schedule:
    """A product whose sum is cut in four, in loops that break LLVM's SLP vectorizer."""
    sch = Schedule(make_workload("matmul", (5, 4, 3)).program())
    steps.reorder(sch, "C", "n", "k", "m")
    steps.several_sums(sch, "C", "k", 4)
    return sch


def test_upstream_still_uses_vectors_before_they_are_made() -> None:
    with pytest.raises(RuntimeError, match="does not dominate all uses"):
        tvm.compile_module(in_four_sums().mod, tvm.cpu_target(cpu="haswell"))


def test_such_a_program_is_compiled_without_that_pass() -> None:
    work = make_workload("matmul", (5, 4, 3))
    inputs = work.inputs()
    checked(work, in_four_sums(), inputs, work.reference(inputs))


def test_upstream_still_registers_a_dot_product_that_saturates() -> None:
    found = run_intrinsic("dot_16x4_avx512", {"A": 255, "B": 127})
    assert set(found.described) == {4 * 255 * 127}
    assert set(found.implemented) == {2 * 32767}
    assert found.processor in (None, found.implemented)  # None without AVX-512


def test_upstream_still_passes_numbers_where_llvm_wants_bytes() -> None:
    found = check_intrinsic("dot_16x4_vnni")
    assert isinstance(found.verdict, Proved)  # it is right, for an LLVM that takes it
    assert found.fault == "Call parameter type does not match function signature!"


def test_the_other_intrinsics_of_upstream_are_right() -> None:
    wrong = {"dot_16x4_vnni", "dot_16x4_avx512"}
    assert all(each.is_right for each in check_intrinsics(TVM_INTRINSICS.keys() - wrong))
