"""The walk of two tiles over a small product: three matrices, the registers, two caches.

The picture is drawn once for a pair of tiles; ``frames`` has what changes from step to step. A cell
of B and C is one vector, a cell of A one element. The matrices are small; the bytes beside them are
those of the real product, in the same proportions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mlc_course.drawing import AMBER, GREEN, PAGE_INK, PAGE_OURS, document, rect, text
from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_07_two_levels.two_tiles import HotLoop, RegisterTile
from mlc_course.units import plural

DEEP, PANELS, BLOCKS, BANDS = 4, 2, 2, 2  # of the small product: k_1, n_0, k_0, m_0
WIDE, HIGH = 30, 14  # of a vector; an element of A is as wide as it is high
LEFT, TOP, GAP = 14, 44, 40
SIDE, END = 452, 890  # the right half, with registers and caches
BOX = 24


@dataclass(frozen=True)
class Scene:
    """A register tile, the rows of B in the cache tile, and what they are held against."""

    tile: RegisterTile
    depth: int
    registers: int
    caches: Sequence[int]  # bytes of the first two
    hot: HotLoop
    rows: int = 240

    def held(self, b: float, a: float, c: float) -> tuple[float, float]:
        """Bytes wanted in L1 and in L2, with these shares of a tile of B, a band of A, and C."""
        if not (b or a or c):
            return 0.0, 0.0
        wide, high, deep = self.tile.columns, self.tile.rows, self.depth
        first = 4 * (b * deep * wide + deep * high + high * wide)
        second = 4 * (b * deep * wide + a * deep * self.rows + c * wide * self.rows)
        return first, second


@dataclass(frozen=True)
class Moment:
    """One step: where the loops are, what it does, and the loads and multiply-adds so far."""

    n_0: int
    k_0: int
    m_0: int
    k_1: int
    m_1: int  # -1 while a row of B is loaded
    what: str
    sums: bool
    b: bool
    a: bool
    loads: int
    multiply_adds: int


def moments(tile: RegisterTile) -> Iterator[Moment]:
    """The steps of the small product, in the order of the loops."""
    r, v, loads, done = tile.rows, tile.vectors, 0, 0
    yield Moment(0, 0, 0, -1, -1, "Nothing is loaded yet.", False, False, False, 0, 0)
    for n_0 in range(PANELS):
        for k_0 in range(BLOCKS):
            for m_0 in range(BANDS):
                loads += r * v
                what = f"Load the {plural(r * v, 'sum')} of a tile of C."
                yield Moment(n_0, k_0, m_0, -1, -1, what, True, False, False, loads, done)
                for k_1 in range(DEEP):
                    loads += v
                    what = f"k_1 = {k_1}: load {plural(v, 'vector')} of B."
                    yield Moment(n_0, k_0, m_0, k_1, -1, what, True, True, False, loads, done)
                    for m_1 in range(r):
                        loads, done = loads + 1, done + v
                        what = f"m_1 = {m_1}: load an element of A; {plural(v, 'multiply-add')}."
                        yield Moment(n_0, k_0, m_0, k_1, m_1, what, True, True, True, loads, done)


def frames(scene: Scene) -> dict[str, Any]:
    """Everything that a page needs to show any step."""
    steps = list(moments(scene.tile))
    bars = [scene.held(*_shares(step)) for step in steps]
    return {
        "boxes": {name: [_places(scene.tile, s)[name] for s in steps] for name in NAMES},
        "lit": [[s.sums, s.b, s.a] for s in steps],
        "bars": [[_bar(size, scene.caches[i]) for i, size in enumerate(each)] for each in bars],
        "kib": [[_kib(size) for size in each] for each in bars],
        "said": [_said(scene, s) for s in steps],
    }


NAMES = ("tile-b", "row-b", "band-a", "element-a", "tile-c", "now-c")


def _shares(step: Moment) -> tuple[float, float, float]:
    """Shares of the tile of B, of the block of A and of the panel of C that were touched."""
    started = step.what[0] != "N"
    b = 1.0 if step.m_0 else (step.k_1 + 1) / DEEP
    band = (step.m_0 + (step.k_1 + 1) / DEEP) / BANDS
    c = 1.0 if step.k_0 else (step.m_0 + 1) / BANDS
    return (b, band, c) if started else (0.0, 0.0, 0.0)


def _said(scene: Scene, step: Moment) -> str:
    so_far = f"{plural(step.loads, 'load')} for {plural(step.multiply_adds, 'multiply-add')} so far"
    each = f", {step.loads / step.multiply_adds:.2f} each" if step.multiply_adds else ""
    first, second = scene.held(*_shares(step))
    return (
        f"n_0 = {step.n_0}, k_0 = {step.k_0}, m_0 = {step.m_0}. {step.what} {so_far}{each}. "
        f"Wanted in L1: {_kib(first)}; in L2: {_kib(second)}."
    )


def _places(tile: RegisterTile, step: Moment) -> dict[str, list[float]]:
    """Left, top, width and height of what is lit; no width where nothing is."""
    r, v = tile.rows, tile.vectors
    a_left, b_left = LEFT, LEFT + BLOCKS * DEEP * HIGH + GAP
    b_top, c_top = TOP, TOP + BLOCKS * DEEP * HIGH + GAP
    x, y = b_left + step.n_0 * v * WIDE, c_top + step.m_0 * r * HIGH
    k = step.k_0 * DEEP
    here = max(step.k_1, 0)
    started = step.what[0] != "N"
    wide = v * WIDE if started else 0
    touched = DEEP if step.m_0 else step.k_1 + 1
    return {
        "tile-b": [x, b_top + k * HIGH, wide, touched * HIGH],
        "row-b": [x, b_top + (k + here) * HIGH, wide if step.b else 0, HIGH],
        "band-a": [a_left + k * HIGH, y, DEEP * HIGH if started else 0, r * HIGH],
        "element-a": [
            a_left + (k + here) * HIGH,
            y + max(step.m_1, 0) * HIGH,
            HIGH if step.a else 0,
            HIGH,
        ],
        "tile-c": [x, y, wide, r * HIGH],
        "now-c": [x, y + max(step.m_1, 0) * HIGH, wide if step.a else 0, HIGH],
    }


def _bar(size: float, cache: int) -> float:
    """The width of a bar; a cache is 240 wide, and what does not fit is cut at 330."""
    return min(240 * size / cache, 330)


def _kib(size: float) -> str:
    return f"{size / 1024:.3g} KiB" if size < 1000 * 1024 else f"{size / (1 << 20):.3g} MiB"


# --- the picture ----------------------------------------------------------------------------------

FILLS = {
    "tile-b": (AMBER, 0.30),
    "row-b": (AMBER, 0.9),
    "band-a": (GREEN, 0.25),
    "element-a": (GREEN, 0.9),
    "tile-c": (PAGE_OURS, 0.30),
    "now-c": (PAGE_OURS, 0.8),
}


def walk_svg(scene: Scene, step: int) -> str:
    """Draw the scene after ``step`` steps; raises ``UsageError`` for a step that there is not."""
    steps = list(moments(scene.tile))
    if not 0 <= step < len(steps):
        raise UsageError("no such step", expected=f"0 to {len(steps) - 1}", got=step)
    moment = steps[step]
    parts = [*_matrices(scene, moment), *_registers(scene, moment), *_caches(scene, moment)]
    below = max(TOP + BLOCKS * DEEP * HIGH + GAP + BANDS * scene.tile.rows * HIGH + 14, 372)
    return document(900, below, _said(scene, moment), parts)


def _matrices(scene: Scene, moment: Moment) -> Iterator[str]:
    r, v = scene.tile.rows, scene.tile.vectors
    deep = BLOCKS * DEEP
    b_left, c_top = LEFT + deep * HIGH + GAP, TOP + deep * HIGH + GAP
    places = _places(scene.tile, moment)
    for name, (fill, opacity) in FILLS.items():
        x, y, wide, high = places[name]
        yield (
            f'<rect id="{name}" x="{x}" y="{y}" width="{wide}" height="{high}" fill="{fill}" '
            f'fill-opacity="{opacity}"/>'
        )
    yield from _grid(b_left, TOP, PANELS * v, WIDE, deep, v, DEEP)
    yield from _grid(LEFT, c_top, deep, HIGH, BANDS * r, DEEP, r)
    yield from _grid(b_left, c_top, PANELS * v, WIDE, BANDS * r, v, r)
    yield text(b_left, TOP - 10, "B: a cell is a vector", size=14, anchor="start")
    yield text(LEFT, c_top - 10, "A: elements", size=14, anchor="start")
    yield text(b_left, c_top - 10, "C: a cell is a vector", size=14, anchor="start")


def _grid(
    x: float, y: float, across: int, wide: float, down: int, every: int, deep: int
) -> Iterator[str]:
    """Thin lines around cells, and thick ones around tiles."""
    right, below = x + across * wide, y + down * HIGH
    for i in range(across + 1):
        bold = 2.2 if i % every == 0 else 0.5
        yield _stroke(f"M{x + i * wide:.1f} {y}V{below}", bold)
    for j in range(down + 1):
        bold = 2.2 if j % deep == 0 else 0.5
        yield _stroke(f"M{x} {y + j * HIGH}H{right}", bold)


def _stroke(path: str, wide: float, more: str = "") -> str:
    return f'<path d="{path}" stroke="{PAGE_INK}" stroke-width="{wide}" fill="none"{more}/>'


def _registers(scene: Scene, moment: Moment) -> Iterator[str]:
    tile = scene.tile
    wanted = ["c"] * (tile.rows * tile.vectors) + ["b"] * tile.vectors + ["a"]
    lit = {"c": moment.sums, "b": moment.b, "a": moment.a}
    said = f"registers: {len(wanted)} wanted of {scene.registers}"
    yield text(SIDE, 22, said, size=15, bold=True, anchor="start")
    across = 16
    for place in range(max(scene.registers, len(wanted))):
        x, y = SIDE + BOX * (place % across), 32 + BOX * (place // across)
        kind = wanted[place] if place < len(wanted) else ""
        outside = place >= scene.registers
        yield rect(
            x,
            y,
            BOX - 2,
            BOX - 2,
            fill={"c": PAGE_OURS, "b": AMBER, "a": GREEN}.get(kind, "none"),
            line=1.4,
            more=f'class="reg-{kind or "none"}" fill-opacity="{0.75 if lit.get(kind) else 0.08}"'
            + (' stroke-dasharray="3 3"' if outside else ""),
        )
        if kind:
            yield text(x + BOX / 2 - 1, y + 16, kind.upper(), size=12)
    y = 32 + BOX * (1 + (max(scene.registers, len(wanted)) - 1) // across) + 16
    words = "dashed: no register is left; these are spilled to memory"
    yield text(
        SIDE, y, words if len(wanted) > scene.registers else "C: sums, B: vectors, A: an element",
        size=13, anchor="start",
    )  # fmt: skip


def _caches(scene: Scene, moment: Moment) -> Iterator[str]:
    sizes = scene.held(*_shares(moment))
    what = ("tile of B, rows of A, tile of C", "tile of B, columns of A, panel of C")
    for place, (size, cache) in enumerate(zip(sizes, scene.caches, strict=False)):
        y = 168 + 62 * place
        name = f"wanted in L{place + 1}: {what[place]}"
        yield text(SIDE, y, name, size=14, bold=True, anchor="start")
        yield (
            f'<rect id="bar-{place}" x="{SIDE}" y="{y + 8}" width="{_bar(size, cache):.1f}" '
            f'height="20" fill="{PAGE_OURS}" fill-opacity="0.6"/>'
        )
        yield _stroke(f"M{SIDE} {y + 8}h240v20h-240z", 1.6)
        size_text = text(SIDE + 8, y + 23, _kib(size), size=13, anchor="start")
        yield f'<g id="kib-{place}">{size_text}</g>'
        yield text(SIDE + 340, y + 23, f"of {_kib(cache)}", size=13, anchor="start")
    hot, tile = scene.hot, scene.tile
    y = 310
    yield text(
        SIDE, y, f"loads for each multiply-add, {tile.rows} x {tile.vectors} vectors", size=14,
        bold=True, anchor="start",
    )  # fmt: skip
    yield text(SIDE, y + 22, f"needed: (r + v) / (r v) = {tile.loads:.2f}", size=14, anchor="start")
    spilled = f", {plural(hot.spills, 'spill')}" if hot.spills else ", no spills"
    counted = f"counted in LLVM's code: {hot.loads_each:.2f} loads, "
    counted += f"{hot.stores / hot.multiply_adds:.2f} stores{spilled}"
    yield text(SIDE, y + 44, counted, size=14, anchor="start")
