"""The statements of lesson 15 are refused where they do not fit the counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from lesson_runs import statements

faults = statements(Path("15_gpu_in_a_box.ipynb"))
SAID = {
    "hook-run": "straight   right: True, bytes moved: 36,864\n"
    "by_a_tile  right: True, bytes moved: 8,192",
    "measure-words": "bytes moved: 8,192 instead of 36,864, fewer by a factor of 4.5",
    "end-sentence": "moves 8,192 bytes then, and 36,864 otherwise. 64 wavefronts; 1,056.",
    "sectors-reveal": "1,024 bytes, you said 128 bytes.",
}


def test_true_sentences_are_accepted() -> None:
    assert not list(faults(SAID))


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("hook-run", "36,864", "32,768"),
        ("hook-run", "right: True", "right: False"),
        ("measure-words", "fewer by a factor of 4.5", "fewer by a factor of 4.0"),
        ("end-sentence", "1,056", "1,024"),
        ("sectors-reveal", "1,024", "4,096"),
    ],
)
def test_an_untrue_sentence_is_refused(cell: str, old: str, new: str) -> None:
    assert list(faults({**SAID, cell: SAID[cell].replace(old, new)}))
