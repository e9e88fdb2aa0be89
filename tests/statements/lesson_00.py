"""What lesson 0 says beside what it measured: two times, page faults, ratios, the floor."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from printed import Printed

NEAR = Printed(0.9, 1.1)  # ratios of two ratios that are told as one
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}


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
        apart = Printed.of(ratio) / Printed.of(beside)
        may_be = {
            "ratio": apart.may_be(NEAR),
            "high": apart.may_exceed(NEAR.most),
            "low": Printed(NEAR.least, NEAR.least).may_exceed(apart),
        }
        if not may_be[words]:
            yield f"ratios: {ratio} beside {calm} is called {words}"


def _floor(text: str) -> Iterator[str]:
    rates = re.findall(r"peak (\d+) GFLOP/s, memory (\d+) GB/s", text)[0]
    best, floor = (
        Printed.of(time, significant=3)
        for time in re.findall(r"best is ([\d.,]+) ms, the floor ([\d.,]+) ms", text)[0]
    )
    amounts = (2 * 512**3, 12 * 512**2)
    each = [
        Printed(1e-6 * amount, 1e-6 * amount) / Printed.of(rate)
        for amount, rate in zip(amounts, rates, strict=True)
    ]
    counted = Printed(max(time.least for time in each), max(time.most for time in each))
    if not floor.may_be(counted):
        yield f"floor: {floor} ms, and the rates give {counted} ms"
    slower, faster = (floor, best) if "impossible" in text else (best, floor)
    if not slower.may_exceed(faster):
        yield f"floor: best {best} and floor {floor} ms, and the sentence says otherwise"


def _caches(counted: str, measured: str) -> Iterator[str]:
    alone, between = map(
        Printed.of, re.findall(r"again ([\d.]+) µs, after the sweep ([\d.]+)", measured)[0]
    )
    ratio = between / alone
    told = measured.split("\n", 1)[1].split("you said")[0]
    answers = {
        "within 20 %": Printed(0, 1.2),
        "1.2 to 3": Printed(1.2, 3),
        "3 times as long or more": Printed(3, math.inf),
    }
    if not any(words in told and ratio.may_be(range_) for words, range_ in answers.items()):
        yield f"caches: {ratio} times as long, and the answer is {told!r}"
    sizes = re.findall(r"([\d.]+) (kB|MB|GB|B)", counted)
    small, second, large, _ = (Printed.of(n, significant=3) * UNITS[unit] for n, unit in sizes)
    if not (small / second).may_be(0.5) or not large.may_exceed(2 * second):
        yield f"caches: {small} bytes do not fill half of {second}, or {large} evict nothing"


def _number(text: str) -> float:
    return float(text.replace(",", ""))
