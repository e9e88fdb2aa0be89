"""Three judges of a loop: what the kinds of the axes promise, what TVM accepts, what happens.

TVM looks at declarations and at the form of a program. ``legality`` looks at every iteration.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_course.tensor_program.legality import Verdict, compare, inspected, run_as
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import (
    IRModule,
    PrimFunc,
    Schedule,
    ScheduleError,
    refusal_reason,
)

TOGETHER = "at the same time"
TURNED = "inside out"


@dataclass(frozen=True)
class Judgement:
    """``change`` is a loop that runs ``TOGETHER``, or all loops ``TURNED``.

    ``kinds`` and ``tvm`` tell who allows it, ``reason`` is why TVM does not, ``iterations`` is
    the verdict of every iteration.
    """

    change: str
    kinds: bool
    tvm: bool
    reason: str
    iterations: Verdict

    def __str__(self) -> str:
        answers = (
            f"kinds: {_word(self.kinds)}",
            f"TVM: {_word(self.tvm)}",
            f"iterations: {str(self.iterations).split(':')[0]}",
        )
        return f"{self.change:<22}" + "".join(f"{each:<18}" for each in answers).rstrip()


def judged(program: IRModule | PrimFunc | Schedule, block: str | None = None) -> list[Judgement]:
    """Each loop of a block run in parallel, then all its loops turned inside out.

    Raises ``BlockError`` for a block that is not there, ``AxisError`` for loops whose names occur
    twice, and what ``inspected`` raises.
    """
    seen = inspected(program, block)
    found = []
    for loop in seen.loops:
        kinds = all(axis.kind == "S" for axis in seen.moving(loop))
        reason = refusal(program, seen.block, loop)
        verdict = compare(program, run_as(program, loop, "parallel"))
        found.append(Judgement(f"{loop} {TOGETHER}", kinds, not reason, reason, verdict))
    if len(seen.loops) > 1:
        found.append(_turned(program, seen.block))
    return found


def _word(allowed: bool) -> str:
    return "yes" if allowed else "no"


def _turned(program: IRModule | PrimFunc | Schedule, block: str) -> Judgement:
    sch = _schedule(program)
    reason = ""
    try:
        sch.reorder(*reversed(sch.get_loops(lookup.block(sch, block))))
    except ScheduleError as error:
        reason = refusal_reason(error)
    return Judgement(f"all loops {TURNED}", True, not reason, reason, compare(program, sch))


def refusal(program: IRModule | PrimFunc | Schedule, block: str, loop: str) -> str:
    """Return why TVM refuses to run a loop in parallel; empty where it accepts."""
    sch = _schedule(program)
    try:
        sch.parallel(lookup.loop(sch, block, loop))
    except ScheduleError as error:
        return refusal_reason(error)
    return ""


def _schedule(program: IRModule | PrimFunc | Schedule) -> Schedule:
    return Schedule(program.mod if isinstance(program, Schedule) else program)
