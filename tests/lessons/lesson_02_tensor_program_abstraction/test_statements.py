"""The statements of lesson 2: true ones pass, a false one is found."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "statements" / "lesson_02.py"
SAID = {
    "hook-run": "row_sums    [ 15.  51.  87. 123.]\none_letter  [ 5. 11. 17. 23.]\n",
    "hook-parallel": "row_sums: refused: no\none_letter: accepted\n\n"
    " You made no prediction. The answer is:  only the right program .",
    "hook-race": "illegal (race): two iterations",
    "explain-counted": "2,556 pairs of 72: 60 keep their order, 120 are terms of one sum, 2,376 "
    "are free\n The answer is:  one in forty (0.0235) . 60 pairs of 2,556.",
    "explain-larger": "3, 4, 5   2,556   one in 43\n1, 200, 64  84,493,500  one in 6,601\n"
    "256, 200, 64   5,537,790,336,000   one in 1,689,999",
    "lies-laid-out-run": "as written: [0. 1. 2. 4. 5. 6. 8. 9. nan]\n"
    "turned:     [0. 1. 2. 3. 5. 6. 7. 9. nan]\n You made no prediction. The answer is:  two .",
    "lies-no-init-run": "Y full of zeros: [ 15.  51.  87. 123.]\n"
    "Y full of NaN:   [nan nan nan nan]\n\nTVM: neither complete nor local reduction block.",
}


def faults(said: dict[str, str]) -> list[str]:
    spec = importlib.util.spec_from_file_location("statements_02", FILE)
    assert spec and spec.loader
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.faults(said))


def test_what_is_true_passes() -> None:
    assert not faults(SAID)
    predicted = SAID["lies-laid-out-run"].replace(
        "You made no prediction. The answer is:  two .", " two, you said none. "
    )
    assert not faults({**SAID, "lies-laid-out-run": predicted})


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("hook-run", " 23.]", " 18.]"),
        ("hook-parallel", "row_sums: refused", "row_sums: accepted"),
        ("hook-race", "illegal (race)", "legal"),
        ("explain-counted", "60 keep", "72 keep"),
        ("explain-larger", "one in 43", "one in 41"),
        ("lies-laid-out-run", "two .", "four ."),
        ("lies-no-init-run", "[nan nan nan nan]", "[ 15.  51.  87. 123.]"),
    ],
)
def test_a_false_statement_is_found(cell: str, old: str, new: str) -> None:
    assert old in SAID[cell]
    assert faults({**SAID, cell: SAID[cell].replace(old, new)})
