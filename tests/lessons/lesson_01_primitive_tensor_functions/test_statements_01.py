"""The judge of the lesson's sentences refuses false ones."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mlc_course.lessons.lesson_01_primitive_tensor_functions import chains, counts
from mlc_course.tensor_program.processor import assembly
from mlc_course.tensor_program.tir import host_cpu

PATH = Path(__file__).parents[2] / "statements" / "lesson_01.py"


def faults(said: Mapping[str, str]) -> list[str]:
    spec = importlib.util.spec_from_file_location("statements_01", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.faults(said))


def said() -> dict[str, str]:
    """True sentences, from what is counted here and from races that were made up."""
    loops = "\n".join(counts.loop_said(*each) for each in counts.hot_loops().items())
    lanes = assembly(chains()[1].functions[1].program).lanes
    return {
        "transform-memory-count": "five functions   2,440 bytes between,      0 inside functions\n"
        "two functions      800 bytes between,  1,640 inside functions\nThe answer is: none.",
        "transform-by-hand": "inside: 1,600 bytes, then 800",
        "deploy-folder": "The folder, measured here, has 9.6 MB:\n  weights    0.060 MB\n"
        "  TVM's runtime   9.540 MB",
        "explain-winners": "1 at a time: the library is 5.0 times as fast as NumPy;\n"
        "  NumPy is 2.0 times as fast as five functions.\n"
        "256 at a time: NumPy is 2.0 times as fast as the library;\n"
        "  NumPy is 10.0 times as fast as five functions.",
        "explain-loops": loops,
        "transform-add": f"the machine code of add works on {lanes} at a time",
        "explain-hardware": f"{host_cpu()}, the last line, is yours",
        "explain-call-cost": "on single numbers: 82% of that\nmostly the price of calling.",
        "end-sentence": "Integration: from 271 MB to 9.6 MB.\n"
        "compiled as written 0.50 x NumPy's; the order 9.0 times, 5.00 x NumPy's.\n"
        "compiled as written 0.10 x NumPy's; the order 5.0 times, 0.50 x NumPy's.",
    }


def test_true_sentences_have_no_fault() -> None:
    assert not faults(said())


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("explain-call-cost", "82", "50"),
        ("explain-call-cost", "82% of that\nmostly", "50% of that\nless than half, not"),
        ("end-sentence", "5.00 x", "1.40 x"),
    ],
)
def test_what_rounding_or_a_wide_interval_hides_is_no_fault(cell: str, old: str, new: str) -> None:
    true = said()
    about = true["explain-winners"].replace("is 5.0 times as fast", "is about as fast", 1)
    assert old in true[cell]
    changed = {**true, cell: true[cell].replace(old, new, 1)}
    if cell == "end-sentence":
        changed["explain-winners"] = about
    assert not faults(changed)


Change = Callable[[str], str]


@pytest.mark.parametrize(
    ("cell", "change", "fault"),
    [
        ("transform-memory-count", lambda text: text.replace("1,640", "840"), "drops none"),
        ("deploy-folder", lambda text: text.replace("9.540", "3.540"), "parts of"),
        (
            "explain-winners",
            lambda text: text.replace("NumPy is 2.0 times as fast as the", "the library is the"),
            "0.50 x NumPy's speed",
        ),
        ("explain-loops", lambda text: re.sub(r"\d+ float32", "3 float32", text), "lanes"),
        (
            "explain-winners",
            lambda text: text.replace("is 5.0 times as fast", "is about as fast", 1),
            "is called about as fast",
        ),
        ("explain-call-cost", lambda text: text.replace("82", "22"), "says otherwise"),
        ("explain-call-cost", lambda text: text.replace("82", "49"), "says otherwise"),
    ],
)
def test_a_false_sentence_is_refused(cell: str, change: Change, fault: str) -> None:
    true = said()
    false = {**true, cell: change(true[cell])}
    assert false[cell] != true[cell]
    assert any(fault in each for each in faults(false))
