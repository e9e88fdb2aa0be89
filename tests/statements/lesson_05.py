"""What lesson 5 says, held against the numbers that it prints: for any machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from printed import Printed

NUMBER = r"\d[\d,]*\.?\d*"
BEYOND = 1.5


def numbers(text: str) -> list[float]:
    return [float(each.replace(",", "")) for each in re.findall(NUMBER, text)]


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield each statement of a run that its own numbers deny."""
    yield from pairs(said["hook-pairs-said"])
    yield from rule(said["explain-rule"])
    yield from sets(said["explain-sets-said"])
    yield from lines_alone(said["explain-240-said"])
    yield from causes(said["explain-four-said"])
    yield from order_that_is_not_allowed(said["break-run"])


def pairs(text: str) -> Iterator[str]:
    """The innermost loop decides just where no time of one pair is among those of another."""
    found = re.findall(r"(\w) inside: (.*)", text)
    times = {loop: list(Printed.each_of(rest, significant=3)) for loop, rest in found}
    if sorted(times) != ["k", "m", "n"] or any(len(each) != 2 for each in times.values()):
        yield f"the pairs of orders: {text}"
        return
    ranges = sorted(sorted(each) for each in times.values())
    neighbours = list(zip(ranges, ranges[1:], strict=False))
    if "The innermost loop decides" in text:
        possible = all(second[0].may_exceed(first[1]) for first, second in neighbours)
    else:
        possible = any(first[1].may_exceed(second[0]) for first, second in neighbours)
    if not possible:
        yield f"the innermost loop decides, or it does not: {text}"


def rule(text: str) -> Iterator[str]:
    """One jump is one miss, where the counts say so; a line has at least 8 float32."""
    found = {int(n): numbers(rest) for n, rest in re.findall(r"(\d) jumps?: ([\d. and]+)", text)}
    holds = all(
        jumps <= each <= jumps + (3 - jumps) / 8 for jumps, rates in found.items() for each in rates
    )
    if "fails" not in text and not (sorted(found) == [0, 1, 2] and holds):
        yield f"one jump, one miss: {text}"


def sets(text: str) -> Iterator[str]:
    """A column stays if the sets that it uses hold all its lines."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) != 2:
        yield f"two sizes of a column: {text}"
    for line in lines:
        size, count, apart, used, all_sets, room = (int(each) for each in numbers(line)[:6])
        if (size, 4 * size) != (count, apart):
            yield f"the lines of a column: {line}"
        if not any(
            used == len({i * apart // byte % all_sets for i in range(size)})
            for byte in (32, 64, 128)
        ):
            yield f"the sets of a column: {line}"
        if (size <= room) != ("they stay" in line):
            yield f"a column stays, or it does not: {line}"


def lines_alone(text: str) -> Iterator[str]:
    """Lines are not the whole story where misses are alike and times are not."""
    _, naive, rows, ratio = list(Printed.each_of(text))[:4]
    same = (BEYOND * rows).may_exceed(naive)
    if "not the whole story" in text and not (same and ratio.may_exceed(BEYOND)):
        yield f"lines are not the whole story: {text}"
    if "were the whole story" in text and not (same and Printed(BEYOND, BEYOND).may_exceed(ratio)):
        yield f"lines are the whole story: {text}"


def causes(text: str) -> Iterator[str]:
    """Each cause hides the other where both remedies bring more than their product."""
    rows, sums, both, product = list(Printed.each_of(text))[:4]
    if not product.may_be(rows * sums):
        yield f"the product of both remedies: {text}"
    limit = BEYOND * product
    if "hides the other" in text and not both.may_exceed(limit):
        yield f"each cause hides the other: {text}"
    if "hides the other" not in text and not limit.may_exceed(both):
        yield f"no cause hides the other: {text}"


def order_that_is_not_allowed(text: str) -> Iterator[str]:
    """The illegal order changes the result."""
    if not numbers(text) or not numbers(text)[-1] > 0.01:
        yield f"the illegal order changes nothing: {text}"
