"""The statements of lesson 20 are refused where they do not fit what was found."""

from __future__ import annotations

from pathlib import Path

import pytest
from lesson_runs import statements

faults = statements(Path("20_dynamic_shapes.ipynb"))
SAID = {
    "proof-combined": "claim = 1 x (a*b == c*d) + 1 x (c*e == f*b)\nclaim = 1/2 x (a*a == b*b)",
    "proof-ask": "T == B*S: proved\nT % S == 0: proved\nT == H: refuted by B = 1",
    "merge-levels": "You made no prediction. The answer is: 1 kernel (1) .",
    "merge-facts": "rests on B*S == T\nnone 5 5 eq 4 2 product 3 1 frontend 4 2 all 3 1",
    "missing-plan": "loop stores %3\nloop stores %4",
    "code-kernel": "t = x[16*((4*r + q)*H_by_16)] v0[16*((4*r + q)*H_by_16)",
    "break-guard": "admits 20: False\n60 of 60 floats are wrong; 12 were never written",
    "break-facts": "a constraint does not hold\n  expected  P == Q",
    "code-divisions": "divisions to find elements: 98,304 as written, 0 with facts",
    "hook-lengths": "48 0.1 s 25,000 61 0.4 s 80,000 768 0.2 s 5,000 769 0.2 s 4,900",
    "guards-reveal": "".join(f"a row of {n} takes 1.20 times as long\n" for n in range(6)),
    "end-sentence": "so 18 operators became 1 kernel, and of 98,304 divisions\n"
    "that find elements 0 are left. What",
}


def test_true_sentences_are_accepted() -> None:
    assert not list(faults(SAID))


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("proof-combined", "1/2 x", "1 x"),
        ("proof-ask", "T == B*S: proved", "T == B*S: unknown"),
        ("proof-ask", "T == H: refuted", "T == H: proved"),
        ("merge-levels", "1 kernel (1)", "3 kernels (3)"),
        ("merge-facts", "rests on B*S == T", "rests on"),
        ("merge-facts", "eq 4 2", "eq 4 1"),
        ("merge-facts", "all 3 1", "all 2 1"),
        ("missing-plan", "loop stores %4", ""),
        ("hook-lengths", "4,900", "49"),
        ("guards-reveal", "a row of 5 takes", "a row of 5 has"),
        ("break-guard", "False", "True"),
        ("break-guard", "60 of 60", "0 of 60"),
        ("break-facts", "P == Q", "K == V"),
        ("code-divisions", "0 with", "98,304 with"),
        ("end-sentence", "98,304", "98,305"),
        ("end-sentence", "1 kernel", "2 kernels"),
    ],
)
def test_untrue_sentences_are_found(cell: str, old: str, new: str) -> None:
    assert old in SAID[cell]
    assert list(faults({**SAID, cell: SAID[cell].replace(old, new)}))
