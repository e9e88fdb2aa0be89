"""What lesson 16 says on this machine, beside the same things computed another way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

ROWS, DEPTH, COLUMNS = 64, 512, 384  # of X, of X and W, of W
BYTES = 2  # of an element in float16


def loaded(across: int, down: int) -> int:
    """Bytes that a grid of so many blocks loads, by hand: X, G and W, each as often as needed."""
    return BYTES * (ROWS * DEPTH * across + DEPTH * across * down + DEPTH * COLUMNS * down)


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield what does not fit; ``said`` has the text that each cell printed, by the cell's id."""
    yield from _hook(said["hook-run"])
    yield from _count(said["measure-count"])
    yield from _fair(said["measure-fair"])
    yield from _rows(said["break-rows"])
    yield from _memory(said["break-memory"])
    yield from _half(said["half-overflow"], said["half-remedy"])


def _hook(said: str) -> Iterator[str]:
    """One kernel is right, and the other is wrong by far."""
    errors = [float(each) for each in re.findall(r"to NumPy (\S+)", said)]
    if len(errors) != 2 or errors[0] > 1e-9 or errors[1] < 0.1:
        yield f"hook-run: one right and one wrong kernel, not differences of {errors}"


def _count(said: str) -> Iterator[str]:
    """The bytes that a walk counts are those of the maps, and those of the arithmetic."""
    times = re.findall(r"loaded (\d+) times over", said)
    if times != ["4", "16", "4"]:
        yield f"measure-count: X, G and W are loaded 4, 16 and 4 times over, not {times}"
    both = re.search(r"counted ([\d,]+) bytes, computed from the maps ([\d,]+)", said)
    if not both or {each.replace(",", "") for each in both.groups()} != {str(loaded(4, 4))}:
        yield f"measure-count: 16 blocks load {loaded(4, 4):,} bytes"


def _fair(said: str) -> Iterator[str]:
    """Fusion adds the loads of G to those of the product, and the rest disappears."""
    found = re.search(r"all seven: ([\d,.]+) kB.*?the one: +([\d,.]+) kB", said, re.S)
    if not found:
        yield "measure-fair: no comparison"
        return
    seven, one = (float(each.replace(",", "")) for each in found.groups())
    if abs(one - loaded(4, 4) / 1000) > 0.06:
        yield f"measure-fair: one kernel loads {loaded(4, 4) / 1000:,.1f} kB, not {one:,}"
    if not seven > one:
        yield f"measure-fair: seven kernels with the same blocks load more than {one:,} kB"
    model = [float(each) for each in re.findall(r"(?:seven|one) ([\d.]+) µs", said)]
    if len(model) != 2 or "model of an H100, not measured" not in said:
        yield "measure-fair: the model is not called one"


def _rows(said: str) -> Iterator[str]:
    """64 blocks of one row load all of W each."""
    found = re.search(r"block Y +([\d,.]+) kB", said)
    if not found or abs(float(found[1].replace(",", "")) - loaded(1, ROWS) / 1000) > 0.06:
        yield f"break-rows: 64 blocks load {loaded(1, ROWS) / 1000:,.1f} kB"
    if "difference to the seven kernels: none" not in said:
        yield "break-rows: the kernel is right"


def _memory(said: str) -> Iterator[str]:
    """Which one fits follows from the numbers beside it."""
    rows = re.findall(r": ([\d,.]+) kB a block (fits|does not fit) into ([\d,.]+) kB", said)
    if len(rows) != 2:
        yield "break-memory: two loops"
    for need, word, limit in rows:
        fits = float(need.replace(",", "")) <= float(limit.replace(",", ""))
        if fits != (word == "fits"):
            yield f"break-memory: {need} kB {word} into {limit} kB"


def _half(overflow: str, remedy: str) -> Iterator[str]:
    """A sum of squares beyond 65,504 ruins the result, unless it is scaled first."""
    plain, early = (
        {int(scale): float(error) for scale, error in re.findall(r"times (\d+): ([\d.]+)", each)}
        for each in (overflow, remedy)
    )
    for scale in (1, 4, 16, 64):
        overflows = scale**2 * DEPTH > 65_504  # the mean of the squares of X is about 1
        if (plain.get(scale, 2.0) > 0.5) != overflows:
            yield f"half-overflow: times {scale}, R is about {scale**2 * DEPTH:,}"
        if not early.get(scale, 2.0) < 0.01:
            yield f"half-remedy: times {scale}, the scaled graph has an error of {early.get(scale)}"
