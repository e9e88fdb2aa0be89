"""One trial: a candidate is compiled and timed in a child process, which may crash or hang.

TVM's own local runner links a shared library with the system's C++ compiler for every candidate;
here the child compiles in memory, so a machine without a compiler can search too.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlc_course.tensor_program import tvm_names
from mlc_course.tensor_program.problems.workload import aligned
from mlc_course.tensor_program.tvm_names import derived_object, meta_schedule

DEVIATION = 0.02  # of the inputs: small enough for exp of a product to stay finite
READINGS = 3
SLOW_S = 0.5  # a candidate this slow is run once: a warm-up would change little and cost much


@dataclass(frozen=True)
class Tried:
    """One measured candidate; ``seconds`` is None when it failed, and ``error`` says how."""

    seconds: float | None
    error: str | None


def measure(
    path: str,
    shapes: list[tuple[int, ...]],
    threads: int,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """In the child: compile the program in a file, run it on random inputs; seconds a call.

    On one thread, ``time.process_time`` is a clock that neighbours on the same core do not move.
    """
    module = tvm_names.load_program(Path(path).read_text())
    run = tvm_names.compile_program(module, threads=threads)
    tvm_names.use_threads(threads)
    rng = np.random.default_rng(0)
    tensors = [tvm_names.shared_tensor(aligned(rng.normal(0, DEVIATION, s))) for s in shapes]

    def once() -> float:
        start = clock()
        run(*tensors)
        return clock() - start

    first = once()
    return [first] if first > SLOW_S else [once() for _ in range(READINGS)]


@derived_object
class InMemoryBuilder(meta_schedule.builder.PyBuilder):  # type: ignore[misc]
    """Writes each candidate down for the child that will compile it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def build(self, build_inputs: list[Any]) -> list[Any]:
        return [
            meta_schedule.builder.BuilderResult(self._write(each.mod), None)
            for each in build_inputs
        ]

    def _write(self, module: Any) -> str:
        with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".json", delete=False) as f:
            f.write(tvm_names.dump_program(module))
        return f.name


@derived_object
class _Known(meta_schedule.runner.PyRunnerFuture):  # type: ignore[misc]
    def __init__(self, seconds: list[float] | None, error: str | None) -> None:
        super().__init__()
        self.seconds, self.error = seconds, error

    def done(self) -> bool:
        return True

    def result(self) -> Any:
        return meta_schedule.runner.RunnerResult(self.seconds, self.error)


@derived_object
class ChildRunner(meta_schedule.runner.PyRunner):  # type: ignore[misc]
    """Times each candidate in a child process and tells ``on_trial`` at once.

    A child that is not done after ``limit_s`` seconds is killed; one that dies is replaced.
    """

    def __init__(
        self,
        threads: int,
        limit_s: float,
        on_trial: Callable[[Tried], None],
        timed: Callable[..., list[float]] = measure,
    ) -> None:
        super().__init__()
        self.threads, self.on_trial, self.timed = threads, on_trial, timed
        self.limit_s = limit_s
        self.pool = tvm_names.PopenPoolExecutor(max_workers=1, timeout=limit_s)

    def run(self, runner_inputs: list[Any]) -> list[Any]:
        return [self._run(each) for each in runner_inputs]

    def _run(self, candidate: Any) -> _Known:
        shapes = [tuple(int(n) for n in info.shape) for info in candidate.args_info]
        path = str(candidate.artifact_path)
        try:
            future = self.pool.submit(self.timed, path, shapes, self.threads)
            seconds, error = future.result(), None
        except TimeoutError:
            seconds, error = None, f"not done after {self.limit_s:g} s"
        except Exception as failure:  # whatever happened in the child is this candidate's alone
            seconds, error = None, f"{type(failure).__name__}: {failure}"
        Path(path).unlink(missing_ok=True)
        self.on_trial(Tried(float(np.median(seconds)) if seconds else None, error))
        return _Known(seconds, error)
