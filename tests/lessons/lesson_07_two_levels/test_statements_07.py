"""The judge of lesson 7's sentences accepts true ones and refuses false ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from mlc_course.machine import describe

LANES, REGISTERS = describe().lanes, describe().vector_registers
SAID = {
    "predict-loads": "4 rows x 2 vectors: 8 sums, 11 registers in all",
    "reveal-loads": "two levels: 24 loads, 0 stores for 32 multiply-adds of 8 float32 "
    "(0.75 loads each), 0 spills\n(r + v) / (r v) = 0.75, counted 0.75; before, 1.12\n"
    "C stays in registers: 0 stores and 0 spills in the hot loop.",
    "predict-sets": f"each element of the tile of B, 64 x {2 * LANES}, is used 60 times",
    "sets-count": "960 columns: fetched 1.0 times for 60 uses\n"
    "1024 columns: fetched 60.0 times for 60 uses",
    "end-sentence": f"Both have to fit: 11 of {REGISTERS} registers, and the sets. "
    f"Here that is 4 x {2 * LANES} of C",
}


def judge() -> ModuleType:
    path = Path(__file__).parents[2] / "statements" / "lesson_07.py"
    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found and found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_true_sentences_are_accepted() -> None:
    assert not list(judge().faults(SAID))


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("reveal-loads", "= 0.75, counted", "= 0.25, counted"),
        ("reveal-loads", "before, 1.12", "before, 0.70"),
        ("reveal-loads", "24 loads, 0 stores", "24 loads, 16 stores"),
        ("reveal-loads", "24 loads", "32 loads"),
        ("predict-sets", f"64 x {2 * LANES}", f"64 x {3 * LANES}"),
        ("sets-count", "1024 columns: fetched 60.0", "1024 columns: fetched 1.0"),
        ("end-sentence", f"{REGISTERS} registers", "64 registers"),
        ("end-sentence", "Here that is 4 x", "Here that is 6 x"),
    ],
)
def test_a_false_sentence_is_refused(cell: str, old: str, new: str) -> None:
    said = {**SAID, cell: SAID[cell].replace(old, new)}
    assert said != SAID
    assert any(cell in fault for fault in judge().faults(said))
