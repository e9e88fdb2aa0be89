"""Is what lesson 3 says about its numbers true? Its counts, its reasons, and its end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlc_course.machine import describe
from mlc_course.tensor_program.memory import levels

SIDE, FLOAT = 1024, 4


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield what the computed sentences say and should not, by the text of each cell."""
    yield from _sets(said["transform-count-sets"])
    yield from _saved(said["transform-saved"])
    yield from _walks(said["break-count"])
    yield from _hook(said)
    yield from _end(said["end-sentence"])


def _places(row_length: int) -> list[tuple[int, int]]:
    """The sets that a column reaches in each cache, and the lines in its fullest set."""
    found = []
    for cache in levels(describe()):
        crowd: dict[int, int] = {}
        for row in range(SIDE):
            number = row * row_length * FLOAT // cache.line % cache.sets
            crowd[number] = crowd.get(number, 0) + 1
        found.append((len(crowd), max(crowd.values())))
    return found


def _sets(text: str) -> Iterator[str]:
    caches = levels(describe())
    for length in (SIDE, SIDE + 16):
        for number, (cache, (sets, most)) in enumerate(
            zip(caches, _places(length), strict=True), start=1
        ):
            found = re.search(rf"rows of {length} +L{number}: +([\d,]+) of .*: (.*)", text)
            right = "fits" if most <= cache.ways else "does not fit"
            if not found or found[1] != f"{sets:,}" or found[2] != right:
                yield f"a column in L{number}, rows of {length}: {sets:,} sets, {right}"


def _saved(text: str) -> Iterator[str]:
    """Padding helps a cache exactly where a column fits only with the longer rows."""
    caches, before, after = levels(describe()), _places(SIDE), _places(SIDE + 16)
    for number, (cache, (_, old), (_, new)) in enumerate(
        zip(caches, before, after, strict=True), start=1
    ):
        helped = old > cache.ways >= new
        if helped != bool(re.search(rf"L{number} misses [\d.e+]+ times less", text)):
            yield f"L{number} gained {'something' if helped else 'nothing'} by padding"


def _walks(text: str) -> Iterator[str]:
    rows = [tuple(re.findall(r"L\d +([\d,]+)", row)) for row in text.splitlines() if "  L1" in row]
    same = len(set(rows)) == 1
    if len(rows) != 3 or ("The counts are the same." in text) != same:
        yield f"three walks, whose counts are {'' if same else 'not '}the same"


def _hook(said: Mapping[str, str]) -> Iterator[str]:
    near, far = map(float, re.findall(r"([\d.]+) ns for each load", said["hook-chase"]))
    per_ns, in_all = (
        float(each.replace(",", ""))
        for each in re.findall(
            r"^([\d,]+) (?:float32|of them)", said["hook-additions"], re.MULTILINE
        )
    )
    if not far > near:
        yield "a shuffled load takes longer than one in order"
    if not 0.9 * (per_ns - 0.5) * far <= in_all <= 1.1 * (per_ns + 0.5) * far:
        yield f"{per_ns:g} operations per ns make other than {in_all:,.0f} in {far} ns"


def _end(text: str) -> Iterator[str]:
    near, far = (float(x) for x in re.findall(r"takes ([\d.]+) ns from.* and (\d+) ns", text)[0])
    times = float(re.findall(r"(\d+) times as long", text)[0])
    if not (far - 0.5) / (near + 0.05) - 1 <= times <= (far + 0.5) / (near - 0.05) + 1:
        yield f"{far:g} ns are not {times:g} times {near:g} ns"
