"""What lesson 7 says of loads, registers and sets, held against counts of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlc_course.machine import describe
from mlc_course.tensor_program.memory import levels

NUMBER = r"(\d+(?:\.\d+)?)"


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield what is untrue in the sentences that the cells printed, by cell id in ``said``."""
    machine, first = describe(), levels(describe())[0]
    rows, vectors = _tile(said["predict-loads"])
    needed = (rows + vectors) / (rows * vectors)
    text = said["reveal-loads"]
    formula, counted, before = _numbers(
        rf"= {NUMBER}, counted {NUMBER}; before, {NUMBER}", text, "reveal-loads"
    )
    if abs(formula - needed) > 0.006:
        yield f"reveal-loads: {rows} x {vectors} needs {needed:.2f} loads, not {formula}"
    if not counted < before:
        yield f"reveal-loads: {counted} loads with two levels are not fewer than {before}"
    loads, stores, adds = _numbers(
        r"(\d+) loads, (\d+) stores for (\d+) multiply-adds", text, "reveal-loads"
    )
    if abs(loads / adds - counted) > 0.006:
        yield f"reveal-loads: {loads:.0f} loads for {adds:.0f} multiply-adds are not {counted} each"
    if ("C stays in registers" in text) != (not stores and " 0 spills" in text):
        yield "reveal-loads: stores or spills, and C stays in registers?"
    depth, columns = _numbers(r"tile of B, (\d+) x (\d+),", said["predict-sets"], "predict-sets")
    if columns != vectors * machine.lanes:
        yield f"predict-sets: {vectors} vectors are {vectors * machine.lanes} columns"
    fetched = dict(re.findall(rf"(\d+) columns: fetched {NUMBER}", said["sets-count"]))
    crowded = _crowded(int(depth), int(columns), first.line, first.sets, first.ways)
    if crowded and float(fetched["1024"]) < 2:
        yield "sets-count: the rows want the same sets, and are fetched once?"
    end = said["end-sentence"]
    if f"here that is {rows} x".lower() not in end.lower():
        yield f"end-sentence: the tile has {rows} rows"
    if f"of {machine.vector_registers} registers" not in end:
        yield f"end-sentence: there are {machine.vector_registers} registers"


def _tile(text: str) -> tuple[int, int]:
    rows, vectors = _numbers(r"(\d+) rows x (\d+) vectors", text, "predict-loads")
    return int(rows), int(vectors)


def _numbers(pattern: str, text: str, cell: str) -> tuple[float, ...]:
    found = re.search(pattern, text)
    assert found, f"{cell} does not say {pattern}"
    return tuple(map(float, found.groups()))


def _crowded(depth: int, columns: int, line: int, sets: int, ways: int) -> bool:
    """Return True where the beginnings of the rows alone want more places in a set than it has."""
    beginnings = [4 * 1024 * k // line % sets for k in range(depth)]
    return max(map(beginnings.count, beginnings)) > ways
