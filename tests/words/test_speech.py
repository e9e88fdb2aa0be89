"""One sentence in two languages, and who chooses between them."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_course.commands.cli import build_parser, welcome
from mlc_course.grading.process import Finding, Verdict, told
from mlc_course.lessons.kit import predict, script, side_by_side
from mlc_course.words import ENGLISH, LANGUAGE, language, listed, padded, spoken, tr, trn
from mlc_course.words.catalogue import found

ROOT = Path(__file__).parents[2]
MISSES = "{count} misses"


def test_a_sentence_is_english_unless_another_language_is_spoken() -> None:
    assert tr(MISSES, count=3) == "3 misses"
    with spoken("zh"):
        assert tr(MISSES, count=3) == "3 次未命中"
    assert tr(MISSES, count=3) == "3 misses"


def test_the_variable_names_a_language_or_a_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    for named, expected in (("zh", "zh"), ("zh_CN.UTF-8", "zh"), ("en", ENGLISH), ("tlh", ENGLISH)):
        monkeypatch.setenv(LANGUAGE, named)
        assert language() == expected


@pytest.mark.parametrize(
    ("folder", "variable", "expected"),
    [
        ("notebooks/zh", "", "zh"),
        ("notebooks/zh", "en", "en"),
        ("notebooks", "", "en"),
        ("notebooks", "zh", "zh"),
        ("exercises/zh", "", "en"),
    ],
)
def test_a_kernel_speaks_the_language_of_its_folder_unless_the_variable_says_otherwise(
    folder: str, variable: str, expected: str, tmp_path: Path
) -> None:
    where = tmp_path / folder
    where.mkdir(parents=True)
    asked = "from mlc_course.words import language; print(language())"
    given = os.environ | {LANGUAGE: variable, "PYTHONPATH": str(ROOT)}
    shown = subprocess.run(
        [sys.executable, "-c", asked], cwd=where, env=given, capture_output=True, text=True
    )
    assert shown.stdout.strip() == expected, shown.stderr


def test_a_sentence_that_nobody_has_translated_is_english() -> None:
    with spoken("zh"):
        assert tr("{count} wombats", count=3) == "3 wombats"
        assert trn("{count} wombat", "{count} wombats", 1) == "1 wombat"
        assert tr("") == ""


def test_chinese_has_one_form_for_every_number() -> None:
    one, many = "{count} equal line", "{count} equal lines"
    assert [trn(one, many, n) for n in (1, 2)] == ["1 equal line", "2 equal lines"]
    with spoken("zh"):
        assert [trn(one, many, n) for n in (1, 2)] == ["1 行相同", "2 行相同"]


def test_names_are_listed_as_a_language_lists_them() -> None:
    assert [listed("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    with spoken("zh"):
        assert listed("abc") == "a、b 和 c"


def test_chinese_letters_take_two_columns() -> None:
    assert padded("got", 6) == "got   " and padded("得到", 6) == "得到  "
    assert padded("得到", 6, right=True) == "  得到"


def test_a_widgets_script_brings_its_words() -> None:
    module = "mlc_course.lessons.lesson_05_loop_reorder.loop_order_dial"
    assert "const WORDS = {};" in script(module)
    with spoken("zh"):
        line = next(each for each in script(module).splitlines() if "const WORDS" in each)
    words = json.loads(line.removeprefix("const WORDS = ").removesuffix(";"))
    assert words["Measure all six"] == "测量全部六种"
    assert words["Play"] == "播放"
    assert "right" not in words


def test_kit_and_check_speak_chinese() -> None:
    finding = Finding("correctness", Verdict.UNMET, "what", "4", "5", "h")
    question = predict("?", ["快", "慢"])
    question.guess = "快"
    with spoken("zh"):
        assert told(finding).splitlines()[1:] == [
            "    应为      4",
            "    得到      5",
            "    提示      h",
        ]
        assert "你的预测是 快" in str(question.reveal("慢").data)
        assert "变换前" in side_by_side("a", "b")
    assert str(finding).splitlines()[1:] == [
        "    expected  4",
        "    got       5",
        "    hint      h",
    ]


def test_the_commands_are_listed_in_chinese() -> None:
    with spoken("zh"):
        listed_here, first = build_parser().format_help(), welcome()
    assert "逐行检查这台机器" in listed_here and "从这三个命令开始" in first
    purposes = re.findall(r"^ {4}[a-z]+ +(.+)$|^ {17}(.+)$", listed_here, re.MULTILINE)
    assert purposes and all(re.search("[\u4e00-\u9fff]", "".join(each)) for each in purposes)


def test_every_mark_is_found_where_a_program_has_it() -> None:
    """A mark in an f-string is not found, so it must not be there."""
    known = {text for each in found() if each.id for text in _texts(each.id)}
    for path in sorted((ROOT / "mlc_course").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            count = {"tr": 1, "marked": 1, "trn": 2}.get(node.func.id, 0)
            for given in node.args[:count]:
                if isinstance(given, ast.Constant):
                    assert given.value in known, f"{path.name}: {given.value}"


def _texts(marked: str | tuple[str, ...] | list[str]) -> list[str]:
    return [marked] if isinstance(marked, str) else list(marked)
