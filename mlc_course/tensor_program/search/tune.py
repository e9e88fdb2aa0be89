"""Run a search, keep its database, resume it, and read the best schedule back."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlc_course.background import pushed
from mlc_course.errors import UsageError
from mlc_course.machine import usable_cores
from mlc_course.tensor_program.ladder import Rung
from mlc_course.tensor_program.problems.workload import Workload
from mlc_course.tensor_program.record import Record, provenance, save
from mlc_course.tensor_program.search.spaces import Strategy
from mlc_course.tensor_program.search.spaces import strategy as strategy_of
from mlc_course.tensor_program.search.trial import ChildRunner, InMemoryBuilder, Tried, measure
from mlc_course.tensor_program.tvm_names import (
    Schedule,
    Trace,
    compiled_module,
    cpu_target,
    derived_object,
    meta_schedule,
)

WORKLOAD_FILE, RECORDS_FILE, ABOUT_FILE = "workload.json", "records.json", "about.json"
BATCH = 8  # candidates between two looks of the cost model; small, so that progress is seen
WARM_UP = 2 * BATCH  # trials before the cost model is asked; TVM's default of 100 is never reached
FAILED_S = 1e9  # TVM writes 1e10 seconds for a candidate that failed


@dataclass(frozen=True)
class Fleet:
    """Machines that measure for us, behind a TVM RPC tracker."""

    host: str
    port: int
    key: str


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
) -> Iterator[Tried]:
    """Measure candidates until the folder's database holds ``trials`` of them; yields each.

    What the folder holds already counts, so an interrupted run goes on where it stopped. The same
    seed draws the same candidates. A candidate that crashes or is not done after ``limit_s``
    seconds is a ``Tried`` with an error, and the search goes on. ``timed`` measures a candidate in
    the child, as ``trial.measure`` does.

    Raises ``UsageError`` when the folder holds another search, or one of another machine.
    """
    _claim(folder, _about(workload, strategy, threads, seed))
    database = open_database(folder)
    done = len(database)
    if done >= trials:
        return iter(())

    def run(push: Callable[[Tried], None]) -> None:
        with tempfile.TemporaryDirectory() as drafts:
            here = InMemoryBuilder(Path(drafts)), ChildRunner(threads, limit_s, push, timed)
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
                measure_callbacks=_callbacks(push if fleet else None),
                cost_model=meta_schedule.cost_model.XGBModel(
                    num_warmup_samples=WARM_UP, num_tuning_cores=usable_cores()
                ),
            )

    logging.getLogger("tvm.s_tir.meta_schedule").setLevel(logging.ERROR)
    return pushed(run)


def _about(workload: Workload, strategy: Strategy, threads: int, seed: int) -> Record:
    return {
        **provenance(),
        "workload": {"name": workload.name, "sizes": dict(workload.sizes)},
        "strategy": strategy.name,
        "threads": threads,
        "seed": seed,
    }


def _claim(folder: Path, about: Record) -> None:
    """Write down what this folder's database is about, or check that it is about the same."""
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
    about: Record = json.loads(path.read_text())
    return about


def open_database(folder: Path) -> Any:
    """The folder's database, made when there is none."""
    paths = [str(folder / name) for name in (WORKLOAD_FILE, RECORDS_FILE)]
    return meta_schedule.database.JSONDatabase(*paths, allow_missing=True)


def readings(folder: Path) -> list[float | None]:
    """Seconds of each trial in the order of the search; None for one that failed."""
    path = folder / RECORDS_FILE
    times = [json.loads(line)[1][1] for line in path.read_text().splitlines()]
    seconds = [sum(taken) / len(taken) for taken in times]
    return [None if s >= FAILED_S else s for s in seconds]


def replay(folder: Path, place: int, sch: Schedule) -> None:
    """Do to a schedule what one trial did, by its place in the search.

    (TVM's own reader of a database sorts the trials by their time.)
    """
    line = (folder / RECORDS_FILE).read_text().splitlines()[place]
    Trace.apply_json_to_schedule(json.loads(line)[1][0], sch)


@dataclass(frozen=True)
class Found:
    """The fastest schedule of a database, as a rung, and the seconds recorded for it."""

    rung: Rung
    seconds: float


def best(folder: Path) -> Found | None:
    """None when the folder's database holds no candidate that ran.

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


def _task(workload: Workload, strategy: Strategy, threads: int, seed: int) -> Any:
    return meta_schedule.TuneContext(
        mod=workload.program(),
        target=cpu_target(threads),
        space_generator=strategy.space(workload),
        search_strategy=strategy.method,
        task_name="main",
        rand_state=1 + seed,  # TVM wants 1 or more
        num_threads=usable_cores(),
        logger=logging.getLogger("tvm.s_tir.meta_schedule"),
    ).clone()


def remote(fleet: Fleet, limit_s: float) -> tuple[Any, Any]:
    """TVM's own builder and runner: the other side links what it is sent with its C++ compiler."""
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
    """Tells what a fleet measured, a batch at a time."""

    def __init__(self, push: Callable[[Tried], None]) -> None:
        super().__init__()
        self.push = push

    def apply(self, _scheduler: Any, _task: int, _candidates: Any, _built: Any, ran: Any) -> None:
        for result in ran:
            failed = result.error_msg is not None
            seconds = None if failed else sum(map(float, result.run_secs)) / len(result.run_secs)
            self.push(Tried(seconds, str(result.error_msg) if failed else None))


def _callbacks(push: Callable[[Tried], None] | None) -> list[Any]:
    kept = meta_schedule.measure_callback
    own = [kept.AddToDatabase(), kept.UpdateCostModel()]
    return [_Reporter(push), *own, kept.RemoveBuildArtifact()] if push else own
