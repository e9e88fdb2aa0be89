"""A map of tiles: what the caches predict for each, and how fast it is, as a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from mlc_course.errors import check_known
from mlc_course.lessons.kit import SIZES, Sizes, Tile, grid, moved, multiply_adds, tiled
from mlc_course.machine import describe
from mlc_course.measure import Comparison, compare
from mlc_course.tensor_program.ladders import Record, Rung, contest, load, provenance, scheduled
from mlc_course.tensor_program.memory import Cache
from mlc_course.tensor_program.problems import FLOAT_BYTES, matmul
from mlc_course.tensor_program.processor import assembly

Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """A tile, what is known of it without a clock (``facts``), and its time beside NumPy's."""

    tile: Tile
    facts: Facts
    comparison: Comparison


def facts(tile: Tile, levels: Sequence[Cache], sizes: Sizes = SIZES) -> dict[str, Any]:
    """Count what a tile makes simulated caches and LLVM do: the same on every run; 0.2 s.

    ``lines[i]`` are fetched by level i for all buffers, ``b_times[i]`` is how often it fetches
    each element of B; the others are counts in the hot loop. Raises what ``tiles.moved`` raises.
    """
    traffic = moved(tile, levels, sizes)
    hot = assembly(scheduled(matmul(*sizes), Rung(str(tile), "", tiled(tile))))
    return {
        "lines": [
            sum(each.fetched[i] for each in traffic.buffers) // level.line
            for i, level in enumerate(levels)
        ],
        "b_times": [each / (FLOAT_BYTES * sizes[1] * sizes[2]) for each in traffic.of("B").fetched],
        "multiply_adds": multiply_adds(hot),
        "loads": hot.loads,
        "stores": hot.stores,
        "lanes": hot.lanes,
    }


def measure(
    levels: Sequence[Cache],
    *,
    tiles: Sequence[Tile] = grid(),
    sizes: Sizes = SIZES,
    known: Callable[[Tile], Facts | None] = lambda tile: None,
    budget_s: float = 0.2,
) -> Iterator[Measured]:
    """Check each tile's program, time it in turn with NumPy on one thread, and count.

    Every second tile comes first, so that a map which is interrupted shows a little of everything.
    To go on with it, name the ``tiles`` that are left. ``known`` gives facts that need not be
    found again. Raises what ``facts`` and ``contest`` raise.
    """
    for tile in (*tiles[::2], *tiles[1::2]):
        calls = contest("matmul", sizes, Rung(str(tile), "", tiled(tile)))
        found = compare({str(tile): calls.ours}, ("NumPy", calls.numpy), budget_s=budget_s)
        yield Measured(tile, known(tile) or facts(tile, levels, sizes), found[str(tile)])


# --- the record ---------------------------------------------------------------------------------


def map_record(
    measured: Iterable[Measured], levels: Sequence[Cache], sizes: Sizes = SIZES
) -> Record:
    """JSON-ready: the machine, its caches, and one cell for each tile that is measured."""
    return {
        **provenance(),
        "sizes": list(sizes),
        "levels": [{"bytes": each.bytes, "ways": each.ways, "line": each.line} for each in levels],
        "cells": [_cell(each) for each in measured],
    }


def _cell(done: Measured) -> Record:
    found = done.comparison
    return {
        "k": done.tile.k,
        "n": done.tile.n,
        "working_set": done.tile.working_set,
        **done.facts,
        "median_s": found.timing.median_s,
        "numpy_s": found.baseline.median_s,
        "ratio": found.ratio,
        "ratio_iqr": list(found.ratio_iqr),
        "ratio_interval": list(found.interval),
        "warning": found.warning,
    }


NAME = "matmul_tiles"
RECORDINGS = resources.files("mlc_course.lessons.lesson_06_tiling") / "recordings"


def recorded_map(isa: str | None = None) -> Record:
    """The map that comes with the course for machines with these instructions.

    By default it is the one made on the machine whose vectors are most like those of this machine.
    Raises ``UsageError`` for instructions of which there is no map.
    """
    known = {each["machine"]["isa"]: each for each in _recordings()}
    if isa is None:
        return min(known.values(), key=_unlike_this_machine)
    check_known("no recorded map for", isa, known)
    return known[isa]


def _recordings() -> list[Record]:
    folders = (each for each in RECORDINGS.iterdir() if each.is_dir())
    return [load(folder / f"{NAME}.json") for folder in folders]


def _unlike_this_machine(record: Record) -> tuple[int, str]:
    here, there = describe(), record["machine"]
    return abs(there["vector_bits"] - here.vector_bits), there["isa"]


def other_kind(record: Record) -> str:
    """Say that a record is of another kind of machine than this one; empty where it is not."""
    here, there = describe().isa, record["machine"]["isa"]
    return "" if here == there else f"; yours has {here}: {there} is the nearest that is recorded"


def levels_of(record: Record) -> tuple[Cache, ...]:
    """The caches that a record's counts are of."""
    return tuple(Cache(**each) for each in record["levels"])


def cells(record: Record) -> dict[Tile, Record]:
    """The cells of a record by tile."""
    return {Tile(each["k"], each["n"]): each for each in record["cells"]}


def figures(record: Record) -> dict[str, dict[Tile, float]]:
    """The figures that a map shows of each tile, by name; less is better for all but the last."""
    found = cells(record)
    views: dict[str, Callable[[Record], float]] = {"working set": lambda c: c["working_set"]}
    for place in range(min(len(record["levels"]), 2)):
        views[f"L{place + 1} misses"] = lambda c, place=place: c["lines"][place]  # type: ignore[misc]
    views["loads + stores"] = lambda c: (c["loads"] + c["stores"]) / max(c["multiply_adds"], 1)
    views["measured"] = lambda c: c["ratio"]
    return {name: {t: view(c) for t, c in found.items()} for name, view in views.items()}
