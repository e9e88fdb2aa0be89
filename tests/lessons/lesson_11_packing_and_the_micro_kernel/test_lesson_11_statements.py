"""The judge of lesson 11's sentences refuses false ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel import (
    Layout,
    kernels,
    sentence,
    sentences,
    spill_sentence,
)
from mlc_course.machine import describe

PATH = Path(__file__).parents[2] / "statements" / "lesson_11.py"


@pytest.fixture(scope="module")
def judge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("statements_lesson_11", PATH)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What the lesson prints where the copy makes its program twice as fast."""
    machine = describe()
    tile = kernels.lesson_tile(machine)
    depth, row = kernels.sum_length(machine, tile), 4 * tile.columns
    cache = kernels.second_cache(machine)
    wide = kernels.wider(tile)
    strides = {"B, 1024 columns": 4096, f"B, {wide} columns": 4 * wide, "packed": row}
    race = (
        "in place             157 ms   0.43 x NumPy's speed [0.31 to 0.80]\n"
        "copy first          78.5 ms   0.86 x NumPy's speed [0.77 to 1.28]\n"
    )
    codes = kernels.counted(((4, 2), (16, 4)), machine)
    counts = (
        f"{name:>6}  sums  1  loads each {kernels.loads_each(code):.2f}  spills {code.spills}"
        for name, code in codes.items()
    )
    return {
        "imports": f"{machine}: tiles of {tile}, sums of {depth:,} products",
        "see-tile-counts": "\n".join(counts),
        "hook-race": race + "copy first is faster: the copy pays for itself here.",
        "see-spills": spill_sentence(codes, (16, 4)),
        "see-cache-sets": "\n".join(
            sentence(name, Layout(depth, row, stride), cache) for name, stride in strides.items()
        ),
        "see-count-bytes": "1024 columns, in place     34.0 MB\n1040 columns, in place      8.7 MB",
        "end-race": "last             120 ms   0.99 x NumPy's speed [0.97 to 1.01]\n"
        + sentences.end_sentence(0.2, 0.99),
    }


def test_true_sentences_are_accepted(judge: ModuleType, said: dict[str, str]) -> None:
    assert list(judge.faults(said)) == []


@pytest.mark.parametrize(
    ("in_place", "copied", "sentence"),
    [
        ("0.06", "0.07", "1.00 times as fast as in place: the copy makes no clear difference here"),
        ("0.06", "0.07", "1.36 times as fast as in place: the copy pays for itself here"),
        ("0.43", "0.45", "1.05 times as fast as in place: the copy pays for itself here"),
        ("0.45", "0.43", "0.94 times as fast as in place: the copy costs more than it saves here"),
    ],
)
def test_what_rounding_allows_is_accepted(
    judge: ModuleType, said: dict[str, str], in_place: str, copied: str, sentence: str
) -> None:
    race = (
        f"in place             157 ms   {in_place} x NumPy's speed [0.31 to 0.80] (noisy)\n"
        f"copy first          78.5 ms   {copied} x NumPy's speed [0.77 to 1.28]\n"
    )
    assert list(judge.faults({**said, "hook-race": f"{race}copy first is {sentence}."})) == []


@pytest.mark.parametrize(
    ("cell", "true", "false"),
    [
        ("hook-race", "pays for itself here", "costs more than it saves here"),
        ("hook-race", "0.86 x", "0.44 x"),
        ("hook-race", "pays for itself here", "makes no clear difference here"),
        ("hook-race", "copy first is faster", "copy first is 1.90 times as fast as in place"),
        ("see-spills", "LLVM's code has", "LLVM's code has 0.31, not"),
        ("see-cache-sets", "they do not fit", "they fit"),
        ("see-count-bytes", " 8.7 MB", "36.0 MB"),
        ("end-race", "level with", "behind"),
    ],
)
def test_a_false_sentence_is_refused(
    judge: ModuleType, said: dict[str, str], cell: str, true: str, false: str
) -> None:
    assert true in said[cell]
    (fault, *_) = judge.faults({**said, cell: said[cell].replace(true, false, 1)})
    assert fault.startswith(cell)
