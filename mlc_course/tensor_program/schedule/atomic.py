"""The decorator of schedule steps: each is done whole or not at all, and leaves what is right."""

from __future__ import annotations

import functools
import inspect
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from mlc_course.errors import CourseError, StepError, UsageError
from mlc_course.tensor_program.legality import Illegal, Legal, Unknown, sound
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import (
    IRModule,
    Schedule,
    ScheduleError,
    main_function,
    refusal_reason,
)

Step = TypeVar("Step", bound=Callable[..., Any])
# Kinds of annotated arguments.
KINDS: dict[Any, type] = {"str": str, "int": int, "Schedule": Schedule}
LARGEST = (1 << 31) - 1  # integer that TVM takes
UNCHECKED = "mlc_course.unchecked"  # annotates the blocks of a program that no check has seen

_part: ContextVar[bool] = ContextVar("part of another step", default=False)
_checked: ContextVar[bool] = ContextVar("checked", default=True)
# Programs that a step has left: the next step need not prove again that they are sound. Several
# threads may add to them.
_known_sound: deque[IRModule] = deque(maxlen=64)


def step(function: Step) -> Step:
    """Make a function a schedule step.

    It is tried on a copy of the schedule first. The program must be sound before the step and after
    it, and write the same elements (``legality.sound``); else the schedule stays as it was, and
    ``StepError`` says why.
    """

    @functools.wraps(function)
    def all_or_nothing(sch: Schedule, *args: Any, **kwargs: Any) -> Any:
        call = _call_text(function.__name__, args, kwargs)
        _check_arguments(function, call, (sch, *args), kwargs)
        if _part.get():
            return _told(function, call, sch, args, kwargs)
        token = _part.set(True)
        try:
            trial = sch.copy()
            _told(function, call, trial, args, kwargs)
            _check_names(call, lookup.blocks(trial))
            if not _checked.get():
                _mark(sch)
                result = function(sch, *args, **kwargs)
                _mark(sch)
                return result
            if not any(sch.mod.same_as(each) for each in tuple(_known_sound)):
                _check_before(call, sound(sch))
            _check(function, call, sound(trial, like=sch))
            result = function(sch, *args, **kwargs)
            _known_sound.append(sch.mod)
            return result
        finally:
            _part.reset(token)

    return cast("Step", all_or_nothing)


@contextmanager
def unchecked() -> Iterator[None]:
    """Let steps leave a wrong program, to look at what it does: ``with unchecked(): merge(...)``.

    The program and its trace are marked; no grader admits them.
    """
    token = _checked.set(False)
    try:
        yield
    finally:
        _checked.reset(token)


def _mark(sch: Schedule) -> None:
    # Not the root: where copies of a schedule live, TVM breaks them (docs/upstream.md).
    for name in lookup.blocks(sch):
        block = lookup.block(sch, name)
        if UNCHECKED not in sch.get(block).annotations:
            sch.annotate(block, UNCHECKED, 1)


def _check_arguments(
    function: Callable[..., Any], call: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise ``UsageError`` for arguments that are missing, too many, or of another type."""
    signature = inspect.signature(function)
    name = function.__name__
    hint = f"help({name}) shows an example"
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        words = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        usage = f"{name}{inspect.Signature(words)}"
        raise UsageError(f"{call}: {error}", expected=usage, got=call, hint=hint) from None
    for name, value in given.items():
        parameter = signature.parameters[name]
        wanted = KINDS.get(parameter.annotation)
        match parameter.kind:
            case parameter.VAR_POSITIONAL:
                values = list(value)
            case parameter.VAR_KEYWORD:
                values = list(value.values())
            case _:
                values = [value]
        for each in values:
            if wanted is int and isinstance(each, int) and abs(each) > LARGEST:
                raise UsageError(
                    f"{call}: {name} is too large", expected=f"at most {LARGEST:,}", got=each
                )
            if wanted and (not isinstance(each, wanted) or isinstance(each, bool)):
                raise UsageError(
                    f"{call}: {name} has another type",
                    expected=wanted.__name__,
                    got=f"{each!r}, {type(each).__name__}",
                    hint=hint,
                )
    main_function(args[0])


def _check_names(call: str, blocks: list[str]) -> None:
    """Raise ``StepError`` when two blocks have one name, which no step could tell apart."""
    if twice := [name for name, times in Counter(blocks).items() if times > 1]:
        raise StepError(
            f"{call}: two blocks would be called {twice[0]}",
            expected="names by which steps find them",
            got=", ".join(blocks),
            hint="stage or pack an operand once, in the block that needs it most",
        )


def _told(
    function: Callable[..., Any],
    call: str,
    sch: Schedule,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call the function, so that its errors name the step."""
    try:
        return function(sch, *args, **kwargs)
    except CourseError as error:
        error.add_note(f"in step {call}")
        raise
    except (ScheduleError, RuntimeError, ValueError) as error:  # all of them TVM's
        raise StepError(
            f"{call}: TVM refuses this step here",
            expected=needs(function).replace("``", ""),
            got=refusal_reason(error),
            hint="print(sch.mod.script()) shows the present program",
        ) from None


def _check_before(call: str, verdict: Illegal | Unknown | Legal) -> None:
    if isinstance(verdict, Legal):
        return
    raise StepError(
        f"{call}: no step is checked on this program, because of what it is before the step",
        expected="blocks that write each element once, and read what is complete",
        got=verdict.sentence if isinstance(verdict, Illegal) else verdict.reason,
        hint="with unchecked(): does the step all the same",
    )


def _check(function: Callable[..., Any], call: str, verdict: Illegal | Unknown | Legal) -> None:
    match verdict:
        case Illegal():
            raise StepError(
                f"{call}: the program would not compute what its blocks say",
                expected=needs(function),
                got=verdict.sentence,
                hint="with unchecked(): lets a wrong program be looked at",
            )
        case Unknown():
            raise StepError(
                f"{call}: whether the program would compute the same is not known",
                expected=needs(function),
                got=verdict.reason,
                hint=verdict.hint or "with unchecked(): does the step all the same",
            )


def needs(function: Callable[..., Any]) -> str:
    """The requirements of a step, as its docstring states them."""
    found = re.search(r"^needs\s(.*)^why", inspect.getdoc(function) or "", re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def _call_text(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    words = [*(repr(a) for a in args), *(f"{k}={v!r}" for k, v in kwargs.items())]
    return f"{name}({', '.join(words)})"
