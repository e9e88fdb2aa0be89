"""Write what the start page knows of the lessons, and what it shows before a cell of it has run.

python docs/start_page.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from house import ROOT

from mlc_course.start import (
    ENGLISH,
    WORDS,
    Lesson,
    beside,
    course_text,
    map_svg,
    notebooks,
    read_course,
)
from mlc_course.words import spoken

FOLDERS = {name: ROOT / notebooks(name) for name in WORDS}
KNOWN = ROOT / "mlc_course" / "start" / "course.json"
PAGE, PICTURE = "index.ipynb", "course_map.svg"
# A page cannot set the colours of a picture in a file, so this one follows the browser's.
DARK = """<style>@media (prefers-color-scheme: dark) {
svg { --mlc-ink: #eeeeee; --mlc-paper: #111111; --mlc-ours: #56b4e9; } }</style>"""


def picture(language: str = ENGLISH) -> str:
    """Return the map as a file."""
    with spoken(language):
        svg = map_svg(read_course(ROOT, language), WORDS[language])
    return svg.replace("><", f">{DARK}<", 1) + "\n"


def lessons(language: str = ENGLISH) -> str:
    """Return the cell with the map and its lessons as a table."""
    course, words = read_course(ROOT, language), WORDS[language]
    title, *rest = words.columns
    rows = "\n".join(
        line
        for part, said in words.parts.items()
        for line in (
            f"| | **{said}** | | | | |",
            *(row(each, language) for each in course.part(part)),
        )
    )
    return (
        f"## {words.map}\n\n![{words.map_said}]({PICTURE})\n\n"
        f"| {title} | {' | '.join(rest)} |\n|{'---|' * (1 + len(rest))}\n{rows}"
    )


def row(lesson: Lesson, language: str = ENGLISH) -> str:
    """Return a lesson's row; one that is still to come has no links."""
    words = WORDS[language]
    before = ", ".join(map(str, lesson.builds_on))
    if lesson.is_coming:
        return f"| {lesson.number} | {lesson.title} *({words.coming})* | | | {before} | |"
    said = words.exercises.format(all=len(lesson.checks))
    notebook, exercises = (beside(each, language) for each in (lesson.notebook, lesson.exercises))
    return (
        f"| {lesson.number} | [{lesson.title}]({notebook}) | {lesson.question} "
        f"| {words.time(lesson.minutes)} | {before} | [{said}]({exercises}) |"
    )


def page(language: str = ENGLISH) -> str:
    """Return the notebook with its cell of lessons filled."""
    notebook: Any = json.loads((FOLDERS[language] / PAGE).read_text(encoding="utf-8"))
    (cell,) = (each for each in notebook["cells"] if each["id"] == "lessons")
    cell["source"] = lessons(language).splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def made() -> dict[Path, str]:
    """Return the text of every file."""
    pages = {folder / PAGE: page(language) for language, folder in FOLDERS.items()}
    known = {KNOWN: course_text({name: read_course(ROOT, name) for name in WORDS})}
    pictures = {folder / PICTURE: picture(language) for language, folder in FOLDERS.items()}
    return known | pages | pictures


def stale() -> list[str]:
    """Return the paths of the files that are out of date."""
    return [
        path.relative_to(ROOT).as_posix()
        for path, text in made().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


if __name__ == "__main__":
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
