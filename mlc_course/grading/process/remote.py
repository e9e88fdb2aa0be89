"""The grader's side of its two children: one runs a student's cells, one what came of them."""

from __future__ import annotations

import builtins
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import cloudpickle
import numpy as np

from mlc_course import errors
from mlc_course.errors import UnmetCheck
from mlc_course.grading.process import values
from mlc_course.grading.process.bench import Inspection
from mlc_course.grading.process.finding import Finding, printable
from mlc_course.grading.process.sandbox import Child, Ended, Limits
from mlc_course.mugraph.cpu_kernels import Rates
from mlc_course.tensor_program.problems import Array, Workload

STARTS = 6  # of the child that runs cells: each that ends it costs a new start


def _told(reply: Any) -> dict[str, Any]:
    """A child's reply; raises the error that it tells. It may say anything, so all is checked."""
    if not isinstance(reply, dict):
        raise UnmetCheck("an answer that cannot be read", got=type(reply).__name__)
    if "error" not in reply:
        return reply
    error = reply["error"]
    names = [each.name for each in fields(Finding)]
    told = error if isinstance(error, dict) else {}
    what, expected, got, hint = (str(told.get(name, "")) for name in names[2:])
    raise UnmetCheck(what, expected=expected or None, got=got or None, hint=hint or None)


# Whoever writes a notebook can name an error as they like, and say in its name what they will.
ERRORS = {
    *(name for name, kind in vars(builtins).items() if isinstance(kind, type)),
    *(name for name, kind in vars(errors).items() if isinstance(kind, type)),
    *("LinAlgError", "TVMError", "InternalError", "ScheduleError", "DiagnosticError"),
}


def _named(reply: dict[str, Any], source: str) -> str:
    """The kind of a cell's error, one of a closed list, and its line, one that the cell has."""
    name, line = reply.get("failed"), reply.get("line")
    known = name if isinstance(name, str) and name in ERRORS else "an error of its own kind"
    has_line = type(line) is int and 1 <= line <= len(source.splitlines())
    return f"{known} in line {line}" if has_line else known


@dataclass
class RemoteBench:
    """A ``Bench`` in a process of its own, which starts when it is needed.

    ``ends`` counts how often that process ended, or was ended.
    """

    limits: Limits
    sandbox: str
    ends: int = 0
    _child: Child | None = None
    _ended: str = ""
    _spent: float = 0.0

    def load_program(self, text: str, problem: Workload) -> None:
        self._ended = ""
        self._ask("load_program", text, problem)

    def load_value(self, text: str) -> None:
        self._ended = ""
        self._ask("load_value", text)

    def optimize(self, page: str, program: str) -> str:
        self._ended = ""
        text = self._ask("optimize", page, program)
        if not isinstance(text, str):
            raise UnmetCheck("an answer that cannot be read", got=type(text).__name__)
        return text

    def load_graph(self, text: str, program: str) -> None:
        self._ended = ""
        self._ask("load_graph", text, program)

    def inspect(self, check: Inspection) -> str:
        return str(self._ask("inspect", check))

    def run(self, inputs: list[Array]) -> Array:
        out = self._ask("run", inputs)
        if not isinstance(out, np.ndarray):
            raise UnmetCheck("the program's result is not an array", got=type(out).__name__)
        return out

    def race(self, rung: str, inputs: list[Array]) -> None:
        self._ask("race", rung, inputs)

    def race_graph(self, seed: int, rates: Rates) -> None:
        self._ask("race_graph", seed, rates)

    def repeat(self, contestant: str, times: int) -> None:
        self._ask("repeat", contestant, times)

    @property
    def spent(self) -> float:
        """Seconds that it has worked, of those that its limits give it."""
        return self._spent

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()
            self._child = None

    def _ask(self, method: str, *arguments: Any) -> Any:
        if self._ended:
            raise UnmetCheck("the process of the program has ended", got=self._ended)
        if self._child is None:
            limits = replace(self.limits, seconds=2 * self.limits.seconds)  # cells run meanwhile
            self._child = Child("mlc_course.grading.process.bench_process", limits, self.sandbox)
        began = time.monotonic()
        try:
            if self._spent > self.limits.seconds:
                raise Ended(f"over the time limit of {self.limits.seconds:g} s in total")
            reply = self._child.ask(cloudpickle.dumps((method, arguments)))
        except Ended as error:
            self._ended = str(error)
            self.ends += 1
            self.stop()
            raise UnmetCheck("the process of the program has ended", got=str(error)) from None
        finally:
            self._spent += time.monotonic() - began
        return _told(values.from_text(reply)).get("value")


@dataclass
class Interpreter:
    """Runs a notebook's cells in a child; a cell that ends the child is left out of a new one."""

    limits: Limits
    sandbox: str
    remarks: list[str] = field(default_factory=list)
    ends: int = 0
    _child: Child | None = None
    _done: list[str] = field(default_factory=list)
    _starts: int = 0
    _spent: float = 0.0

    def run(self, cell: str, source: str) -> bool:
        """Run a cell; what goes wrong in it becomes a remark. False when it ended the process."""
        ends = self.ends
        try:
            reply = self._ask(do="run", source=source)
        except UnmetCheck as error:
            ended = self.ends > ends
            self._remark(cell, error.got if ended else "a reply that cannot be read")
            return not ended
        self._done.append(source)
        if reply.get("failed"):
            self._remark(cell, _named(reply, source))
        return True

    def _remark(self, cell: str, text: object) -> None:
        line = f"cell {cell[:60]}: {str(text)[:200]}"
        self.remarks.append(printable(" ".join(line.split())))

    def produce(self, name: str, ask: dict[str, str]) -> str:
        """An answer as text; raises ``UnmetCheck``."""
        return self._text(do="produce", name=name, **ask)

    def function(self, name: str) -> Callable[..., Any]:
        """A student's function: called there, its result as plain values here."""

        def call(*arguments: Any) -> Any:
            given = values.to_text(list(arguments))
            return values.from_text(self._text(do="call", name=name, arguments=given))

        return call

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()
            self._child = None

    def _text(self, **request: str) -> str:
        text = self._ask(**request).get("text")
        if not isinstance(text, str):
            raise UnmetCheck("an answer that cannot be read", got=type(text).__name__)
        return text

    def _ask(self, **request: str) -> dict[str, Any]:
        began = time.monotonic()
        try:
            reply = self._started().ask(json.dumps(request).encode())
        except Ended as error:
            self.ends += 1
            self.stop()
            raise UnmetCheck(
                "your code was ended",
                expected="code that ends by itself, within the limits",
                got=str(error),
            ) from None
        finally:
            self._spent += time.monotonic() - began
        try:
            return _told(json.loads(reply))
        except (ValueError, RecursionError) as error:
            raise UnmetCheck("an answer that cannot be read", got=str(error)[:200]) from None

    def _started(self) -> Child:
        """The child, after all cells that ran well."""
        if self._spent > self.limits.seconds:
            raise Ended(f"over the time limit of {self.limits.seconds:g} s in total")
        if self._child is not None:
            return self._child
        if self._starts >= STARTS:
            raise Ended(f"the notebook ended its process {STARTS} times")
        self._starts += 1
        limits = replace(self.limits, seconds=2 * self.limits.seconds)  # the bench works meanwhile
        self._child = Child("mlc_course.grading.process.student_process", limits, self.sandbox)
        for source in self._done:
            self._child.ask(json.dumps({"do": "run", "source": source}).encode())
        return self._child
