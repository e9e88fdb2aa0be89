"""Write what the start page shows before a cell of it has run: the map's picture, and its table.

python docs/start_page.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from house import ROOT

from mlc_course.start import ENGLISH, WORDS, Lesson, beside, map_svg, read_course

PAGE, PICTURE = ROOT / "notebooks" / "index.ipynb", ROOT / "notebooks" / "course_map.svg"
# A page cannot set the colours of a picture in a file, so this one follows the browser's.
DARK = """<style>@media (prefers-color-scheme: dark) {
svg { --mlc-ink: #eeeeee; --mlc-paper: #111111; --mlc-ours: #56b4e9; } }</style>"""
WORDS_HERE = WORDS[ENGLISH]


def picture() -> str:
    """Return the map as a file."""
    svg = map_svg(read_course(), WORDS_HERE)
    return svg.replace("><", f">{DARK}<", 1) + "\n"


def lessons() -> str:
    """Return the cell with the map and its lessons as a table."""
    course = read_course()
    title, *rest = WORDS_HERE.columns
    rows = "\n".join(
        line
        for part, said in WORDS_HERE.parts.items()
        for line in (f"| | **{said}** | | | | |", *map(row, course.part(part)))
    )
    return (
        f"## {WORDS_HERE.map}\n\n![{WORDS_HERE.map_said}]({PICTURE.name})\n\n"
        f"| {title} | {' | '.join(rest)} |\n|{'---|' * (1 + len(rest))}\n{rows}"
    )


def row(lesson: Lesson) -> str:
    """Return a lesson's row; one that is still to come has no links."""
    before = ", ".join(map(str, lesson.builds_on))
    if lesson.is_coming:
        return f"| {lesson.number} | {lesson.title} *({WORDS_HERE.coming})* | | | {before} | |"
    said = WORDS_HERE.exercises.format(all=len(lesson.checks))
    return (
        f"| {lesson.number} | [{lesson.title}]({beside(lesson.notebook)}) | {lesson.question} "
        f"| {WORDS_HERE.time(lesson.minutes)} | {before} | [{said}]({beside(lesson.exercises)}) |"
    )


def page() -> str:
    """Return the notebook with its cell of lessons filled."""
    notebook: Any = json.loads(PAGE.read_text(encoding="utf-8"))
    (cell,) = (each for each in notebook["cells"] if each["id"] == "lessons")
    cell["source"] = lessons().splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def stale() -> list[str]:
    """Return the names of the files that are out of date."""
    made = {PAGE: page(), PICTURE: picture()}
    return [
        path.name
        for path, text in made.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


if __name__ == "__main__":
    for path, text in ((PAGE, page()), (PICTURE, picture())):
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
