"""The trace of a schedule, read and replayed: TVM's own record of what was done to a program.

A trace is a program of its own: instructions that look blocks and loops up, and instructions that
transform. Here the second kind is read with the loops' names, and each is replayed from the start.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mlc_course.tensor_program.stage import Stage
from mlc_course.tensor_program.tvm_names import (
    Array,
    IRModule,
    LoopRV,
    PrimFunc,
    SBlockRV,
    Schedule,
    Trace,
    same_structure,
)

Apply = Callable[[Schedule], object]
# Their settings are how TVM does it, not what is done.
WITHOUT_SETTINGS = ("ComputeAt", "ReverseComputeAt", "TransformLayout", "PadEinsum")


def stages(
    program: PrimFunc | IRModule, apply: Apply, *, start: str = "start"
) -> tuple[Stage, ...]:
    """The program at first, and after every transforming instruction that ``apply`` leaves behind.

    Each stage is made by a replay of the trace up to there, so the last one shows what a recorded
    trace gives. Where a step did something behind the trace's back (``polynomial_exp`` replaces a
    body), one more stage says so. Raises what ``apply`` raises.
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
    """A new schedule after the first so many instructions of a trace, all of them by default."""
    kept = list(trace.insts)[:instructions]
    decisions = {each: trace.decisions[each] for each in kept if each in trace.decisions}
    sch = Schedule(program)
    Trace(kept, decisions).apply_to_schedule(sch, remove_postproc=False)
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
    """What a random variable of a schedule stands for there: a loop, a block, a number."""
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
    """Lists of TVM's among the values are taken apart."""
    for value in values:
        if isinstance(value, Array):
            yield from _flat(value)
        else:
            yield value
