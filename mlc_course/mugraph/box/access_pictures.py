"""Pictures of a warp's accesses: banks and time, lines of memory, and steps of each thread.

All are pure functions of requests. What a colour says is also said by the number of a lane in the
cell, and in words: ``banks_words`` and ``lines_words`` are the text alternatives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlc_course.drawing import (
    AMBER,
    PAGE_INK,
    PAGE_OURS,
    PAGE_PAPER,
    PAGE_TINT,
    document,
    rect,
    text,
)
from mlc_course.errors import UsageError
from mlc_course.mugraph.box.access_log import element_text
from mlc_course.mugraph.box.python_kernels import Run
from mlc_course.mugraph.box.warp_requests import CACHE_LINE, NOT_HERE, SECTOR, Request
from mlc_course.mugraph.kernels import WARP
from mlc_course.mugraph.thread_kernels import BANKS, WORD
from mlc_course.units import plural

CELL, ROW = 26.0, 18.0
LEFT, TOP, MARGIN = 108.0, 48.0, 10.0
TINY = 12.5  # letters; two digits are 14 wide
SMALLER = {4: 12, 5: 8.5}  # where a cell has so many, or more
LOW_ROW = 13.4  # where there are more than FEW_ROWS
FEW_ROWS, MOST_ROWS = 16, 40
HATCH = (
    '<defs><pattern id="mlc-unused" width="7" height="7" patternUnits="userSpaceOnUse" '
    f'patternTransform="rotate(45)"><rect width="7" height="7" fill="{PAGE_PAPER}"/>'
    f'<rect width="3" height="7" fill="{AMBER}" fill-opacity="0.55"/></pattern></defs>'
)
WORDS_A_LINE = CACHE_LINE // WORD
WORDS_A_SECTOR = SECTOR // WORD


def lanes_text(lanes: Sequence[int]) -> str:
    """Return lanes as they fit a cell: ``7``, ``0-31``, or how many."""
    lanes = sorted(set(lanes))
    if len(lanes) == 1:
        return str(lanes[0])
    if lanes[-1] - lanes[0] == len(lanes) - 1:
        return f"{lanes[0]}-{lanes[-1]}"
    return f"{len(lanes)} x"


# ---- shared memory


def banks_words(request: Request) -> str:
    """Return in words how the banks serve a request."""
    busiest: dict[int, int] = {}
    for served in request.served():
        for bank in served:
            busiest[bank] = busiest.get(bank, 0) + 1
    waves, least = request.wavefronts, request.least_wavefronts
    head = f"{plural(len(request.lanes), 'lane')}, {request.size} bytes each: "
    head += plural(waves, "wavefront")
    if waves == least:
        return f"{head}, as few as {plural(len(busiest), 'bank')} can do it in."
    bank = max(busiest, key=lambda each: (busiest[each], -each))
    return (
        f"{head}, where {least} would do. Bank {bank} has {busiest[bank]} words to serve, "
        f"and {plural(BANKS - len(busiest), 'bank')} of {BANKS} {_have(BANKS - len(busiest))} none."
    )


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def banks_svg(request: Request) -> str:
    """Draw banks from left to right and time downwards; a cell has the lanes that it serves."""
    served = request.served()
    shown = served[:MOST_ROWS]
    title = f"Shared memory: {plural(len(served), 'wavefront')}"
    high = _row_height(len(served))
    parts = [HATCH, *_head(title, "bank", BANKS), *_grid(BANKS, len(shown), high)]
    for number, row in enumerate(shown):
        y = TOP + number * high
        parts.append(_label(y, high, f"wavefront {number + 1}"))
        for bank, (_, lanes) in sorted(row.items()):
            parts += _cell(bank, y, high, lanes_text(lanes))
    parts += _rest(len(served), high)
    wide = LEFT + BANKS * CELL + MARGIN
    said = f"{title}. {banks_words(request)}"
    return document(wide, _height(len(served), high), said, parts)


# ---- device memory


def lines_words(request: Request) -> str:
    """Return in words what a request moves."""
    moved = len(request.sectors) * SECTOR
    share = request.bytes_wanted / moved if moved else 1.0
    return (
        f"{plural(len(request.lanes), 'lane')}, {request.size} bytes each: "
        f"{plural(len(request.sectors), 'sector')} of {SECTOR} bytes in "
        f"{plural(len(request.cache_lines), 'line')} of {CACHE_LINE}. "
        f"Of {moved:,} bytes moved, {request.bytes_wanted:,} are wanted: {share:.0%}."
    )


def lines_svg(request: Request) -> str:
    """Draw the lines of device memory that a request touches, word by word, sectors framed.

    A cell has the lanes that want the word; a hatched one is moved and wanted by nobody.
    """
    wanted: dict[int, list[int]] = {}
    for lane, at in enumerate(request.addresses):
        if at != NOT_HERE:
            for word in range(at // WORD, (at + request.size - 1) // WORD + 1):
                wanted.setdefault(word, []).append(lane)
    lines, sectors = request.cache_lines, set(request.sectors)
    title = f"Device memory: {plural(len(sectors), 'sector')}"
    high, shown = _row_height(len(lines)), lines[:MOST_ROWS]
    parts = [HATCH, *_head(title, "word of the line", WORDS_A_LINE)]
    parts += _grid(WORDS_A_LINE, len(shown), high)
    for number, line in enumerate(shown):
        y = TOP + number * high
        parts.append(_label(y, high, f"byte {line * CACHE_LINE:,}"))
        for word in range(WORDS_A_LINE):
            place = line * WORDS_A_LINE + word
            if place in wanted:
                parts += _cell(word, y, high, lanes_text(wanted[place]))
            elif place // WORDS_A_SECTOR in sectors:
                parts.append(_box(word, y, high, "url(#mlc-unused)"))
        for start in range(0, WORDS_A_LINE, WORDS_A_SECTOR):
            if (line * WORDS_A_LINE + start) // WORDS_A_SECTOR in sectors:
                frame = 'fill-opacity="0"'
                x, wide = LEFT + start * CELL, WORDS_A_SECTOR * CELL
                parts.append(rect(x, y, wide, high, line=1.8, round_by=0, more=frame))
    parts += _rest(len(lines), high)
    wide = LEFT + WORDS_A_LINE * CELL + MARGIN
    said = f"{title}. {lines_words(request)}"
    return document(wide, _height(len(lines), high), said, parts)


# ---- threads and steps


def steps_svg(run: Run, array: str, *, block: int = 0, warp: int = 0) -> str:
    """Draw what each thread of a warp accesses, step by step: threads across, time downwards.

    A cell has the index of the element; writes are filled, reads are not.
    """
    requests = [each for each in run.requests(array, block) if each.warp == warp]
    if not requests:
        raise UsageError(f"no access to {array} by block {block}, warp {warp}", got=array)
    memory = next(each for each in run.table.memories if each.name == array)
    title = f"{array}, block {block}: which thread accesses which element"
    high, shown = _row_height(len(requests)), requests[:MOST_ROWS]
    parts = [*_head(title, "thread", WARP, warp * WARP), *_grid(WARP, len(shown), high)]
    for number, request in enumerate(shown):
        y = TOP + number * high
        parts.append(_label(y, high, f"{number + 1}. {'write' if request.writes else 'read'}"))
        for lane, at in enumerate(request.addresses):
            if at != NOT_HERE:
                index = ",".join(map(str, memory.index(at)))
                parts += _cell(lane, y, high, index, strong=request.writes)
    parts += _rest(len(requests), high)
    said = "; ".join(steps_words(run, array, block=block, warp=warp)[:4])
    wide = LEFT + WARP * CELL + MARGIN
    return document(wide, _height(len(requests), high), f"{title}: {said}", parts)


def steps_words(run: Run, array: str, *, block: int = 0, warp: int = 0) -> list[str]:
    """Return in words what the first and the last thread of a warp access in each step."""
    memory = next(each for each in run.table.memories if each.name == array)
    found = []
    for request in run.requests(array, block):
        if request.warp != warp:
            continue
        first, last = request.lanes[0], request.lanes[-1]
        ends = [
            element_text(array, memory.index(request.addresses[lane])) for lane in (first, last)
        ]
        verb = "writes" if request.writes else "reads"
        base = warp * WARP
        found.append(f"thread {base + first} {verb} {ends[0]}, thread {base + last} {ends[1]}")
    return found


# ---- pieces


def _head(title: str, across: str, count: int, first: int = 0) -> Iterator[str]:
    yield text(MARGIN, 20, title, bold=True, anchor="start")
    yield text(LEFT - 8, TOP - 8, across, size=TINY, anchor="end")
    for number in range(count):
        yield text(LEFT + (number + 0.5) * CELL, TOP - 8, str(first + number), size=TINY)


def _row_height(rows: int) -> float:
    return ROW if rows <= FEW_ROWS else LOW_ROW


def _height(rows: int, high: float) -> float:
    """The height of a picture with so many rows, and a line that says how many are left out."""
    return TOP + high * min(rows, MOST_ROWS) + (ROW if rows > MOST_ROWS else 0) + MARGIN


def _grid(columns: int, rows: int, high: float) -> Iterator[str]:
    """Empty cells: one box, and one path for all lines between them."""
    right, below = LEFT + columns * CELL, TOP + rows * high
    lines = [f"M{LEFT + at * CELL:.1f} {TOP:.1f}V{below:.1f}" for at in range(columns + 1)]
    lines += [f"M{LEFT:.1f} {TOP + at * high:.1f}H{right:.1f}" for at in range(rows + 1)]
    yield rect(LEFT, TOP, columns * CELL, rows * high, line=0, round_by=0)
    yield f'<path d="{"".join(lines)}" stroke="{PAGE_INK}" stroke-width="0.4" fill="none"/>'


def _label(y: float, high: float, words: str) -> str:
    return text(LEFT - 8, y + high / 2 + 4.2, words, size=TINY, anchor="end")


def _box(column: int, y: float, high: float, fill: str) -> str:
    return rect(LEFT + column * CELL, y, CELL, high, fill=fill, line=0.4, round_by=0)


def _cell(column: int, y: float, high: float, words: str, *, strong: bool = True) -> Iterator[str]:
    yield _box(column, y, high, PAGE_OURS if strong else PAGE_TINT)
    size = SMALLER.get(min(len(words), max(SMALLER)), TINY)
    x, ink = LEFT + (column + 0.5) * CELL, PAGE_PAPER if strong else PAGE_INK
    yield text(x, y + high / 2 + size / 3, words, size=size, colour=ink)


def _rest(count: int, high: float) -> Iterator[str]:
    if count > MOST_ROWS:
        y = TOP + MOST_ROWS * high
        yield text(LEFT, y + ROW - 4, f"and {count - MOST_ROWS} more", size=TINY, anchor="start")
