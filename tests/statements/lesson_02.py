"""What lesson 2 says, held against what it prints; the same on every machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield each statement of a run that its own output, or arithmetic, denies."""
    yield from one_letter(said["hook-run"], said["hook-parallel"], said["hook-race"])
    yield from pairs(said["explain-counted"])
    yield from larger(said["explain-larger"])
    yield from changed(said["lies-laid-out-run"])
    yield from missing_init(said["lies-no-init-run"])


def one_letter(run: str, parallel: str, race: str) -> Iterator[str]:
    """R sums rows and S keeps the last column; TVM refuses the right program, and S is a race."""
    words = " ".join(run.split())
    sums = [sum(range(6 * m, 6 * m + 6)) for m in range(4)]
    for name, expected in (("row_sums", sums), ("one_letter", [5, 11, 17, 23])):
        found = re.search(rf"{name} +\[([^\]]*)\]", words)
        if not found or [float(each) for each in found[1].split()] != expected:
            yield f"{name} gives {expected}: {run}"
    if not ("row_sums: refused" in parallel and "one_letter: accepted" in parallel):
        yield f"TVM believes the letter: {parallel}"
    if "only the right program" not in parallel:
        yield f"the reveal of what TVM refuses: {parallel}"
    if "illegal (race)" not in race:
        yield f"what TVM accepts is a race: {race}"


def pairs(text: str) -> Iterator[str]:
    """P is 3 x 4 with 5 terms: the pairs follow from that."""
    elements, terms = 3 * 4, 5
    statements = elements * (terms + 1)
    expected = (
        statements * (statements - 1) // 2,
        statements,
        elements * terms,
        elements * terms * (terms - 1) // 2,
    )
    found = tuple(int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*", text)[:4])
    if found != expected:
        yield f"{expected} pairs, statements, kept and sums: {text}"
    if "one in forty" not in text:
        yield f"the order matters in one pair of {expected[0] / expected[2]:.0f}: {text}"


def larger(text: str) -> Iterator[str]:
    """The share of pairs whose order matters is what the sizes say."""
    rows = re.findall(r"(\d+), (\d+), (\d+) +([\d,]+) +one in ([\d,]+)", text)
    if len(rows) != 3:
        yield f"three sizes: {text}"
    for m, n, k, *told in rows:
        elements, terms = int(m) * int(n), int(k)
        statements = elements * (terms + 1)
        count = statements * (statements - 1) // 2
        if told != [f"{count:,}", f"{count / (elements * terms):,.0f}"]:
            yield f"{m}, {n}, {k}: {told}"


def changed(text: str) -> Iterator[str]:
    """The number that is revealed is the number of elements that differ between the two lines."""
    words = " ".join(text.split())
    lines = re.findall(r"(?:as written|turned): \[([^\]]*)\]", words)
    if len(lines) != 2:
        yield f"two results: {text}"
        return
    first, second = (line.split() for line in lines)
    count = sum(one != other for one, other in zip(first, second, strict=True))
    name = {0: "none", 2: "two", 4: "four", 9: "nine"}.get(count, str(count))
    if not re.search(rf"(The answer is: +|^|\] +){name}\b", words):
        yield f"{name} elements change: {text}"


def missing_init(text: str) -> Iterator[str]:
    """Without an init the sums are right on zeros alone."""
    words = " ".join(text.split())
    if "Y full of zeros: [ 15. 51. 87. 123.]" not in words:
        yield f"right on zeros: {text}"
    if "Y full of NaN: [nan nan nan nan]" not in words:
        yield f"NaN on NaN: {text}"
    if "reduction block" not in words:
        yield f"TVM's reason: {text}"
