"""Is what lesson 4 says about its numbers true? Its counts, its limits, and its end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlc_course.lessons.lesson_04_reuse_distance_and_roofline.problems import far_products
from mlc_course.machine import describe
from mlc_course.tensor_program.memory import levels

PROGRAMS = 6


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield what the computed sentences say and should not, by the text of each cell."""
    yield from _hook(said["hook-fits"], said["hook-longer"])
    yield from _theorem(said["theorem-counted"])
    yield from _distances(said["transform-by-hand"], said["transform-distances"])
    yield from _roofs(said["roofline-table"], said["end-sentence"])
    yield from _gain(said["roofline-gain"])
    yield from _conflicts(said["break-conflicts"])


def _numbers(text: str) -> list[int]:
    return [int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*", text)]


def _hook(fits: str, longer: str) -> Iterator[str]:
    """A vector that fits misses once a line; one line more in each set, at every round."""
    cache = levels(describe())[0]
    lines, _, misses = _numbers(fits)[:3]
    if lines != cache.bytes // cache.line or misses != lines:
        yield f"the first cache holds {cache.bytes // cache.line:,} lines, each fetched once"
    more = cache.bytes // cache.line + cache.bytes // cache.line // cache.ways
    lines, _, misses = _numbers(longer)[:3]
    if lines != more or misses != 10 * more:
        yield f"the longer vector has {more:,} lines, each fetched ten times"


def _theorem(text: str) -> Iterator[str]:
    rows = [_numbers(row) for row in text.splitlines() if "by distance" in row]
    equal = all(distance == counted for _, distance, counted in rows)
    if len(rows) != 4 or not equal or "Equal, to the last miss." not in text:
        yield "misses by distance and counted in one set are equal"


def _distances(program: str, text: str) -> Iterator[str]:
    """Vector by vector, all of A lies in between, and X's row; row by row, a row of A and of X."""
    vectors, rows, depth = map(
        int, re.findall(r"for t in (\d+), i in (\d+), k in (\d+)", program)[0]
    )
    cache = levels(describe())[0]
    line, row = cache.line, depth * 4 // cache.line
    found = [_numbers(each.split(":")[1])[0] for each in text.splitlines()]
    whole, once = rows * row, rows * 4 // line
    if not whole <= found[0] <= whole + vectors * row + 2 * once + 4:
        yield f"vector by vector, A comes back after {whole:,} lines and a few"
    if not row <= found[1] <= (vectors + 1) * row + 4:
        yield f"row by row, A comes back after {row:,} to {(vectors + 1) * row:,} lines"
    enough = [f"L{n}" for n, c in enumerate(levels(describe()), 1) if c.bytes // line > found[0]]
    first = f"{enough[0]} is large enough" if enough else "no cache here is large enough"
    if first not in text.splitlines()[0]:
        yield f"vector by vector: {first}"


def _roofs(text: str, end: str) -> Iterator[str]:
    """The corner of the roof divides the programs, and the end names those left of it."""
    rows = re.findall(r"^(.+?) +([\d.]+) operations a byte, roof: (\w+)", text, re.MULTILINE)
    corner = float(re.findall(r"needs ([\d.]+) operations", end)[0])
    if len(rows) != PROGRAMS:
        yield f"{len(rows)} programs under the roofs, not {PROGRAMS}"
    fewer = end.split("by its peak;")[-1]
    for name, intensity, limit in rows:
        if abs(float(intensity) - corner) < 0.06 + 0.005 * corner:
            continue  # too near to the corner for the digits printed
        left = float(intensity) < corner
        if (limit == "memory") != left or (name in fewer) != left:
            yield f"{name} is {'left' if left else 'right'} of the corner at {corner:g}"


def _gain(text: str) -> Iterator[str]:
    far, last = far_products(), levels(describe())[-1].bytes
    matrix = 4 * far.sizes["rows"] * far.sizes["depth"]
    times = re.findall(r"([\d.]+) times fewer", text)
    verdict, ratio = re.findall(r"(faster|slower) than NumPy \(([\d.]+) x\)", text)[0]
    if matrix > last and not (times and float(times[0]) > 1):
        yield f"A of {matrix:,} bytes exceeds the last cache: row by row fetches fewer bytes"
    if matrix < 0.9 * last and "fetch the same" not in text:
        yield f"A of {matrix:,} bytes fits in the last cache: both orders fetch the same"
    if float(ratio) != 1 and (verdict == "faster") != (float(ratio) > 1):
        yield f"{ratio} x NumPy is not {verdict}"


def _conflicts(text: str) -> Iterator[str]:
    for row in text.splitlines():
        distance, counted = _numbers(row.split(":", 1)[1])[:2]
        extra = counted - distance
        right = f"{extra:,} more" if extra > 0 else f"{-extra:,} fewer" if extra else "equal"
        if not row.endswith(right):
            yield f"{counted:,} counted and {distance:,} by distance: {right}"
