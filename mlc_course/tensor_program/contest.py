"""NumPy and one rung of a ladder as two calls, ready to be timed against each other."""

from __future__ import annotations

from dataclasses import dataclass

from mlc_course.measure import Call
from mlc_course.tensor_program.ladder import Rung, scheduled, select
from mlc_course.tensor_program.ladders import ladder
from mlc_course.tensor_program.tvm_names import compile_program, shared_tensor
from mlc_course.tensor_program.workloads import make_workload


@dataclass(frozen=True)
class Contest:
    """Two calls without arguments that compute the same from the same inputs."""

    title: str
    ours: Call
    numpy: Call


def contest(
    workload: str, sizes: tuple[int, ...] = (), rung: str | Rung | None = None, *, threads: int = 1
) -> Contest:
    """The rung of this name (the ladder's last one by default), compiled and checked, and NumPy.

    Raises ``UsageError`` for an unknown workload or rung, ``WrongResult`` when the two disagree.
    """
    problem = make_workload(workload, sizes)
    if not isinstance(rung, Rung):
        rungs = ladder(workload)
        rung = select(rungs, [rung])[0] if rung else rungs[-1]
    inputs, ours, out = problem.inputs(), problem.output(), problem.output()
    run = compile_program(scheduled(problem, rung), threads=threads)
    tensors = [shared_tensor(array) for array in (*inputs, ours)]
    run(*tensors)
    problem.check(ours, problem.reference(inputs))
    return Contest(problem.title, lambda: run(*tensors), lambda: problem.numpy(*inputs, out))
