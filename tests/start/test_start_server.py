"""What the start page's server extensions answer, hide, and leave alone."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlc_course import progress
from mlc_course.start import (
    WORDS,
    beside,
    course_map,
    known_course,
    map_html,
    read_course,
    start_page,
)
from mlc_course.start.for_students import hidden_plugins, hide_from_students
from mlc_course.words import spoken

ROOT = Path(__file__).parent.parent.parent
FIRST = read_course().lessons[0]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(progress.PROGRESS_FILE, str(tmp_path / "progress.json"))
    return tmp_path / "progress.json"


def docs_start_page() -> Any:
    spec = importlib.util.spec_from_file_location("start_page", ROOT / "docs" / "start_page.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_that_has_not_run_shows_what_the_notebooks_say() -> None:
    assert docs_start_page().stale() == [], "out of date; make docs"


def test_a_lesson_that_was_renamed_makes_the_page_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    module = docs_start_page()
    course = read_course()
    monkeypatch.setattr(
        module, "read_course", lambda *_: type(course)(course.lessons[1:], course.paths)
    )
    folders = ("notebooks", "notebooks/zh")
    names = [f"{folder}/index.ipynb" for folder in folders]
    pictures = [f"{folder}/course_map.svg" for folder in folders]
    assert module.stale() == ["mlc_course/start/course.json", *names, *pictures]


@pytest.mark.parametrize("language", sorted(WORDS))
def test_the_map_knows_what_the_notebooks_say(language: str) -> None:
    assert known_course(language) == read_course(ROOT, language)


def test_the_map_is_right_whatever_a_student_makes_of_the_notebooks(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell above the title, a copy, a broken file, an exercise that is gone."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    (folder / "index.ipynb").write_text('{"cells": []}')
    own = {"cell_type": "markdown", "metadata": {}, "source": ["My notes"]}
    for name in ("00_measuring_honestly", "03_notes", "05_loop_reorder-Copy1"):
        (folder / f"{name}.ipynb").write_text(json.dumps({"cells": [own]}))
    (folder / "01_primitive_tensor_functions.ipynb").write_text("<<<<<<< HEAD")
    monkeypatch.chdir(folder)
    shown = map_html(read_course(ROOT), WORDS["en"], link=beside, done={}, name="cell")
    assert shown in course_map().data


def page(language: str = "en") -> str:
    return start_page(language, link=lambda path: f"/lab/tree/{path}")


def test_the_page_tells_what_is_done_and_what_is_next(file: Path) -> None:
    assert f'Next: <a href="/lab/tree/{FIRST.notebook}"' in page() and " hidden" in page()
    progress.record([f"{FIRST.stem}/{name}" for name in FIRST.checks])
    text = page()
    assert (
        f"{len(FIRST.checks)} of " in text
        and f'Next: <a href="/lab/tree/{FIRST.notebook}' not in text
    )
    assert str(file) in text and "forget" in text
    progress.record(
        [f"{each.stem}/{name}" for each in read_course().lessons for name in each.checks]
    )
    assert WORDS["en"].all_done in page()


def test_a_broken_record_is_as_if_nothing_were_done(file: Path) -> None:
    file.write_text("{")
    assert f'Next: <a href="/lab/tree/{FIRST.notebook}"' in page()


def test_a_language_without_words_is_english() -> None:
    assert page("xx") == page("en") and 'lang="en"' in page("xx")


@pytest.mark.parametrize(("folder", "language"), [("", "zh"), ("zh", "en")])
def test_the_map_of_a_notebook_leads_somewhere_in_any_language(
    folder: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``MLC_COURSE_LANGUAGE=zh make lab`` has the English page speak Chinese."""
    here = ROOT / "notebooks" / folder
    monkeypatch.chdir(here)
    with spoken(language):
        shown = course_map().data
    assert WORDS[language].choose_path in shown
    links = re.findall(r'href="([^"]+)"', shown)
    assert len(links) > 40 and all((here / link).is_file() for link in links)


def test_a_link_to_a_translated_page_is_there() -> None:
    assert 'data-path="notebooks/index.ipynb"' in page()
    assert 'data-path="notebooks/zh/index.ipynb"' in page("zh")


def test_a_choice_of_languages_is_shown_where_there_are_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ('data-testid="language"' in page()) == (len(WORDS) > 1)
    monkeypatch.setitem(WORDS, "xx", WORDS["en"])
    assert '<option value="xx" lang="xx" selected>' in page("xx")


def test_students_do_not_meet_the_instructor_s_tools(tmp_path: Path) -> None:
    names = {each.removeprefix("@jupyter/nbgrader:") for each in hidden_plugins(tmp_path)}
    assert names == {"menu", "formgrader", "create-assignment", "course-list", "assignment-list"}


def test_a_class_with_released_assignments_has_their_list(tmp_path: Path) -> None:
    (tmp_path / ".grading" / "exchange" / "mlc" / "outbound" / "05_loop_reorder").mkdir(
        parents=True
    )
    names = {each.removeprefix("@jupyter/nbgrader:") for each in hidden_plugins(tmp_path)}
    assert names == {"formgrader", "create-assignment", "course-list"}


def test_what_others_hide_stays_hidden(tmp_path: Path) -> None:
    settings = {"page_config_hook": lambda handler, config: {**config, "seen": True}}
    app = SimpleNamespace(web_app=SimpleNamespace(settings=settings))
    hide_from_students(app, tmp_path)
    config = settings["page_config_hook"](None, {"disabledExtensions": ["@other:plugin"]})
    assert config["seen"] and config["disabledExtensions"][0] == "@other:plugin"
    assert "@jupyter/nbgrader:formgrader" in config["disabledExtensions"]


def test_nbgrader_still_has_the_plugins_that_are_hidden() -> None:
    """A new version may name them anew, and a student would meet them again."""
    import sys

    places = Path(sys.prefix) / "share/jupyter/labextensions/@jupyter/nbgrader/static"
    text = "".join(path.read_text(encoding="utf-8") for path in places.glob("*.js"))
    for name in hidden_plugins(ROOT / "nowhere"):
        assert f'"{name}"' in text
    assert '"@jupyter/nbgrader:validate-assignment"' in text
