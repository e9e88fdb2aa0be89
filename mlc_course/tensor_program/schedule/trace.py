"""Traces of schedules, TVM's record of what was done to a program, read and replayed in stages.

A trace is a program of its own: instructions that look blocks and loops up, and instructions that
transform. Here the second kind is read with the loops' names, and each is replayed from the start.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mlc_course.errors import StepError, UsageError
from mlc_course.tensor_program.tir import (
    Array,
    IRModule,
    LoopRV,
    PrimFunc,
    SBlockRV,
    Schedule,
    ScheduleError,
    Trace,
    same_structure,
)


@dataclass(frozen=True)
class Stage:
    """The program after one step or pass, and the reason; ``picture`` is SVG text, or empty.

    Raises ``UsageError`` for a stage without a name.
    """

    name: str
    reason: str
    program: str
    picture: str = ""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise UsageError("a stage needs a name", expected="a word or two", got=repr(self.name))


Apply = Callable[[Schedule], object]
# Settings of these instructions say how TVM works, not what is done.
WITHOUT_SETTINGS = ("ComputeAt", "ReverseComputeAt", "TransformLayout", "PadEinsum")


def stages(
    program: PrimFunc | IRModule, apply: Apply, *, start: str = "start"
) -> tuple[Stage, ...]:
    """The program at first, and after every transforming instruction in the trace of ``apply``.

    Each stage is made by a replay of the trace up to there, so the last one shows what a recorded
    trace gives. Where a step did something that the trace does not record (``polynomial_exp``
    replaces a body), one more stage says so. Raises what ``apply`` raises.
    """
    sch = Schedule(program)
    apply(sch)
    begun = Stage(
        start, "The program before the first instruction.", Schedule(program).mod.script()
    )
    found = [begun, *_transformed(program, sch.trace)]
    if not same_structure(replayed(program, sch.trace).mod, sch.mod):
        reason = "What a step did to the program itself: a replay of the trace does not do this."
        found.append(Stage("not in the trace", reason, sch.mod.script()))
    return tuple(found)


def replayed(
    program: PrimFunc | IRModule, trace: Trace, instructions: int | None = None
) -> Schedule:
    """Replay the first so many instructions of a trace, by default all, on a new schedule.

    Nothing is checked: what was legal for the program that the trace was recorded on may be wrong
    for another. Raises ``StepError`` where the trace does not fit the program.
    """
    kept = list(trace.insts)[:instructions]
    decisions = {each: trace.decisions[each] for each in kept if each in trace.decisions}
    sch = Schedule(program)
    try:
        Trace(kept, decisions).apply_to_schedule(sch, remove_postproc=False)
    except (ScheduleError, RuntimeError, ValueError) as error:  # TVM's
        raise StepError(
            "the trace does not fit this program",
            expected="the program that it was recorded on",
            got=str(error).strip().splitlines()[-1],
        ) from None
    return sch


def lines(sch: Schedule, program: PrimFunc | IRModule) -> tuple[str, ...]:
    """The transforming instructions of a schedule of ``program``, one line each.

    Loops and blocks have the names that they had at that moment: ``split(m, [None, 16])``.
    """
    return tuple(text for _, text in _read(program, sch.trace))


def _transformed(program: PrimFunc | IRModule, trace: Trace) -> Iterator[Stage]:
    seen: Counter[str] = Counter()
    for place, text in _read(program, trace):
        verb = text.partition("(")[0]
        seen[verb] += 1
        name = verb if seen[verb] == 1 else f"{verb} {seen[verb]}"
        yield Stage(name, text, replayed(program, trace, place + 1).mod.script())


def _read(program: PrimFunc | IRModule, trace: Trace) -> Iterator[tuple[int, str]]:
    """(place in the trace, text) of each instruction that changes the program."""
    instructions = list(trace.insts)
    made = {
        value: (place, which)
        for place, each in enumerate(instructions)
        for which, value in enumerate(each.outputs)
    }
    for place, each in enumerate(instructions):
        if each.kind.is_pure:
            continue
        before = replayed(program, trace, place)
        now = [list(earlier.outputs) for earlier in before.trace.insts]

        def said(value: Any, before: Schedule = before, now: list[list[Any]] = now) -> str:
            if value in made:
                where, which = made[value]
                return _name(before, now[where][which])
            text = repr(value) if isinstance(value, str) else str(value)
            return re.sub(r"^T\.index_map\((.*)\)$", r"\1", text)

        yield place, _text(str(each.kind.name), each.inputs, each.attrs, said)


def _name(sch: Schedule, value: Any) -> str:
    """The name of a random variable of a schedule: a loop's, a block's, or a number."""
    found = sch.get(value)
    if isinstance(value, LoopRV):
        return str(found.loop_var.name)
    if isinstance(value, SBlockRV):
        return str(found.name_hint)
    return str(found)


def _text(
    kind: str, inputs: Iterable[Any], attrs: Iterable[Any], said: Callable[[Any], str]
) -> str:
    """The instruction as a call, with names in place of variables, settings left out."""
    words = [said(value) for value in _flat(inputs)]
    verb = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()
    if kind == "Split":
        loop, *factors = words
        return f"split({loop}, [{', '.join(factors)}])"
    settings = [] if kind in WITHOUT_SETTINGS else [said(value) for value in attrs]
    return f"{verb}({', '.join([*words, *settings])})"


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    """The values one by one, also those inside TVM's lists."""
    for value in values:
        if isinstance(value, Array):
            yield from _flat(value)
        else:
            yield value
