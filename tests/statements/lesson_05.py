"""What lesson 5 says, held against the numbers that it prints: for any machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

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
    times = {loop: numbers(rest) for loop, rest in re.findall(r"(\w) inside: (.*)", text)}
    if sorted(times) != ["k", "m", "n"] or any(len(each) != 2 for each in times.values()):
        yield f"the pairs of orders: {text}"
        return
    ranges = sorted((min(each), max(each)) for each in times.values())
    apart = all(first[1] < second[0] for first, second in zip(ranges, ranges[1:], strict=False))
    if apart != ("The innermost loop decides" in text):
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
    _, naive, rows, ratio = numbers(text)[:4]
    same, slower = naive <= BEYOND * rows + 0.001, ratio >= BEYOND
    if "not the whole story" in text and not (same and slower):
        yield f"lines are not the whole story: {text}"
    if "were the whole story" in text and not (same and ratio <= BEYOND + 0.1):
        yield f"lines are the whole story: {text}"


def causes(text: str) -> Iterator[str]:
    """Each cause hides the other where both remedies bring more than their product."""
    rows, sums, both, _ = numbers(text)[:4]
    if "hides the other" in text and both < 1.3 * rows * sums:
        yield f"each cause hides the other: {text}"
    if "hides the other" not in text and both > 1.8 * rows * sums:
        yield f"no cause hides the other: {text}"


def order_that_is_not_allowed(text: str) -> Iterator[str]:
    """The illegal order changes the result."""
    if not numbers(text) or not numbers(text)[-1] > 0.01:
        yield f"the illegal order changes nothing: {text}"
