"""The lesson's other pictures as SVG text: sizes on disk, a loop in three forms, races, lanes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from mlc_course.drawing import (
    NUMPY,
    PAGE_INK,
    PAGE_OURS,
    PAGE_PAPER,
    PAGE_TINT,
    ROOF,
    document,
    line,
    rect,
    text,
    width,
)
from mlc_course.errors import UsageError
from mlc_course.measure import Comparison
from mlc_course.units import size_text, times

WIDTH = 900
LABELS, ROW = 200, 44  # the width of the labels, and the height of a row
ROOM = WIDTH - LABELS - 120  # for bars; the figures are to the right of them
Parts = Mapping[str, int]


def sizes_svg(groups: Mapping[str, Parts], ours: Collection[str] = ()) -> str:
    """Bytes on disk, a bar for each group on one linear scale, cut where one part ends.

    The groups named in ``ours`` are blue. A part has its name where there is room for it. Raises
    ``UsageError`` where there is nothing to draw.
    """
    totals = {name: sum(parts.values()) for name, parts in groups.items()}
    if not totals or max(totals.values()) <= 0:
        raise UsageError("sizes_svg: nothing to draw", got=dict(totals))
    scale = ROOM / max(totals.values())
    parts: list[str] = []
    for place, (name, group) in enumerate(groups.items()):
        y = 8 + ROW * place
        parts.append(text(LABELS - 10, y + 20, name, size=14, anchor="end"))
        colour = PAGE_OURS if name in ours else PAGE_TINT
        parts += _stack(group, y, scale, colour)
        end = LABELS + scale * totals[name] + 8
        parts.append(text(end, y + 20, size_text(totals[name]), bold=True, anchor="start"))
    high = 8 + ROW * len(groups)
    parts.append(text(LABELS, high + 8, "size on disk, linear scale", size=13, anchor="start"))
    said = ", ".join(f"{name}: {size_text(total)}" for name, total in totals.items())
    return document(WIDTH, high + 18, f"Sizes on disk. {said}", parts)


def _stack(group: Parts, y: float, scale: float, colour: str) -> Iterator[str]:
    x = float(LABELS)
    for name, size in sorted(group.items(), key=lambda item: -item[1]):
        wide = max(scale * size, 0.6)
        yield rect(x, y, wide, 30, fill=colour, line=0.8, round_by=0)
        if width(name, 13) + 8 < wide:
            ink = PAGE_PAPER if colour == PAGE_OURS else ""
            yield text(x + wide / 2, y + 20, name, size=13, colour=ink)
        x += wide


CELL, GROUP_GAP, SHOWN = 27, 7, 8


def split_svg(size: int, factor: int) -> str:
    """The loop of ``S[n] = P[n] + b[n]`` as written, split by ``factor``, and vectorized.

    Below each form, the first elements with the number of the step that computes them. Raises
    ``UsageError`` for a factor that does not divide ``size`` and the elements that are shown.
    """
    if size % factor or SHOWN % factor:
        raise UsageError("split_svg: the factor divides neither", got=f"{size} and {factor}")
    rest = size // factor
    stages = (
        ("as written", (f"for n in range({size}):", "    S[n] = P[n] + b[n]"), 1, 1),
        (
            f"split by {factor}",
            (
                f"for n_0 in range({rest}):",
                f"    for n_1 in range({factor}):",
                f"        n = {factor} * n_0 + n_1",
                "        S[n] = P[n] + b[n]",
            ),
            factor,
            1,
        ),
        (
            "n_1 vectorized",
            (
                f"for n_0 in range({rest}):",
                f"    n = {factor} * n_0",
                f"    S[n:n+{factor}] =",
                f"        P[n:n+{factor}] + b[n:n+{factor}]",
            ),
            factor,
            factor,
        ),
    )
    parts: list[str] = []
    for place, (title, code, group, step) in enumerate(stages):
        x = 6 + 302 * place
        parts.append(text(x, 22, title, size=16, bold=True, anchor="start"))
        for row, words in enumerate(code):
            indent = len(words) - len(words.lstrip())
            at = x + 5.5 * indent
            shown = text(at, 48 + 20 * row, words.strip(), size=14, anchor="start")
            parts.append(shown.replace("<text ", '<text font-family="monospace" ', 1))
        parts += _steps(x, group, step)
        count = f"{size // step} additions of {step}" if step > 1 else f"{size} additions"
        parts.append(text(x, 186, count, size=14, bold=True, anchor="start"))
    said = (
        f"A loop of {size} additions, the same loop split by {factor}, and {rest} additions "
        f"of {factor} elements each"
    )
    return document(WIDTH, 196, said, parts)


def _steps(x: float, group: int, step: int) -> Iterator[str]:
    for first in range(0, SHOWN, step):
        left = x + CELL * first + GROUP_GAP * (first // group if group > 1 else 0)
        wide = CELL * step
        fill = PAGE_OURS if step > 1 else PAGE_TINT
        yield rect(left, 132, wide, CELL, fill=fill, line=1, round_by=2)
        ink = PAGE_PAPER if step > 1 else ""
        yield text(left + wide / 2, 150, str(first // step + 1), size=13, colour=ink)


RACE_ROOM = WIDTH - LABELS - 275  # for bars; time, ratio and mark are to the right of them


def race_svg(races: Mapping[int, Mapping[str, Comparison]], floors: Mapping[int, float]) -> str:
    """Time for each image, a block for each number of images at a time, on one linear scale.

    Bars are ours: NumPy's median divided by the median ratio of the rounds. NumPy is a line, the
    least time that the machine's roofs allow (``floors``, in seconds an image) a dashed one.
    """
    blocks = []
    for batch, found in races.items():
        numpy = next(iter(found.values())).baseline.median_s / batch
        blocks.append((batch, found, numpy, floors[batch]))
    longest = max(
        max(numpy, *(numpy / each.ratio for each in found.values()))
        for _, found, numpy, _ in blocks
    )
    scale = RACE_ROOM / longest
    parts: list[str] = []
    y = 0.0
    for batch, found, numpy, floor in blocks:
        parts += _block(y, batch, found, numpy, floor, scale)
        y += 64 + 34 * len(found)
    parts += _axis(y, longest, scale)
    return document(WIDTH, y + 50, _race_said(races), parts)


def _block(
    y: float,
    batch: int,
    found: Mapping[str, Comparison],
    numpy: float,
    floor: float,
    scale: float,
) -> Iterator[str]:
    noun = "1 image at a time" if batch == 1 else f"{batch} images at a time"
    yield text(6, y + 22, noun, size=16, bold=True, anchor="start")
    line_at, roof_at = LABELS + scale * numpy, LABELS + scale * floor
    top, bottom = y + 44, y + 52 + 34 * len(found)
    said = f"NumPy {_micro(numpy)}"
    yield text(max(line_at, LABELS + 40), y + 38, said, size=14, bold=True, colour=NUMPY)
    for place, (name, each) in enumerate(found.items()):
        ours, at = numpy / each.ratio, y + 50 + 34 * place
        yield text(LABELS - 10, at + 18, name, size=14, anchor="end")
        yield rect(LABELS, at, scale * ours, 26, fill=PAGE_OURS, line=0, round_by=0)
        low, high = (scale * numpy / end for end in reversed(each.interval))
        yield line((LABELS + low, at + 13), (LABELS + high, at + 13), colour=PAGE_INK, wide=2)
        label = f"{_micro(ours)}, {times(each.ratio)} NumPy{each.mark}"
        right = LABELS + max(high, scale * ours) + 8
        if right - 8 < line_at < right + width(label, 14) + 4:
            right = line_at + 8
        yield text(right, at + 18, label, size=14, anchor="start")
    yield line((line_at, top), (line_at, bottom), colour=NUMPY, wide=2.5)
    dashed = 'stroke-dasharray="6 4"'
    yield line((roof_at, top), (roof_at, bottom), colour=ROOF, wide=2.5, more=dashed)


def _axis(y: float, longest: float, scale: float) -> Iterator[str]:
    right = LABELS + scale * longest
    yield line((LABELS, y), (right, y), colour=PAGE_INK, wide=1)
    step = _round_step(1e6 * longest / 6)
    tick = 0.0
    while tick <= 1e6 * longest:
        x = LABELS + scale * tick / 1e6
        yield line((x, y), (x, y + 5), colour=PAGE_INK, wide=1)
        yield text(x, y + 20, f"{tick:g}", size=13)
        tick += step
    yield text(LABELS, y + 42, "time for each image, µs", size=13, anchor="start")
    yield line(
        (right - 230, y + 37),
        (right - 195, y + 37),
        colour=ROOF,
        wide=2.5,
        more='stroke-dasharray="6 4"',
    )
    yield text(right - 188, y + 42, "the least this machine needs", size=13, anchor="start")


def _round_step(about: float) -> float:
    """The first of 1, 2, 5, 10, 20, ... and of tenths of these that is not below ``about``."""
    step = 0.01
    while True:
        for digit in (1, 2, 5):
            if digit * step >= about:
                return digit * step
        step *= 10


def _race_said(races: Mapping[int, Mapping[str, Comparison]]) -> str:
    return ". ".join(
        f"{batch} at a time: "
        + ", ".join(f"{name} {times(each.ratio)} NumPy's speed" for name, each in found.items())
        for batch, found in races.items()
    )


def _micro(seconds: float) -> str:
    return f"{1e6 * seconds:.3g} µs"


def lanes_svg(counted: Mapping[str, tuple[int, int]], titles: tuple[str, str]) -> str:
    """For each processor, how many float32 one instruction works on, in two programs."""
    cell, most = 15, max(lanes for pair in counted.values() for lanes in pair)
    lefts = 170, 170 + cell * most + 90
    parts = [
        text(x, 20, title, bold=True, anchor="start")
        for x, title in zip(lefts, titles, strict=True)
    ]
    for place, (cpu, pair) in enumerate(counted.items()):
        y = 32 + 28 * place
        parts.append(text(158, y + 15, cpu, size=14, anchor="end"))
        for x, lanes in zip(lefts, pair, strict=True):
            for each in range(lanes):
                parts.append(
                    rect(x + cell * each, y, cell - 2, 20, fill=PAGE_OURS, line=0, round_by=0)
                )
            at = x + cell * lanes + 10
            parts.append(text(at, y + 15, str(lanes), size=14, bold=True, anchor="start"))
    said = "; ".join(f"{cpu}: {a} before, {b} after" for cpu, (a, b) in counted.items())
    wide = lefts[1] + cell * most + 60
    return document(max(wide, 640), 40 + 28 * len(counted), f"float32 at a time. {said}", parts)
