"""A check of kernels for the box: right results in several orders, no fault, few transactions."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from mlc_course.deadline import until
from mlc_course.errors import CourseError, UnmetCheck
from mlc_course.grading.admission import admitted_kernel
from mlc_course.grading.checks.checking import Examined
from mlc_course.mugraph.box import Run, launch
from mlc_course.tensor_program.problems import Array
from mlc_course.units import plural

SECONDS = 20.0
ORDERS = ("ascending", "descending", 1)
ELEMENT = 4  # bytes: every array is of float32
Shapes = Mapping[str, tuple[int, ...]]
Extents = int | tuple[int, ...]


@dataclass(frozen=True)
class Runs:
    """The kernel makes ``outputs`` of ``inputs``, as ``exact`` does, and does nothing wrong.

    Its arguments are the thread, the outputs, the inputs and ``numbers``, in this order. Inputs are
    random, in float32, and the threads run in several orders. ``most`` bounds what a run counts:
    ``sectors``, ``wavefronts``, ``barriers`` (a block's), ``accesses`` to elements in device memory
    (four in a wide one), and ``requests``.
    """

    outputs: Shapes
    inputs: Shapes
    exact: Callable[..., Any]
    blocks: Extents = 1
    threads: Extents = 32
    numbers: Sequence[int] = ()
    most: Mapping[str, int] = field(default_factory=dict)
    tolerance: float = 1e-5
    seed: int = 0
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        """Run the kernel where the answer is."""
        return answer.bench.inspect(replace(self, seed=answer.seed))

    def inspect(self, subject: Any) -> str:
        """Run a kernel, given as its source, and say what was counted."""
        kernel = admitted_kernel(subject)
        self._check_arguments(kernel)
        with until(time.time() + SECONDS):
            runs = [self._run(kernel, order) for order in ORDERS]
        said = self._counted(runs[0])
        return f"right in {len(ORDERS)} orders{said}"

    def _check_arguments(self, kernel: Callable[..., Any]) -> None:
        names = list(inspect.signature(kernel).parameters)
        arrays = [*self.outputs, *self.inputs]
        if len(names) != 1 + len(arrays) + len(self.numbers):
            numbers = f", and {plural(len(self.numbers), 'number')}" if self.numbers else ""
            raise UnmetCheck(
                "your kernel takes other arguments than the exercise gives it",
                expected=f"the thread, {', '.join(arrays)}{numbers}",
                got=", ".join(names),
            )

    def _run(self, kernel: Callable[..., Any], order: Any) -> Run:
        rng = np.random.default_rng(self.seed)
        inputs = [
            rng.integers(-99, 100, shape).astype(np.float32) for shape in self.inputs.values()
        ]
        outputs = [np.full(shape, np.nan, np.float32) for shape in self.outputs.values()]
        given = [each.copy() for each in inputs]
        try:
            run = launch(
                kernel, *outputs, *inputs, *self.numbers,
                blocks=self.blocks, threads=self.threads, order=order,
            )  # fmt: skip
        except UnmetCheck:
            raise
        except CourseError as error:
            raise UnmetCheck(
                error.what, expected=error.expected, got=error.got, hint=error.hint
            ) from None
        except (TypeError, ValueError, ZeroDivisionError, UnboundLocalError) as error:
            raise UnmetCheck(
                "your kernel raises an error",
                expected="no error",
                got=f"{type(error).__name__}: {error}",
            ) from None
        if run.faults:
            fault = run.faults[0]
            places = "; ".join(map(str, dict.fromkeys(fault.places)))
            raise UnmetCheck(f"{fault.kind}: {fault.says}", got=places)
        for (name, _), before, after in zip(self.inputs.items(), given, inputs, strict=True):
            if not np.array_equal(before, after):
                raise UnmetCheck(f"{name}: an input is written", expected="inputs unchanged")
        expected = self.exact(*(each.astype(np.float64) for each in given))
        wanted = expected if isinstance(expected, tuple) else (expected,)
        for name, got, want in zip(self.outputs, outputs, wanted, strict=True):
            self._compare(name, got, np.asarray(want), order)
        return run

    def _compare(self, name: str, got: Array, want: Array, order: Any) -> None:
        scale = float(np.abs(want).max(initial=1))
        wrong = ~(np.abs(got - want) <= self.tolerance * scale)
        if wrong.any():
            at = tuple(int(n) for n in np.argwhere(wrong)[0])
            element = f"{name}[{', '.join(map(str, at))}]"
            value = "nothing: no thread writes it" if np.isnan(got[at]) else f"{got[at]:g}"
            raise UnmetCheck(
                f"{plural(int(wrong.sum()), 'element')} of {got.size} "
                f"{'is' if wrong.sum() == 1 else 'are'} wrong, first {element}",
                expected=f"{want[at]:g}",
                got=value,
            )

    def _counted(self, run: Run) -> str:
        counted = {
            "sectors": run.device.sectors,
            "wavefronts": run.shared.wavefronts,
            "barriers": run.barriers,
            "accesses": int(run.table["size"][~run.table.is_shared].sum()) // ELEMENT,
            "requests": run.device.requests,
        }
        for name, most in self.most.items():
            if counted[name] > most:
                raise UnmetCheck(
                    f"right, but too many {name}",
                    expected=f"at most {most:,}",
                    got=f"{counted[name]:,}",
                    hint=_most_of(run, name),
                )
        return "".join(f", {counted[name]:,} {name}" for name in self.most)


def _most_of(run: Run, name: str) -> str | None:
    """Return the line of the source that has most of what is counted."""
    if name not in ("sectors", "wavefronts"):
        return None
    most = max(run.counts, key=lambda each: int(getattr(each.traffic, name)), default=None)
    return f"most are at {most.place}" if most else None


# As exercises spell it: ``check(boxed(my_kernel), runs(...))``.
runs = Runs
