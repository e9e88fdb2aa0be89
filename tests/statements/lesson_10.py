"""Lesson 10: do its sentences fit the figures above them, and fresh counts of the same?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

SPEEDUP = re.compile(
    r"^(\S.*?) +[\d.,]+ ms -> +[\d.,]+ ms +([\d.]+) x \[([\d.]+) to ([\d.]+)\]", re.M
)
LINES = re.compile(r"^(\S.*?) +(\d+) lines written, (\d+) of them by both", re.M)
LAW = re.compile(r"^(\S.*?) +([\d.]+)% serial: at most ([\d.]+) x on (\d+) threads", re.M)
CHUNKS = re.compile(r"(\d+) tasks, (\d+) workers: \[(.*)\], ([\d.]+) x")
# Column j of 256 goes to this worker of two.
OWNERS = {
    "halves": lambda j: j // 128,
    "in turns": lambda j: j % 2,
    "lines in turns": lambda j: j // 16 % 2,
}
CLEAR = 0.01  # what two printed digits may hide


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield each sentence of the lesson that does not fit."""
    for cell in ("hook-race", "see-lines-cured", "sum-by-lane"):
        yield from _gains(cell, said[cell])
    for cell in ("see-count-lines", "see-lines-cured"):
        yield from _lines(cell, said[cell])
    yield from _apart(said["sum-by-lane"])
    yield from _law(said["explain-cure"])
    yield from _chunks(said["break-chunks"])


def _gains(cell: str, text: str) -> Iterator[str]:
    """Two threads gain or lose only where the whole interval is on one side of 1."""
    for name, _, low, high in SPEEDUP.findall(text):
        found = re.search(rf"^{re.escape(name)}: (.*)$", text, re.M)
        if not found:
            yield f"{cell}: nothing is said about {name}"
        elif "times as fast" in found[1] and float(low) < 1 - CLEAR:
            yield f"{cell}: {name} is said to gain, and its interval begins at {low}"
        elif "slower" in found[1] and float(high) > 1 + CLEAR:
            yield f"{cell}: {name} is said to lose, and its interval ends at {high}"
        elif "no clear" in found[1] and not float(low) - CLEAR <= 1 <= float(high) + CLEAR:
            yield f"{cell}: {name} is {low} to {high}, and said to make no difference"


def _lines(cell: str, text: str) -> Iterator[str]:
    """Deal the columns by hand: a line is shared where two owners are in it."""
    for name, lines, shared in LINES.findall(text):
        owners = [OWNERS[name](j) for j in range(256)]
        both = sum(len(set(owners[j : j + 16])) > 1 for j in range(0, 256, 16))
        if (int(lines), int(shared)) != (16, both):
            yield f"{cell}: {name}: {shared} of {lines} lines are shared, counted {both} of 16"


def _apart(text: str) -> Iterator[str]:
    """Sums of one worker in a row share no line, and sums side by side share every one."""
    found = {name: (int(lines), int(shared)) for name, lines, shared in LINES.findall(text)}
    if found != {"by chunk": (32, 0), "by lane": (32, 32)}:
        yield f"sum-by-lane: {found}"


def _law(text: str) -> Iterator[str]:
    """The bound is that of the share; with exp inside the loop, less is serial."""
    found = LAW.findall(text)
    for name, share, bound, count in found:
        s, p = float(share) / 100, int(count)
        if abs(float(bound) - 1 / (s + (1 - s) / p)) > 0.02:
            yield f"explain-cure: {name}: {share} % on {count} threads bounds other than {bound}"
    if found and not float(found[1][1]) < float(found[0][1]) / 2:
        yield "explain-cure: exp inside the loop leaves as much serial as before"
    if not found and "One core" not in text:
        yield "explain-cure: no bound is told"


def _chunks(text: str) -> Iterator[str]:
    """Every worker but the last ones has ceil(n / p) tasks."""
    for tasks, workers, sizes, speed in CHUNKS.findall(text):
        n, p = int(tasks), int(workers)
        step = -(-n // p)
        wanted = [max(0, min(step, n - w * step)) for w in range(p)]
        if [int(each) for each in sizes.split(",")] != wanted or float(speed) != round(n / step, 2):
            yield f"break-chunks: {tasks} tasks on {workers}: {sizes}, counted {wanted}"
