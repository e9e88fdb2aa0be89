"""The article's ladder on its own sizes, on all cores, and on sizes that nothing divides.

With ``--recordings`` the article's climbs are kept for the lessons, each instruction set in its
folder of ``mlc_course/tensor_program/ladders/recordings``. A machine with AVX-512 makes those of
AVX2 with ``MLC_COURSE_ISA=AVX2 OPENBLAS_CORETYPE=Haswell``.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
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
    Climb("indivisible sizes, 1 thread", "matmul_exp_matmul", INDIVISIBLE, 1, 1.0),
    Climb("matmul, 1 thread", "matmul", (), 1, 1.0),
    Climb("linear_relu, 1 thread", "linear_relu", (), 1, 1.05),
    Climb("softmax, 1 thread", "softmax", (), 1, 1.5),
    Climb("conv2d, 1 thread", "conv2d", (), 1, 1.2),
)
FRACTION_OF_PEAK = 0.80  # the last rung on the article's sizes, one thread
CLIMBS_ON = 0.97  # of the speed of the rung before, from reorder on, unless it is a setback
MEAN, LEAST = 1.0, 0.9  # of the ratios on drawn shapes
SHAPES_SEED = 2026


def drawn_shapes(seed: int) -> dict[str, tuple[int, int, int, int]]:
    """Ten sizes (M, K, L, N) of matmul_exp_matmul, of every kind that a library meets."""
    rng = random.Random(seed)

    def size(low: int, high: int) -> int:
        return round(math.exp(rng.uniform(math.log(low), math.log(high))))

    side, other = size(300, 700), size(900, 1600)
    return {
        "square": (side,) * 4,
        "larger square": (other,) * 4,
        "tall": (size(4000, 9000), size(100, 400), size(100, 400), size(100, 400)),
        "wide": (size(80, 300), size(500, 1000), size(2000, 4000), size(2000, 4000)),
        "short sums": (size(1000, 2000), size(8, 64), size(8, 64), size(1000, 2000)),
        "long sums": (size(150, 400), size(6000, 16000), size(100, 300), size(150, 400)),
        "1 row": (1, size(500, 3000), size(500, 3000), size(500, 3000)),
        "few rows": (size(2, 12), size(500, 3000), size(500, 3000), size(500, 3000)),
        "a batch": (size(13, 40), size(500, 3000), size(500, 3000), size(500, 3000)),
        "64 rows": (64, size(500, 3000), size(500, 3000), size(500, 3000)),
    }


def run(which: Climb, budget_s: float, rungs: tuple[Rung, ...] = ()) -> record.Record:
    workload, roofs = make_workload(which.name, which.sizes), measure_roofs(which.threads)
    rungs = rungs or ladder(which.name)
    climbed = []
    start = record.ladder_record(workload, [], roofs, threads=which.threads)
    print(f"\n{record.title(start)}\n{record.HEAD}", flush=True)
    for done in climb(workload, rungs, threads=which.threads, budget_s=budget_s):
        climbed.append(done)
        print(record.row(record.rung_record(workload, done, roofs)), flush=True)
    roofs = higher(roofs, measure_roofs(which.threads))
    return record.ladder_record(workload, climbed, roofs, threads=which.threads)


def gains(taken: record.Record) -> dict[str, float]:
    """The speed of each rung after reorder / that of the one before it; setbacks are left out.

    Both speeds are ratios to NumPy's, which was timed in turns with each of the two.
    """
    rungs = taken["rungs"]
    first = [rung["name"] for rung in rungs].index("reorder")
    return {
        f"{before['name']} to {rung['name']}": rung["ratio_to_numpy"] / before["ratio_to_numpy"]
        for before, rung in itertools.pairwise(rungs[first:])
        if not rung["setback"]
    }


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
    targets.append(
        Target(
            "fraction of the peak, 1 thread",
            FRACTION_OF_PEAK,
            taken["1 thread"]["rungs"][-1]["fraction_of_peak"],
        )
    )
    least, gain = min(gains(taken["1 thread"]).items(), key=lambda each: each[1])
    print(f"\nthe least gain of a rung after reorder: {gain:.3f}, from {least}")
    targets.append(Target("the least gain of a rung, 1 thread", CLIMBS_ON, gain))
    last = ladder("matmul_exp_matmul")[-1:]
    shapes = {
        kind: run(Climb(kind, "matmul_exp_matmul", sizes, 1, LEAST), arguments.budget, last)
        for kind, sizes in drawn_shapes(SHAPES_SEED).items()
    }
    ratios = [each["rungs"][-1]["ratio_to_numpy"] for each in shapes.values()]
    targets.append(Target("ten shapes, geometric mean", MEAN, statistics.geometric_mean(ratios)))
    targets.append(Target("ten shapes, the least", LEAST, min(ratios)))
    if arguments.recordings:
        *_, counted = roofline.counted(taken["1 thread"], ladder("matmul_exp_matmul"))
        moved = {rung["name"]: {"bytes_moved": rung["bytes_moved"]} for rung in counted["rungs"]}
        for title, name in (("1 thread", "1_thread"), ("all threads", "all_threads")):
            rungs = [{**rung, **moved[rung["name"]]} for rung in taken[title]["rungs"]]
            file = record.recording_file(f"matmul_exp_matmul_{name}", taken[title])
            record.save({**taken[title], "rungs": rungs}, arguments.recordings / file)
    figures = {
        "climbs": {title: without_programs(each) for title, each in taken.items()},
        "shapes": {kind: without_programs(each) for kind, each in shapes.items()},
    }
    return finish(arguments, figures, targets, lambda path: save_plot(taken["1 thread"], path))


if __name__ == "__main__":
    sys.exit(main())
