"""What are facts on unknown sizes worth, and how long does it take to use them?

    python benchmarks/dynamic_shape.py --check --json out/dynamic_shape.json --plot out/shapes.svg

Random products, constants and divisors with a hidden model, and claims of which half follow and
half are false of that model. BladeDISC's one-step rewriting, in a port of its C++ to Python, took
1.3 ms at 120 dimensions and 40 constraints, and proved 175 of 400 claims that follow. Then the
kernels of ten pieces of a transformer with each level of facts, and the time to plan those of a
program of up to 10,000 operators.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from common import Target, command_line, finish
from matplotlib import rc_context
from matplotlib.figure import Figure
from tqdm import tqdm

from mlc_course.drawing import NUMPY, OURS, STYLE, UNDATED, WIDTH_IN
from mlc_course.dynamic_shape.fusion import LEVELS, plan
from mlc_course.dynamic_shape.programs import NAMES, program
from mlc_course.dynamic_shape.solve import Facts, Proved, Refuted, Solver

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
from shape_claims import drawn_known, drawn_products, free
from shape_programs import aliases, layers, row_sums

SIZES = ((12, 4), (40, 12), (120, 40), (400, 133), (1000, 333), (3000, 1000), (10_000, 3333))
WANTED = (120, 40)
WANTED_MS = 1.0
WANTED_KERNELS = 10  # of the ten programs together
OPERATORS = (100, 1000, 3000, 10_000)
STRUCTURES = {"layers": lambda count: layers(count // 20), "aliases": aliases, "rows": row_sums}
WANTED_S = 10.0  # to plan the largest of each structure


def asked(dims: int, constraints: int, problems: int, claims: int, seed: int, bar: Any) -> Any:
    """Times of building and asking, and what was answered, for problems of one size."""
    rng = random.Random(seed)
    built: list[float] = []
    taken: dict[str, list[float]] = {"proved": [], "refuted": [], "unknown": []}
    wrong = 0
    for _ in range(problems):
        known = drawn_products(rng, dims, constraints)
        start = time.perf_counter()
        solver = Solver(Facts(free(known.names), known.stated))
        assert solver.models.base is not None
        built.append(1e3 * (time.perf_counter() - start))
        for _ in range(claims):
            each = drawn_known(rng, known)
            start = time.perf_counter()
            answer = solver.ask(each.claim)
            spent = 1e3 * (time.perf_counter() - start)
            kind = {Proved: "proved", Refuted: "refuted"}.get(type(answer), "unknown")
            taken[kind].append(spent)
            wrong += kind != "unknown" and each.is_entailed != (kind == "proved")
        bar.update()
    every = sorted(spent for times in taken.values() for spent in times)
    return {
        "dims": dims,
        "constraints": constraints,
        "build_ms": statistics.median(built),
        "median_ms": statistics.median(every),
        "p95_ms": every[int(0.95 * len(every))],
        "largest_ms": every[-1],
        "answers": {kind: len(times) for kind, times in taken.items()},
        "medians_ms": {k: statistics.median(times) for k, times in taken.items() if times},
        "wrong": wrong,
    }


def kernels_of(name: str) -> dict[str, Any]:
    """Count a program's kernels: op by op, and at each level, without and with stitching."""
    planned = {
        side: {level: len(plan(program(name), level, stitch=on).kernels) for level in LEVELS}
        for side, on in (("base", False), ("stitch", True))
    }
    return {"program": name, "op_by_op": plan(program(name)).op_by_op, **planned}


def planning(structure: str, count: int) -> dict[str, Any]:
    """Time to plan the kernels of a long program."""
    module = STRUCTURES[structure](count)
    start = time.perf_counter()
    found = plan(module)
    spent = time.perf_counter() - start
    operators = len(module.function.equations)
    return {
        "structure": structure,
        "operators": operators,
        "kernels": len(found.kernels),
        "seconds": spent,
    }


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw time against the number of dimensions."""
    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 4), layout="constrained")
        axes = figure.subplots()
        dims = [row["dims"] for row in rows]
        for key, label, colour, line in (
            ("build_ms", "to read all facts, once", NUMPY, "--"),
            ("p95_ms", "a claim: 95 of 100 take less", OURS, ":"),
            ("median_ms", "a claim: median", OURS, "-"),
        ):
            axes.plot(dims, [row[key] for row in rows], line, color=colour, label=label, marker="o")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(dims, [f"{each:,}" for each in dims])
        ticks = (0.1, 1, 10, 100, 1000)
        axes.set_yticks(ticks, [f"{each:g}" for each in ticks])
        axes.minorticks_off()
        axes.set_xlabel("symbolic dimensions, with a third as many constraints")
        axes.set_ylabel("milliseconds")
        axes.legend(frameon=False)
        figure.savefig(path, metadata=UNDATED.get(path.suffix))


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--problems", type=int, default=10, help="of each size")
    parser.add_argument("--claims", type=int, default=100, help="of each problem")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tqdm(total=len(SIZES) * arguments.problems, unit="problem") as bar:
        rows = [
            asked(*size, arguments.problems, arguments.claims, arguments.seed, bar)
            for size in SIZES
        ]
    for row in rows:
        print(
            f"{row['dims']:6,} dimensions: facts {row['build_ms']:8.1f} ms, a claim"
            f" {row['median_ms']:.3f} ms ({row['p95_ms']:.3f}, {row['largest_ms']:.1f});"
            f" {row['answers']}"
        )
    programs = [kernels_of(name) for name in tqdm(NAMES, unit="program")]
    for side in ("base", "stitch"):
        total = {level: sum(each[side][level] for each in programs) for level in LEVELS}
        print(f"kernels of the ten programs, {side}: {total}")
    print(f"op by op: {sum(each['op_by_op'] for each in programs)}")
    plans = [planning(name, count) for name in STRUCTURES for count in OPERATORS]
    for each in plans:
        seconds = f"{each['seconds']:.2f} s"
        print(f"{each['structure']}: {each['operators']:6,} operators planned in {seconds}")
    (at_120,) = (row for row in rows if (row["dims"], row["constraints"]) == WANTED)
    total = sum(sum(row["answers"].values()) for row in rows)
    decided = total - sum(row["answers"]["unknown"] for row in rows)
    targets = [
        Target("the median claim at 120, in parts of 1 ms", 1.0, WANTED_MS / at_120["median_ms"]),
        Target("claims decided", 1.0, decided / total),
        Target("claims decided rightly", 1.0, 1 - sum(row["wrong"] for row in rows) / total),
        Target(
            "kernels of the ten programs, in parts of 10",
            1.0,
            WANTED_KERNELS / sum(each["stitch"]["all"] for each in programs),
        ),
        Target(
            "planning 10,000 operators, in parts of 10 s",
            1.0,
            WANTED_S / max(each["seconds"] for each in plans),
        ),
    ]
    figures = {"claims": rows, "kernels": programs, "planning": plans}
    return finish(arguments, figures, targets, lambda path: draw(rows, path))


if __name__ == "__main__":
    sys.exit(main())
