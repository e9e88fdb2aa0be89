"""The kinds of answers that a student hands in, and how each becomes data.

An answer is data wherever possible: a schedule function is applied here, on a program that the
check names, and what is handed in is the scheduled program itself. The library compiles and runs
it; the function is never asked for a result or a time.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course.errors import CourseError, UnmetCheck
from mlc_course.grading.process import values
from mlc_course.grading.process.pages import page
from mlc_course.tensor_program.problems import Array, Operand, Workload
from mlc_course.tensor_program.tir import (
    IRModule,
    PrimFunc,
    Schedule,
    dump_program,
    load_program,
    refusal_reason,
    te,
    tirx,
)
from mlc_course.words import tr

TAKES_OBJECTS = re.compile('wrong type. Expected "(Loop|SBlock)RV"')
ARGUMENTS = re.compile(r"positional argument|keyword argument")
NO_NAMES = (
    "methods of TVM's schedule take loops and blocks, as sch.get_loops(block) returns them; "
    "the course's own steps take their names"
)


@dataclass(frozen=True)
class Name:
    """Stands for an answer where only the name is known: in the grader, which never holds it."""

    name: str


@dataclass(frozen=True)
class Scheduled:
    """A function ``f(sch)`` that schedules the program of ``problem``."""

    answer: Any
    problem: Workload

    def ask(self) -> dict[str, str]:
        module = IRModule({"main": self.problem.program()})
        return {"how": "schedule", "program": dump_program(module)}


@dataclass(frozen=True)
class Written:
    """A TensorIR function that the student wrote, with the buffers of ``problem``."""

    answer: Any
    problem: Workload

    def ask(self) -> dict[str, str]:
        return {"how": "program"}


@dataclass(frozen=True)
class Called:
    """A Python function from values to a value."""

    answer: Any

    def ask(self) -> dict[str, str]:
        return {"how": "function"}


@dataclass(frozen=True)
class Boxed:
    """A kernel for the box, a Python function that is handed in as its source."""

    answer: Any

    def ask(self) -> dict[str, str]:
        return {"how": "kernel"}


@dataclass(frozen=True)
class Optimized:
    """A function from the text of a program to the text of a graph, handed in as a page.

    ``draw(seed)`` is the program that it is asked about.
    """

    answer: Any
    draw: Callable[[int], str]

    def ask(self) -> dict[str, str]:
        return {"how": "page"}


@dataclass(frozen=True)
class Given:
    """A plain value: a number, a list of names, an array."""

    answer: Any

    def ask(self) -> dict[str, str]:
        return {"how": "value"}


Shape = tuple[int, ...]
Subject = Scheduled | Written | Called | Boxed | Optimized | Given


def scheduled(answer: Callable[[Schedule], object], problem: Workload) -> Scheduled:
    """The program of ``problem`` as the student's function schedules it."""
    return Scheduled(answer, problem)


def written(answer: PrimFunc | IRModule, problem: Workload) -> Written:
    """A TensorIR function that should compute ``problem``."""
    return Written(answer, problem)


def called(answer: Callable[..., object]) -> Called:
    """A function that the checks call with arguments of their own."""
    return Called(answer)


def boxed(answer: Callable[..., object]) -> Boxed:
    """A kernel that the checks run in the box."""
    return Boxed(answer)


def optimized(answer: Callable[[str], str], draw: Callable[[int], str]) -> Optimized:
    """The graph that the student's superoptimizer makes of a program, which the seed draws."""
    return Optimized(answer, draw)


def given(answer: object) -> Given:
    """A value."""
    return Given(answer)


def problem(
    name: str,
    *,
    inputs: Mapping[str, Shape],
    result: tuple[str, Shape],
    exact: Callable[..., Array],
) -> Workload:
    """A problem for a program that the student writes: float32 inputs, one float32 result.

    ``exact(*inputs)`` computes the result from float64 inputs. There is no program to begin with:
    the one that this problem has writes zeros, and only its buffers count.
    """
    operands = tuple(Operand(each, shape) for each, shape in inputs.items())
    written = Operand(*result)

    def expression() -> list[te.Tensor]:
        read = [te.placeholder(each.shape, "float32", each.name) for each in operands]
        zero = tirx.const(0.0, "float32")
        return [*read, te.compute(written.shape, lambda *at: zero, name=written.name)]

    def numpy(*arrays: Array) -> None:
        *read, out = arrays
        out[...] = exact(*read)

    return Workload(
        name=name,
        sizes={},
        operands=operands,
        result=written,
        expression=expression,
        numpy=numpy,
        exact=exact,
        flops=int(np.prod(written.shape)),
    )


def produce(how: str, answer: object, program: str = "") -> str:
    """The answer as text. Runs where the student's code runs, and is trusted no more than that.

    Raises ``UnmetCheck`` when the answer is missing, of the wrong kind or raises an error itself.
    """
    if answer is None or answer is ...:
        raise not_written()
    try:
        return PRODUCERS[how](answer, program)
    except CourseError:
        raise
    except Exception as error:
        raise own_error(error) from error


def not_written() -> UnmetCheck:
    """The diagnosis of an exercise that nobody has begun."""
    return UnmetCheck(
        tr("there is no answer yet"),
        expected=tr("your own code or value in the cell above"),
        got=tr("the empty exercise"),
        hint=tr("open the first hint if you do not know where to begin"),
    )


def own_error(error: Exception) -> UnmetCheck:
    """The diagnosis of an answer that raises an error of its own."""
    if isinstance(error, NotImplementedError):
        return not_written()
    place = _own_line(error)
    if isinstance(error, TypeError) and not place and ARGUMENTS.search(str(error)):
        return UnmetCheck(
            tr("your function takes other arguments than the exercise gives it"),
            expected=tr("the first line of the function as the exercise has it"),
            got=refusal_reason(error),
        )
    # One of the course's own errors is laid out to be read whole.
    said = str(error) if isinstance(error, CourseError) else refusal_reason(error)
    return UnmetCheck(
        tr("your code raises an error"),
        expected=tr("no error"),
        got=f"{type(error).__name__}: {said}{place}",
        hint=_way_out(error),
    )


def _way_out(error: Exception) -> str:
    text = str(error)
    if TAKES_OBJECTS.search(text):
        return NO_NAMES
    if isinstance(error, AttributeError) and "'Schedule' object" in text:
        return tr("the course's own steps are functions: split(sch, ...), not sch.split(...)")
    if isinstance(error, RecursionError):
        return tr("a function that calls itself needs a case in which it does not")
    if isinstance(error, NameError):
        return tr("is it misspelt, not imported, or from a cell that has not run?")
    if "NoneType" in text:
        return tr("a value there is None: of a first case, or of a function that returns nothing?")
    return tr("call it in a cell of its own to see where")


def _own_line(error: Exception) -> str:
    """The last line of the student's own that led to an error; a library's says nothing to them."""
    line, number, name = error.__traceback__, 0, ""
    while line is not None:
        if line.tb_frame.f_globals.get("__name__") == "__main__":
            number, called = line.tb_lineno, line.tb_frame.f_code.co_name
            name = name if name and called.startswith("<") else called  # <genexpr> is of a function
        line = line.tb_next
    return tr(" (line {number} of {name})", number=number, name=name) if name else ""


def _schedule(answer: object, program: str) -> str:
    if not callable(answer) or isinstance(answer, PrimFunc):
        raise _wrong_kind(tr("a function that takes a schedule"), answer)
    sch = Schedule(load_program(program))
    answer(sch)
    return dump_program(sch.mod)


def _program(answer: object, program: str) -> str:
    if isinstance(answer, PrimFunc):
        if not (answer.attrs or {}).get("s_tir"):
            raise UnmetCheck(
                tr("a TensorIR function of another kind"),
                expected="@T.prim_func(s_tir=True) above it",
                got="@T.prim_func",
                hint=tr("only with s_tir=True are its blocks those of a schedule"),
            )
        answer = IRModule({"main": answer.with_attr("global_symbol", "main")})
    if not isinstance(answer, IRModule):
        raise _wrong_kind(tr("a TensorIR function (@T.prim_func)"), answer)
    return dump_program(answer)


def _function(answer: object, program: str) -> str:
    if not callable(answer) or isinstance(answer, PrimFunc):
        raise _wrong_kind(tr("a function"), answer)
    return ""


def _kernel(answer: object, program: str) -> str:
    if not inspect.isfunction(answer):
        raise _wrong_kind(tr("a function"), answer)
    return values.to_text(textwrap.dedent(inspect.getsource(answer)))


def _page(answer: object, program: str) -> str:
    if not inspect.isfunction(answer):
        raise _wrong_kind("a function", answer)
    return page(answer)


def _value(answer: object, program: str) -> str:
    return values.to_text(answer)


def _wrong_kind(expected: str, answer: object) -> UnmetCheck:
    got = type(answer).__name__
    if isinstance(answer, PrimFunc | IRModule):
        got = tr("a TensorIR function")
    elif inspect.isfunction(answer):
        got = tr("a Python function")
    return UnmetCheck(
        tr("an answer of another kind"),
        expected=expected,
        got=got,
        hint=tr("keep the form that the exercise gives; does another cell use the name, too?"),
    )


PRODUCERS: dict[str, Callable[[object, str], str]] = {
    "schedule": _schedule,
    "program": _program,
    "function": _function,
    "kernel": _kernel,
    "page": _page,
    "value": _value,
}
