"""How fast is one compilation for all sizes, beside others of the same program?

    python benchmarks/dynamic_shape_code.py --check --json out/code.json --plot out/code.svg

Ten pieces of a transformer, each compiled once with all facts, and called at three shapes: a likely
one, one with a row of prime size, and a small one. Beside it: the same without facts on sizes, one
kernel for each operator, NumPy with memory made before, and the program compiled for that shape
alone. One thread; all take turns in one process, each bound to several places in memory, since the
place alone makes some differ by a third; times are those of the thread.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from common import Target, command_line, finish
from matplotlib import rc_context
from matplotlib.figure import Figure
from tqdm import tqdm

from mlc_course.drawing import NUMPY, OURS, STYLE, UNDATED, WIDTH_IN
from mlc_course.dynamic_shape.codegen import (
    Compiled,
    compile_for_all_sizes,
    divisions_at,
    planned_kernels,
)
from mlc_course.dynamic_shape.fusion import plan
from mlc_course.dynamic_shape.ir import Array, Module, bind, run, specialized
from mlc_course.dynamic_shape.programs import (
    NAMES,
    example_inputs,
    example_sizes,
    in_numpy,
    program,
)
from mlc_course.mugraph.runtime import empty

# A batch, a length, another number, and the size of a row: likely, with a prime row, and small.
SHAPES: Mapping[str, tuple[tuple[int, int, int, int], ...]] = {
    "append_to_cache": ((4, 12, 120, 64), (4, 12, 113, 61), (1, 4, 30, 16)),
    "bias_gelu": ((4, 128, 1, 3072), (4, 127, 1, 3067), (1, 8, 1, 256)),
    "embedding_layer_norm": ((4, 128, 30_000, 768), (4, 127, 30_000, 769), (1, 8, 1000, 64)),
    "gated_quantize": ((4, 128, 1, 3072), (4, 127, 1, 3067), (1, 8, 1, 256)),
    "masked_softmax": ((2, 128, 1, 128), (2, 127, 1, 127), (1, 16, 1, 16)),
    "residual_layer_norm": ((4, 128, 1, 768), (4, 127, 1, 769), (1, 8, 1, 64)),
    "residual_rms_norm": ((4, 128, 1, 768), (4, 127, 1, 769), (1, 8, 1, 64)),
    "rotary_embedding": ((4, 128, 12, 32), (4, 127, 12, 31), (1, 8, 4, 16)),
    "shifted_loss": ((2, 32, 1, 30_000), (2, 31, 1, 29_989), (1, 8, 1, 1000)),
    "split_heads": ((4, 128, 12, 64), (4, 127, 12, 61), (1, 8, 4, 16)),
}
LIKELY, PRIME, SMALL = "likely", "prime", "small"
RACERS = ("all facts", "no facts", "op by op", "NumPy", "static")
PLACES, ROUNDS = 3, 15
LIGHT, DARK = "#a9c4de", "#5b6b7a"
WANTED_STATIC = 1.15  # of the time of the program compiled for a shape alone


def in_line(array: Array) -> Array:
    """The same values from a cache line on."""
    copy = empty(array.shape, array.dtype.name)
    copy[...] = array
    return copy


def milliseconds(calls: Mapping[str, list[Callable[[], object]]]) -> dict[str, float]:
    """Median times of the thread, over all places and rounds, with all calls in turn."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for each in calls.values():
        for call in each:
            call()
    for _ in range(ROUNDS):
        for place in range(PLACES):
            for name, each in calls.items():
                start = time.thread_time()
                each[place]()
                taken[name].append(1e3 * (time.thread_time() - start))
    return {name: statistics.median(times) for name, times in taken.items()}


def check(name: str, results: Mapping[str, list[Array]], expected: list[Array]) -> None:
    """Raise where a racer is wrong, since the time of a wrong result is worth nothing."""
    for racer, found in results.items():
        for one, other in zip(found, expected, strict=True):
            limit = 1 if one.dtype == np.int8 else 1e-5 * np.abs(other).max()
            off = np.abs(one.astype(float) - other).max()
            assert off <= limit, (name, racer, off)


def at_shape(
    name: str, kind: str, module: Module, compiled: Mapping[str, Compiled], shape: tuple[int, ...]
) -> dict[str, Any]:
    """Times of all racers for one shape."""
    given = example_inputs(module, example_sizes(name, *shape))
    inputs = {key: in_line(array) for key, array in given.items()}
    sizes = bind(module, {key: array.shape for key, array in inputs.items()})
    racers = {**compiled, "static": compile_for_all_sizes(specialized(module, sizes), threads=1)}
    calls: dict[str, list[Callable[[], Any]]] = {
        racer: [made.bind(**inputs) for _ in range(PLACES)] for racer, made in racers.items()
    }
    calls["NumPy"] = [in_numpy(module, inputs) for _ in range(PLACES)]
    check(
        name, {racer: each[0]() for racer, each in calls.items()}, run(module, inputs, exact=True)
    )
    found = milliseconds(calls)
    variants = [
        str(step.kernel.chosen(sizes)) for step in compiled["all facts"].steps if step.kernel
    ]
    return {"shape": kind, "sizes": sizes, "ms": found, "variants": variants}


def divided(module: Module, shape: dict[str, int], *, folds: bool) -> float:
    """Count the divisions that the kernels of a program make to find elements, at some sizes."""
    inputs = example_inputs(module, shape)
    sizes = bind(module, {key: array.shape for key, array in inputs.items()})
    kernels = [each.lowered.kernel for each in planned_kernels(plan(module), folds=folds)]
    return sum(
        divisions_at(each.at({name: sizes[name] for name in each.sizes})) for each in kernels
    )


def raced(name: str, bar: Any) -> dict[str, Any]:
    """All shapes of a program."""
    module = program(name)
    start = time.perf_counter()
    compiled = {"all facts": compile_for_all_sizes(module, threads=1)}
    seconds = time.perf_counter() - start
    compiled["no facts"] = compile_for_all_sizes(module, "none", threads=1)
    compiled["op by op"] = compile_for_all_sizes(module, fuses=False, threads=1)
    shapes = []
    for kind, shape in zip((LIKELY, PRIME, SMALL), SHAPES[name], strict=True):
        shapes.append(at_shape(name, kind, module, compiled, shape))
        bar.update()
    likely = example_sizes(name, *SHAPES[name][0])
    return {
        "program": name,
        "compile_s": seconds,
        "kernels": {racer: len(made.plan.kernels) for racer, made in compiled.items()},
        "divisions": {
            "folded": divided(module, likely, folds=True),
            "as written": divided(module, likely, folds=False),
        },
        "shapes": shapes,
    }


def ratios(rows: list[dict[str, Any]], racer: str, kind: str) -> list[float]:
    """A racer's time over ours, program by program, at one kind of shape."""
    return [
        shape["ms"][racer] / shape["ms"]["all facts"]
        for row in rows
        for shape in row["shapes"]
        if shape["shape"] == kind
    ]


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw each racer's time over ours, at the likely shape."""
    colours = {"no facts": LIGHT, "op by op": DARK, "NumPy": NUMPY, "static": OURS}
    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 5), layout="constrained")
        axes = figure.subplots()
        for number, (racer, colour) in enumerate(colours.items()):
            places = [at + 0.2 * (number - 1.5) for at in range(len(rows))]
            axes.barh(places, ratios(rows, racer, LIKELY), 0.18, color=colour, label=racer)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_yticks(range(len(rows)), [row["program"].replace("_", " ") for row in rows])
        axes.invert_yaxis()
        axes.set_xscale("log")
        ticks = (0.5, 1, 2, 4, 8, 16)
        axes.set_xticks(ticks, [f"{each:g}" for each in ticks])
        axes.minorticks_off()
        axes.set_xlabel("time over that of one compilation for all sizes, with all facts")
        axes.legend(frameon=False, loc="lower right")
        figure.savefig(path, metadata=UNDATED.get(path.suffix))


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--only", metavar="NAME", nargs="+", default=NAMES, help="some programs")
    arguments = parser.parse_args()
    with tqdm(total=3 * len(arguments.only), unit="shape") as bar:
        rows = [raced(name, bar) for name in arguments.only]
    for row in rows:
        for shape in row["shapes"]:
            times = ", ".join(f"{racer} {shape['ms'][racer]:.3f}" for racer in RACERS)
            print(f"{row['program']:21s} {shape['shape']:6s} ms: {times}")
    for kind in (LIKELY, PRIME, SMALL):
        for racer in RACERS[1:]:
            found = ratios(rows, racer, kind)
            mean = statistics.geometric_mean(found)
            print(
                f"{kind:6s} {racer:8s} over all facts: {min(found):.2f} to {max(found):.2f},"
                f" geometric mean {mean:.2f}"
            )
    for row in rows:
        print(f"{row['program']:21s} divisions {row['divisions']}")
    over_static = [1 / each for kind in (LIKELY, PRIME) for each in ratios(rows, "static", kind)]
    means = {
        racer: statistics.geometric_mean(ratios(rows, racer, LIKELY) + ratios(rows, racer, PRIME))
        for racer in RACERS[1:]
    }
    targets = [
        Target(
            "static's time times 1.15, in parts of the median of ours",
            1.0,
            WANTED_STATIC / statistics.median(over_static),
        ),
        Target("without facts, geometric mean in times of ours", 1.0, means["no facts"]),
        Target("op by op, geometric mean in times of ours", 1.0, means["op by op"]),
        Target("NumPy, geometric mean in times of ours", 1.0, means["NumPy"]),
    ]
    return finish(arguments, {"programs": rows}, targets, lambda path: draw(rows, path))


if __name__ == "__main__":
    sys.exit(main())
