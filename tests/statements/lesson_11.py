"""Lesson 11: do its sentences fit the figures above them, and fresh counts of the same?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel import kernels
from mlc_course.machine import describe
from mlc_course.tensor_program.ladders import MATMUL, RegisterTile, micro_kernel
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.processor import assembly
from mlc_course.tensor_program.tir import Schedule

TIME = re.compile(r"^(\S.*?) {2,}([\d.,]+) ms +([\d.]+) x NumPy's speed", re.M)
SETS = re.compile(
    r"^(.+): ([\d,]+) of ([\d,]+) sets, at most ([\d,]+) lines in a set of (\d+): (.+)$", re.M
)
MOVED = re.compile(r"^(\d+) columns, (in place|copy first) +([\d.]+) MB", re.M)
NEAR = 0.03  # what rounding and the median of ratios may hide


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield each sentence of the lesson that does not fit."""
    yield from _copy(said["hook-race"])
    yield from _spills(said["see-spills"])
    yield from _sets(said["see-cache-sets"])
    yield from _bytes(said["see-count-bytes"])
    yield from _end(said["end-race"])


def _copy(text: str) -> Iterator[str]:
    """The verdict on the copy follows from the two programs' speeds beside NumPy."""
    speed = {name: float(ratio) for name, _, ratio in TIME.findall(text)}
    ratio = speed["copy first"] / speed["in place"]
    low, high = 1.05 - 2 * NEAR, 1.05 + 2 * NEAR
    if ratio > high and "pays for itself" not in text:
        yield f"hook-race: copy first is {ratio:.2f} times as fast, and nothing says that it pays"
    if ratio < low and "pays for itself" in text:
        yield f"hook-race: copy first is {ratio:.2f} times as fast, and is said to pay"


def _spills(text: str) -> Iterator[str]:
    """Compile the tile of 16 x 4 once more, and count its loads."""
    sch = Schedule(matmul(*kernels.TILED_SIZES).program())
    micro_kernel(sch, MATMUL, RegisterTile(16, 4 * describe().lanes), per_panel=True)
    code = assembly(sch)
    adds = code.multiply_adds or code.histogram()["arithmetic"] / 2
    wanted = f"has {code.loads / adds:.2f}, and {code.spills} vector"
    if wanted not in text:
        yield f"see-spills: not {wanted!r} in {text!r}"
    if code.loads / adds < 20 / 64 * 1.05:
        yield "see-spills: the naive answer is right here: the code loads as the formula says"


def _sets(text: str) -> Iterator[str]:
    """Deal the lines of each panel to the sets, one by one."""
    machine = describe()
    tile = kernels.lesson_tile(machine)
    cache, depth = kernels.second_cache(machine), kernels.sum_length(machine, tile)
    strides = (4 * 1024, 4 * kernels.wider(tile), 4 * tile.columns)
    found = SETS.findall(text)
    if len(found) != len(strides):
        yield f"see-cache-sets: {len(found)} sentences for {len(strides)} layouts"
    for stride, (name, used, sets, most, ways, verdict) in zip(strides, found, strict=False):
        lines = {
            (k * stride + byte) // cache.line
            for k in range(depth)
            for byte in range(0, 4 * tile.columns, 4)
        }
        demand = Counter(line % cache.sets for line in lines)
        fits = "they fit" if max(demand.values()) <= cache.ways else "they do not fit"
        wanted = (len(demand), cache.sets, max(demand.values()), cache.ways, fits)
        got = (*(int(each.replace(",", "")) for each in (used, sets, most, ways)), verdict)
        if wanted != got:
            yield f"see-cache-sets: {name}: {got}, counted {wanted}"


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
