"""The judge of lesson 10's sentences refuses false ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from mlc_course.lessons.lesson_10_parallelism import programs, sentences
from mlc_course.measure import Comparison, Timing

PATH = Path(__file__).parents[2] / "statements" / "lesson_10.py"
PRINTED = "{name:<13}   1.00 ms ->    {ms} ms   {ratio} x [{low} to {high}]\n"


@pytest.fixture(scope="module")
def judge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("statements_lesson_10", PATH)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(name: str, *seconds: float) -> str:
    """What a cell prints of a program that takes 1 s on one thread."""
    found = Comparison(Timing("2", seconds), Timing("1", (1.0,) * len(seconds)))
    low, high = (f"{each:.2f}" for each in found.interval)
    line = PRINTED.format(name=name, ms="0.50", ratio=f"{found.ratio:.2f}", low=low, high=high)
    return line + sentences.gains({name: found})


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    """What the lesson prints on two free cores."""
    two = {"by chunk": programs.by_chunk, "by lane": programs.by_lane}
    lines = programs.shared_lines({"lines in turns": programs.lines_in_turns})
    return {
        "hook-race": printed("halves", 0.5, 0.51, 0.52, 0.5, 0.5, 0.51)
        + "\n"
        + printed("in turns", 5.0, 5.1, 5.2, 5.0, 5.0, 5.1),
        "see-count-lines": "in turns        16 lines written, 16 of them by both",
        "see-lines-cured": lines + "\n" + printed("lines in turns", 0.5, 2.0, 0.5, 2.0, 0.5, 2.0),
        "sum-by-lane": programs.shared_lines(two),
        "explain-cure": sentences.rule_of_amdahl("products", 0.217, 1.5, 2)
        + "\n"
        + sentences.rule_of_amdahl("with exp", 0.002, 1.9, 2),
        "break-chunks": "9 tasks, 4 workers: [3, 3, 3, 0], 3.00 x",
    }


def test_true_sentences_are_accepted(judge: ModuleType, said: dict[str, str]) -> None:
    assert list(judge.faults(said)) == []


def test_one_core_is_accepted(judge: ModuleType, said: dict[str, str]) -> None:
    one = {"hook-race": sentences.ONE_CORE, "explain-cure": sentences.ONE_CORE}
    assert list(judge.faults({**said, **one})) == []


@pytest.mark.parametrize(
    ("cell", "true", "false"),
    [
        ("hook-race", "in turns: two threads are slower than one", "in turns: 5 times as fast"),
        ("hook-race", "halves: two threads are", "halves: no clear difference, two threads are"),
        ("see-count-lines", "16 of them", "8 of them"),
        ("see-lines-cured", "no clear difference between", "slower, not faster:"),
        ("sum-by-lane", "0 of them", "32 of them"),
        ("explain-cure", "at most 1.64", "at most 1.92"),
        ("explain-cure", "0.2% serial: at most 2.00", "20.0% serial: at most 1.67"),
        ("break-chunks", "[3, 3, 3, 0]", "[3, 2, 2, 2]"),
    ],
)
def test_a_false_sentence_is_refused(
    judge: ModuleType, said: dict[str, str], cell: str, true: str, false: str
) -> None:
    assert true in said[cell], said[cell]
    (fault, *_) = judge.faults({**said, cell: said[cell].replace(true, false, 1)})
    assert fault.startswith(cell)
