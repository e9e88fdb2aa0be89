"""The judge of the lesson's sentences refuses false ones."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "statements" / "lesson_00.py"
SAID = {
    "hook-measure": "NumPy took 100 ms\nNumPy took 250 ms\n"
    "The same product: one median is 2.50 times the other.",
    "see-first-call-measure": "".join(
        f"call {n}: {519 * (n == 1)} page faults, 3.0 ms\n" for n in range(1, 6)
    )
    + "The answer is: in the first call.",
    "transform-blocks": "calm: 1.02; one after the other: 2.67 (medians of 100 readings)",
    "transform-three-ratios": "one after the other  2.67, more than 10 % too high (1.02)\n"
    "in turns             1.02, within 10 % of the calm ratio (1.02)",
    "explain-roofs-measure": "one thread: peak 101 GFLOP/s, memory 26 GB/s\n"
    "our best is 2.95 ms, the floor 2.66 ms: 1.11 times the floor.",
    "break-caches": "The addition uses 262 kB; your second-level cache holds 524 kB.\n"
    "The sweep reads 67.1 MB; your largest cache holds 33.6 MB.",
    "break-caches-measure": "again and again 4.1 µs, after the sweep 40.1 µs\n"
    "The answer is: 3 times as long or more.",
    "end-sentence": "Neither 100 ms nor 250 ms is NumPy's time",
}


def faults(said: Mapping[str, str]) -> list[str]:
    spec = importlib.util.spec_from_file_location("statements_00", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.faults(said))


def test_true_sentences_have_no_fault() -> None:
    assert not faults(SAID)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (
            "explain-roofs-measure",
            "peak 101 GFLOP/s, memory 26 GB/s\nour best is 2.66 ms, the floor 2.66 ms: impossible.",
        ),
        (
            "explain-roofs-measure",
            "peak 101 GFLOP/s, memory 26 GB/s\nour best is 2.66 ms, the floor 2.66 ms: 1.00 times.",
        ),
        (
            "explain-roofs-measure",
            "peak 8 GFLOP/s, memory 3 GB/s\nour best is 50.1 ms, the floor 35.7 ms: 1.40 times.",
        ),
        (
            "break-caches-measure",
            "again and again 0.8 µs, after the sweep 2.3 µs\n3 times as long or more, you said",
        ),
        (
            "break-caches",
            "The addition uses 1.05 MB; your second-level cache holds 2.1 MB.\n"
            "The sweep reads 4.19 MB; your largest cache holds 2.1 MB.",
        ),
    ],
)
def test_what_rounding_allows_is_no_fault(cell: str, text: str) -> None:
    assert not faults({**SAID, cell: text})


@pytest.mark.parametrize("words", ["within 10 % of the calm ratio", "more than 10 % too high"])
def test_a_ratio_of_small_figures_may_be_near_or_not(words: str) -> None:
    both = (
        f"one after the other  0.37, {words} (0.33)\nin turns 0.30, within 10 % of the calm ratio"
    )
    blocks = "calm: 0.33; one after the other: 0.37 (medians of 30 readings)"
    said = {**SAID, "transform-blocks": blocks, "transform-three-ratios": f"{both} (0.33)"}
    assert not faults(said)


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("hook-measure", "2.50 times", "1.50 times"),
        ("end-sentence", "250", "180"),
        ("see-first-call-measure", "call 2: 0", "call 2: 519"),
        ("see-first-call-measure", "in the first call", "in every call"),
        ("transform-three-ratios", "more than 10 % too high", "within 10 % of the calm ratio"),
        ("explain-roofs-measure", "best is 2.95", "best is 1.95"),
        ("explain-roofs-measure", "floor 2.66", "floor 1.66"),
        ("explain-roofs-measure", "1.11 times the floor", "impossible"),
        ("transform-three-ratios", "in turns             1.02", "in turns             1.14"),
        ("break-caches-measure", "40.1", "5.1"),
        ("break-caches-measure", "The answer is: 3", "1.2 to 3 times as long, you said 3"),
        ("break-caches", "67.1 MB", "0.9 MB"),
        ("break-caches", "262 kB", "900 kB"),
    ],
)
def test_a_false_sentence_is_refused(cell: str, old: str, new: str) -> None:
    assert old in SAID[cell]
    assert faults({**SAID, cell: SAID[cell].replace(old, new)})
