"""What lesson 13 says, held against what is counted without it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod

from printed import Printed

from mlc_course.units import size_text

IMAGES, HIDDEN, CLASSES, FLOAT = 360, 200, 10, 4
KERNELS = {"read_twice": 3, "softmax": 3, "around_a_library": 3, "two_products": 2}
ONLY_CHAIN_ARRAYS = 9, 2  # x, a, a, b, b, c, c, x, out; and x, out


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield what the cells printed and is not so."""
    yield from _bytes(said["predict-reveal"])
    yield from _refusals(said["break-refusals"])
    yield from _chain(said["chain-reveal"])
    yield from _traffic(said["measure-count"])
    for cell in ("hook-race", "measure-one", "measure-many"):
        yield from _verdicts(said[cell])


def _bytes(text: str) -> Iterator[str]:
    """Two kernels write what five write: a, b and c inside, h between."""
    shapes = {"a": (IMAGES, HIDDEN), "b": (IMAGES, HIDDEN), "h": (IMAGES, HIDDEN)}
    sizes = {name: FLOAT * prod(shape) for name, shape in shapes.items()}
    sizes["c"] = FLOAT * IMAGES * CLASSES
    every = sum(sizes.values())
    for words in (
        f"five kernels write {size_text(every)} between kernels",
        f"{size_text(sizes['h'])} between kernels and {size_text(every - sizes['h'])} inside",
    ):
        if words not in text:
            yield f"predict-reveal does not say: {words}"
    if "all (1)" not in text:
        yield "predict-reveal: the two kernels write all of the bytes"


def _refusals(text: str) -> Iterator[str]:
    for name, kernels in KERNELS.items():
        if f"{name}, {kernels} kernels" not in text:
            yield f"break-refusals: {name} has {kernels} kernels"
    if "none of them" not in text:
        yield "break-refusals: none of them becomes one kernel"


def _chain(text: str) -> Iterator[str]:
    apart, merged = ONLY_CHAIN_ARRAYS
    if f"{apart} by four kernels, {merged} by one nest" not in text:
        yield f"chain-reveal: the kernels move {apart} arrays, the nest {merged}"
    if f"predict {apart / merged:.1f} times" not in text:
        yield f"chain-reveal: bytes predict {apart / merged:.1f}"
    raced = re.search(r"raced: ([\d.]+) times", text)
    if not raced or float(raced[1]) < 1.5:
        yield "chain-reveal: the merged nest is clearly faster on every machine"


def _traffic(text: str) -> Iterator[str]:
    """The change that is named saves more bytes into L2 than the other one."""
    sizes = [_in_bytes(*each) for each in re.findall(r"into L2 +([\d.]+) (B|kB|MB|GB)", text)]
    if len(sizes) != 3:
        yield f"measure-count: three versions are counted, not {len(sizes)}"
        return
    five, two, merged = sizes
    grouping = "grouping the operators spares more" in text
    if not grouping and "merging the nests spares more" not in text:
        yield f"measure-count: neither change is said to spare more: {text}"
    surely_grouping = 2 * two.most < five.least + merged.least
    surely_merging = 2 * two.least > five.most + merged.most
    if surely_merging if grouping else surely_grouping:
        yield f"measure-count: the other change spares more, by {sizes}"


def _in_bytes(number: str, unit: str) -> Printed:
    return Printed.of(number, significant=3) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def _verdicts(text: str) -> Iterator[str]:
    """A verdict is drawn only from an interval that lies on one side of 1."""
    for line in text.splitlines():
        interval = re.search(r"95 % interval ([\d.]+) to ([\d.]+)", line)
        if not interval:
            continue
        low, high = map(float, interval.groups())
        open_to_both = "cannot tell" in line
        if open_to_both and not low <= 1 <= high:
            yield f"the race can tell: {line}"
        if not open_to_both and low < 1:
            yield f"the race cannot tell: {line}"
