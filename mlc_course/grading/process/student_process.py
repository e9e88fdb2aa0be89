"""The process in which a student's cells run. Nothing that it says is trusted beyond being data.

Requests and answers are JSON: run a cell, produce an answer as text, call a function.
"""

from __future__ import annotations

import json
import traceback
from dataclasses import asdict
from typing import Any

from mlc_course.extras import brought_by

with brought_by("grade"):
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

from mlc_course.grading.process import values
from mlc_course.grading.process.answers import own_error, produce
from mlc_course.grading.process.finding import unmet


class Cells:
    """The namespace of one notebook."""

    def __init__(self) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        self.shell: Any = InteractiveShell(config=config)  # type: ignore[no-untyped-call]
        # %matplotlib inline asks for a window system
        self.shell.enable_gui = lambda gui=None: None  # type: ignore[method-assign]

    def __call__(self, message: bytes) -> bytes:
        request = json.loads(message)
        try:
            reply: dict[str, Any] = getattr(self, request.pop("do"))(**request)
        except Exception as error:
            reply = {"error": asdict(unmet("answer", error))}
        return json.dumps(reply).encode()

    def run(self, source: str) -> dict[str, Any]:
        """Run one cell; an error in it is told, and the next cells run all the same."""
        result = self.shell.run_cell(source, store_history=False)
        failed = result.error_before_exec or result.error_in_exec
        if not failed:
            return {"failed": ""}
        return {"failed": type(failed).__name__, "line": _line_of(failed)}

    def produce(self, name: str, how: str, program: str = "") -> dict[str, Any]:
        """An answer as text."""
        return {"text": produce(how, self.shell.user_ns.get(name), program)}

    def call(self, name: str, arguments: str) -> dict[str, Any]:
        """A function's result as text."""
        given = values.from_text(arguments)
        try:
            result = self.shell.user_ns[name](*given)
        except Exception as error:
            raise own_error(error) from error
        return {"text": values.to_text(result)}


def _line_of(error: BaseException) -> int:
    """The line of the cell in which an error was raised; 0 where that is not known."""
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    frames = traceback.extract_tb(error.__traceback__)
    lines = [each.lineno for each in frames if each.name == "<module>"]
    return (lines[-1] if lines else 0) or 0


begin = Cells
