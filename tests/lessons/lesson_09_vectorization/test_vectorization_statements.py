"""The statements of lesson 9: true ones pass, and a false one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from lesson_runs import statements

faults = statements(Path("09_vectorization.ipynb"))

W, REGISTERS = 4, 16  # not those of the machine that runs this test
SAID = {
    "hook-registers": f"SSE: {REGISTERS} registers of {32 * W} bits, which is W = {W} float32 each",
    "hook-race": "row_sums: 1.000 ns an addition, 0.79 x NumPy's speed\n"
    "add_one: 0.200 ns an addition, 8.91 x NumPy's speed\n"
    "An addition of row_sums takes 5.0 times as long.",
    "see-rounding-rows": "sums:  1  error 5.9e-05 on average\nsums:  8  error 2.2e-05 on average\n"
    "sums: 32  error 1.1e-05 on average\nwith more sums, the error is smaller",
    "chains-count": "1 sum: 1 lane, 21 additions, a chain of 21: each waits for the one before\n"
    f"{2 * W} sums: {W} lanes, 16 additions, a chain of 8: 2 chains side by side",
    "unroll-race": "unrolled: 1 lane, 32 additions, a chain of 32: each waits for the one before",
    "sums-measure": f"{W} sums in 1 register   an addition instruction every 1.04 ns\n"
    f"{4 * W} sums in 4 registers  an addition instruction every 0.26 ns\n"
    "Waiting, one takes 1.04 ns; at best one begins every 0.26 ns: about 4 chains keep the core "
    "busy.",
    "lose-short": "\n".join(
        f"{c:>7} sums: {64 // c + c:>2} additions wait  9.51 x NumPy's speed"
        for c in (4, 8, 16, 32, 64)
    ),
    "tiles-rule": f" 1 x {W:<3} needs  3 of {REGISTERS} registers,   0 spills\n"
    f"16 x {4 * W:<3} needs 69 of {REGISTERS} registers, 281 spills\n"
    "The rule tells whether a tile spills in 2 of 2 cases.",
}


def test_true_statements_pass() -> None:
    assert list(faults(SAID)) == []


@pytest.mark.parametrize(
    ("slow", "fast", "sentence"),
    [
        ("1.024", "0.007", "An addition of row_sums takes 136.6 times as long."),
        ("0.241", "0.200", "An addition of row_sums takes 1.2 times as long."),
        ("0.240", "0.200", "In this run, an addition takes about as long in both (1.20 times)."),
        ("0.100", "0.200", "In this run, an addition takes about as long in both (0.50 times)."),
    ],
)
def test_a_ratio_that_rounding_allows_passes(slow: str, fast: str, sentence: str) -> None:
    lines = f"row_sums: {slow} ns an addition, 1.00 (noisy) x\nadd_one: {fast} ns an addition, 2 x"
    assert list(faults({**SAID, "hook-race": f"{lines}\n{sentence}"})) == []


@pytest.mark.parametrize(
    ("cell", "true", "false"),
    [
        ("hook-race", "takes 5.0 times", "takes 2.0 times"),
        ("hook-race", "takes 5.0 times", "takes 5.1 times"),
        (
            "hook-race",
            "row_sums takes 5.0 times as long",
            "takes about as long in both (5.00 times)",
        ),
        ("see-rounding-rows", "is smaller", "is larger"),
        ("chains-count", "a chain of 8: 2", "a chain of 16: 1"),
        ("chains-count", "21: each waits for the one before", "21: 21 chains side by side"),
        ("unroll-race", "a chain of 32", "a chain of 8"),
        ("sums-measure", "about 4 chains", "about 16 chains"),
        ("sums-measure", "every 0.26 ns: about", "every 0.10 ns: about"),
        ("lose-short", "34 additions", "32 additions"),
        ("tiles-rule", "needs  3", "needs  2"),
        ("tiles-rule", "2 of 2", "1 of 2"),
        ("tiles-rule", "281 spills", "  0 spills"),
    ],
)
def test_a_false_statement_is_refused(cell: str, true: str, false: str) -> None:
    said = {**SAID, cell: SAID[cell].replace(true, false)}
    assert said != SAID
    assert any(each.startswith(cell) for each in faults(said))
