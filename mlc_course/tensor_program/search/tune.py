"""MetaSchedule searches: run one, keep its database, resume it, read the best schedule back.

Each candidate is compiled and timed in a child process, which may crash or hang. TVM's own local
runner links a shared library with the system's C++ compiler for every candidate; here the child
compiles in memory, so a machine without a compiler can search too.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import logging
import math
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from mlc_course.errors import UsageError
from mlc_course.machine import usable_cores
from mlc_course.parallel import Pushed, die_with_parent
from mlc_course.tensor_program.ladders import Record, Rung, provenance, save
from mlc_course.tensor_program.problems import Workload, aligned
from mlc_course.tensor_program.search.spaces import Strategy
from mlc_course.tensor_program.search.spaces import strategy as strategy_of
from mlc_course.tensor_program.tir import (
    Schedule,
    Trace,
    compile_program,
    compiled_module,
    cpu_target,
    derived_object,
    load_cpu_intrinsics,
    meta_schedule,
    tvm,
)

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
    """Compile the program in a file, in the child, and time it on random inputs: seconds a call.

    On one thread, ``time.process_time`` is a clock that neighbours on the same core do not move.
    """
    module = tvm.load_program(Path(path).read_text())
    run = compile_program(module, threads=threads)
    tvm.use_threads(threads)
    rng = np.random.default_rng(0)
    tensors = [tvm.shared_tensor(aligned(rng.normal(0, DEVIATION, s))) for s in shapes]

    def once() -> float:
        start = clock()
        run(*tensors)
        return clock() - start

    first = once()
    return [first] if first > SLOW_S else [once() for _ in range(READINGS)]


def _checked(seconds: list[float]) -> list[float]:
    """The readings of a clock; raises ``UsageError`` where these are no times."""
    if not seconds or not all(0 < each < math.inf for each in seconds):
        raise UsageError("the clock gave no times", expected="seconds above 0", got=seconds)
    return seconds


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
            f.write(tvm.dump_program(module))
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
        pool: Any,
        threads: int,
        limit_s: float,
        on_trial: Callable[[Tried], None],
        timed: Callable[..., list[float]] = measure,
    ) -> None:
        super().__init__()
        self.threads, self.on_trial, self.timed = threads, on_trial, timed
        self.limit_s, self.pool = limit_s, pool

    def run(self, runner_inputs: list[Any]) -> list[Any]:
        return [self._run(each) for each in runner_inputs]

    def _run(self, candidate: Any) -> _Known:
        shapes = [tuple(int(n) for n in info.shape) for info in candidate.args_info]
        path = str(candidate.artifact_path)
        future = self.pool.submit(self.timed, path, shapes, self.threads)  # not at Python's end
        try:
            seconds, error = _checked(future.result()), None
        except TimeoutError:
            seconds, error = None, f"not done after {self.limit_s:g} s"
        except Exception as failure:  # whatever happened in the child is this candidate's alone
            seconds, error = None, f"{type(failure).__name__}: {failure}"
        Path(path).unlink(missing_ok=True)
        self.on_trial(Tried(float(np.median(seconds)) if seconds else None, error))
        return _Known(seconds, error)


# --- a search and its database --------------------------------------------------------------------

WORKLOAD_FILE, RECORDS_FILE, ABOUT_FILE = "workload.json", "records.json", "about.json"
LOCK_FILE = ".lock"
BATCH = 8  # candidates between two looks of the cost model; small, so that progress is seen
WARM_UP = 2 * BATCH  # trials before the cost model is asked; TVM's default of 100 is never reached
FAILED_S = 1e9  # TVM writes 1e10 seconds for a candidate that failed


@dataclass(frozen=True)
class Fleet:
    """Machines that measure for us, behind a TVM RPC tracker."""

    host: str
    port: int
    key: str


class _Left(Exception):
    """Nobody reads what a search finds any more."""


def search(
    workload: Workload,
    strategy: Strategy,
    folder: Path,
    *,
    trials: int,
    threads: int = 1,
    seed: int = 0,
    limit_s: float = 10.0,
    fleet: Fleet | None = None,
    timed: Callable[..., list[float]] = measure,
) -> Pushed[Tried]:
    """Measure candidates until the folder's database holds ``trials`` of them; yields each.

    What the folder holds already is counted, so an interrupted run goes on where it stopped. The
    same seed draws the same candidates, but for the evolutionary strategy: its cost model learns
    from times. A candidate that crashes or is not done after ``limit_s`` seconds is a ``Tried``
    with an error, and the search goes on. ``timed`` measures a candidate in the child, as
    ``measure`` does. Who closes the iterator waits for the candidate that is being measured, or for
    the cost model that learns; nothing is searched or written after that. The batch that was not
    finished is lost.

    Raises ``UsageError`` when the folder holds another search, or one of another machine, when
    another process searches into it, and when the disk did not keep what was measured.
    """
    lock = _locked(folder)
    try:
        _claim(folder, _about(workload, strategy, threads, seed))
        database = open_database(folder)
        done = len(database)
    except BaseException:
        lock.release()
        raise
    if done >= trials:
        lock.release()
        return Pushed(lambda _: None)

    is_left = threading.Event()

    def run(push: Callable[[Tried], None]) -> None:
        told = itertools.count(done)

        def tell(tried: Tried) -> None:
            if is_left.is_set():
                raise _Left
            next(told)
            push(tried)

        with contextlib.ExitStack() as stack:
            stack.callback(lock.release)
            if hasattr(signal, "pthread_sigmask"):  # Ctrl-C is no candidate's, whose process
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherits this
            drafts = stack.enter_context(tempfile.TemporaryDirectory())
            pool = tvm.PopenPoolExecutor(
                1, limit_s, initializer=die_with_parent, initargs=(os.getpid(),)
            )
            stack.callback(pool.shutdown)
            here = InMemoryBuilder(Path(drafts)), ChildRunner(pool, threads, limit_s, tell, timed)
            builder, runner = remote(fleet, limit_s) if fleet else here
            meta_schedule.tune.tune_tasks(
                tasks=[_task(workload, strategy, threads, seed + done)],
                task_weights=[1.0],
                work_dir=drafts,
                max_trials_global=trials - done,
                num_trials_per_iter=min(BATCH, trials - done),
                builder=builder,
                runner=runner,
                database=database,
                measure_callbacks=_callbacks(tell if fleet else None, learns=_learns(strategy)),
                cost_model=_cost_model() if _learns(strategy) else "none",
            )

            _check_kept(folder, next(told))

    logging.getLogger("tvm.s_tir.meta_schedule").setLevel(logging.ERROR)
    try:
        return Pushed(run, is_left.set)
    except RuntimeError:  # no thread is to be had
        lock.release()
        raise


def _locked(folder: Path) -> FileLock:
    """The right to write into a folder, which ends with this process at the latest."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK_FILE, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UsageError(
            f"another search writes into {folder}",
            expected="one at a time",
            got=f"{folder / LOCK_FILE} is locked",
            hint="wait for it, or name another folder: --out DIR",
        ) from None
    return lock


def _check_kept(folder: Path, trials: int) -> None:
    kept = len(_lines(folder / RECORDS_FILE))
    if kept < trials:
        raise UsageError(
            f"{folder / RECORDS_FILE} did not keep what was measured",
            expected=f"{trials} trials",
            got=kept,
            hint="is the disk full? The same search goes on where the file ends",
        )


def _about(workload: Workload, strategy: Strategy, threads: int, seed: int) -> Record:
    return {
        **provenance(),
        "workload": {"name": workload.name, "sizes": dict(workload.sizes)},
        "strategy": strategy.name,
        "threads": threads,
        "seed": seed,
    }


def _claim(folder: Path, about: Record) -> None:
    """Note what search this folder is for, or check that it is for the same."""
    kept = read_about(folder)
    if kept is None:
        save(about, folder / ABOUT_FILE)
        return
    differing = [
        f"{key} {kept[key]!r}"
        for key in ("workload", "strategy", "threads", "machine")
        if kept[key] != about[key]
    ]
    if differing:
        raise UsageError(
            f"{folder} holds another search",
            expected="; ".join(f"{d.split()[0]} {about[d.split()[0]]!r}" for d in differing),
            got="; ".join(differing),
            hint="name another folder: --out DIR",
        )


def read_about(folder: Path) -> Record | None:
    """The machine, date, workload, strategy and threads of a folder's database, if it has one."""
    path = folder / ABOUT_FILE
    if not path.exists():
        return None
    try:
        about: Record = json.loads(path.read_text())
        if {"machine", "workload", "strategy", "threads"} <= about.keys():
            return about
    except (ValueError, AttributeError):
        pass
    raise UsageError(
        f"{path} is damaged",
        expected="what this folder's search is for, as JSON",
        got=f"{path.stat().st_size} bytes",
        hint=f"the trials are in {RECORDS_FILE}; search into another folder: --out DIR",
    )


def open_database(folder: Path) -> Any:
    """The folder's database, made when there is none.

    A last line that was not written whole is dropped. Raises ``UsageError`` for any other line that
    is no record.
    """
    for name in (WORKLOAD_FILE, RECORDS_FILE):
        _drop_torn_line(folder / name)
    paths = [str(folder / name) for name in (WORKLOAD_FILE, RECORDS_FILE)]
    return meta_schedule.database.JSONDatabase(*paths, allow_missing=True)


def _lines(path: Path) -> list[Any]:
    """The records in a file of TVM's, one a line; without a last one that was not written whole."""
    found = []
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            if not isinstance(record, list) or len(record) != 2:
                raise ValueError
        except ValueError:
            if number == len(lines) and not line.endswith(b"\n"):
                break
            raise UsageError(
                f"{path}, line {number}: no record",
                expected="a line of JSON, as TVM writes it",
                got=line[:40].decode(errors="replace"),
                hint="delete this line" if path.name == RECORDS_FILE else "use another folder",
            ) from None
        found.append(record)
    return found


def _drop_torn_line(path: Path) -> None:
    """Let a file end with a whole line, so that TVM appends a line of its own."""
    records = _lines(path)
    if not path.exists() or (content := path.read_bytes()).endswith(b"\n") or not content:
        return
    whole = b"".join(content.splitlines(keepends=True)[: len(records)])
    draft = path.with_name(path.name + ".part")
    draft.write_bytes(whole if whole.endswith(b"\n") or not whole else whole + b"\n")
    draft.replace(path)


def readings(folder: Path) -> list[float | None]:
    """Seconds of each trial in the order of the search; None for one that failed."""
    times = [record[1][1] for record in _lines(folder / RECORDS_FILE)]
    seconds = [sum(taken) / len(taken) for taken in times]
    return [None if s >= FAILED_S else s for s in seconds]


def replay(folder: Path, place: int, sch: Schedule) -> None:
    """Apply to a schedule what one trial did, given its place in the order of the search.

    TVM's own reader of a database sorts the trials by their time.
    """
    Trace.apply_json_to_schedule(_lines(folder / RECORDS_FILE)[place][1][0], sch)


@dataclass(frozen=True)
class Found:
    """The fastest schedule of a database, as a rung, and the seconds recorded for it."""

    rung: Rung
    seconds: float


def best(folder: Path) -> Found | None:
    """The fastest schedule of a folder's database, or None when no candidate of it ran.

    Raises ``UsageError`` when the folder holds no search at all.
    """
    about = read_about(folder)
    if about is None:
        raise UsageError(f"no search in {folder}", expected=f"a folder with {ABOUT_FILE}")
    records = [r for r in open_database(folder).get_all_tuning_records() if _seconds(r) < FAILED_S]
    if not records:
        return None
    fastest = min(records, key=_seconds)
    used = strategy_of(about["strategy"])

    def apply(sch: Schedule) -> None:
        fastest.trace.apply_to_schedule(sch, remove_postproc=False)
        used.finish(sch)

    return Found(Rung(f"{used.name} search", used.why, apply), _seconds(fastest))


def _seconds(record: Any) -> float:
    times = [float(t) for t in record.run_secs or [FAILED_S]]
    return sum(times) / len(times)


def _learns(strategy: Strategy) -> bool:
    return strategy.method == "evolutionary"


def _cost_model() -> Any:
    """Return a model that learns from times: so few that several cores would only wait."""
    return meta_schedule.cost_model.XGBModel(num_warmup_samples=WARM_UP, num_tuning_cores=1)


def _task(workload: Workload, strategy: Strategy, threads: int, seed: int) -> Any:
    load_cpu_intrinsics()
    return meta_schedule.TuneContext(
        mod=workload.program(),
        target=cpu_target(threads),
        space_generator=strategy.space(workload),
        search_strategy=strategy.method,
        task_name="main",
        rand_state=1 + seed,  # TVM wants 1 or more
        num_threads=usable_cores() if _learns(strategy) else 1,  # several draw in no certain order
        logger=logging.getLogger("tvm.s_tir.meta_schedule"),
    ).clone()


def remote(fleet: Fleet, limit_s: float) -> tuple[Any, Any]:
    """TVM's builder and runner for a fleet, whose machines link with their C++ compiler."""
    config = meta_schedule.runner.RPCConfig(
        tracker_host=fleet.host,
        tracker_port=fleet.port,
        tracker_key=fleet.key,
        session_timeout_sec=limit_s,
    )
    evaluator = meta_schedule.runner.EvaluatorConfig(number=1, repeat=3, min_repeat_ms=0)
    # The default f_build imports TVM's GPU intrinsics into every worker: 15 s each time.
    builder = meta_schedule.builder.LocalBuilder(f_build=compiled_module, max_workers=1)
    return builder, meta_schedule.runner.RPCRunner(config, evaluator)


@derived_object
class _Reporter(meta_schedule.measure_callback.PyMeasureCallback):  # type: ignore[misc]
    """Reports what a fleet measured, a batch at a time."""

    def __init__(self, push: Callable[[Tried], None]) -> None:
        super().__init__()
        self.push = push

    def apply(self, _scheduler: Any, _task: int, _candidates: Any, _built: Any, ran: Any) -> None:
        for result in ran:
            failed = result.error_msg is not None
            seconds = None if failed else sum(map(float, result.run_secs)) / len(result.run_secs)
            self.push(Tried(seconds, str(result.error_msg) if failed else None))


def _callbacks(push: Callable[[Tried], None] | None, *, learns: bool) -> list[Any]:
    kept = meta_schedule.measure_callback
    own = [kept.AddToDatabase(), *([kept.UpdateCostModel()] if learns else [])]
    return [_Reporter(push), *own, kept.RemoveBuildArtifact()] if push else own
