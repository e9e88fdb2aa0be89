"""What TVM's own rules may do to a program, and what its author permits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlc_course.measure import Comparison, compare
from mlc_course.tensor_program.ladders import checked
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.tir import (
    IRModule,
    cpu_target,
    load_cpu_intrinsics,
    meta_schedule,
    own_buffers,
)

PERMIT = "layout_free_buffers"  # the attribute that lists operands whose layout may be changed


def designs(problem: Workload, free: Sequence[int] = (), *, seed: int = 1) -> list[Any]:
    """Schedules that MetaSchedule's rules for a CPU make of a program, one of each design.

    ``free`` are the places of operands that may be copied into another layout: 1 is B.
    """
    load_cpu_intrinsics()
    naive = problem.program()
    function = naive["main"] if isinstance(naive, IRModule) else naive
    if free:
        function = function.with_attr(PERMIT, list(free))
    context = meta_schedule.TuneContext(
        mod=IRModule({"main": function}),
        target=cpu_target(1),
        space_generator="post-order-apply",
        search_strategy="replay-trace",
        task_name="main",
        rand_state=seed,
        num_threads=1,
    )
    made = context.generate_design_space()
    for sch in made:
        for finish in context.space_generator.postprocs:
            finish.apply(sch)
    return list(made)


def packed(sch: Any, operand: str = "B") -> str:
    """The copy of an operand in a design, as ``B_global 8 x 2 x 8``; empty where there is none."""
    for buffer in own_buffers(sch.mod["main"]):
        if str(buffer.name).startswith(f"{operand}_"):
            return f"{buffer.name} {' x '.join(str(int(extent)) for extent in buffer.shape)}"
    return ""


def race(problem: Workload, programs: Mapping[str, Any]) -> dict[str, Comparison]:
    """Check designs and time them beside NumPy, on one thread."""
    inputs, out = problem.inputs(), problem.output()
    reference = problem.reference(inputs)
    calls = {name: checked(problem, sch, inputs, reference).call for name, sch in programs.items()}
    return compare(calls, ("NumPy", lambda: problem.numpy(*inputs, out)), budget_s=1.5)
