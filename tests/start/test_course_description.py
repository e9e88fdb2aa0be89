"""The description of the course agrees with the notebooks that lie there."""

from __future__ import annotations

import importlib
import json
import re
import string
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from mlc_course.errors import UsageError
from mlc_course.start import ENGLISH, WORDS, Course, Lesson, read_course
from mlc_course.start.course import BUILDS_ON, COMING, PARTS, PATHS
from mlc_course.start.pictures import PICTURES

ROOT = Path(__file__).parent.parent.parent
COURSE = read_course()
READY = [each for each in COURSE.lessons if not each.is_coming]


def test_every_lesson_is_on_the_map_once() -> None:
    stems = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
    assert [each.stem for each in READY] == stems
    assert [each.number for each in COURSE.lessons] == sorted(BUILDS_ON)
    assert all(each.number in COMING for each in COURSE.lessons if each.is_coming)
    assert PICTURES.keys() == BUILDS_ON.keys() and len(set(PICTURES.values())) == len(PICTURES)


@pytest.mark.parametrize("lesson", READY, ids=lambda each: each.stem)
def test_a_lesson_is_described_by_its_own_first_cell(lesson: Lesson) -> None:
    notebook = json.loads((ROOT / lesson.notebook).read_text(encoding="utf-8"))
    first = "".join(notebook["cells"][0]["source"])
    assert first.startswith(f"# {lesson.number}. {lesson.title}\n\n**{lesson.question}**")
    assert f"about {lesson.minutes} minutes" in first
    assert 20 <= lesson.minutes <= 60


def test_a_lesson_builds_on_earlier_ones_and_names_none_twice() -> None:
    leads: dict[int, set[int]] = {}
    for number, before in BUILDS_ON.items():
        assert all(each < number for each in before)
        known = [leads[each] for each in before]
        assert not any(each in above for each in before for above in known), "already implied"
        leads[number] = set(before).union(*known)
    assert all(0 in above for number, above in leads.items() if number)


@pytest.mark.parametrize("lesson", READY, ids=lambda each: each.stem)
def test_a_lesson_links_what_it_builds_on(lesson: Lesson) -> None:
    linked = {int(number) for number in re.findall(r"\]\((\d\d)_", prose(lesson))}
    before = {each for each in linked if each < lesson.number}
    assert set(lesson.builds_on) <= before


def prose(lesson: Lesson) -> str:
    cells = json.loads((ROOT / lesson.notebook).read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells)


def test_parts_are_in_order_and_each_has_lessons() -> None:
    assert [COURSE.part(name)[0].number for name in PARTS] == sorted(PARTS.values())
    assert sum(len(COURSE.part(name)) for name in PARTS) == len(COURSE.lessons)


def test_paths_have_lessons_that_exist_in_order() -> None:
    for name, path in PATHS.items():
        assert COURSE.paths[name] == path == tuple(sorted(set(path)))
        assert set(path) <= BUILDS_ON.keys()
        minutes = [each.minutes for each in COURSE.lessons if each.number in path]
        assert COURSE.minutes(name) == sum(minutes)
    assert COURSE.minutes("evening") <= 180
    assert len(COURSE.paths["term"]) == len(COURSE.lessons)


@pytest.mark.parametrize("lesson", READY, ids=lambda each: each.stem)
def test_the_tasks_of_a_lesson_are_functions_and_blanks_of_it(lesson: Lesson) -> None:
    notebook = json.loads((ROOT / lesson.exercises).read_text(encoding="utf-8"))
    graded = [c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade")]
    assert len(lesson.checks) == len(graded) >= 3
    for task in (*lesson.checks, *lesson.blanks):
        kind, name = task.split(".")
        module: Any = importlib.import_module(f"mlc_course.lessons.lesson_{lesson.stem}.{kind}")
        if kind == "checks":  # what `progress` calls it while it runs
            assert getattr(module, name).__qualname__ == name
            assert getattr(module, name).__module__ == module.__name__
        elif kind == "blanks":
            assert hasattr(module, name)
        else:
            assert int(name) in module.PUZZLES
    assert len(set(lesson.blanks)) == len(lesson.blanks) >= 2


def lay(root: Path, number: int, first: str) -> Path:
    """A course of one lesson."""
    path = root / "notebooks" / f"{number:02}_name.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    cell = {"cell_type": "markdown", "metadata": {}, "source": [first]}
    path.write_text(json.dumps({"cells": [cell]}))
    return path


FIRST = "# 3. Name\n\n**Why?**\n\nYou need about 40 minutes."


def test_a_course_with_few_lessons_has_a_map_of_these(tmp_path: Path) -> None:
    lay(tmp_path, 3, FIRST)
    course = read_course(tmp_path)
    assert [each.number for each in course.lessons] == [3, *COMING]
    assert course.paths["evening"] == (3,) and course.minutes("term") == 40
    assert course.arrows() == ()
    assert course.next({}).number == 3


@pytest.mark.parametrize(
    "first",
    ["Name", "# 4. Name\n\n**Why?**\n\nabout 40 minutes", "# 3. Name\n\nWhy?", FIRST[:-12]],
)
def test_a_lesson_that_does_not_introduce_itself_is_refused(first: str, tmp_path: Path) -> None:
    lay(tmp_path, 3, first)
    with pytest.raises(UsageError, match="03_name"):
        read_course(tmp_path)


def test_a_folder_without_lessons_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no lessons"):
        read_course(tmp_path)


def test_a_translated_lesson_is_read_and_opened(tmp_path: Path) -> None:
    lay(tmp_path, 3, FIRST)
    lay(tmp_path, 5, FIRST.replace("3.", "5."))
    here = tmp_path / "notebooks" / "zh" / "03_name.ipynb"
    lay(tmp_path / "other", 3, "# 3. 名字\n\n**为什么？**\n\n约 45 分钟").rename(
        (here.parent.mkdir(), here)[1]
    )
    third, fifth, *_ = read_course(tmp_path, "zh").lessons
    assert (third.title, third.minutes, third.notebook) == (
        "名字",
        45,
        "notebooks/zh/03_name.ipynb",
    )
    assert third.exercises == "exercises/03_name/03_name.ipynb"
    assert (fifth.title, fifth.notebook) == ("Name", "notebooks/05_name.ipynb")


# --- words ----------------------------------------------------------------------------------------


def texts(words: Any) -> dict[str, str]:
    """Every text of a language, by name."""
    found: dict[str, str] = {}
    for each in fields(words):
        if each.name == "lessons_said":
            continue
        value = getattr(words, each.name)
        if isinstance(value, str):
            found[each.name] = value
        else:
            pairs = value.items() if hasattr(value, "items") else enumerate(value)
            for key, held in pairs:
                for n, text in enumerate([held] if isinstance(held, str) else held):
                    found[f"{each.name}.{key}.{n}"] = text
    return found


def blanks(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_every_language_says_everything_about_the_same_things() -> None:
    english = texts(WORDS[ENGLISH])
    for words in WORDS.values():
        assert words.parts.keys() == PARTS.keys() and words.paths.keys() == PATHS.keys()
        said = texts(words)
        assert said.keys() == english.keys()
        for name, text in said.items():
            assert blanks(text) == blanks(english[name]), name


def test_a_language_says_every_lesson_by_its_notebook_or_in_its_words() -> None:
    for language, words in WORDS.items():
        course = read_course(language=language)
        folder = "notebooks/" if language == ENGLISH else f"notebooks/{language}/"
        own = {each.number for each in course.lessons if each.notebook.startswith(folder)}
        if language == ENGLISH:
            assert not words.lessons_said
            continue
        assert own | words.lessons_said.keys() == {each.number for each in course.lessons}
        assert not own & words.lessons_said.keys()
        for each, english in zip(course.lessons, COURSE.lessons, strict=True):
            assert (each.title, each.question) != (english.title, english.question)
            told = (each.minutes, each.checks, each.blanks, each.builds_on)
            assert told == (english.minutes, english.checks, english.blanks, english.builds_on)


def test_times_are_said_in_hours_and_minutes() -> None:
    words = WORDS[ENGLISH]
    assert [words.time(n) for n in (40, 60, 160)] == ["40 min", "1 h", "2 h 40 min"]


def test_the_next_lesson_is_the_first_with_an_exercise_that_is_not_done() -> None:
    zero, one = COURSE.lessons[:2]
    done = {zero.stem: frozenset({*zero.checks, "checks.removed_since"})}
    assert zero.is_done(done) and not one.is_done(done)
    assert COURSE.next({}) == zero and COURSE.next(done) == one
    everything = {each.stem: frozenset(each.checks) for each in READY}
    assert COURSE.next(everything) == READY[-1]
    assert isinstance(COURSE, Course)
