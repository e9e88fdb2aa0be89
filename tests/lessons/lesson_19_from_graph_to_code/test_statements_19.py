"""The statements of lesson 19 are refused where they do not fit the counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from lesson_runs import statements

faults = statements(Path("19_from_graph_to_code.ipynb"))
CHANGES = [f"change {n}   numbers are right  the run without values: x" for n in range(3)]
CHANGES += [f"change {n}   numbers differ     the comparison over finite fields" for n in range(3)]
CHANGES += ["change 6   numbers are right  nothing: it is right"]
SAID = {
    "barriers-each": "without barrier 0: race: a\n\nwithout barrier 1: race: b\n\n"
    "without barrier 2: race: c\n\nwith all three: None",
    "barriers-reveal": "2 barriers (2), as you said.",
    "banks-reveal": "34,444 wavefronts in plain rows, 12,660 as lowered",
    "grid-reveal": "256 blocks load 85.5 MB, 60,000 bytes\n128 blocks load 67.8 MB, 70,000 bytes",
    "broken-all": "\n".join(CHANGES),
    "end-sentence": "65 waits, 12,660 wavefronts instead of 34,444. "
    "Of 6 mistakes, numbers alone showed 3; the two checks",
}


def test_true_sentences_are_accepted() -> None:
    assert not list(faults(SAID))


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("barriers-each", "race: b", "None"),
        ("barriers-reveal", "2 barriers (2)", "1 barrier (1)"),
        ("banks-reveal", "12,660", "44,660"),
        ("grid-reveal", "67.8", "40.0"),
        ("broken-all", "nothing: it is right", "the comparison over finite fields"),
        ("broken-all", "numbers differ", "numbers are right"),
        ("end-sentence", "65", "64"),
        ("end-sentence", "showed 3", "showed 4"),
    ],
)
def test_an_untrue_sentence_is_refused(cell: str, old: str, new: str) -> None:
    assert list(faults({**SAID, cell: SAID[cell].replace(old, new)}))
