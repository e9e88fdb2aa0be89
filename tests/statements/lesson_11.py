"""Lesson 11: do its sentences fit the figures above them, and fresh counts of the same?

The lesson may have run as another machine, so everything about the machine is read from its text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from printed import Printed

TIME = re.compile(r"^(\S.*?) {2,}([\d.,]+) ms +([\d.]+) x NumPy's speed", re.M)
SETS = re.compile(
    r"^(.+): ([\d,]+) of ([\d,]+) sets, at most ([\d,]+) lines in a set of (\d+): (.+)$", re.M
)
SIZES = re.compile(r"tiles of \d+ x (\d+), sums of ([\d,]+) products")
COUNTS = re.compile(r"(\d+) x (\d+)  sums +\d+  loads each ([\d.]+)  spills (\d+)")
MOVED = re.compile(r"^(\d+) columns, (in place|copy first) +([\d.]+) MB", re.M)
LINES = 64, 128  # bytes of a cache line; Apple's are long
CLOSE = Printed(0.95, 1.05)  # ratios of two programs that make no clear difference


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield each sentence of the lesson that does not fit."""
    yield from _copy(said["hook-race"])
    yield from _spills(said["see-spills"], said["see-tile-counts"])
    yield from _sets(said["see-cache-sets"], said["imports"])
    yield from _bytes(said["see-count-bytes"])
    yield from _end(said["end-race"])


def _copy(text: str) -> Iterator[str]:
    """The verdict on the copy follows from the two programs' speeds beside NumPy."""
    speed = {name: Printed.of(ratio) for name, _, ratio in TIME.findall(text)}
    ratio = speed["copy first"] / speed["in place"]
    told = re.search(r"is ([\d.]+) times as fast as in place", text)
    if told and not ratio.may_be(Printed.of(told[1])):
        yield f"hook-race: {told[0]!r} beside {speed}"
    for words, is_so in (
        ("pays for itself", ratio.may_exceed(CLOSE.most)),
        ("no clear difference", ratio.may_be(CLOSE)),
        ("costs more than it saves", Printed(CLOSE.least, CLOSE.least).may_exceed(ratio)),
    ):
        if words in text and not is_so:
            yield f"hook-race: {words!r}, beside {speed}"


def _spills(text: str, counts: str) -> Iterator[str]:
    """A tile that fits loads as the formula says, and one that spills more often."""
    tiles = {
        (int(rows), int(vectors)): (float(loads), int(spilled))
        for rows, vectors, loads, spilled in COUNTS.findall(counts)
    }
    for (rows, vectors), (loads, spilled) in tiles.items():
        promised = (rows + vectors) / (rows * vectors)
        if spilled == 0 and abs(loads - promised) > 0.01:
            yield f"see-tile-counts: {rows} x {vectors} fits, and loads {loads}, not {promised:.2f}"
    loads, spilled = tiles[16, 4]
    wanted = f"has {loads:.2f}, and {spilled} vector"
    if wanted not in text:
        yield f"see-spills: not {wanted!r} in {text!r}"
    if loads < 20 / 64 * 1.05 or spilled == 0:
        yield "see-spills: the naive answer is right here: the code loads as the formula says"


def _sets(text: str, sizes: str) -> Iterator[str]:
    """Deal the lines of each panel to the sets, one by one."""
    ((columns, depth),) = ((int(c), int(k.replace(",", ""))) for c, k in SIZES.findall(sizes))
    found = SETS.findall(text)
    if len(found) != 3:
        yield f"see-cache-sets: {len(found)} sentences for three layouts"
    for name, *numbers, verdict in found:
        used, sets, most, ways = (int(each.replace(",", "")) for each in numbers)
        row = int(name.split()[1]) if name.startswith("B, ") else columns
        wanted = [_demand(depth, columns, row, sets, ways, line) for line in LINES]
        if (used, most, verdict) not in wanted:
            yield f"see-cache-sets: {name}: {used}, {most}, {verdict}; counted {wanted}"


def _demand(
    depth: int, columns: int, row: int, sets: int, ways: int, line: int
) -> tuple[int, int, str]:
    """Count the sets that get lines and the most in one; say whether they fit there."""
    lines = {(k * row + c) * 4 // line for k in range(depth) for c in range(columns)}
    demand = Counter(number % sets for number in lines)
    most = max(demand.values())
    return len(demand), most, "they fit" if most <= ways else "they do not fit"


def _bytes(text: str) -> Iterator[str]:
    """The wider B must be fetched less often in place: the section hangs on it."""
    moved = {(int(n), name): float(mb) for n, name, mb in MOVED.findall(text)}
    (wide,) = {n for n, _ in moved} - {1024}
    ratio = moved[wide, "in place"] / moved[1024, "in place"]
    if ratio >= 2 / 3:
        yield f"see-count-bytes: the wider B is fetched {ratio:.2f} times as often"
    if "answer is" in text and ("less than two thirds" in text) != (ratio < 2 / 3):
        yield f"see-count-bytes: another answer is revealed than {ratio:.2f} tells"


def _end(text: str) -> Iterator[str]:
    """The last rung is ahead of NumPy, level with it or behind it, as its ratio says."""
    ((_, _, ratio),) = TIME.findall(text)
    for words, is_so in (
        ("ahead of NumPy", float(ratio) > 1.05 - 0.01),
        ("level with NumPy", abs(float(ratio) - 1) < 0.05 + 0.01),
        ("behind NumPy", float(ratio) < 0.95 + 0.01),
    ):
        if words in text and not is_so:
            yield f"end-race: {words!r} beside a ratio of {ratio}"
