"""Four searches at equal trial counts, on the article's workload.

Each candidate is timed beside NumPy in the same child process, one thread, in seconds of CPU time:
a neighbour that takes the core for a while does not move them.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from common import Target, command_line, finish
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlc_course.commands import tune as report
from mlc_course.drawing import NUMPY, STYLE, round_ticks
from mlc_course.measure import limited_threads
from mlc_course.tensor_program.ladders import record
from mlc_course.tensor_program.problems import make_workload
from mlc_course.tensor_program.search import STRATEGIES, genes, kind_folder, measure, tune
from mlc_course.tensor_program.tir import Schedule

NAME, THREADS = "matmul_exp_matmul", 1
LIMIT_S = 60.0  # for one candidate; a busy machine may need seconds to start a child
MINUTES = 15.0  # for one search, on two cores
# Of Okabe and Ito's colours, those that are neither NumPy's nor the roof's.
COLOURS = ("#56b4e9", "#cc79a7", "#0072b2", "#e69f00")

Readings = Mapping[str, Sequence[float | None]]


def beside_numpy(
    path: str, shapes: list[tuple[int, ...]], threads: int, *, log: str
) -> list[float]:
    """In the child: time a candidate, and NumPy before and after it; write both down."""
    workload = make_workload(NAME)
    inputs, out = workload.inputs(), workload.output()

    def once() -> float:
        start = time.process_time()
        workload.numpy(*inputs, out)
        return time.process_time() - start

    with limited_threads(threads):
        once()
        before = [once(), once()]
        seconds = measure(path, shapes, threads, clock=time.process_time)
        taken = {"seconds": seconds, "numpy": [*before, once(), once()]}
    with Path(log).open("a") as file:
        file.write(json.dumps(taken) + "\n")
    return seconds


def run(strategy: str, folder: Path, trials: int) -> record.Record:
    """Search, compare, and say how long the search took."""
    workload = make_workload(NAME)
    print(f"\n{strategy}: {STRATEGIES[strategy].why}", flush=True)
    start = time.monotonic()
    timed = functools.partial(beside_numpy, log=str(folder.with_suffix(".log")))
    found = tune.search(
        workload,
        STRATEGIES[strategy],
        folder,
        trials=trials,
        threads=THREADS,
        limit_s=LIMIT_S,
        timed=timed,
    )
    report.follow(found, trials, 0)
    seconds = time.monotonic() - start
    return {**report.compare_best(workload, folder, threads=THREADS), "search_seconds": seconds}


def keep(folder: Path, taken: record.Record, target: Path) -> None:
    """Keep every reading and decision, and the traces: enough to replay each trial.

    Packing's traces are long and say nothing that its decisions do not: only its best is kept.
    """
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    lines = (folder / tune.RECORDS_FILE).read_text().splitlines()
    readings = tune.readings(folder)
    ran = [i for i, seconds in enumerate(readings) if seconds is not None]
    best = min(ran, key=lambda i: readings[i])  # type: ignore[arg-type, return-value]
    about = tune.read_about(folder) or {}
    kept = [lines[best]] if about["strategy"] == "packing" else lines
    (target / tune.RECORDS_FILE).write_text("".join(f"{line}\n" for line in kept))
    shutil.copy(folder / tune.WORKLOAD_FILE, target / tune.WORKLOAD_FILE)
    trials = trials_of(folder, readings)
    beside = [seconds for each in trials for seconds in each["numpy"]]
    about |= {
        "readings": readings,
        "trials": trials,
        "best_s": readings[best],
        "numpy_s": statistics.median(beside),
        "roof_s": taken["roofs"]["seconds"],
        "ratio_to_numpy": statistics.median(trials[best]["numpy"]) / (readings[best] or 1),
        "measured_again": taken["rungs"][0]["ratio_to_numpy"],  # without the winner's curse
        "search_seconds": taken["search_seconds"],
    }
    record.save(about, target / tune.ABOUT_FILE)


def trials_of(folder: Path, readings: list[float | None]) -> list[dict[str, Any]]:
    """Each trial's decisions, its readings, and NumPy's beside them."""
    workload, about = make_workload(NAME), tune.read_about(folder) or {}
    questions = STRATEGIES[about["strategy"]].questions(workload)
    logged = map(json.loads, folder.with_suffix(".log").read_text().splitlines())
    measured = {tuple(line["seconds"]): line for line in logged}
    times = (json.loads(each)[1][1] for each in (folder / tune.RECORDS_FILE).open())
    kept = []
    for place, (seconds, taken) in enumerate(zip(readings, times, strict=True)):
        sch = Schedule(workload.program())
        tune.replay(folder, place, sch)
        found = [[g.name, list(g.value)] for g in genes(workload, sch.trace, questions)]
        failed = {"seconds": None, "numpy": [], "error": f"not done after {LIMIT_S:g} s"}
        kept.append({"genes": found, **(failed if seconds is None else measured[tuple(taken)])})
    return kept


def search_figure(readings: Readings, numpy_s: float, foot: str) -> Figure:
    """Milliseconds of each trial by strategy, in the order of the search; failed ones are left out.

    ``numpy_s`` is NumPy's time in seconds; ``foot`` says machine and date.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 5.8), layout="constrained")
        axes = figure.subplots()
        for (name, seconds), colour in zip(readings.items(), COLOURS, strict=False):
            _search(axes, name, [1e3 * s if s is not None else math.nan for s in seconds], colour)
        axes.axhline(1e3 * numpy_s, color=NUMPY, linewidth=3, label="NumPy")
        axes.set(yscale="log", xlabel=f"trial\n\n{foot}", ylabel="time of one call, ms")
        every = [1e3 * s for s in itertools.chain(*readings.values(), [numpy_s]) if s is not None]
        round_ticks(axes.yaxis, min(every), max(every))
        axes.set_title("Best schedule so far (line) and every trial (dots)", loc="left")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure


def _search(axes: Axes, name: str, milliseconds: list[float], colour: str) -> None:
    ran = [math.inf if math.isnan(each) else each for each in milliseconds]
    best = list(itertools.accumulate(ran, min))
    trials = range(1, len(best) + 1)
    axes.plot(trials, milliseconds, "o", color=colour, alpha=0.5, markersize=6)
    axes.step(trials, best, where="post", color=colour, linewidth=3, label=name)


def save_search_plot(readings: Readings, numpy_s: float, foot: str, path: Path) -> None:
    """Write the picture; the file's ending says the format."""
    with mpl.rc_context(STYLE):
        search_figure(readings, numpy_s, foot).savefig(path, dpi=120)


def main() -> int:
    parser = command_line(__doc__, "the trials of each")
    parser.add_argument("--trials", type=int, default=64, help="for each strategy")
    arguments = parser.parse_args()
    taken: dict[str, record.Record] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for strategy in STRATEGIES:
            folder = Path(scratch) / strategy
            taken[strategy] = run(strategy, folder, arguments.trials)
            if arguments.recordings:
                of_kind = arguments.recordings / kind_folder(taken[strategy])
                keep(folder, taken[strategy], of_kind / f"{NAME}_{strategy}")
    ratio = {name: each["rungs"][0]["ratio_to_numpy"] for name, each in taken.items()}
    within = taken["packing"]["search_seconds"] <= MINUTES * 60
    targets = [
        Target("best of packing, NumPy / ours", 1.0, ratio["packing"]),
        Target(f"packing within {MINUTES:.0f} minutes (1 = yes)", 1.0, float(within)),
    ]
    figures = {
        "trials": arguments.trials,
        "strategies": {
            name: {
                "ratio_to_numpy": ratio[name],
                "ratio_iqr": each["rungs"][0]["ratio_iqr"],
                "ratio_interval": each["rungs"][0]["ratio_interval"],
                "warning": each["rungs"][0]["warning"],
                "best_s": each["search"]["seconds"],
                "search_seconds": each["search_seconds"],
                "readings": each["search"]["readings"],
            }
            for name, each in taken.items()
        },
    }
    readings = {name: each["search"]["readings"] for name, each in taken.items()}
    numpy_s = taken["packing"]["baseline"]["median_s"]
    foot = record.made_on(taken["packing"])
    return finish(
        arguments,
        figures,
        targets,
        lambda path: save_search_plot(readings, numpy_s, foot, path),
    )


if __name__ == "__main__":
    sys.exit(main())
