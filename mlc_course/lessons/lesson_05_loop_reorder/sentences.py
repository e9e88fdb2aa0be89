"""The sentences of lesson 5 that tell an outcome: each is computed from what it is about.

They hold on every machine, because they say what was counted or timed on this one.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlc_course.lessons.lesson_05_loop_reorder.loop_orders import ORDERS
from mlc_course.machine import runs_as_written
from mlc_course.measure import Comparison
from mlc_course.tensor_program.memory import Cache
from mlc_course.units import milliseconds

FLOAT_BYTES = 4
NOTICED = 1.1  # a smaller ratio of two times is called none
BEYOND = 1.5  # two factors whose product is exceeded by this much hide each other


@dataclass(frozen=True)
class Intervals:
    """The answers to a question about a ratio: below an edge, between two, or above the last."""

    edges: tuple[float, ...]

    @property
    def choices(self) -> list[str]:
        """The answers, from small to large."""
        inner = (
            f"{low:g} to {high:g} times as long" for low, high in itertools.pairwise(self.edges)
        )
        first, last = self.edges[0], self.edges[-1]
        return [f"less than {first:g} times as long", *inner, f"more than {last:g} times as long"]

    def of(self, ratio: float) -> str:
        """Return the answer that holds a ratio."""
        return self.choices[sum(ratio >= edge for edge in self.edges)]


SLOWEST = Intervals((1.5, 5, 20))
ONE_CAUSE = Intervals((1.5, 4))


def pairs_said(seconds: Mapping[str, float]) -> str:
    """Say whether the innermost loop decides the time of the ``ORDERS``."""
    inside = {
        loop: sorted(seconds[order] for order in ORDERS if order.endswith(loop)) for loop in "nkm"
    }
    groups = sorted(inside.items(), key=lambda each: each[1])
    lines = [f"{loop} inside: {' and '.join(map(milliseconds, times))}" for loop, times in groups]
    overlaps = [
        f"{one} and {other}"
        for (one, first), (other, second) in itertools.pairwise(groups)
        if max(first) >= min(second)
    ]
    end = (
        f"Here these innermost loops overlap: {', '.join(overlaps)}."
        if overlaps
        else "The innermost loop decides: the two orders that share it come next to each other."
    )
    return "\n".join([*lines, end])


def rule_said(rates: Mapping[str, float], jumps: Mapping[str, int], per_line: int) -> str:
    """Say whether each jump of the inner loop costs a miss: ``rates`` are misses a multiply-add.

    What does not jump misses once in ``per_line`` elements, or not at all.
    """
    broken = [
        f"{order} ({rates[order]:.3f}, where the rule says {jumps[order]})"
        for order in rates
        if not jumps[order] <= rates[order] <= jumps[order] + (3 - jumps[order]) / per_line
    ]
    if broken:
        return (
            f"The rule 'one jump, one miss' fails for {', '.join(broken)}: lines of a column were "
            "still in the cache when the next column came."
        )
    shown = []
    for number in sorted(set(jumps.values())):
        some = [f"{rates[order]:.3f}" for order in rates if jumps[order] == number]
        shown.append(f"{number} jump{'s' * (number != 1)}: {' and '.join(some)}")
    return f"Misses per multiply-add with {'; '.join(shown)}. One jump, one miss."


def column_said(size: int, cache: Cache) -> str:
    """Say where the lines of a column of a size x size matrix go in a cache."""
    row = FLOAT_BYTES * size
    crowd = Counter(i * row // cache.line % cache.sets for i in range(size))
    stay = max(crowd.values()) <= cache.ways
    return (
        f"{size} columns: the {size} lines of a column are {row:,} bytes apart and share "
        f"{len(crowd)} of {cache.sets} sets, which hold {len(crowd) * cache.ways:,} lines: "
        f"{'they stay' if stay else 'they push each other out'}."
    )


def columns_said(misses: Mapping[str, int], found: Mapping[str, Comparison]) -> str:
    """Say what walking along rows brings to column sums, ``k-j`` beside ``j-k``."""
    ratio = found["j-k"].timing.median_s / found["k-j"].timing.median_s
    start = f"misses: {misses['j-k']:,} in j-k, {misses['k-j']:,} in k-j. "
    if ratio > NOTICED:
        start += f"k-j is {ratio:.1f} times as fast. "
        if misses["k-j"] < misses["j-k"]:
            return start + "The rule holds for this program, too."
        return start + "It does not miss less often, so something else helps."
    if ratio * NOTICED < 1:
        return start + f"k-j takes {1 / ratio:.1f} times as long. Here the rule does not hold."
    return start + "Both take about as long. Here the rule makes no difference."


def not_only_lines_said(few: float, fewest: float, ratio: float, size: int) -> str:
    """Say what m-n-k costs beside m-k-n where a column fits: misses a multiply-add, and time."""
    same = few <= 1.5 * fewest
    start = f"At {size}, m-n-k has {few:.3f} misses per multiply-add, m-k-n {fewest:.3f}, and "
    start += f"m-n-k takes {ratio:.1f} times as long. "
    if same and ratio > BEYOND:
        return start + "So lines are not the whole story."
    if same:
        return start + "Here the lines were the whole story."
    return start + "Here a column does not fit either, so this size cannot tell."


def vectors_said(lanes: Mapping[str, int]) -> str:
    """Say which inner loops became vector code, from the lanes of each order's hot loop."""
    scalar = sorted({order[-1] for order, count in lanes.items() if count == 1})
    wide = sorted({order[-1] for order, count in lanes.items() if count > 1})
    most = max(lanes.values())
    if not wide:
        return "The compiler made no vector code of any of them."
    said = f"With {' or '.join(wide)} inside, one instruction works on {most} float32"
    return said + (f"; with {' or '.join(scalar)} inside, on one." if scalar else ".")


def registers_said(loads: Mapping[str, float], seconds: Mapping[str, float]) -> str:
    """Say whether k-m-n keeps more in registers than m-k-n; ``loads`` are per multiply-add."""
    fewer = loads["k-m-n"] < 0.75 * loads["m-k-n"]
    ratio = seconds["k-m-n"] / seconds["m-k-n"]
    start = f"k-m-n: {loads['k-m-n']:.2f} loads per multiply-add, m-k-n: {loads['m-k-n']:.2f}. "
    middle = "The compiler keeps a row of B in registers. " if fewer else ""
    if not runs_as_written():  # the times are of code for another machine
        return (start + middle).rstrip()
    return start + middle + f"k-m-n takes {ratio:.2f} times as long."


def causes_said(rows: float, sums: float, both: float) -> str:
    """Say what each remedy brings alone and together, as speed beside that of m-n-k."""
    product = rows * sums
    start = f"no jumps: {rows:.1f} times as fast; several sums: {sums:.1f}; both: {both:.1f}.\n"
    start += f"If the causes were independent, both remedies would bring {product:.1f}. "
    if both > BEYOND * product:
        return start + "They bring more: each cause hides the other."
    if both * BEYOND < product:
        return start + "They bring less: here the remedies get in each other's way."
    return start + "They bring about as much: here the causes are independent."


def fits_said(misses: Sequence[int], seconds: Sequence[float]) -> str:
    """Say what is left of the differences where all orders miss as often, or do not."""
    ratio = max(seconds) / min(seconds)
    if len(set(misses)) == 1:
        return (
            f"All six miss {misses[0]:,} times, and the slowest takes {ratio:.1f} times as long as "
            "the fastest."
        )
    return (
        f"From {min(misses):,} to {max(misses):,} misses: here the matrices do not quite fit. The "
        f"slowest takes {ratio:.1f} times as long as the fastest."
    )


def layout_said(rates: Mapping[str, float], seconds: Mapping[str, float], before: float) -> str:
    """Say which orders miss least and run fastest in a layout; ``before`` was m-k-n's time."""
    fewest, fast = min(rates, key=rates.__getitem__), min(seconds, key=seconds.__getitem__)
    ratio = seconds[fast] / before
    said = f"fewest misses: {fewest} ({rates[fewest]:.3f}); fastest: {fast} ({rates[fast]:.3f}).\n"
    if rates[fast] > 1.5 * rates[fewest]:
        said += "The fastest order misses more often than another. "
    said += f"It takes {ratio:.1f} times as long as m-k-n with B not transposed. "
    if ratio > BEYOND:
        return said + "In this layout, no order alone removes both causes."
    return said + "In this layout, too, an order removes both causes."
