"""The sentences of lesson 9 that tell an outcome, written from what was counted or measured."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping

import numpy as np
from IPython.display import HTML

from mlc_course.lessons.kit import charts, side_by_side
from mlc_course.lessons.lesson_09_vectorization.assembly_picture import hot_loop_html
from mlc_course.lessons.lesson_09_vectorization.loop_and_end import RowCosts
from mlc_course.lessons.lesson_09_vectorization.vector_forms import Apply, tile_registers
from mlc_course.machine import describe, runs_as_written
from mlc_course.measure import Comparison, compare
from mlc_course.tensor_program.ladders import Rung, contest
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.processor import Assembly, assembly, longest_chain
from mlc_course.tensor_program.tir import Schedule
from mlc_course.units import plural, times

NEAR = 0.05  # of 1: a smaller difference is called none


def shown(svg: str, label: str) -> HTML:
    """Return a picture with the text that stands in for it where it is not seen."""
    return HTML(  # type: ignore[no-untyped-call]
        f'<div class="mlc" role="img" aria-label="{html.escape(label)}">{charts(svg)}</div>'
    )


def beside(programs: tuple[str, str], first: str, second: str) -> HTML:
    """Return two programs side by side, under their names."""
    return HTML(side_by_side(*programs, titles=(first, second)))  # type: ignore[no-untyped-call]


def hot_loops(codes: Mapping[str, Assembly], *, first: int) -> HTML:
    """Return the first instructions of each hot loop, in columns."""
    columns = "".join(
        f'<div style="flex: 1; min-width: 0"><b>{html.escape(name)}</b>'
        f"{hot_loop_html(code, first=first)}</div>"
        for name, code in codes.items()
    )
    return HTML(f'<div style="display: flex; gap: 12px">{columns}</div>')  # type: ignore[no-untyped-call]


def scheduled(work: Workload, apply: Apply) -> Schedule:
    """Return the program of a problem with these steps."""
    sch = Schedule(work.program())
    apply(sch)
    return sch


def each_addition(found: Mapping[str, Comparison], additions: int) -> str:
    """Say what an addition takes in two programs that do as many of them."""
    lines = [
        f"{name}: {1e9 * each.timing.median_s / additions:.3f} ns an addition, {each:.2f} x "
        "NumPy's speed"
        for name, each in found.items()
    ]
    slow, fast = (each.timing.median_s for each in found.values())
    first, second = found
    lines.append(
        f"An addition of {first} takes {slow / fast:.1f} times as long."
        if slow > 1.2 * fast
        else f"In this run, an addition takes about as long in both ({slow / fast:.2f} times)."
    )
    return "\n".join(lines)


def chains_of(code: Assembly) -> str:
    """Say how many lanes the hot loop has, and how much of its arithmetic waits."""
    total, chain = code.histogram()["arithmetic"], longest_chain(code)
    waiting = (
        "each waits for the one before"
        if chain == total
        else f"{plural(total // max(chain, 1), 'chain')} side by side"
    )
    return f"{plural(code.lanes, 'lane')}, {total} additions, a chain of {chain}: {waiting}"


def rounding(errors: Mapping[int, float]) -> str:
    """Return the answer to the question whether more sums have a larger error."""
    first, *_, last = errors.values()
    if last < 0.8 * first:
        return "smaller"
    return "larger" if last > 1.25 * first else "about the same"


def instructions(found: RowCosts) -> str:
    """Say what an addition instruction costs in each form, and how many chains that asks for."""
    here = describe()
    lines = []
    for each in found.costs:
        vectors = max(each.sums // here.lanes, 1)
        lines.append(
            f"{plural(each.sums, 'sum'):>8} in {plural(vectors, 'register'):<12} an addition "
            f"instruction every {each.instruction_ns(here.lanes):.2f} ns"
        )
    alone, start = latency_and_start(found)
    lines.append(
        f"Waiting, one takes {alone:.2f} ns; at best one begins every {start:.2f} ns: about "
        f"{math.ceil(alone / start - 0.25)} chains keep the core busy."
    )
    if not runs_as_written():
        lines.append("(This processor has narrower registers: each instruction ran as several.)")
    return "\n".join(lines)


def latency_and_start(found: RowCosts) -> tuple[float, float]:
    """Return the time of a vector addition that waits, and between two that do not, in ns."""
    lanes = describe().lanes
    alone = found.of(lanes).instruction_ns(lanes)
    start = min(each.instruction_ns(lanes) for each in found.costs if each.sums >= lanes)
    return alone, max(start, 1e-3)


def best_row(found: RowCosts) -> str:
    """Say which number of sums makes the fastest row, and what the next ones lose."""
    best, last = found.best, found.costs[-1]
    said = (
        f"{best.sums} sums are the fastest here: {best.total_ns:.0f} ns a row, of which the final "
        f"sum takes {best.final_ns:.0f}."
    )
    if last.sums > best.sums and last.total_ns > (1 + NEAR) * best.total_ns:
        said += (
            f" With {last.sums}, a row takes {last.total_ns:.0f} ns, {last.final_ns:.0f} of them "
            "for the final sum."
        )
    return said


def compared(name: str, other: str, found: Comparison) -> str:
    """Say whether one program is faster than another, as far as the measurement can tell."""
    low, high = found.interval
    if low > 1 + NEAR:
        return f"{name} is {times(found.ratio)} as fast as {other}{found.mark}."
    if high < 1 - NEAR:
        return f"{name} is slower: {times(found.ratio)} as fast as {other}{found.mark}."
    return (
        f"{name} and {other} cannot be told apart by this measurement: between {times(low)} "
        f"and {times(high)}{found.mark}."
    )


def register_rule(tiles: Mapping[tuple[int, int], Assembly]) -> str:
    """Set the rule that says how many registers a tile needs beside the spills that are counted."""
    here = describe()
    lines, right = [], 0
    for (rows, vectors), code in tiles.items():
        needs = tile_registers(rows, vectors)
        agrees = (needs > here.vector_registers) == (code.spills > 0)
        right += agrees
        lines.append(
            f"{rows:>2} x {vectors * here.lanes:<3} needs {needs:>2} of {here.vector_registers} "
            f"registers, {code.spills:>3} spills{'' if agrees else '   (the rule says otherwise)'}"
        )
    lines.append(f"The rule tells whether a tile spills in {right} of {len(lines)} cases.")
    return "\n".join(lines)


def tile_counts(code: Assembly) -> tuple[int, int, int, int]:
    """Return (chains, loads, multiply-adds, spills) of a tile's hot loop."""
    total = code.histogram()["arithmetic"]
    return total // max(longest_chain(code), 1), code.loads, code.multiply_adds, code.spills


def padded(found: Comparison, terms: int, wider: int) -> str:
    """Say whether more terms took less time."""
    low, high = found.interval
    what = f"{wider} terms against {terms}: {times(found.ratio)} as fast{found.mark}. "
    if low > 1 + NEAR:
        return what + "More terms take less time, which is why libraries pad."
    if high < 1 - NEAR:
        return what + "Here, padding does not pay."
    return what + "This measurement cannot tell them apart."


def errors_of(counts: tuple[int, ...]) -> dict[int, float]:
    """Return the average error of 200 rows of 4,096 random terms, added in so many sums."""
    x = np.random.default_rng(0).normal(size=(200, 4096)).astype("float32")
    exact = x.sum(axis=1, dtype="float64")
    found = {}
    for count in counts:
        terms = x.reshape(200, -1, count)
        sums = np.cumsum(terms, axis=1, dtype="float32")[:, -1]  # one after the other
        total = np.cumsum(sums, axis=1, dtype="float32")[:, -1]
        found[count] = float(np.abs(total - exact).mean())
    return found


def padded_against(
    plain: tuple[Workload, Apply], wider: tuple[Workload, Apply], *, budget_s: float = 1.0
) -> Comparison:
    """Race a wider problem against a plain one, each with its own steps."""
    first, second = (
        contest(work, (), Rung(work.title, "", apply)) for work, apply in (plain, wider)
    )
    return compare({"padded": second.ours}, ("plain", first.ours), budget_s=budget_s)["padded"]


def in_the_end(found: RowCosts, hook: Mapping[str, Comparison]) -> str:
    """Sum up the lesson in the reader's own numbers."""
    one, best = found.costs[0], found.best
    slow, fast = (each.timing.median_s for each in hook.values())
    return (
        f"On {describe()}:\n"
        f"as written, an addition of a row sum took {slow / fast:.1f} times as long as one that "
        "waits for nothing;\n"
        f"in {best.sums} sums, a row is {one.total_ns / best.total_ns:.1f} times as fast as in "
        f"one, and {best.against_numpy:.2f} x NumPy's speed."
    )


def codes(work: Workload, forms: Mapping[str, Apply]) -> dict[str, Assembly]:
    """Return the hot loop of each form of a problem."""
    return {name: assembly(scheduled(work, apply)) for name, apply in forms.items()}
