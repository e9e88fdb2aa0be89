"""The judge of what lesson 12 says refuses what is not so."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "statements" / "lesson_12.py"
faults = runpy.run_path(str(FILE))["faults"]

SAID = {
    "permit-designs": "as it comes: B is packed in 0 of 9 designs\n"
    "B permitted: B is packed in 9 of 9 designs",
    "permit-reveal": "none, until you permit it; then all of them",
    "evolve-race": "best of 16: evolving 0.35, blind 0.34\n"
    "the middle child (0.26) is faster than the middle blind draw (0.07)",
    "model-saves": "best of the model's 6: 0.232 x, better than 6 chosen blindly (0.133 x on "
    "average)\nthey are 9% of the trials and 2% of the time",
    "break-dead-gene": "1 vectors became 2; same program: True\n is the same program as before",
    "explain-best": "random tiles  best three 0.23, 0.17\nblind  best three 0.81, 0.42\n"
    "evolving  best three 0.71, 0.68\npacking  best three 1.09, 1.08\n a fifth (0.232)",
    "end-sentence": "recorded: 0.81 x NumPy without panels in the space, 1.09 x with them",
}


def test_what_is_true_is_accepted() -> None:
    assert not list(faults(SAID))


@pytest.mark.parametrize(
    ("cell", "true", "false"),
    [
        ("permit-designs", "0 of 9", "2 of 9"),
        ("permit-designs", "9 of 9", "8 of 9"),
        ("evolve-race", "is faster", "is no faster"),
        ("model-saves", "better than", "no better than"),
        ("model-saves", "2% of the time", "20% of the time"),
        ("break-dead-gene", "True", "False"),
        ("explain-best", "a fifth", "three quarters"),
        ("end-sentence", "1.09", "1.19"),
    ],
)
def test_what_is_false_is_refused(cell: str, true: str, false: str) -> None:
    assert true in SAID[cell]
    assert list(faults({**SAID, cell: SAID[cell].replace(true, false)}))
