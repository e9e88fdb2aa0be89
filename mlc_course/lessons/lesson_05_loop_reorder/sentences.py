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
from mlc_course.words import listed, tr, trn

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
            tr("{low:g} to {high:g} times as long", low=low, high=high)
            for low, high in itertools.pairwise(self.edges)
        )
        first = tr("less than {edge:g} times as long", edge=self.edges[0])
        return [first, *inner, tr("more than {edge:g} times as long", edge=self.edges[-1])]

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
    lines = [
        tr("{loop} inside: {times}", loop=loop, times=listed([*map(milliseconds, times)]))
        for loop, times in groups
    ]
    overlaps = [
        listed((one, other))
        for (one, first), (other, second) in itertools.pairwise(groups)
        if max(first) >= min(second)
    ]
    end = (
        tr("Here these innermost loops overlap: {pairs}.", pairs=", ".join(overlaps))
        if overlaps
        else tr("The innermost loop decides: the two orders that share it come next to each other.")
    )
    return "\n".join([*lines, end])


def rule_said(rates: Mapping[str, float], jumps: Mapping[str, int], per_line: int) -> str:
    """Say whether each jump of the inner loop costs a miss: ``rates`` are misses a multiply-add.

    What does not jump misses once in ``per_line`` elements, or not at all.
    """
    broken = [
        tr(
            "{order} ({rate:.3f}, where the rule says {jumps})",
            order=order,
            rate=rates[order],
            jumps=jumps[order],
        )
        for order in rates
        if not jumps[order] <= rates[order] <= jumps[order] + (3 - jumps[order]) / per_line
    ]
    if broken:
        return tr(
            "The rule 'one jump, one miss' fails for {orders}: lines of a column were still in "
            "the cache when the next column came.",
            orders=", ".join(broken),
        )
    shown = []
    for number in sorted(set(jumps.values())):
        some = [f"{rates[order]:.3f}" for order in rates if jumps[order] == number]
        shown.append(
            trn("{count} jump: {rates}", "{count} jumps: {rates}", number, rates=_and(some))
        )
    groups = "; ".join(shown)
    return tr("Misses per multiply-add with {groups}. One jump, one miss.", groups=groups)


def _and(words: Sequence[str]) -> str:
    """Return "a and b and c"."""
    return tr(" and ").join(words)


def column_said(size: int, cache: Cache) -> str:
    """Say where the lines of a column of a size x size matrix go in a cache."""
    row = FLOAT_BYTES * size
    crowd = Counter(i * row // cache.line % cache.sets for i in range(size))
    stay = max(crowd.values()) <= cache.ways
    values = {
        "size": size,
        "row": row,
        "shared": len(crowd),
        "sets": cache.sets,
        "held": len(crowd) * cache.ways,
    }
    if stay:
        return tr(
            "{size} columns: the {size} lines of a column are {row:,} bytes apart and share "
            "{shared} of {sets} sets, which hold {held:,} lines: they stay.",
            **values,
        )
    return tr(
        "{size} columns: the {size} lines of a column are {row:,} bytes apart and share "
        "{shared} of {sets} sets, which hold {held:,} lines: they push each other out.",
        **values,
    )


def columns_said(misses: Mapping[str, int], found: Mapping[str, Comparison]) -> str:
    """Say what walking along rows brings to column sums, ``k-j`` beside ``j-k``."""
    ratio = found["j-k"].timing.median_s / found["k-j"].timing.median_s
    start = tr(
        "misses: {before:,} in j-k, {after:,} in k-j. ", before=misses["j-k"], after=misses["k-j"]
    )
    if ratio > NOTICED:
        start += tr("k-j is {ratio:.1f} times as fast. ", ratio=ratio)
        if misses["k-j"] < misses["j-k"]:
            return start + tr("The rule holds for this program, too.")
        return start + tr("It does not miss less often, so something else helps.")
    if ratio * NOTICED < 1:
        return start + tr(
            "k-j takes {ratio:.1f} times as long. Here the rule does not hold.", ratio=1 / ratio
        )
    return start + tr("Both take about as long. Here the rule makes no difference.")


def not_only_lines_said(few: float, fewest: float, ratio: float, size: int) -> str:
    """Say what m-n-k costs beside m-k-n where a column fits: misses a multiply-add, and time."""
    same = few <= 1.5 * fewest
    start = tr(
        "At {size}, m-n-k has {few:.3f} misses per multiply-add, m-k-n {fewest:.3f}, and m-n-k "
        "takes {ratio:.1f} times as long. ",
        size=size,
        few=few,
        fewest=fewest,
        ratio=ratio,
    )
    if same and ratio > BEYOND:
        return start + tr("So lines are not the whole story.")
    if same:
        return start + tr("Here the lines were the whole story.")
    return start + tr("Here a column does not fit either, so this size cannot tell.")


def vectors_said(lanes: Mapping[str, int]) -> str:
    """Say which inner loops became vector code, from the lanes of each order's hot loop."""
    scalar = sorted({order[-1] for order, count in lanes.items() if count == 1})
    wide = sorted({order[-1] for order, count in lanes.items() if count > 1})
    most = max(lanes.values())
    if not wide:
        return tr("The compiler made no vector code of any of them.")
    values = {"wide": tr(" or ").join(wide), "most": most}
    if not scalar:
        return tr("With {wide} inside, one instruction works on {most} float32.", **values)
    return tr(
        "With {wide} inside, one instruction works on {most} float32; with {scalar} inside, on "
        "one.",
        **values,
        scalar=tr(" or ").join(scalar),
    )


def registers_said(loads: Mapping[str, float], seconds: Mapping[str, float]) -> str:
    """Say whether k-m-n keeps more in registers than m-k-n; ``loads`` are per multiply-add."""
    fewer = loads["k-m-n"] < 0.75 * loads["m-k-n"]
    ratio = seconds["k-m-n"] / seconds["m-k-n"]
    start = tr(
        "k-m-n: {first:.2f} loads per multiply-add, m-k-n: {second:.2f}. ",
        first=loads["k-m-n"],
        second=loads["m-k-n"],
    )
    middle = tr("The compiler keeps a row of B in registers. ") if fewer else ""
    if not runs_as_written():  # the times are of code for another machine
        return (start + middle).rstrip()
    return start + middle + tr("k-m-n takes {ratio:.2f} times as long.", ratio=ratio)


def causes_said(rows: float, sums: float, both: float) -> str:
    """Say what each remedy brings alone and together, as speed beside that of m-n-k."""
    product = rows * sums
    start = tr(
        "no jumps: {rows:.1f} times as fast; several sums: {sums:.1f}; both: {both:.1f}.\n"
        "If the causes were independent, both remedies would bring {product:.1f}. ",
        rows=rows,
        sums=sums,
        both=both,
        product=product,
    )
    if both > BEYOND * product:
        return start + tr("They bring more: each cause hides the other.")
    if both * BEYOND < product:
        return start + tr("They bring less: here the remedies get in each other's way.")
    return start + tr("They bring about as much: here the causes are independent.")


def fits_said(misses: Sequence[int], seconds: Sequence[float]) -> str:
    """Say what is left of the differences where all orders miss as often, or do not."""
    ratio = max(seconds) / min(seconds)
    if len(set(misses)) == 1:
        return tr(
            "All six miss {misses:,} times, and the slowest takes {ratio:.1f} times as long as "
            "the fastest.",
            misses=misses[0],
            ratio=ratio,
        )
    return tr(
        "From {least:,} to {most:,} misses: here the matrices do not quite fit. The slowest takes "
        "{ratio:.1f} times as long as the fastest.",
        least=min(misses),
        most=max(misses),
        ratio=ratio,
    )


def layout_said(rates: Mapping[str, float], seconds: Mapping[str, float], before: float) -> str:
    """Say which orders miss least and run fastest in a layout; ``before`` was m-k-n's time."""
    fewest, fast = min(rates, key=rates.__getitem__), min(seconds, key=seconds.__getitem__)
    ratio = seconds[fast] / before
    said = tr(
        "fewest misses: {fewest} ({least:.3f}); fastest: {fast} ({rate:.3f}).\n",
        fewest=fewest,
        least=rates[fewest],
        fast=fast,
        rate=rates[fast],
    )
    if rates[fast] > 1.5 * rates[fewest]:
        said += tr("The fastest order misses more often than another. ")
    said += tr("It takes {ratio:.1f} times as long as m-k-n with B not transposed. ", ratio=ratio)
    if ratio > BEYOND:
        return said + tr("In this layout, no order alone removes both causes.")
    return said + tr("In this layout, too, an order removes both causes.")
