"""The statements of lesson 8: true ones pass, and a false one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from lesson_runs import statements

faults = statements(Path("08_fusion.ipynb"))

TABLE = """bytes            cache of 32 KiB        cache of 512 KiB
              fetched   returned      fetched   returned
X                 100          0          100          0
W                 100        100          100        100
"""
APART = (
    TABLE
    + """Y                 200        100          200        100
Z                 100        100          100        100
all               500        300          500        300
"""
)
FUSED = TABLE + (
    "all               200        100          200        100\n\n"
    "in arrays: 8.00 apart, 3.00 fused (as on paper)\n"
)
GAIN = "2.66 times fewer bytes, 1.28 times as fast (noisy): a gain, and less than the bytes promise"
NONE = "2.30 times fewer bytes, 1.04 times as fast: no gain in time that this measurement can tell"
FEW = "softmax   0.16 apart    0.42 fused operations a byte"
SAID = {
    "see-count": APART,
    "see-count-fused": FUSED,
    "transform-softmax-race": GAIN,
    "products-race": NONE,
    "end-sentence": GAIN,
    "explain-intensity": "softmax   0.16 apart   0.42 fused operations a byte: both below the "
    "balance of 3.3\nmatmul_exp_matmul   36.61 apart  128.12 fused operations a byte: both above "
    "the balance of 3.3",
    "explain-worth-picture": "scale_shift_clip saved bytes are worth  58% of the time, fusion "
    "saved  59%\nsoftmax saved bytes are worth  49% of the time, fusion saved  22%\n"
    "matmul_exp_matmul saved bytes are worth   3% of the time, fusion saved   4%\n"
    "bytes and clock agree on the order: scale_shift_clip, softmax, matmul_exp_matmul",
    "break-long-rows": "rows of  1 KiB: bytes apart / fused  2.66 from 4 KiB on, 2.66 from 64 KiB "
    "on\nrows of  8 KiB: bytes apart / fused  1.00 from 4 KiB on, 2.56 from 64 KiB on\n"
    "rows of 64 KiB: bytes apart / fused  1.00 from 4 KiB on, 1.02 from 64 KiB on",
}


@pytest.mark.slow
def test_true_statements_pass() -> None:
    assert list(faults(SAID)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (
            "products-race",
            "2.30 times fewer bytes, 2.51 times as fast (noisy): a gain; perhaps all",
        ),
        ("products-race", "2.30 times fewer bytes, 2.30 times as fast: a gain, and less than"),
        ("products-race", "2.30 times fewer bytes, 1.84 times as fast: the time follows the bytes"),
        ("explain-intensity", f"{FEW}: below, then above the balance of 0.4"),
    ],
)
def test_a_true_statement_at_the_edge_passes(cell: str, words: str) -> None:
    assert list(faults({**SAID, cell: words})) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "true", "false"),
    [
        ("see-count-fused", "8.00 apart", "7.00 apart"),
        ("see-count-fused", "as on paper", "on paper 8 and 3"),
        ("see-count", "Y                 200", "Y                 100"),
        ("products-race", "no gain in time", "a gain in time"),
        ("transform-softmax-race", "a gain, and", "fusion costs time here; a gain, and"),
        ("transform-softmax-race", "a gain, and less than", "the time follows the bytes, not"),
        ("transform-softmax-race", "1.28 times as fast", "0.98 times as fast"),
        ("transform-softmax-race", "1.28", "2.68"),
        ("explain-intensity", "both above", "both below"),
        ("explain-intensity", "both below", "below, then above"),
        ("explain-worth-picture", "saved   4%", "saved  40%"),
        ("break-long-rows", "1.02 from 64 KiB", "2.66 from 64 KiB"),
    ],
)
def test_a_false_statement_is_refused(cell: str, true: str, false: str) -> None:
    if (cell, true) == ("products-race", "no gain in time"):
        false = "fusion costs time here, no gain in time"
    said = {**SAID, cell: SAID[cell].replace(true, false)}
    assert said != SAID
    assert any(each.startswith(cell) for each in faults(said))
