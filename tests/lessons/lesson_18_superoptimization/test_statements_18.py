"""The statements of lesson 18 are refused where they do not fit the counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from lesson_runs import statements

faults = statements(Path("18_superoptimization.ipynb"))
KEPT = "p = matmul(A, B); r = matmul(X, q)\np = matmul(X, W); s = add(p, r)\np = matmul(X, q)\n"
PROGRAM = "p = matmul(X, W); q = matmul(X, A); r = matmul(q, B); s = add(p, r)\n"
SAID = {
    "hook-search": "5.2 s: an operator was tried 11,545 times,\n661 values were kept, and 9 graphs",
    "hook-same": "the same operators: True",
    "tree-count": "1 operators: 11 graphs\n2 operators: 142 graphs\n3 operators: 2,262 graphs\n"
    "4 operators: 45,226 graphs\nYou made no prediction. The answer is: about 50,000 (45,226) .",
    "tree-rms": "1 → 29 → 1,231 → 72,289\nThe last factor is 59. If it stays, there are 3 · 10^15 "
    "graphs of 9 operators.\nAt 1,000,000 graphs a second, that takes 94 years.",
    "two-growth": "all three  543 graphs\nwithout equality  559 graphs of 3 operators\n"
    "without order  2,896 graphs\nwithout expressions  19,214 graphs\nnone of them  72,289 graphs",
    "two-reveal": "  expressions , you said equality.",
    "two-three": KEPT,
    "values-bank": "69 values of 3,435 candidates\ncut off by a limit: no\n",
    "beside-search": "loop over d  9  1  61.6  1.12    the program, as given  7  7  69.1  1.00",
    "beside-see": "the same operators: True",
    "beside-why": "shared  22.96  11.21  −11.75    in all  83.37  61.60  −21.77",
    "beside-two": "shared  8.64  3.59  −5.06    in all  38.32  31.48  −6.83",
    "break-as-written": f"523 nodes\n{KEPT}7 nodes, and these solutions:\n{PROGRAM}",
    "break-fused": "part     128 X G W\nproduct  4096 X G W",
    "end-sentence": "It grows banks of values: 69 for that nest, and 661 in all\n46 banks",
}


def test_true_sentences_are_accepted() -> None:
    assert not list(faults(SAID))


def test_a_reveal_without_a_prediction_is_read_as_well() -> None:
    plain = "You made no prediction. The answer is:  expressions . Equal values are rare."
    assert not list(faults({**SAID, "two-reveal": plain}))


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("hook-same", "True", "False"),
        ("beside-see", "True", "False"),
        ("tree-count", "45,226", "4,523"),
        ("tree-rms", "10^15", "10^12"),
        ("tree-rms", "94 years", "9 years"),
        ("two-growth", "2,896", "28,960"),
        ("two-reveal", "expressions , you said equality", "equality , you said expressions"),
        ("two-three", "p = matmul(X, q)\n", ""),
        ("break-as-written", PROGRAM, ""),
        ("break-fused", "product", "divided"),
        ("values-bank", "limit: no", "limit: 1000 candidates"),
        ("values-bank", "69", "96"),
        ("hook-search", "661", "515"),
        ("beside-why", "83.37", "63.37"),
        ("beside-two", "−6.83", "+6.83"),
    ],
)
def test_an_untrue_sentence_is_refused(cell: str, old: str, new: str) -> None:
    assert list(faults({**SAID, cell: SAID[cell].replace(old, new)}))
