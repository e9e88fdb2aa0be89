"""The judge of lesson 4's sentences refuses false ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lesson_runs import Setting, playing, statements

from mlc_course.lessons.lesson_04_reuse_distance_and_roofline import problems, remarks
from mlc_course.machine import describe
from mlc_course.tensor_program.ladders import Point
from mlc_course.tensor_program.memory import Roofs, levels, reuse
from mlc_course.tensor_program.tir import Schedule, outline

ROOFS = Roofs(1, 60.0, 20.0, (100.0, 50.0))
NAMES = ("relu", "exp", "products, vector by vector", "products, row by row", "naive", "packed")
POINTS = {
    name: Point(name, 1e9 * intensity, 1e9, 0.1 * intensity)
    for name, intensity in zip(NAMES, (0.12, 3.5, 0.5, 2.0, 32.0, 21.0), strict=True)
}

SMALL = Setting("caches that A exceeds", {"MLC_COURSE_CACHES": "32K,256K,1M"})
LARGE = Setting("caches that hold A", {"MLC_COURSE_CACHES": "48K,2M,256M"})
SAME = """From memory both orders fetch the same, 101 MB: A fits in the last cache.
B is 1.10 times as fast, and slower than NumPy (0.90 x)."""

faults = statements(Path("04_reuse_distance_and_roofline.ipynb"))


@pytest.fixture(scope="module", autouse=True)
def small_caches() -> Iterator[None]:
    with playing(SMALL):
        yield


@pytest.fixture(scope="module")
def true() -> dict[str, str]:
    caches = levels(describe())
    first = caches[0]
    lines, more = first.bytes // first.line, first.bytes // first.line * (first.ways + 1)
    more //= first.ways
    before, after = (Schedule(problems.products(1 << 17).program()) for _ in range(2))
    after.reorder(*after.get_loops(after.get_sblock("Y"))[1::-1])
    found = {
        name: reuse(sch, line=first.line)
        for name, sch in (("vector by vector", before), ("row by row", after))
    }
    return {
        "hook-fits": f"{lines:,} lines, {160 * lines:,} reads, {lines:,} misses",
        "hook-longer": f"{more:,} lines, {160 * more:,} reads, {10 * more:,} misses",
        "theorem-counted": remarks.by_distance_and_counted({n: (n, n) for n in (4, 16, 64, 256)}),
        "transform-by-hand": outline(before),
        "transform-distances": remarks.farthest(found, "A", caches),
        "roofline-table": remarks.under_their_roofs(POINTS, ROOFS),
        "roofline-gain": "A: 400 MB; B: 100 MB, 4.00 times fewer.\n"
        "B is 2.00 times as fast, and faster than NumPy (1.20 x).",
        "break-conflicts": remarks.conflicts({"7 x 7": [(10, 10), (10, 30), (10, 8)]}),
        "end-sentence": remarks.end(found, POINTS, ROOFS, 32 << 10),
    }


def test_true_sentences_are_accepted(true: dict[str, str]) -> None:
    assert not list(faults(true))


@pytest.mark.parametrize(
    ("cell", "old", "new", "fault"),
    [
        ("hook-fits", " misses", "0 misses", "each fetched once"),
        ("hook-longer", "0 misses", " misses", "each fetched ten times"),
        ("theorem-counted", "Equal", "Different", "are equal"),
        ("theorem-counted", "256 counted", "257 counted", "are equal"),
        ("transform-distances", "at most ", "at most 9", "vector by vector, A comes back"),
        ("roofline-table", "roof: peak ", "roof: memory ", "is right of the corner"),
        ("end-sentence", "relu; ", "", "relu is left of the corner"),
        ("roofline-gain", "faster", "slower", "is not slower"),
        ("roofline-gain", "4.00 times", "0.90 times", "row by row fetches fewer bytes"),
        ("break-conflicts", "20 more", "20 fewer", "20 more"),
    ],
)
def test_a_false_sentence_is_refused(
    true: dict[str, str], cell: str, old: str, new: str, fault: str
) -> None:
    assert old in true[cell], true[cell]
    lie = true[cell].replace(old, new, 1)
    assert any(fault in each for each in faults({**true, cell: lie})), lie


def test_orders_fetch_the_same_where_the_last_cache_holds_the_matrix(true: dict[str, str]) -> None:
    refused = "row by row fetches fewer bytes"
    assert any(refused in each for each in faults({**true, "roofline-gain": SAME}))
    with playing(LARGE):
        held = [each for each in faults({**true, "roofline-gain": SAME}) if "orders" in each]
        assert not held
        assert any("both orders fetch the same" in each for each in faults(true))
