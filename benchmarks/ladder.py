"""The article's ladder on its own sizes, on all cores, and on sizes that nothing divides."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from common import Target, command_line, finish

from mlc_course.machine import usable_cores
from mlc_course.tensor_program.ladders import Rung, climb, ladder, record, roofline
from mlc_course.tensor_program.memory import higher, measure_roofs
from mlc_course.tensor_program.plots import save_plot
from mlc_course.tensor_program.problems import make_workload

INDIVISIBLE = (1000, 1999, 1001, 3001)


@dataclass(frozen=True)
class Climb:
    """One ladder to climb, and the ratio to NumPy that its last rung was built for."""

    title: str
    name: str
    sizes: tuple[int, ...]
    threads: int
    wanted: float


CLIMBS = (
    Climb("1 thread", "matmul_exp_matmul", (), 1, 1.05),
    Climb("all threads", "matmul_exp_matmul", (), usable_cores(), 1.0),
    Climb("indivisible sizes, 1 thread", "matmul_exp_matmul", INDIVISIBLE, 1, 0.95),
    Climb("matmul, 1 thread", "matmul", (), 1, 1.0),
    Climb("linear_relu, 1 thread", "linear_relu", (), 1, 1.0),
    Climb("softmax, 1 thread", "softmax", (), 1, 1.0),
    Climb("conv2d, 1 thread", "conv2d", (), 1, 1.0),
)


def run(which: Climb, budget_s: float) -> record.Record:
    workload, roofs = make_workload(which.name, which.sizes), measure_roofs(which.threads)
    rungs: tuple[Rung, ...] = ladder(which.name)
    climbed = []
    start = record.ladder_record(workload, [], roofs, threads=which.threads)
    print(f"\n{record.title(start)}\n{record.HEAD}", flush=True)
    for done in climb(workload, rungs, threads=which.threads, budget_s=budget_s):
        climbed.append(done)
        print(record.row(record.rung_record(workload, done, roofs)), flush=True)
    roofs = higher(roofs, measure_roofs(which.threads))
    return record.ladder_record(workload, climbed, roofs, threads=which.threads)


def without_programs(taken: record.Record) -> record.Record:
    rungs = [{k: v for k, v in rung.items() if k != "program"} for rung in taken["rungs"]]
    return {**taken, "rungs": rungs}


def main() -> int:
    parser = command_line(__doc__, "records for lessons")
    parser.add_argument("--budget", type=float, default=8.0, help="seconds of measuring a rung")
    arguments = parser.parse_args()
    taken = {which.title: run(which, arguments.budget) for which in CLIMBS}
    targets = [
        Target(which.title, which.wanted, taken[which.title]["rungs"][-1]["ratio_to_numpy"])
        for which in CLIMBS
    ]
    if arguments.recordings:
        *_, counted = roofline.counted(taken["1 thread"], ladder("matmul_exp_matmul"))
        moved = {rung["name"]: {"bytes_moved": rung["bytes_moved"]} for rung in counted["rungs"]}
        for title, name in (("1 thread", "1_thread"), ("all threads", "all_threads")):
            path = arguments.recordings / f"matmul_exp_matmul_{name}.json"
            rungs = [{**rung, **moved[rung["name"]]} for rung in taken[title]["rungs"]]
            record.save({**taken[title], "rungs": rungs}, path)
    figures = {"climbs": {title: without_programs(each) for title, each in taken.items()}}
    return finish(arguments, figures, targets, lambda path: save_plot(taken["1 thread"], path))


if __name__ == "__main__":
    sys.exit(main())
