"""What lesson 0 says beside what it measured: two times, page faults, ratios, the floor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield what does not fit in the text that each cell printed, by the cell's id."""
    yield from _two_times(said["hook-measure"], said["end-sentence"])
    yield from _first_call(said["see-first-call-measure"])
    yield from _ratios(said["transform-blocks"], said["transform-three-ratios"])
    yield from _floor(said["explain-roofs-measure"])
    yield from _caches(said["break-caches"], said["break-caches-measure"])


def _two_times(hook: str, end: str) -> Iterator[str]:
    first, second = re.findall(r"NumPy took ([\d,.]+) ms", hook)
    told = float(re.findall(r"is ([\d.]+) times the other", hook)[0])
    times = sorted((_number(first), _number(second)))
    if abs(told / (times[1] / times[0]) - 1) > 0.02:
        yield f"hook: {first} and {second} ms, and the factor is said to be {told}"
    if f"Neither {first} ms nor {second} ms" not in end:
        yield "end: the last cell tells other times than the first"


def _first_call(text: str) -> Iterator[str]:
    counts = [int(_number(each)) for each in re.findall(r"([\d,]+) page faults", text)]
    first = len(counts) == 5 and counts[0] > 2 * max(counts[1:])
    if not first:
        yield f"first call: page faults {counts}, where only the first call should have them"
    if ("in the first call" in text.split("call 5")[1]) != first:
        yield "first call: the prediction is answered otherwise than counted"


def _ratios(blocks: str, both: str) -> Iterator[str]:
    calm, claimed = map(
        float, re.findall(r"calm: ([\d.]+); one after the other: ([\d.]+)", blocks)[0]
    )
    rows = re.findall(r"([\d.]+), (within|more)[^(]*?(high|low|ratio) \(([\d.]+)\)", both)
    if len(rows) != 2 or float(rows[0][0]) != claimed:
        yield "ratios: the second table does not tell the first one's ratio"
    for ratio, _, words, beside in rows:
        apart = float(ratio) / float(beside) - 1
        right = "ratio" if abs(apart) <= 0.1 else "high" if apart > 0 else "low"
        if right != words and abs(abs(apart) - 0.1) > 0.015:  # what is printed is rounded
            yield f"ratios: {ratio} beside {calm} is called {words}"


def _floor(text: str) -> Iterator[str]:
    peak, memory = map(float, re.findall(r"peak (\d+) GFLOP/s, memory (\d+) GB/s", text)[0])
    best, floor = map(_number, re.findall(r"best is ([\d.,]+) ms, the floor ([\d.,]+) ms", text)[0])
    counted = 1e3 * max(2 * 512**3 / peak, 12 * 512**2 / memory) / 1e9
    if abs(floor / counted - 1) > 0.05:
        yield f"floor: {floor} ms, and the rates give {counted:.3g} ms"
    if ("impossible" in text) != (best < floor):
        yield f"floor: best {best} and floor {floor} ms, and the sentence says otherwise"


def _caches(counted: str, measured: str) -> Iterator[str]:
    alone, between = map(
        float, re.findall(r"again ([\d.]+) µs, after the sweep ([\d.]+)", measured)[0]
    )
    ratio = between / alone
    told = measured.split("\n", 1)[1]
    words = "within 20 %" if ratio < 1.2 else "1.2 to 3" if ratio < 3 else "3 times as long or more"
    near = any(abs(ratio / edge - 1) < 0.03 for edge in (1.2, 3))
    if words not in told and not near:
        yield f"caches: {ratio:.2f} times as long, and the answer is {told!r}"
    sizes = re.findall(r"([\d.]+) (kB|MB|GB|B)", counted)
    small, second, large, _ = (
        float(n) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[u] for n, u in sizes
    )
    if not 0.4 * second <= small <= 0.6 * second or large < 2 * second:
        yield f"caches: {small:g} bytes do not fill half of {second:g}, or {large:g} evict nothing"


def _number(text: str) -> float:
    return float(text.replace(",", ""))
