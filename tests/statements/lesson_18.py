"""What lesson 18 says of trees, cuts, banks and graphs, held against what its cells counted."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

YEAR_S = 365.25 * 24 * 3600
PROGRAM = "p = matmul(X, W); q = matmul(X, A); r = matmul(q, B); s = add(p, r)"


def faults(said: Mapping[str, str]) -> Iterator[str]:
    for cell in ("hook-same", "beside-see"):
        if "the same operators: True" not in said[cell]:
            yield f"{cell}: what was found has other operators: {said[cell][:200]}"
    four = last(said["tree-count"].split("graphs")[3])
    if f"about 50,000 ({four:,})" not in said["tree-count"] or not 16_000 < four < 500_000:
        yield f"{four} graphs of four lines: {said['tree-count']}"
    yield from _extrapolated(said["tree-rms"])
    counts = dict(re.findall(r"without (\w+) +([\d,]+) graphs", said["two-growth"]))
    most = max(counts, key=lambda name: number(counts[name]), default="")
    if not re.match(rf"(?:.* is:)?\s*{most}\s", said["two-reveal"]):
        yield f"missed most is {most}: {said['two-reveal']}"
    yield from _solutions(said)
    yield from _at_the_end(said)


def _extrapolated(text: str) -> Iterator[str]:
    counts = [number(each) for each in text.splitlines()[0].split("→")]
    factor = counts[-1] / counts[-2]
    nine = counts[-1] * factor ** (9 - (len(counts) - 1))
    found = re.search(r"there are (\d+) · 10\^(\d+)", text)
    named = int(found[1]) * 10 ** int(found[2]) if found else 0
    years = re.search(r"takes ([\d.e+]+) years", text)
    if not math.isclose(named, nine, rel_tol=0.5):
        yield f"{nine:.1e} graphs of nine operators, not {named:.1e}"
    if not years or not math.isclose(float(years[1]), nine / 1e6 / YEAR_S, rel_tol=0.05):
        yield f"{nine / 1e6 / YEAR_S:.0f} years: {text}"


def _solutions(said: Mapping[str, str]) -> Iterator[str]:
    """All cuts together keep three graphs; the unsound one keeps the program alone."""
    kept = [line for line in said["two-three"].splitlines() if line]
    both = [line for line in said["break-as-written"].splitlines() if line.startswith("p =")]
    if len(kept) != 3 or both != [*kept, PROGRAM]:
        yield f"three graphs, and one of them with the unsound cut: {both}"
    if "product" not in said["break-fused"]:
        yield f"the fused graph would lose its product: {said['break-fused']}"


def _at_the_end(said: Mapping[str, str]) -> Iterator[str]:
    sentence = " ".join(said["end-sentence"].split())
    values = number(said["values-bank"].split(" values")[0])
    if "cut off by a limit: no" not in said["values-bank"]:
        yield f"the bank is not complete: {said['values-bank']}"
    if f"banks of values: {values} for that nest" not in sentence:
        yield f"the bank has {values} values: {sentence}"
    kept = re.search(r"([\d,]+) values were kept", said["hook-search"])
    if not kept or f"and {kept[1]} in all" not in sentence:
        yield f"the search kept other values: {sentence}"
    by_hand = re.search(r"in all\s+([\d.]+)", said["beside-why"])
    program = re.search(r"the program, as given\s+\d+\s+\d+\s+([\d.]+)", said["beside-search"])
    if not by_hand or not program or float(by_hand[1]) <= float(program[1]):
        yield f"the grid by hand is not slower than the program: {said['beside-why']}"
    two = re.search(r"in all\s+[\d.]+\s+[\d.]+\s+(\S)", said["beside-two"])
    if not two or two[1] != "−":
        yield f"two kernels are not the cheaper choice: {said['beside-two']}"


def number(text: str) -> int:
    return int(text.strip().replace(",", ""))


def last(text: str) -> int:
    return number(text.split()[-1])
