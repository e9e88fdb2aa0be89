"""The judge of lesson 16's sentences accepts true ones and refuses false ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "statements" / "lesson_16.py"
SPEC = importlib.util.spec_from_file_location("statements_of_lesson_16", PATH)
assert SPEC and SPEC.loader
statements = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(statements)

SAID = {
    "hook-run": "(64, 384), largest difference to NumPy 5.3e-15\n"
    "(64, 384), largest difference to NumPy 8.0e+00\n",
    "measure-count": "X:   65.5 kB, loaded 4 times over\nG:    1.0 kB, loaded 16 times over\n"
    "W:  393.2 kB, loaded 4 times over\n"
    "counted 1,851,392 bytes, computed from the maps 1,851,392\n",
    "measure-fair": "loaded by all seven: 2,098.6 kB, stored 246.1 kB\n"
    "loaded by the one:   1,851.4 kB, stored 49.2 kB\n"
    "model of an H100, not measured: seven 21.5 µs, 21.0 µs to launch\n"
    "model of an H100, not measured: one 8.2 µs, 3.0 µs to launch\n",
    "break-rows": "difference to the seven kernels: none\n"
    "block Y         25,296.9 kB    49.2 kB       64                 27.1 kB\n",
    "break-memory": "loop(k=32): 21.1 kB a block fits into 232.4 kB\n"
    "loop(k=1): 600.4 kB a block does not fit into 232.4 kB\n",
    "half-overflow": "X times 1: 0.0008\nX times 4: 0.0008\n"
    "X times 16: 1.0000\nX times 64: 1.0000\n",
    "half-remedy": "X times 1: 0.0008\nX times 4: 0.0008\nX times 16: 0.0008\nX times 64: 0.0008\n",
}


def test_true_sentences_are_accepted() -> None:
    assert not list(statements.faults(SAID))


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("hook-run", "8.0e+00", "8.0e-16"),
        ("measure-count", "loaded 16 times", "loaded 4 times"),
        ("measure-count", "maps 1,851,392", "maps 722,304"),
        ("measure-fair", "2,098.6", "722.3"),
        ("measure-fair", "1,851.4", "1,572.9"),
        ("measure-fair", ", not measured", ""),
        ("break-rows", "25,296.9", "1,851.4"),
        ("break-memory", "does not fit", "fits"),
        ("half-overflow", "16: 1.0000", "16: 0.0008"),
        ("half-remedy", "64: 0.0008", "64: 1.0000"),
    ],
)
def test_a_false_sentence_is_refused(cell: str, old: str, new: str) -> None:
    assert old in SAID[cell]
    found = list(statements.faults({**SAID, cell: SAID[cell].replace(old, new)}))
    assert any(each.startswith(cell) for each in found)
