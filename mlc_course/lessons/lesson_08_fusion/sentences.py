"""The sentences of lesson 8 that tell an outcome, written from what was counted or measured."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from math import prod

from IPython.display import HTML

from mlc_course.lessons.kit import charts, side_by_side
from mlc_course.lessons.lesson_08_fusion.bars import Worth
from mlc_course.lessons.lesson_08_fusion.staged_problems import Staged, scale_shift_clip
from mlc_course.machine import describe
from mlc_course.measure import Comparison
from mlc_course.tensor_program.memory import Cache, Roofs, levels
from mlc_course.tensor_program.problems import Workload
from mlc_course.units import times

NEAR = 0.05  # of 1: a smaller difference is called none


def shown(svg: str, label: str) -> HTML:
    """Return a picture with the text that stands in for it where it is not seen."""
    return HTML(  # type: ignore[no-untyped-call]
        f'<div class="mlc" role="img" aria-label="{html.escape(label)}">{charts(svg)}</div>'
    )


def beside(programs: tuple[str, str], first: str, second: str) -> HTML:
    """Return two programs side by side, under their names."""
    return HTML(  # type: ignore[no-untyped-call]
        side_by_side(*programs, titles=(first, second), context=None)
    )


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


def beside_caches(problem: Staged) -> str:
    """Say how large the first input of the raced problem is, and how large the last cache is."""
    operand = problem.measured.operands[0]
    mib = 4 * prod(operand.shape) / 2**20
    last = describe().l3_bytes or describe().l2_bytes
    if not last:
        return f"{operand.name} has {mib:.3g} MiB; the size of your last cache is not known."
    return f"{operand.name} has {mib:.3g} MiB; your last cache has {last / 2**20:.3g} MiB."


def paper_and_clock(name: str, other: str, before: int, after: int, found: Comparison) -> str:
    """Compare a forecast from whole arrays moved with what was measured."""
    forecast = before / after
    apart = max(found.ratio / forecast, forecast / found.ratio) - 1
    verdict = "the bytes alone predict it" if apart <= 0.25 else f"off by {apart:.0%}"
    return (
        f"{name} against {other}: {before} arrays / {after} = {forecast:.2f} forecast, "
        f"{found.ratio:.2f} measured{found.mark}: {verdict}"
    )


def counted_against_paper(apart: float, fused: float, *, paper: tuple[int, int]) -> str:
    """Say whether the counted traffic, in arrays, is what the paper says."""
    agrees = abs(apart - paper[0]) < 0.05 and abs(fused - paper[1]) < 0.05
    verdict = "as on paper" if agrees else f"on paper {paper[0]} and {paper[1]}"
    return f"in arrays: {apart:.2f} apart, {fused:.2f} fused ({verdict})"


def bytes_and_clock(saved: float, gain: Comparison) -> str:
    """Set a gain in time beside a gain in bytes."""
    low, high = gain.interval
    line = f"{saved:.2f} times fewer bytes, {gain.ratio:.2f} times as fast{gain.mark}: "
    if high < 1 - NEAR:
        return line + "fusion costs time here"
    if low > 0.8 * saved:
        return line + "the time follows the bytes"
    if low > 1 + NEAR and high < saved:
        return line + "a gain, and less than the bytes promise"
    if low > 1 + NEAR:
        return line + "a gain; perhaps all that the bytes promise"
    return line + "no gain in time that this measurement can see"


def intensity(name: str, flops: int, apart: int, fused: int, roofs: Roofs) -> str:
    """Say how many operations a byte a problem does, and on which side of the balance that is."""
    balance = roofs.gflops / roofs.gbytes_per_s
    both = flops / apart, flops / fused
    sides = ["below" if each < balance else "above" for each in both]
    where = f"both {sides[0]}" if sides[0] == sides[1] else f"{sides[0]}, then {sides[1]}"
    return (
        f"{name:<18}{both[0]:7.2f} apart {both[1]:7.2f} fused operations a byte: "
        f"{where} the balance of {balance:.1f}"
    )


def worth_of(problem: str, saved_bytes: int, gain: Comparison, roofs: Roofs) -> Worth:
    """Return what fusion saved of a problem; ``gain`` compares fused with apart."""
    seconds = saved_bytes / (1e9 * roofs.gbytes_per_s)
    low, high = gain.interval
    return Worth(
        problem, seconds / gain.baseline.median_s, 1 - 1 / gain.ratio, (1 - 1 / low, 1 - 1 / high)
    )


def ranked(found: Sequence[Worth]) -> str:
    """Say for each problem what its saved bytes are worth, and whether the clock ranks them so."""
    lines = [
        f"{each.problem:<18} saved bytes are worth {each.bytes_share:4.0%} of the time, "
        f"fusion saved {round(each.saved, 2) + 0.0:4.0%}"
        for each in found
    ]
    by_bytes = [e.problem for e in sorted(found, key=lambda e: -e.bytes_share)]
    by_clock = [e.problem for e in sorted(found, key=lambda e: -e.saved)]
    if by_bytes == by_clock:
        lines.append(f"bytes and clock agree on the order: {', '.join(by_clock)}")
    else:
        lines.append(
            f"by bytes the order is {', '.join(by_bytes)}; by the clock {', '.join(by_clock)}: "
            "look at the whiskers, or measure again on a quiet machine"
        )
    return "\n".join(lines)


def passed(totals: Mapping[str, float]) -> str:
    """Return how many of four sums are 1, as the choices of the prediction say it."""
    right = sum(abs(total - 1) < 1e-3 for total in totals.values())
    return {0: "none", 4: "all four"}.get(right, "some of them")


def in_the_end(one: Comparison, products: Comparison, three: int, fused: int, saved: float) -> str:
    """Sum up the lesson in the reader's own numbers."""
    return (
        f"On {describe()}, one thread:\n"
        f"three loops in one:  {bytes_and_clock(three / fused, one)}\n"
        f"exp(A B) E, merged:  {bytes_and_clock(saved, products)}"
    )


def beyond_two_caches() -> tuple[Workload, tuple[Cache, ...], int]:
    """Return a chain of stages to count, this machine's first two caches, and an array's bytes.

    An array is four times as large as the second cache.
    """
    caches = levels(describe())[:2]
    rows = max(64, caches[-1].bytes // 1024)
    return scale_shift_clip(rows, 1024), caches, 4 * 1024 * rows
