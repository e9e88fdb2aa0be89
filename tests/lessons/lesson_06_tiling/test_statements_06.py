"""The judge of lesson 6's sentences accepts true ones and refuses false ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from mlc_course.lessons.lesson_06_tiling import best_tile, caches, fetches

FULL = (960, 960, 960)


def judge(number: str) -> ModuleType:
    path = Path(__file__).parents[2] / "statements" / f"lesson_{number}.py"
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found and found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def spoken() -> dict[str, str]:
    from mlc_course.lessons.kit import Tile

    tile = best_tile(caches()[0])
    counts = enumerate(fetches(Tile(960, 960), FULL), start=1)
    return {
        "hook-count": "\n".join(
            f"L{level} fetches each element of B {times:,.0f} times, for 960 uses"
            for level, times in counts
        ),
        "reveal-room": "a cache of 29 elements is the smallest in which B is fetched once",
        "transform-count": "m: each element of B is fetched 24.0 times\n"
        "n_0: each element of B is fetched 1.0 times",
        "end-sentence": f"here that is {caches()[0].bytes // 1024} KiB, so {tile}, and each "
        f"element of B is\nfetched {fetches(tile)[0]:.1f} times",
    }


def test_true_sentences_are_accepted() -> None:
    assert not list(judge("06").faults(spoken()))


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("hook-count", "L1 fetches each element of B", "L1 fetches each element of B 2"),
        ("reveal-room", "29", "24"),
        ("transform-count", "24.0", "1.0"),
        ("end-sentence", ", and each", "0, and each"),
    ],
)
def test_a_false_sentence_is_refused(cell: str, old: str, new: str) -> None:
    said = spoken()
    said[cell] = said[cell].replace(old, new)
    assert any(cell in fault for fault in judge("06").faults(said))
