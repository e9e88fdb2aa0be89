"""The judge of lesson 3's sentences refuses false ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from lesson_runs import statements

from mlc_course.lessons.lesson_03_memory_hierarchy import SIDE, addresses_down, remarks, sums
from mlc_course.machine import describe
from mlc_course.tensor_program.memory import count, levels

faults = statements(Path("03_memory_hierarchy.ipynb"))


@pytest.fixture(scope="module")
def true() -> dict[str, str]:
    caches = levels(describe())
    down = {f"rows of {n}": addresses_down(n) for n in (SIDE, SIDE + 16)}
    programs = {name: each for name, each in sums().items() if name != "rows"}
    misses = {name: [c.misses for c in count(p, *caches)] for name, p in programs.items()}
    walks = {name: [100] * len(caches) for name in ("shuffled", "eight walkers", "in order")}
    return {
        "transform-count-sets": remarks.room_for_a_column(down, caches),
        "transform-saved": remarks.what_padding_saved(misses),
        "break-count": remarks.same_misses(walks, 100),
        "hook-chase": "in order     1.5 ns for each load\nshuffled   100.0 ns for each load\n",
        "hook-additions": "60 float32 operations per ns\n6,000 of them in the time\n",
        "end-sentence": "a load takes 1.5 ns from the first cache and 90 ns from memory,\n"
        "60 times as long: time for 5,400 operations;",
    }


def test_true_sentences_are_accepted(true: dict[str, str]) -> None:
    assert not list(faults(true))


@pytest.mark.parametrize(
    ("cell", "old", "new", "fault"),
    [
        ("transform-count-sets", "fits", "does not fit", "a column in"),
        ("transform-saved", "L1", "L1 misses 2 times less often, L1", "L1 gained nothing"),
        ("break-count", "are the same", "are not the same", "three walks"),
        ("break-count", "100  ", "99  ", "three walks"),
        ("hook-additions", "6,000", "60,000", "operations per ns"),
        ("hook-chase", "100.0", "1.0", "takes longer"),
        ("end-sentence", "60 times", "600 times", "are not 600 times"),
    ],
)
def test_a_false_sentence_is_refused(
    true: dict[str, str], cell: str, old: str, new: str, fault: str
) -> None:
    assert old in true[cell]
    lie = true[cell].replace(old, new, 1)
    assert any(fault in each for each in faults({**true, cell: lie}))
