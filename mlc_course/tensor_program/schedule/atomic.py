"""The decorator of schedule steps, by which each is done whole or not at all."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from mlc_course.errors import CourseError, StepError
from mlc_course.tensor_program.tir import Schedule, ScheduleError

Step = TypeVar("Step", bound=Callable[..., Any])


def step(function: Step) -> Step:
    """Make a function a schedule step, which is tried on a copy of the schedule first (20 µs)."""

    @functools.wraps(function)
    def all_or_nothing(sch: Schedule, *args: Any, **kwargs: Any) -> Any:
        try:
            function(sch.copy(), *args, **kwargs)
        except CourseError as error:
            error.add_note(f"in step {_call_text(function.__name__, args, kwargs)}")
            raise
        except ScheduleError as error:
            raise StepError(
                f"{_call_text(function.__name__, args, kwargs)}: TVM refuses this step here",
                expected=needs(function),
                got=str(error).split("Error message:")[-1].strip(),
                hint="print(sch.mod.script()) shows the present program",
            ) from None
        return function(sch, *args, **kwargs)

    return cast("Step", all_or_nothing)


def needs(function: Callable[..., Any]) -> str:
    """The requirements of a step, as its docstring states them."""
    found = re.search(r"^needs\s(.*)^why", inspect.getdoc(function) or "", re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def _call_text(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    words = [*(repr(a) for a in args), *(f"{k}={v!r}" for k, v in kwargs.items())]
    return f"{name}({', '.join(words)})"
