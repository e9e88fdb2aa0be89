"""An answer as a check sees it, and the form of a check.

The same check runs in a notebook, where the bench is an object and the seed is public, and in the
grader, where bench and function are in other processes and the seed is secret.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from mlc_course.errors import TooNoisy
from mlc_course.grading.bench import Bench, Inspection
from mlc_course.grading.finding import Finding, Verdict, met, unmet
from mlc_course.tensor_program.problems.workload import Array, Workload

PUBLIC_SEED = 20260


class BenchLike(Protocol):
    """What a check may ask of a bench, near or far."""

    def inspect(self, check: Inspection) -> str: ...
    def run(self, inputs: list[Array]) -> Array: ...
    def race(self, rung: str, inputs: list[Array]) -> None: ...
    def repeat(self, contestant: str, times: int) -> None: ...


@dataclass
class Examined:
    """An answer under examination: a program or a value on a bench, or a function to call.

    ``reference_ratio`` is what the reference solution reaches in a race on this machine; None
    where there is no reference, as in a student's notebook. ``patient`` is the grader, which has
    more than two seconds: it runs a noisy race again, and holds a time against the machine's roof.
    """

    bench: BenchLike = field(default_factory=Bench)
    problem: Workload | None = None
    value: Any = None
    call: Callable[..., Any] | None = None
    seed: int = PUBLIC_SEED
    reference_ratio: float | None = None
    patient: bool = False

    def rng(self) -> np.random.Generator:
        """Random numbers that the answer cannot foresee."""
        return np.random.default_rng(self.seed)


class Check(Protocol):
    """One demand on an answer. Its ``kind`` is one word for tables; ``judge`` returns what it saw.

    ``judge`` raises ``UnmetCheck`` when the demand is not met, or another ``CourseError`` that says
    why.
    """

    @property
    def kind(self) -> str: ...

    def judge(self, answer: Examined) -> str: ...


def examine(check: Check, answer: Examined) -> Finding:
    """Judge, and put what came of it into words."""
    try:
        return met(check.kind, check.judge(answer))
    except TooNoisy as error:
        return Finding(check.kind, Verdict.UNJUDGED, error.what, got=str(error.got))
    except Exception as error:
        return unmet(check.kind, error)
