"""The last sentence of lesson 21 says what was counted and measured; its judge refuses others."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlc_course.lessons.lesson_21_capstone import follows, last_sentence, practice
from mlc_course.lessons.lesson_21_capstone.against_the_library import UNFUSED, YOURS, Contest
from mlc_course.lessons.lesson_21_capstone.last_words import TIME

JUDGE = Path(__file__).parents[2] / "statements" / "lesson_21.py"
TEXT = practice("linear")


def measured_as(yours: float, unfused: float) -> Contest:
    found: Any = {
        name: SimpleNamespace(ratio=ratio, mark="")
        for name, ratio in ((YOURS, yours), (UNFUSED, unfused))
    }
    return Contest(TEXT, {YOURS: TEXT, UNFUSED: TEXT}, found)


@pytest.mark.parametrize(
    ("yours", "unfused", "told", "words"),
    [
        (2.0, 1.0, "less", "it takes less time on"),
        (1.0, 1.02, "the same", "it takes the same time within a tenth on"),
        (1.0, 2.0, "more", "it takes more time on"),
    ],
)
def test_time_is_told_as_it_was_measured(
    yours: float, unfused: float, told: str, words: str
) -> None:
    contest = measured_as(yours, unfused)
    assert follows(contest) == told
    sentence = " ".join(last_sentence([], [], contest).split())
    assert words in sentence and "1.00 of the bytes in 3 launches in place of 3" in sentence


def said(**changed: str) -> dict[str, str]:
    right = {
        "data-lines": "adds up d Moved(launches=6",
        "rewrite-late": "Y = div(product, rms) equal: a difference would be missed",
        "equal-wrong": "right: passes 20 of 20 tests\nwrong: passes 0 of 20 tests",
        "equal-proof": "right: equal\nwrong: different",
        "cheap-best": "31 of 49 tilings fit",
        "cuts-reveal": "32 (32)",
        "cheap-reveal": "20 % (0.262)",
        "break-rooms": "bytes=5 bytes=90 bytes=40 bytes=10 bytes=4",
        "race-run": "yours   1   3.4   2.00\nunfused   6   13.0   1.00",
        "end-sentence": "in 1 launch in place of 6; beside it, it takes less time on this machine",
    }
    return right | {name.replace("_", "-"): text for name, text in changed.items()}


@pytest.fixture(scope="module")
def judge() -> Any:
    specification = importlib.util.spec_from_file_location("statements_21", JUDGE)
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.faults


def test_what_is_true_is_accepted(judge: Any) -> None:
    assert not list(judge(said()))


@pytest.mark.parametrize(
    ("yours", "unfused", "told"),
    [
        ("0.11", "0.10", "less"),
        ("0.11", "0.10", "the same"),
        ("0.10", "0.11", "the same"),
        ("0.10", "0.11", "more"),
        ("0.06", "0.06", "less"),
        ("1.10", "1.00", "less"),
        ("2.00 (noisy)", "1.00 (CPU time)", "less"),
        ("2.00 (several threads)", "1.00 (several threads)", "less"),
    ],
)
def test_what_rounding_allows_is_accepted(judge: Any, yours: str, unfused: str, told: str) -> None:
    rows = ((YOURS, 1, 3.4, yours), (UNFUSED, 6, 13.0, unfused))
    table = [f"{name:<22}{n:>8}{mb:>10.1f}{speed:>20}" for name, n, mb, speed in rows]
    end = f"in 1 launch in place of 6; it takes {TIME[told]} on this machine"
    assert not list(judge(said(race_run="\n".join(table), end_sentence=end)))


@pytest.mark.parametrize(
    "changed",
    [
        {"equal_wrong": "right: passes 20 of 20\nwrong: passes 9 of 20"},
        {"break_rooms": "bytes=50 bytes=90 bytes=40 bytes=10 bytes=4"},
        {"race_run": "yours   1   3.4   1.00\nunfused   6   13.0   1.00"},
        {"race_run": "yours   1   3.4   1.06\nunfused   6   13.0   1.00"},
        {"end_sentence": "in 1 launch in place of 6; it takes more time on this machine"},
        {"end_sentence": "in 1 launch in place of 6; it takes the same time on this machine"},
        {"end_sentence": "in 2 launches in place of 6; it takes less time on this machine"},
        {"cheap_reveal": "60 % (0.55)"},
    ],
)
def test_what_is_untrue_is_refused(judge: Any, changed: dict[str, str]) -> None:
    assert list(judge(said(**changed)))
