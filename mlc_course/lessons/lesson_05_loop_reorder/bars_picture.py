"""Horizontal bars of times or counts, with lines for NumPy and for the roof, as SVG text.

The axis is logarithmic, because six orders of one product lie a factor of 50 apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mlc_course.drawing import (
    DASHED,
    NUMPY,
    PAGE_INK,
    PAGE_OURS,
    PAGE_TINT,
    ROOF,
    document,
    line,
    round_numbers,
    text,
    width,
)
from mlc_course.errors import UsageError, check_known
from mlc_course.measure import Comparison
from mlc_course.tensor_program.memory import Roofs
from mlc_course.units import milliseconds, times
from mlc_course.words import tr

ROW, BAR = 27, 17
SIZE = 14  # of the letters
TOP = 70


@dataclass(frozen=True)
class Bar:
    """A bar: its name, its value, the words at its end, and the quartiles for a whisker."""

    name: str
    value: float
    said: str
    quartiles: tuple[float, float] | None = None


@dataclass(frozen=True)
class Mark:
    """A vertical line at a value: NumPy's time, or the roof, which is dashed."""

    value: float
    words: str
    colour: str
    dashed: bool = False


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis from ``low`` at x = ``left`` to ``high`` at x = ``right``."""

    low: float
    high: float
    left: float
    right: float

    def x(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.left + (self.right - self.left) * share

    def ticks(self) -> list[float]:
        return round_numbers(self.low, self.high)


@dataclass(frozen=True)
class Bars:
    """A picture of bars; ``axis`` names the quantity and its unit, ``chosen`` is marked."""

    title: str
    axis: str
    bars: Sequence[Bar]
    marks: Sequence[Mark] = field(default=())
    chosen: str | None = None
    wide: int = 860

    def svg(self) -> str:
        """The picture; the parts of bar 3 have the ids ``row-3`` and ``rung-3``.

        Raises ``UsageError`` for no bars, for a value that is not above zero, and for a chosen
        name that no bar has.
        """
        if not self.bars or min(each.value for each in self.bars) <= 0:
            raise UsageError("no bars to draw", expected="one or more, each above zero")
        if self.chosen is not None:
            check_known("no such program", self.chosen, [each.name for each in self.bars])
        scale, bottom = self._scale(), TOP + ROW * len(self.bars)
        parts = [text(8, 22, self.title, size=15, bold=True, anchor="start")]
        parts += self._rows(scale)
        parts += _axis(scale, bottom, self.axis)
        parts += _marks(self.marks, scale, bottom, self.wide)
        said = "; ".join(f"{each.name}: {each.said}" for each in self.bars)
        said += "".join(f"; {each.words}" for each in self.marks)
        return document(self.wide, bottom + 50, f"{self.title}. {said}", parts)

    def _scale(self) -> Scale:
        values = [each.value for each in self.bars]
        values += [each.value for each in self.marks]
        values += [end for each in self.bars for end in each.quartiles or ()]
        low, high = min(values), max(values)
        span = max(high / low, 2.0)
        left = 18 + max(width(each.name, SIZE, bold=True) for each in self.bars)
        room = 16 + max(width(each.said, SIZE) for each in self.bars)
        return Scale(low / span**0.12, low * span, left, max(self.wide - room, left + 80))

    def _rows(self, scale: Scale) -> Iterator[str]:
        lines = [scale.x(each.value) for each in self.marks]
        for place, each in enumerate(self.bars):
            y = TOP + ROW * place
            chosen = each.name == self.chosen
            yield (
                f'<g id="row-{place}" class="{"chosen" if chosen else ""}">'
                f'<rect class="band" x="2" y="{y}" width="{self.wide - 4}" height="{ROW}" '
                f'fill="{PAGE_TINT if chosen else "transparent"}"/>'
            )
            yield text(scale.left - 8, y + 19, each.name, size=SIZE, bold=chosen, anchor="end")
            end = scale.x(each.value)
            yield (
                f'<rect id="rung-{place}" x="{scale.left:.1f}" y="{y + (ROW - BAR) // 2}" '
                f'width="{end - scale.left:.1f}" height="{BAR}" fill="{PAGE_OURS}"/>'
            )
            if each.quartiles:
                low, high = map(scale.x, each.quartiles)
                end, middle = max(end, high), y + ROW / 2
                yield (
                    f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 5}v10'
                    f'M{high:.1f} {middle - 5}v10" stroke="{PAGE_INK}" stroke-width="1.6"/>'
                )
            end = max([end, *(x for x in lines if x > end)])  # right of NumPy's line as well
            yield text(end + 8, y + 19, each.said, size=SIZE, anchor="start") + "</g>"


def _axis(scale: Scale, bottom: float, words: str) -> Iterator[str]:
    yield line((scale.left, bottom), (scale.right, bottom), colour=PAGE_INK, wide=1.2)
    last = -math.inf
    for tick in scale.ticks():
        x, label = scale.x(tick), f"{tick:,.0f}" if tick >= 1 else f"{tick:g}"
        yield line((x, bottom), (x, bottom + 5), colour=PAGE_INK, wide=1.2)
        if x - last > width(label, 13) + 6:
            yield text(x, bottom + 20, label, size=13)
            last = x
    yield text((scale.left + scale.right) / 2, bottom + 41, words, size=13)


def _marks(marks: Sequence[Mark], scale: Scale, bottom: float, wide: float) -> Iterator[str]:
    for place, each in enumerate(marks):
        x = scale.x(each.value)
        more = DASHED if each.dashed else ""
        top = TOP - 5 - 18 * place
        yield line((x, top), (x, bottom), colour=each.colour, wide=2.5, more=more)
        half = width(each.words, SIZE, bold=True) / 2
        middle = min(max(x, half + 6), wide - half - 6)
        yield text(middle, top - 4, each.words, size=SIZE, bold=True, colour=each.colour)


# --- a race ---------------------------------------------------------------------------------------


def race_bars(found: Mapping[str, Comparison], *, short: bool = False) -> list[Bar]:
    """A bar for each contestant of a race, in milliseconds, with the middle half of its readings.

    With ``short`` its words are the time alone. Raises ``UsageError`` for an empty race.
    """
    if not found:
        raise UsageError("a race without contestants")
    return [
        Bar(
            name,
            1e3 * each.timing.median_s,
            milliseconds(each.timing.median_s)
            + ("" if short else f", {times(each.ratio)} NumPy{each.mark}"),
            tuple(1e3 * quartile for quartile in each.timing.iqr_s),  # type: ignore[arg-type]
        )
        for name, each in found.items()
    ]


def race_marks(
    found: Mapping[str, Comparison], roofs: Roofs | None = None, flops: float = 0
) -> list[Mark]:
    """NumPy's time, and the least time that the roof of arithmetic allows, if there is one."""
    numpy = next(iter(found.values())).baseline.median_s
    marks = [Mark(1e3 * numpy, f"NumPy {milliseconds(numpy)}", NUMPY)]
    if roofs is not None and flops:
        least = flops / roofs.gflops / 1e9
        words = tr("roof {time}", time=milliseconds(least))
        marks.append(Mark(1e3 * least, words, ROOF, dashed=True))
    return marks
