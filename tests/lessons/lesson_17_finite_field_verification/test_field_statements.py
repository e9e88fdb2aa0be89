"""The judge of lesson 17's sentences accepts true ones and refuses false ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "statements" / "lesson_17.py"
SPEC = importlib.util.spec_from_file_location("statements_of_lesson_17", PATH)
assert SPEC and SPEC.loader
statements = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(statements)

SAID = {
    "hook-ten-inputs": "eps moved  close on 10 of 10; largest difference 1e-07\n"
    "variance   close on 0 of 10; largest difference 3e-03\n",
    "hook-truth": "eps moved  different: output 0\nvariance   equal: a difference\n"
    "Is there a tolerance that accepts the right pair only? no\n",
    "points-count": "accepts between 0.091 and 0.106 of all tests (99 % sure)\n"
    "stated by the lemma: at most 0.097\n",
    "theorem-products": "modulo 11: w = [3, 4, 5, 9], product 9, norm 9\n"
    "modulo 31: w = [2, 4, 8, 16], product 0, norm 0\n",
    "theorem-sum": "111 primes, none below 311: 0.0323 + 0.0011 + 0.0000\n"
    "one test: 0.0333, and the library says 0.0333\nthirty tests: 5e-45\n",
    "small-eps-truth": "at the given sizes: different: output 0\n"
    "on inputs around 0.001, they are 37% apart\n",
    "end-sentence": "miss it with probability at most\n0.033, so thirty tests leave 5e-45: and\n",
}


def test_true_sentences_are_accepted() -> None:
    assert not list(statements.faults(SAID))


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("hook-ten-inputs", "0 of 10; largest difference 3e-03", "9 of 10; largest difference 1"),
        ("hook-truth", "only? no", "only? yes"),
        ("hook-truth", "variance   equal", "variance   different"),
        ("points-count", "between 0.091", "between 0.098"),
        ("points-count", "most 0.097", "most 0.032"),
        ("theorem-products", "product 0, norm 0", "product 31, norm 31"),
        ("theorem-products", "[3, 4, 5, 9]", "[2, 4, 5, 9]"),
        ("theorem-sum", "thirty tests: 5e-45", "thirty tests: 1e-40"),
        ("theorem-sum", "one test: 0.0333", "one test: 0.0322"),
        ("end-sentence", "0.033", "0.04"),
        ("end-sentence", "5e-45", "1e-40"),
        ("small-eps-truth", "sizes: different", "sizes: equal"),
    ],
)  # fmt: skip
def test_a_false_sentence_is_refused(cell: str, old: str, new: str) -> None:
    assert old in SAID[cell]
    found = list(statements.faults({**SAID, cell: SAID[cell].replace(old, new)}))
    assert any(each.startswith((cell, "end-sentence")) for each in found)
