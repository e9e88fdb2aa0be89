"""The start page: the map with what is done, in a tab of JupyterLab."""

from __future__ import annotations

import os
import posixpath
from functools import partial
from html import escape
from importlib import resources
from pathlib import Path

from IPython.display import HTML

from mlc_course import progress
from mlc_course.course_files import course_folder
from mlc_course.progress import Done
from mlc_course.start.course import ENGLISH, Course, Lesson, known_course
from mlc_course.start.map_page import Link, map_html
from mlc_course.start.words import WORDS, Words
from mlc_course.words import language as spoken_here

RULES = (resources.files("mlc_course.start") / "page.css").read_text(encoding="utf-8")


def start_page(language: str, *, link: Link) -> str:
    """Return the page; a language without words is English."""
    language = language if language in WORDS else ENGLISH
    words, course, done = WORDS[language], known_course(language), progress.done()
    pages = (
        ("notebooks/glossary.ipynb", words.glossary),
        (f"{notebooks(language)}/index.ipynb", words.ready),
    )
    return "".join(
        (
            f'<div class="mlc mlc-start" lang="{language}"><style>{RULES}</style>',
            _languages(language, words),
            f"<h1>{escape(words.title)}</h1><p>{escape(words.about)}</p>",
            f'<p data-testid="next">{_next(course, words, done, link)}</p>',
            map_html(course, words, link=link, done=done, name="start"),
            "<p>",
            " · ".join(_anchor(path, said, link) for path, said in pages),
            f"</p>{_kept(words, done)}</div>",
        )
    )


def _languages(chosen: str, words: Words) -> str:
    """A choice of languages, where there are two or more."""
    if len(WORDS) < 2:
        return ""
    options = "".join(
        f'<option value="{name}" lang="{name}"{" selected" if name == chosen else ""}>'
        f"{escape(each.language)}</option>"
        for name, each in WORDS.items()
    )
    return (
        f'<label class="mlc-language">{escape(words.choose_language)} '
        f'<select data-testid="language">{options}</select></label>'
    )


def _kept(words: Words, done: Done) -> str:
    """Where it is kept what is done, and a button that forgets it."""
    return (
        f"<p>{escape(words.where.format(file=progress.path()))} "
        f'<button type="button" data-testid="forget"{"" if done else " hidden"} '
        f'data-really="{escape(words.forget_really)}" '
        f'data-failed="{escape(words.forget_failed)}">{escape(words.forget)}</button></p>'
    )


def _next(course: Course, words: Words, done: Done, link: Link) -> str:
    """How many exercises are done, and the lesson with the first one that is not."""
    count = sum(len(each.checks) for each in course.lessons)
    met = sum(each.met(done)[0] for each in course.lessons)
    if met == count:
        return escape(words.all_done)
    said = words.next_lesson.format(done=met, all=count, lesson="{lesson}")
    before, after = said.split("{lesson}")
    return escape(before) + _lesson(course.next(done), link) + escape(after)


def _lesson(lesson: Lesson, link: Link) -> str:
    return _anchor(lesson.notebook, f"{lesson.number} {lesson.title}", link)


def _anchor(path: str, said: str, link: Link) -> str:
    return f'<a href="{escape(link(path))}" data-path="{escape(path)}">{escape(said)}</a>'


def course_map() -> HTML:
    """Return the map with what is done, in the language spoken, for a notebook in this folder."""
    name = spoken_here()
    folder = os.path.relpath(Path.cwd().resolve(), course_folder())
    link = partial(posixpath.relpath, start=Path(folder).as_posix())
    shown = map_html(known_course(name), WORDS[name], link=link, done=progress.done(), name="cell")
    # JupyterLab takes arrow keys for itself inside a notebook.
    keeps = "if (event.key.startsWith('Arrow')) event.stopPropagation()"
    return HTML(f'<div lang="{name}" onkeydown="{keeps}">{shown}</div>')  # type: ignore[no-untyped-call]


def beside(path: str, language: str = ENGLISH) -> str:
    """Return the address of a path for a page in the folder of a language's notebooks."""
    return posixpath.relpath(path, notebooks(language))


def notebooks(language: str) -> str:
    """Return the folder of a language's notebooks."""
    return "notebooks" if language == ENGLISH else f"notebooks/{language}"
