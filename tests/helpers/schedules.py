"""Small programs to take steps on, and what must hold after a step and after a refusal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from tvm import ir

from mlc_course.errors import CourseError
from mlc_course.tensor_program.problems import Workload, make_workload
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import Schedule, compile_program, shared_tensor, tirx

KINDS = {
    tirx.ForKind.SERIAL: "serial",
    tirx.ForKind.PARALLEL: "parallel",
    tirx.ForKind.VECTORIZED: "vectorized",
    tirx.ForKind.UNROLLED: "unrolled",
}


class Program:
    """A schedule beside its workload: ``matmul`` (m, n, k) or ``matmul_exp_matmul``."""

    def __init__(self, name: str, *sizes: int) -> None:
        self.work: Workload = make_workload(name, sizes)
        self.sch = Schedule(self.work.program())

    def check(self, *, seed: int = 0, cpu: str | None = None) -> float:
        """Run the program as it is now; raises ``WrongResult`` when it has gone wrong."""
        inputs, out = self.work.inputs(seed), self.work.output()
        compile_program(self.sch, cpu=cpu)(*map(shared_tensor, inputs), shared_tensor(out))
        return self.work.check(out, self.work.reference(inputs))

    def loops(self, block: str) -> dict[str, int]:
        """The loops around a block, outermost first, with their lengths."""
        around = [self.sch.get(loop) for loop in self.sch.get_loops(lookup.block(self.sch, block))]
        return {str(loop.loop_var.name): int(loop.extent) for loop in around}

    def kind(self, block: str, loop: str) -> str:
        return KINDS[self.sch.get(lookup.loop(self.sch, block, loop)).kind]


def matmul(m: int = 16, k: int = 32, n: int = 48) -> Program:
    return Program("matmul", m, k, n)


def chain(m: int = 16, k: int = 8, l: int = 24, n: int = 12) -> Program:  # noqa: E741
    """C = A B; D = exp C; F = D E."""
    return Program("matmul_exp_matmul", m, k, l, n)


@contextlib.contextmanager
def refused(
    program: Program, kind: type[CourseError]
) -> Iterator[pytest.ExceptionInfo[CourseError]]:
    """The step inside raises just this error, whole, and leaves the schedule as it was."""
    before, text = program.sch.mod, program.sch.mod.script()
    with pytest.raises(CourseError) as caught:
        yield caught
    assert type(caught.value) is kind
    labels = [line.split()[0] for line in str(caught.value).splitlines()[1:] if line[:3] != "   "]
    assert [x for x in labels if x in ("expected", "got", "hint")] == ["expected", "got", "hint"]
    ir.assert_structural_equal(program.sch.mod, before)
    assert program.sch.mod.script() == text
