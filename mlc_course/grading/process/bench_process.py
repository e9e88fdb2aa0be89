"""The bench in a process of its own: our code on a student's data.

The grader asks with pickles, which it makes itself; answers are JSON, so that a program that broke
out of its arithmetic could not make the grader run anything.
"""

from __future__ import annotations

import pickle
from dataclasses import asdict

from mlc_course.grading.process import values
from mlc_course.grading.process.bench import Bench
from mlc_course.grading.process.finding import unmet
from mlc_course.tensor_program.tir import use_threads


class Served(Bench):
    """Answers ``(method, arguments)`` with the text of ``{"value": ...}`` or ``{"error": ...}``."""

    def __call__(self, message: bytes) -> bytes:
        method, arguments = pickle.loads(message)
        try:
            reply = {"value": getattr(self, method)(*arguments)}
        except Exception as error:
            told = asdict(unmet("program", error))
            reply = {"error": {name: str(text) for name, text in told.items()}}
        return values.to_text(reply).encode()


def begin() -> Served:
    """Return a bench whose programs run on one thread."""
    use_threads(1)
    return Served()
