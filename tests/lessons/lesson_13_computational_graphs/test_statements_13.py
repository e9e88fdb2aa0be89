"""The judge of what lesson 13 says refuses what is not so."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "statements" / "lesson_13.py"
faults = runpy.run_path(str(FILE))["faults"]

SAID = {
    "hook-race": "two kernels: this race cannot tell its speed from that of five kernels "
    "(95 % interval 0.95 to 1.04)",
    "predict-reveal": "five kernels write 878 kB between kernels\n"
    "two kernels write 288 kB between kernels and 590 kB inside\n all (1) . They have moved",
    "measure-one": "two kernels: 1.20 times as fast as five kernels (95 % interval 1.10 to 1.31)",
    "measure-many": "one nest each: slower, 1.20 times the time of two kernels "
    "(95 % interval 1.10 to 1.31)",
    "measure-count": "five into L2 9.36 MB\ntwo into L2 7.9 MB\nnest into L2 3.47 MB\n"
    "merging the nests spares more",
    "chain-reveal": "large arrays read and written: 9 by four kernels, 2 by one nest\n"
    "bytes alone predict 4.5 times as fast; raced: 4.1 times",
    "break-refusals": "read_twice, 3 kernels: \nsoftmax, 3 kernels: \n"
    "around_a_library, 3 kernels: \ntwo_products, 2 kernels: \nnone of them",
}


def test_what_is_true_is_accepted() -> None:
    assert not list(faults(SAID))


@pytest.mark.parametrize("change", ["merging the nests", "grouping the operators"])
def test_savings_whose_order_is_rounded_away_are_accepted(change: str) -> None:
    text = f"five into L2 9.96 MB\ntwo into L2 7.9 MB\nnest into L2 5.85 MB\n{change} spares more"
    assert not list(faults({**SAID, "measure-count": text}))


@pytest.mark.parametrize(
    ("cell", "true", "false"),
    [
        ("predict-reveal", "590 kB inside", "59 kB inside"),
        ("predict-reveal", "all (1)", "hardly any (0.01)"),
        ("hook-race", "this race cannot tell its speed from that of", "0.99 times as fast as"),
        ("measure-one", "1.20 times as fast as", "this race cannot tell"),
        ("measure-count", "merging the nests", "grouping the operators"),
        ("measure-count", "7.9 MB", "6.4 MB"),
        ("measure-count", "merging the nests spares more", "both spare"),
        ("chain-reveal", "9 by four", "8 by four"),
        ("chain-reveal", "raced: 4.1", "raced: 1.1"),
        ("break-refusals", "softmax, 3", "softmax, 1"),
    ],
)
def test_what_is_false_is_refused(cell: str, true: str, false: str) -> None:
    assert true in SAID[cell]
    assert list(faults({**SAID, cell: SAID[cell].replace(true, false)}))
