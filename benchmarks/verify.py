"""Is the verifier fast, and does it refuse? Every published graph against its program, and mutants.

    python benchmarks/verify.py --check --json out/verify.json --plot out/verify.svg

One core, at the sizes of the benchmark, of which one index stands for all of each batch size.
Mirage's path for CPUs takes 4.4 s for one test of RMSNorm and a product, without a bound (one
thread, its own C++ on the whole of these sizes). Half of the mutants are judged on small sizes,
half on those given.
"""

from __future__ import annotations

import itertools
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import Target, command_line, finish, saved_by_mirage
from matplotlib import rc_context
from matplotlib.figure import Figure
from tqdm import tqdm

from mlc_course.drawing import INK, NUMPY, OURS, ROOF, STYLE, UNDATED, WIDTH_IN
from mlc_course.measure import limited_threads, quartiles
from mlc_course.mugraph.mutants import (
    ACCEPTED,
    REFUSED,
    UNDECIDED,
    Base,
    Judged,
    base,
    drawn,
    given,
    judged,
    table,
    tally,
)
from mlc_course.mugraph.programs import NAMES, PROGRAM_OF, published, workload
from mlc_course.mugraph.verify import verify
from mlc_course.units import milliseconds

ERROR = 1e-9
WANTED_S, LONGEST_S, MIRAGE_S = 0.25, 1.0, 4.4
EVERY = 8  # graph of a file of Mirage's has mutants
COLOURS = {REFUSED: OURS, ACCEPTED: ROOF, UNDECIDED: NUMPY}
LABELS = {
    REFUSED: "refused",
    ACCEPTED: "accepted, and equal in 60 digits",
    UNDECIDED: "undecided",
}


def timed(name: str, rounds: int, bar: Any) -> dict[str, Any]:
    """Seconds to verify one published graph, with draws of its own in each round."""
    graph, program = published(name), workload(PROGRAM_OF[name])
    seconds = []
    for seed in range(rounds + 1):
        start = time.perf_counter()
        verdict = verify(graph, program, error=ERROR, seed=seed)
        seconds.append(time.perf_counter() - start)
        assert verdict.equal, f"{name}: {verdict}"
        bar.update()
    seconds = seconds[1:]  # the first fills the lists of primes
    low, high = quartiles(tuple(seconds))
    return {
        "name": name,
        "seconds": seconds,
        "median_s": statistics.median(seconds),
        "quartiles_s": [low, high],
        "tests": verdict.trials,
        "error_bound": verdict.error_bound,
    }


def bases() -> list[Base]:
    """Published graphs, programs, and some of those that Mirage saved."""
    found = [base(published(f), workload(p)) for f, p in PROGRAM_OF.items()]
    found += [base(each, each) for each in map(workload, NAMES)]
    for program, saved in saved_by_mirage():
        found += [base(graph, program) for graph in saved[::EVERY]]
    return found


def refused(count: int, seed: int) -> list[Judged]:
    """Judge so many mutants, half of them at the sizes of the benchmark."""
    at_given = [given(published(f), workload(p)) for f, p in PROGRAM_OF.items()]
    rng = random.Random(seed)
    chosen = itertools.chain(
        drawn(bases(), count - count // 2, rng), drawn(at_given, count // 2, rng)
    )
    return [
        judged(mutant, each, error=ERROR)
        for each, mutant in tqdm(chosen, total=count, unit="mutant")
    ]


def draw(rows: Sequence[dict[str, Any]], counts: dict[str, dict[str, int]], path: Path) -> None:
    """Left the time of each graph, on a logarithmic axis; right the mutants by kind."""
    with rc_context(STYLE):
        figure = Figure(figsize=(1.3 * WIDTH_IN, 0.6 * WIDTH_IN), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_times(left, rows)
        _draw_mutants(right, counts)
        figure.savefig(path, metadata=UNDATED.get(path.suffix))


def _draw_times(axes: Any, rows: Sequence[dict[str, Any]]) -> None:
    places = range(len(rows))
    medians = [1e3 * row["median_s"] for row in rows]
    spread = [
        [1e3 * (row["median_s"] - row["quartiles_s"][0]) for row in rows],
        [1e3 * (row["quartiles_s"][1] - row["median_s"]) for row in rows],
    ]
    axes.errorbar(medians, places, xerr=spread, fmt="o", color=OURS, capsize=3)
    for place, (row, value) in enumerate(zip(rows, medians, strict=True)):
        axes.annotate(
            f"{milliseconds(row['median_s'])}, {row['tests']:,} tests",
            (value, place),
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )
    for seconds, colour, said, side in (
        (WANTED_S, ROOF, "wanted\n(median)", "right"),
        (MIRAGE_S, NUMPY, "one test\nof Mirage's", "left"),
    ):
        axes.axvline(1e3 * seconds, color=colour, linestyle="--", linewidth=1.2)
        axes.annotate(
            said,
            (1e3 * seconds, len(rows) - 0.4),
            xytext=(-4 if side == "right" else 4, 0),
            textcoords="offset points",
            color=colour,
            fontsize=9,
            ha=side,
            va="center",
        )
    axes.set_xscale("log")
    axes.set_xlim(1, 30_000)
    axes.set_ylim(-0.7, len(rows) + 0.2)
    ticks = (1, 10, 100, 1000, 10_000)
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(list(places), [row["name"].replace("_", " ") for row in rows])
    axes.set_xlabel(f"milliseconds to verify at an error of {ERROR:.0e}")


def _draw_mutants(axes: Any, counts: dict[str, dict[str, int]]) -> None:
    kinds = sorted(counts, key=lambda kind: sum(counts[kind][said] for said in COLOURS))
    start = [0] * len(kinds)
    for said, colour in COLOURS.items():
        widths = [counts[kind][said] for kind in kinds]
        axes.barh(range(len(kinds)), widths, left=start, color=colour, label=LABELS[said])
        start = [at + width for at, width in zip(start, widths, strict=True)]
    for place, total in enumerate(start):
        axes.annotate(
            f"{total}", (total, place), xytext=(4, 0), textcoords="offset points", va="center"
        )
    axes.set_yticks(range(len(kinds)), kinds)
    axes.set_xlabel("mutants")
    axes.tick_params(axis="y", length=0)
    axes.legend(loc="lower right", frameon=False, labelcolor=INK)


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="of verifying each graph")
    parser.add_argument("--mutants", type=int, default=2000, help="how many to judge")
    parser.add_argument("--seed", type=int, default=5, help="of the mutants")
    arguments = parser.parse_args()
    with limited_threads(1):
        total = len(PROGRAM_OF) * (arguments.rounds + 1)
        with tqdm(total=total, unit="verdict") as bar:
            rows = [timed(name, arguments.rounds, bar) for name in PROGRAM_OF]
        found = refused(arguments.mutants, arguments.seed)
    counted = tally(found)
    for row in rows:
        low, high = (1e3 * each for each in row["quartiles_s"])
        print(
            f"{row['name']:26} {1e3 * row['median_s']:8.1f} ms ({low:.1f} to {high:.1f})"
            f" {row['tests']:6} tests, bound {row['error_bound']:.1e}"
        )
    print(f"\n{table(counted)}")
    counts = {kind: dict(row) for kind, row in counted.items()}
    counts = {kind: {said: row.get(said, 0) for said in COLOURS} for kind, row in counts.items()}
    wrong = [str(each) for each in found if each.wrong]
    medians = [row["median_s"] for row in rows]
    figures = {
        "error": ERROR,
        "graphs": rows,
        "mutants": {"seed": arguments.seed, "kinds": counts, "wrongly accepted": wrong},
    }
    told = sum(each.said != UNDECIDED for each in found if each.differs)
    differing = sum(each.differs for each in found)
    targets = [
        Target(
            f"the median graph, in parts of {WANTED_S} s",
            1.0,
            WANTED_S / statistics.median(medians),
        ),
        Target(f"the slowest graph, in parts of {LONGEST_S:g} s", 1.0, LONGEST_S / max(medians)),
        Target("mutants judged, of 2000", 1.0, len(found) / 2000),
        Target(
            "mutants that differ and are not accepted",
            1.0,
            1 - len(wrong) / max(1, differing),
        ),
        Target("of those, the part that is shown to differ", 0.99, told / max(1, differing)),
    ]
    return finish(arguments, figures, targets, lambda path: draw(rows, counts, path))


if __name__ == "__main__":
    sys.exit(main())
