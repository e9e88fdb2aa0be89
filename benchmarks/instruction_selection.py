"""Are found instructions faster than the compiler's, and what is each loop bound by?

    python benchmarks/instruction_selection.py --json results/instruction_selection.json --check

Every loop of the catalogue at AVX2, AVX-512 and VNNI, as far as this processor has them: a search
without recorded programs, a proof, a kernel on data in the first cache beside LLVM's loops and
NumPy, in turns on one thread. Then the u8 x s8 matmul beside LLVM and NumPy's float32 BLAS, and the
loops at NEON, compiled for AArch64 and run in the emulator. LLVM's best is the fastest of its loops
that are the specification in some types; the limit is the ratio of loads and stores alone.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import Target, command_line, finish
from matplotlib import rc_context
from matplotlib.figure import Figure

from mlc_course.drawing import INK, NUMPY, OURS, ROOF, STYLE, UNDATED, WIDTH_IN
from mlc_course.errors import CourseError
from mlc_course.instruction_selection.compare import (
    BLAS,
    FOUND,
    ROUNDS,
    SAME_LOOPS,
    LoopComparison,
    compare,
    compare_matmul,
    geometric_mean,
    outputs_in_l1,
)
from mlc_course.instruction_selection.insert import INT8_CELL, compiled, processor_has
from mlc_course.instruction_selection.isa import CellProgram, level_of
from mlc_course.instruction_selection.search import decoded, encoded, select_program
from mlc_course.instruction_selection.semantics import run_library_in_emulator
from mlc_course.instruction_selection.spec import CATALOGUE, Specification, specification

LEVELS = ("avx2", "avx512", "vnni")
SEARCH_S = 20.0  # at most, for one loop
TOGETHER_S, EACH_S = 60, 5
SIZE = 512  # of the matmul
IN_EMULATOR = 999  # outputs: whole registers and a rest


@dataclass(frozen=True)
class Searched:
    """What a search without recorded programs came to; ``program`` is proved, or None."""

    name: str
    level: str
    program: CellProgram | None
    seconds: float
    tried: int
    proof: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "spec": self.name,
            "level": self.level,
            "program": None if self.program is None else str(self.program),
            "seconds": self.seconds,
            "tried": self.tried,
            "proof": self.proof,
        }


def search(name: str, level: str) -> tuple[str, str, object, float, int, str]:
    """Search for one loop, in any process: its program is encoded."""
    spec = specification(name if name in CATALOGUE else INT8_CELL)
    found = select_program(spec.cell, level_of(level), seconds=SEARCH_S)
    program = None if found.program is None else encoded(found.program)
    return name, level, program, found.seconds, found.tried, str(found.certificate or "")


def searched(
    names: Sequence[str], levels: Sequence[str], jobs: int
) -> tuple[dict[tuple[str, str], Searched], dict[str, float]]:
    """Search for all loops on so many processes; return them, and the seconds of each level."""
    found: dict[tuple[str, str], Searched] = {}
    seconds = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context) as pool:
        list(pool.map(search, ["sat_add_u8"] * jobs, [levels[0]] * jobs))  # all have started
        for level in levels:
            began = time.monotonic()
            for made in pool.map(search, names, [level] * len(names)):
                name, _, program, taken, tried, proof = made
                read = None if program is None else decoded(program, level_of(level).rows)
                found[name, level] = Searched(name, level, read, taken, tried, proof)
                shown = "not found" if read is None else f"{read}: {proof}"
                print(f"{level:>6} {name:>16}: {taken:5.2f} s, {tried:>10,} tried, {shown}")
            seconds[level] = time.monotonic() - began
    return found, seconds


def measured(each: Searched, arguments: argparse.Namespace) -> LoopComparison | None:
    """Compile and time a found program; None, and a line, where that cannot be done."""
    spec = CATALOGUE[each.name].specification
    outputs = arguments.outputs or outputs_in_l1(spec)
    try:
        made = compiled(spec, outputs, "tensorize", level=each.level, program=each.program)
        found = compare(
            spec, level_of(each.level), made.kernel, outputs=outputs, rounds=arguments.rounds
        )
    except CourseError as error:
        print(f"{each.level:>6} {each.name:>16}: {error}")
        return None
    low, high = found.over_llvm.ratio_iqr
    print(
        f"{each.level:>6} {each.name:>16}: {found.over_llvm.ratio:5.2f} ({low:.2f} to {high:.2f}) "
        f"over {found.best_llvm}, {found.over(found.best_llvm_in_any_words).ratio:.2f} over LLVM "
        f"in any words, {found.over_numpy.ratio:.0f} over NumPy; limit {found.limit or 0:.2f}; "
        f"{found.bound}"
    )
    return found


def in_the_emulator(found: Iterable[Searched]) -> list[dict[str, Any]]:
    """Compile the programs of NEON for AArch64, and compare what the emulator computes."""
    rows = []
    for each in found:
        row: dict[str, Any] = {"spec": each.name, "found": each.program is not None}
        if each.program is not None:
            row |= _emulated(CATALOGUE[each.name].specification, each.program)
        rows.append(row)
        print(f"  neon {each.name:>16}: " + ", ".join(f"{k} {v}" for k, v in row.items()))
    return rows


def _emulated(spec: Specification, program: CellProgram) -> dict[str, Any]:
    """Say whether a program compiles, and is right in the emulator, with the reason if not."""
    row: dict[str, Any] = {"compiled": False, "right": False}
    try:
        made = compiled(spec, IN_EMULATOR, "tensorize", level="neon", program=program)
        object_file, row["compiled"] = made.object_file, True
        arrays = spec.sample(IN_EMULATOR)
        buffers = made.buffers(arrays)
        after = run_library_in_emulator(object_file, "main", list(buffers.values()))
    except CourseError as error:
        return row | {"reason": f"{error.what}: {error.got}"}
    result = dict(zip(buffers, after, strict=True))[spec.result.buffer]
    return row | {"right": bool(np.array_equal(result, spec.evaluate(arrays)))}


def matmuls(
    found: Mapping[tuple[str, str], Searched], levels: Sequence[str], rounds: int
) -> dict[str, LoopComparison]:
    """Time the matmul of bytes at each level for whose cell there is a program."""
    rows = {}
    for level in levels:
        program = found["matmul_u8s8", level].program
        if program is not None:
            rows[level] = compare_matmul(level_of(level), program, size=SIZE, rounds=rounds)
            billions = SIZE**3 / rows[level].timings[FOUND].median_s / 1e9
            print(f"\n{rows[level]}\n{billions:.0f} billion products a second")
    return rows


def targets_of(
    found: Mapping[tuple[str, str], Searched],
    together_s: Mapping[str, float],
    loops: Mapping[str, list[LoopComparison]],
    products: Mapping[str, LoopComparison],
    neon: list[dict[str, Any]],
) -> list[Target]:
    """Return the table of what the search and its programs must show."""
    targets = []
    searches = [each for each in found.values() if each.name in CATALOGUE]
    for level in loops:
        proved = [each for each in searches if each.level == level and each.program]
        targets.append(Target(f"{level}: loops found and proved", 28, len(proved)))
    slowest = max(searches, key=lambda each: each.seconds)
    targets += [
        Target(f"searches at {level}: {TOGETHER_S} s / seconds together", 1, TOGETHER_S / taken)
        for level, taken in together_s.items()
    ] + [
        Target(
            f"searches: {EACH_S} s / seconds of the slowest, {slowest.name} at {slowest.level}",
            1,
            EACH_S / slowest.seconds,
        ),
    ]
    for level, rows in loops.items():
        if not rows:
            continue
        ratios = {each.spec: each.over_llvm.ratio for each in rows}
        lowest = min(ratios, key=lambda name: ratios[name])
        in_numpy = {each.spec: each.over_numpy.ratio for each in rows}
        least = min(in_numpy, key=lambda name: in_numpy[name])
        mean = geometric_mean(list(ratios.values()))
        targets += [
            Target(f"{level}: over LLVM's best, geometric mean", 2.0, mean),
            Target(f"{level}: over LLVM's best, lowest ({lowest})", 0.97, ratios[lowest]),
            Target(f"{level}: over NumPy, lowest ({least})", 20, in_numpy[least]),
        ]
        if level == "avx2" and "gauss3x3_u8" in ratios:
            targets.append(Target("avx2: gauss3x3_u8 over LLVM's best", 1.3, ratios["gauss3x3_u8"]))
    for level, wanted in (("vnni", 10.0), ("avx2", 3.5)):
        if level in products:
            ratio = products[level].over(SAME_LOOPS).ratio
            targets.append(Target(f"{level}: matmul, over LLVM on the same loops", wanted, ratio))
    if "vnni" in products:
        ratio = products["vnni"].over(BLAS).ratio
        targets.append(Target("vnni: matmul, over NumPy's float32 BLAS", 1.5, ratio))
    if neon:
        right = sum(bool(row.get("right")) for row in neon)
        targets.append(Target("neon: found, proved, compiled, right in the emulator", 20, right))
    return targets


def explain(loops: Mapping[str, list[LoopComparison]], targets: Sequence[Target]) -> list[str]:
    """Return a line for each loop at a level that falls short: what bounds it, and its limit."""
    lines = []
    for level, rows in loops.items():
        short = [each for each in targets if not each.reached and each.what.startswith(level)]
        if not rows or not short:
            continue
        limits = [each.limit for each in rows if each.limit]
        at_limit = sum(each.bound.startswith("bound by loads") for each in rows)
        lines.append(
            f"{level}: loads and stores alone would have a geometric mean of "
            f"{geometric_mean(limits):.2f} over LLVM's best; {at_limit} of {len(rows)} loops are "
            "bound by them"
        )
        lines += [
            f"  {each.spec}: {each.over_llvm.ratio:.2f} of {each.limit or 0:.2f}: {each.bound}"
            for each in sorted(rows, key=lambda each: each.over_llvm.ratio)
            if each.over_llvm.ratio < 2
        ]
    return lines


def draw(loops: Mapping[str, list[LoopComparison]], path: Path) -> None:
    """A column for each level: the ratio of each loop to LLVM's best, and to NumPy."""
    shown = {level: rows for level, rows in loops.items() if rows}
    names = [each.spec for each in next(iter(shown.values()), [])]
    with rc_context(STYLE):
        figure = Figure(
            figsize=(0.75 * WIDTH_IN * max(1, len(shown)), 0.3 * len(names) + 1.6),
            layout="constrained",
        )
        columns = figure.subplots(1, max(1, len(shown)), sharey=True, squeeze=False)[0]
        for axes, (level, rows) in zip(columns, shown.items(), strict=False):
            _draw_level(axes, level, {each.spec: each for each in rows}, names)
        handles, labels = columns[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        figure.savefig(path, metadata=UNDATED.get(path.suffix))


def _draw_level(
    axes: Any, level: str, rows: Mapping[str, LoopComparison], names: Sequence[str]
) -> None:
    places = {name: len(names) - 1 - at for at, name in enumerate(names)}
    for series, colour, marker, label in (
        (lambda each: each.over_llvm, OURS, "o", "over LLVM's best loop"),
        (lambda each: each.over_numpy, NUMPY, "s", "over NumPy"),
    ):
        held = {name: series(each) for name, each in rows.items()}
        medians = [each.ratio for each in held.values()]
        spread = [
            [each.ratio - each.ratio_iqr[0] for each in held.values()],
            [each.ratio_iqr[1] - each.ratio for each in held.values()],
        ]
        at = [places[name] for name in held]
        axes.errorbar(
            medians, at, xerr=spread, fmt=marker, color=colour, capsize=3, markersize=5, label=label
        )
    limits = {name: each.limit for name, each in rows.items() if each.limit}
    axes.scatter(
        list(limits.values()),
        [places[name] for name in limits],
        marker="|",
        s=120,
        color=ROOF,
        label="limit: loads and stores alone",
    )
    axes.axvline(1, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlim(0.7, 300)
    ticks = (1, 2, 3, 5, 10, 30, 100)
    axes.set_xticks(ticks, [str(each) for each in ticks])
    axes.minorticks_off()
    axes.grid(axis="x", alpha=0.3)
    axes.set_yticks(list(places.values()), list(places))
    axes.set_ylim(-0.7, len(names) - 0.3)
    mean = geometric_mean([each.over_llvm.ratio for each in rows.values()])
    axes.set_title(f"{level}: {mean:.2f} times LLVM's best (geometric mean)")
    axes.set_xlabel("times as fast, with quartiles")


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--levels", default=",".join(LEVELS), help="of avx2, avx512, vnni")
    parser.add_argument("--specs", default=",".join(CATALOGUE), help="names of the catalogue")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each comparison")
    parser.add_argument("--outputs", type=int, default=0, help="of a kernel; 0 fills the L1")
    parser.add_argument("--jobs", type=int, default=2, help="processes that search")
    parser.add_argument("--no-neon", action="store_true", help="leave NEON out")
    arguments = parser.parse_args()
    return run(arguments)


def run(arguments: argparse.Namespace) -> int:
    names = arguments.specs.split(",")
    asked = arguments.levels.split(",")
    levels = [each for each in asked if processor_has(each)]
    left_out = [each for each in asked if each not in levels]
    if left_out:
        print(f"left out: {', '.join(left_out)}, which this processor does not have")
    neon = [] if arguments.no_neon else ["neon"]
    found, _ = searched(["matmul_u8s8"], levels, arguments.jobs)
    loops_found, together_s = searched(names, [*levels, *neon], arguments.jobs)
    found |= loops_found
    loops = {
        level: [
            made
            for name in names
            if found[name, level].program is not None
            and (made := measured(found[name, level], arguments)) is not None
        ]
        for level in levels
    }
    products = matmuls(found, levels, arguments.rounds)
    emulated = in_the_emulator(found[name, "neon"] for name in names) if neon else []
    targets = targets_of(found, together_s, loops, products, emulated)
    explained = explain(loops, targets)
    print("\n" + "\n".join(explained))
    figures = {
        "left_out": left_out,
        "rounds": arguments.rounds,
        "searches": [each.to_dict() for each in found.values()],
        "searches_together_s": together_s,
        "loops": {level: [each.to_dict() for each in rows] for level, rows in loops.items()},
        "matmul": {level: each.to_dict() for level, each in products.items()},
        "neon": emulated,
        "explained": explained,
    }
    return finish(arguments, figures, targets, lambda path: draw(loops, path))


if __name__ == "__main__":
    sys.exit(main())
