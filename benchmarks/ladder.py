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

from mlc_course.machine import describe, usable_cores
from mlc_course.tensor_program.ladders import (
    PRODUCTS,
    RegisterTile,
    Rung,
    climb,
    ladder,
    left_is_larger,
    micro_kernel,
    most_rows,
    panels,
    race,
    record,
    roofline,
    tile_for,
)
from mlc_course.tensor_program.memory import higher, measure_roofs
from mlc_course.tensor_program.plots import save_plot
from mlc_course.tensor_program.problems import make_workload
from mlc_course.tensor_program.schedule import axes
from mlc_course.tensor_program.tir import Schedule

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
    Climb("all threads", "matmul_exp_matmul", (), usable_cores(), 1.05),
    Climb("indivisible sizes, 1 thread", "matmul_exp_matmul", INDIVISIBLE, 1, 1.0),
    Climb("matmul, 1 thread", "matmul", (), 1, 1.0),
    Climb("linear_relu, 1 thread", "linear_relu", (), 1, 1.05),
    Climb("softmax, 1 thread", "softmax", (), 1, 1.5),
    Climb("conv2d, 1 thread", "conv2d", (), 1, 1.2),
)
NEAR_BEST = 0.97
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


# --- the choice of a tile and of panels, beside its neighbours ----------------------------------


@dataclass(frozen=True)
class Choice:
    """Changes of the tile and panels that the library derives from the machine."""

    rows: int = 0
    vectors: int = 0
    panels: float = 1.0
    other_way: bool = False

    def __str__(self) -> str:
        changes = [f"{self.rows:+d} rows"] if self.rows else []
        changes += [f"{self.vectors:+d} vectors"] if self.vectors else []
        changes += [f"{self.panels:g} times the panels"] if self.panels != 1 else []
        changes += ["the other operand stays"] if self.other_way else []
        return ", ".join(changes) or "as derived"

    def tile(self, derived: RegisterTile) -> RegisterTile | None:
        """The changed tile; None where the registers do not hold it."""
        here = describe()
        vectors = derived.columns // here.lanes + self.vectors
        rows = derived.rows + self.rows
        if vectors < 1 or not 1 <= rows <= most_rows(here, vectors):
            return None
        return RegisterTile(rows, vectors * here.lanes)

    def apply(self, sch: Schedule) -> None:
        here = describe()
        for product in PRODUCTS["matmul_exp_matmul"]:
            tile = self.tile(tile_for(here, sch, product))
            outermost = left_is_larger(sch, product) != self.other_way
            sizes = axes(sch, product.block)
            derived = panels(
                here,
                tile,
                sizes[product.row],
                sizes[product.column],
                sizes[product.inner],
                left=outermost,
            ).number
            micro_kernel(
                sch,
                product,
                tile,
                per_panel=True,
                rows_outermost=outermost,
                together=max(1, round(derived * self.panels)),
                fast_exp=product.block == "C",
            )


NEIGHBOURS = (
    Choice(),
    *(Choice(rows=rows) for rows in (-2, -1, 1, 2)),
    *(Choice(vectors=vectors) for vectors in (-2, -1, 1)),
    *(Choice(rows=rows, vectors=vectors) for rows, vectors in ((2, -1), (-2, 1), (1, -1), (-1, 1))),
    *(Choice(panels=panels) for panels in (0.25, 0.5, 2, 4)),
    Choice(other_way=True),
)


def neighbours(budget_s: float) -> dict[str, float]:
    """The ratio to NumPy of the derived choice, and of those around it, timed in turns."""
    sch = Schedule(make_workload("matmul_exp_matmul").program())
    tiles = [tile_for(describe(), sch, each) for each in PRODUCTS["matmul_exp_matmul"]]
    fitting = [each for each in NEIGHBOURS if all(each.tile(tile) for tile in tiles)]
    programs = {str(each): each.apply for each in fitting}
    found = race("matmul_exp_matmul", programs, budget_s=budget_s * len(programs))
    return {name: each.ratio for name, each in found.items()}


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
    around = neighbours(arguments.budget)
    for name, ratio in sorted(around.items(), key=lambda each: -each[1]):
        print(f"{name:<28} {ratio:.3f}")
    chosen = around["as derived"] / max(around.values())
    targets.append(Target("the choice beside the best around it", NEAR_BEST, chosen))
    if arguments.recordings:
        *_, counted = roofline.counted(taken["1 thread"], ladder("matmul_exp_matmul"))
        moved = {rung["name"]: {"bytes_moved": rung["bytes_moved"]} for rung in counted["rungs"]}
        for title, name in (("1 thread", "1_thread"), ("all threads", "all_threads")):
            rungs = [{**rung, **moved[rung["name"]]} for rung in taken[title]["rungs"]]
            file = record.recording_file(f"matmul_exp_matmul_{name}", taken[title])
            record.save({**taken[title], "rungs": rungs}, arguments.recordings / file)
    figures = {
        "climbs": {title: without_programs(each) for title, each in taken.items()},
        "neighbours": around,
        "shapes": {kind: without_programs(each) for kind, each in shapes.items()},
    }
    return finish(arguments, figures, targets, lambda path: save_plot(taken["1 thread"], path))


if __name__ == "__main__":
    sys.exit(main())
