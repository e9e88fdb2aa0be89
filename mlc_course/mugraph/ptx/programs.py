"""Run all launches of a program of kernels as a GPU would: its text is compiled, its PTX run."""

from __future__ import annotations

from collections.abc import Mapping

from mlc_course.errors import UsageError
from mlc_course.mugraph.cuda import LaunchPlan, compile_ptx
from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.ptx.execution import Order, load
from mlc_course.mugraph.ptx.memory import Landing
from mlc_course.mugraph.ptx.reports import Report


def run_plan(
    plan: LaunchPlan,
    arrays: Mapping[str, Array],
    arch: str = "sm_80",
    *,
    order: Order = "together",
    copies: Landing = "early",
) -> tuple[Report, ...]:
    """Run the launches of a plan in their order, and return a report of each.

    ``arrays`` has every buffer by its name: inputs, outputs, and what one kernel leaves for
    another. They are written in place. Raises ``MachineError`` where NVRTC is not installed, and
    what ``compile_ptx`` and ``Module.launch`` raise.
    """
    if missing := {name for each in plan.launches for name in each.arguments} - set(arrays):
        raise UsageError("arrays for a plan", expected=", ".join(sorted(missing)), got="none")
    module = load(compile_ptx(plan.text, arch))
    return tuple(
        module.launch(
            each.name,
            each.grid,
            each.threads,
            each.shared_bytes,
            {name: arrays[name] for name in each.arguments},
            order=order,
            copies=copies,
        )
        for each in plan.launches
    )
