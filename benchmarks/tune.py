"""Random, evolutionary and packing search at equal trial counts, on the article's workload."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from common import Target, command_line, finish

from mlc_course.tensor_program import record
from mlc_course.tensor_program.search import report, tune
from mlc_course.tensor_program.search.draw import save_search_plot
from mlc_course.tensor_program.search.spaces import STRATEGIES
from mlc_course.tensor_program.workloads import make_workload

NAME, THREADS = "matmul_exp_matmul", 1
MINUTES = 15.0  # for one search, on two cores


def run(strategy: str, folder: Path, trials: int) -> record.Record:
    """Search, compare, and say how long the search took."""
    workload = make_workload(NAME)
    print(f"\n{strategy}: {STRATEGIES[strategy].why}", flush=True)
    start = time.monotonic()
    report.follow(
        tune.search(workload, STRATEGIES[strategy], folder, trials=trials, threads=THREADS),
        trials,
        0,
    )
    seconds = time.monotonic() - start
    return {**report.compare_best(workload, folder, threads=THREADS), "search_seconds": seconds}


def keep(folder: Path, taken: record.Record, target: Path) -> None:
    """Keep the best trace and every reading: enough to replay, small enough for git."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    lines = (folder / tune.RECORDS_FILE).read_text().splitlines()
    readings = tune.readings(folder)
    ran = [i for i, seconds in enumerate(readings) if seconds is not None]
    best = min(ran, key=lambda i: readings[i])  # type: ignore[arg-type, return-value]
    (target / tune.RECORDS_FILE).write_text(lines[best] + "\n")
    shutil.copy(folder / tune.WORKLOAD_FILE, target / tune.WORKLOAD_FILE)
    about = {
        **(tune.read_about(folder) or {}),
        "readings": readings,
        "best_s": readings[best],
        "numpy_s": taken["baseline"]["median_s"],
        "ratio_to_numpy": taken["rungs"][0]["ratio_to_numpy"],
        "search_seconds": taken["search_seconds"],
    }
    record.save(about, target / tune.ABOUT_FILE)


def main() -> int:
    parser = command_line(__doc__ or "")
    parser.add_argument("--trials", type=int, default=32, help="for each strategy")
    parser.add_argument("--recordings", type=Path, metavar="DIR", help="keep the best of each")
    arguments = parser.parse_args()
    taken: dict[str, record.Record] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for strategy in STRATEGIES:
            folder = Path(scratch) / strategy
            taken[strategy] = run(strategy, folder, arguments.trials)
            if arguments.recordings:
                keep(folder, taken[strategy], arguments.recordings / f"{NAME}_{strategy}")
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
