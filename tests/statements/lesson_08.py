"""What lesson 8 says about its own numbers, held against numbers that are worked out here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from printed import Printed

from mlc_course.lessons.lesson_08_fusion import SMALL_CACHES, row_by_row
from mlc_course.tensor_program.memory import traffic
from mlc_course.tensor_program.problems import softmax
from mlc_course.tensor_program.tir import Schedule

FOLLOWS = 0.8  # of the ratio of the bytes: the time is said to follow from here on
NUMBER = r"(\d+(?:\.\d+)?)"
TABLE_ROW = re.compile(r"^(\w+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)$", re.M)
FASTER = re.compile(rf"{NUMBER} times fewer bytes, {NUMBER} times as fast[^:]*: (.*)")
SHARE = re.compile(
    r"^(\w+) +saved bytes are worth +(-?\d+)% of the time, fusion saved +(-?\d+)%", re.M
)
INTENSITY = re.compile(
    rf"(\w+) +{NUMBER} apart +{NUMBER} fused operations a byte: (.+) the balance of {NUMBER}"
)
ROWS = re.compile(rf"rows of +(\d+) KiB: bytes apart / fused +{NUMBER} from .*, {NUMBER} from")


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield each statement of the lesson that its own counts deny."""
    yield from counted(said)
    yield from gains(said)
    yield from sides(said)
    yield from order(said)
    yield from long_rows(said)


def counted(said: Mapping[str, str]) -> Iterator[str]:
    """Three stages move 8 arrays and one loop 3; the table adds up to what the sentence says."""
    sums = []
    for cell in ("see-count", "see-count-fused"):
        rows = {name: list(map(_whole, row)) for name, *row in TABLE_ROW.findall(said[cell])}
        every = rows.pop("all")
        if [sum(column) for column in zip(*rows.values(), strict=True)] != every:
            yield f"{cell}: the buffers do not add up"
        sums.append((every[2] + every[3]) / rows["X"][2])
    found = re.search(rf"{NUMBER} apart, {NUMBER} fused \((.+)\)", said["see-count-fused"])
    if not found:
        yield "see-count-fused: no sentence about arrays"
        return
    for what, told in zip(sums, found.groups(), strict=False):
        if abs(what - float(told)) > 0.01:
            yield f"see-count-fused: {told} arrays told, {what:.2f} counted"
    near = abs(sums[0] - 8) < 0.05 and abs(sums[1] - 3) < 0.05
    if near != (found[3] == "as on paper"):
        yield f"see-count-fused: {found[3]!r} beside {sums}"


def gains(said: Mapping[str, str]) -> Iterator[str]:
    """A gain is called one only where the ratio is above 1, and a loss only below."""
    for cell in ("transform-softmax-race", "products-race", "end-sentence"):
        lines = FASTER.findall(said[cell])
        if not lines:
            yield f"{cell}: no sentence about bytes and time"
        for fewer, faster, verdict in lines:
            ratio, saved = Printed.of(faster), Printed.of(fewer)
            if "a gain" in verdict and not ratio.least > 1:
                yield f"{cell}: {verdict!r} beside {faster} times as fast"
            if "less than the bytes promise" in verdict and not saved.may_exceed(ratio):
                yield f"{cell}: {verdict!r} beside {fewer} and {faster}"
            if "costs time" in verdict and ratio.most > 1:
                yield f"{cell}: {verdict!r} beside {faster} times as fast"
            if "follows the bytes" in verdict and not ratio.may_exceed(FOLLOWS * saved):
                yield f"{cell}: {verdict!r} beside {fewer} and {faster}"


def sides(said: Mapping[str, str]) -> Iterator[str]:
    """Below the balance is below it, and above is above."""
    for name, apart, fused, where, balance in INTENSITY.findall(said["explain-intensity"]):
        told = where.removeprefix("both ").split(", then ")
        for figure, side in zip((apart, fused), (told * 2)[:2], strict=True):
            low, high = Printed.of(figure), Printed.of(balance)
            if side == "above":
                low, high = high, low
            if side not in ("below", "above") or not high.may_exceed(low):
                yield f"explain-intensity: {name} is said to be {side} {balance}, at {figure}"


def order(said: Mapping[str, str]) -> Iterator[str]:
    """Bytes and clock are said to agree exactly where both rank the problems in one order."""
    text = said["explain-worth-picture"]
    shares = [(name, int(worth), int(saved)) for name, worth, saved in SHARE.findall(text)]
    if len(shares) != 3:
        yield f"explain-worth-picture: {len(shares)} problems in place of 3"
    for column in (1, 2):
        values = sorted(each[column] for each in shares)
        if any(b - a < 2 for a, b in zip(values, values[1:], strict=False)):
            return  # rounding may have exchanged them
    ranks = [[e[0] for e in sorted(shares, key=lambda e: -e[column])] for column in (1, 2)]
    if (ranks[0] == ranks[1]) != ("agree on the order" in text):
        yield f"explain-worth-picture: the orders are {ranks}"


def long_rows(said: Mapping[str, str]) -> Iterator[str]:
    """Row by row saves as long as three rows fit, and is counted here again."""
    found = ROWS.findall(said["break-long-rows"])
    if [kib for kib, *_ in found] != ["1", "8", "64"]:
        yield f"break-long-rows: rows of {found}"
    for kib, *told in found:
        columns = 256 * int(kib)
        apart, fused = (Schedule(softmax(32768 // columns, columns).program()) for _ in range(2))
        row_by_row(fused)
        moved = [traffic(each, *SMALL_CACHES) for each in (apart, fused)]
        for level, ratio in enumerate(told):
            right = moved[0].bytes(level) / moved[1].bytes(level)
            if abs(right - float(ratio)) > 0.01:
                yield f"break-long-rows: {ratio} told for {kib} KiB, {right:.2f} counted"


def _whole(text: str) -> int:
    return int(text.replace(",", ""))
