"""The same program for narrower vectors, on the machine that is here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mlc_course.machine import Machine
from mlc_course.measure import Comparison, compare
from mlc_course.tensor_program.ladders import Rung, checked, scheduled
from mlc_course.tensor_program.problems import make_workload
from mlc_course.tensor_program.tir import Schedule, is_known_cpu

# x86 processors that are known by what they lack: 4 and 8 float32 in a vector.
NARROWER = {"SSE": "x86-64-v2", "AVX2": "haswell"}
RUNS = {"AVX-512": ("SSE", "AVX2"), "AVX2": ("SSE",)}


def vector_targets(machine: Machine) -> dict[str, str | None]:
    """LLVM's processor by name of the instruction set, narrowest first; None is this machine.

    Only those whose code this machine can run. On ARM there is nothing narrower than NEON.
    """
    narrower = {name: NARROWER[name] for name in RUNS.get(machine.isa, ())}
    return {**{n: cpu for n, cpu in narrower.items() if is_known_cpu(cpu)}, machine.isa: None}


def race_targets(
    workload: str,
    programs: Mapping[str, Callable[[Schedule], None]],
    sizes: tuple[int, ...],
    targets: Mapping[str, str | None],
    *,
    budget_s: float = 2.0,
) -> dict[tuple[str, str], Comparison]:
    """Each program for each target, checked, and timed in turn with NumPy, on one thread.

    The result has the keys (program, target). Raises ``UsageError`` for an unknown workload,
    ``WrongResult`` for a program that computes something else.
    """
    problem = make_workload(workload, sizes)
    inputs, out = problem.inputs(), problem.output()
    reference = problem.reference(inputs)
    calls = {
        (name, target): checked(
            problem, scheduled(problem, Rung(name, "", apply)), inputs, reference, cpu=cpu
        ).call
        for target, cpu in targets.items()
        for name, apply in programs.items()
    }
    named = {" on ".join(key): call for key, call in calls.items()}
    found = compare(named, ("NumPy", lambda: problem.numpy(*inputs, out)), budget_s=budget_s)
    return dict(zip(calls, found.values(), strict=True))
