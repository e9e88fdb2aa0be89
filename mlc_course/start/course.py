"""The course in one description: its parts, what each lesson builds on, and the paths through it.

What a lesson says itself is read from its notebook: title, question and minutes from its first
cell, and the tasks from the cells that are judged. ``make docs`` keeps that in ``course.json``, so
that the map is right whatever a student makes of a notebook.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from mlc_course.course_files import course_folder
from mlc_course.errors import UsageError
from mlc_course.progress import Done
from mlc_course.start.words import WORDS

ENGLISH = "en"  # its notebooks are in notebooks/, those of another language in notebooks/zh

# Which lessons a lesson builds on directly; what these build on is left out.
BUILDS_ON: dict[int, tuple[int, ...]] = {
    0: (),
    1: (0,),
    2: (1,),
    3: (2,),
    4: (3,),
    5: (3,),
    6: (5,),
    7: (6,),
    8: (4, 6),
    9: (7,),
    10: (9,),
    11: (8, 9),
    12: (11,),
    13: (8,),
    14: (9,),
    15: (10,),
    16: (15,),
    17: (16,),
    18: (17,),
    19: (17,),
    20: (13,),
    21: (18, 19),
}
# The first lesson of each part; the names of parts and paths are in `words`.
PARTS = {"cpu": 0, "mugraphs": 15, "shapes": 20}
PATHS: dict[str, tuple[int, ...]] = {
    "evening": (2, 3, 5, 6),
    "term": tuple(BUILDS_ON),
    "tvm": (0, 3, 4, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21),
    "mirage": (15, 16, 17, 18, 19, 21),
}
KNOWN = resources.files("mlc_course.start") / "course.json"
COMING: dict[int, dict[str, str]] = {}  # titles, until there is a notebook to read

HEADING = re.compile(r"# (\d+)\. (.+)")
QUESTION = re.compile(r"\*\*(.+)\*\*")
MINUTES = re.compile(r"about (\d+) minutes|约\s*(\d+)\s*分钟")
EXERCISE = re.compile(r"\bchecks\.(\w+)\(")
BLANK = re.compile(r"^(?:\w+ = )?(?:lesson\.)?(?:(blanks)\.(\w+)|attempt)\((\d*)", re.MULTILINE)


@dataclass(frozen=True)
class Lesson:
    """A lesson as the map shows it. Tasks are named as ``progress`` names them.

    ``notebook`` and ``exercises`` are paths in the course's folder; both are empty, and so are
    ``question`` and the tasks, while the lesson is only announced. ``minutes`` is then 0.
    """

    number: int
    title: str
    part: str
    builds_on: tuple[int, ...]
    question: str = ""
    minutes: int = 0
    notebook: str = ""
    exercises: str = ""
    checks: tuple[str, ...] = ()
    blanks: tuple[str, ...] = ()

    @property
    def is_coming(self) -> bool:
        return not self.notebook

    @property
    def stem(self) -> str:
        return Path(self.exercises).stem

    def met(self, done: Done) -> tuple[int, int]:
        """Return how many of its exercises and of its blanks are done."""
        names = done.get(self.stem, frozenset())
        return len(names.intersection(self.checks)), len(names.intersection(self.blanks))

    def is_done(self, done: Done) -> bool:
        """Tell whether all exercises are done."""
        return not self.is_coming and self.met(done)[0] == len(self.checks)


@dataclass(frozen=True)
class Course:
    """All lessons in order, and the paths through them, each a list of numbers."""

    lessons: tuple[Lesson, ...]
    paths: dict[str, tuple[int, ...]]

    def part(self, name: str) -> tuple[Lesson, ...]:
        """Return the lessons of a part."""
        return tuple(each for each in self.lessons if each.part == name)

    def minutes(self, path: str) -> int:
        """Return what a path takes, without the lessons that are still to come."""
        return sum(each.minutes for each in self.lessons if each.number in self.paths[path])

    def next(self, done: Done) -> Lesson:
        """Return the first lesson with an exercise that is not done; the last one after all."""
        ready = [each for each in self.lessons if not each.is_coming]
        return next((each for each in ready if not each.is_done(done)), ready[-1])

    def arrows(self) -> tuple[tuple[Lesson, Lesson], ...]:
        """Return each lesson that another one builds on, with that other one."""
        known = {each.number: each for each in self.lessons}
        pairs = ((before, each) for each in self.lessons for before in each.builds_on)
        return tuple((known[before], each) for before, each in pairs if before in known)


@functools.cache
def known_course(language: str = ENGLISH) -> Course:
    """Return the course as it was given; in English, where it is not in a language."""
    held = json.loads(KNOWN.read_text(encoding="utf-8"))
    lessons = held.get(language, held[ENGLISH])
    return Course(tuple(map(_known, lessons)), PATHS)


def _known(held: dict[str, Any]) -> Lesson:
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in held.items()
    }
    return Lesson(**given)


def course_text(courses: dict[str, Course]) -> str:
    """Return what ``known_course`` reads, for the courses by language."""
    held = {name: [asdict(each) for each in course.lessons] for name, course in courses.items()}
    return json.dumps(held, ensure_ascii=False, indent=1) + "\n"


def read_course(root: Path | None = None, language: str = ENGLISH) -> Course:
    """Read the lessons below a folder, or below the one around here.

    A lesson without a notebook in a language is in English, with what the language's words say of
    it.

    Raises ``UsageError`` for a folder without lessons, and for a notebook whose first cell lacks
    number, title, question or minutes.
    """
    folder = root or course_folder()
    lessons = tuple(_lessons(folder, language))
    if all(each.is_coming for each in lessons):
        raise UsageError("no lessons here", expected="notebooks/NN_name.ipynb", got=folder)
    numbers = {each.number for each in lessons}
    kept = {name: tuple(n for n in path if n in numbers) for name, path in PATHS.items()}
    return Course(lessons, kept)


def _lessons(root: Path, language: str) -> Iterator[Lesson]:
    folder = root / "notebooks"
    english = {int(path.name[:2]): path for path in folder.glob("[0-9][0-9]_*.ipynb")}
    for number, builds_on in BUILDS_ON.items():
        part = max((first, name) for name, first in PARTS.items() if first <= number)[1]
        if number in english:
            translated = folder / language / english[number].name
            path = translated if translated.is_file() else english[number]
            lesson = _lesson(root, path, number, part, builds_on)
            said = WORDS[language].lessons_said if language in WORDS else {}
            if number in said and path != translated:
                lesson = replace(lesson, title=said[number][0], question=said[number][1])
            yield lesson
        elif number in COMING:
            titles = COMING[number]
            yield Lesson(number, titles.get(language, titles[ENGLISH]), part, builds_on)


def _lesson(root: Path, path: Path, number: int, part: str, builds_on: tuple[int, ...]) -> Lesson:
    cells = _cells(path)
    first = _source(cells[0])
    heading, question = HEADING.match(first), QUESTION.search(first)
    minutes = MINUTES.search(first)
    if not heading or int(heading[1]) != number or not question or not minutes:
        raise UsageError(
            f"{path.name}: a first cell that the map cannot read",
            expected=f"# {number}. Title, **question**, and about N minutes",
            got=first[:200],
        )
    exercises = root / "exercises" / path.stem / path.name
    return Lesson(
        number,
        heading[2],
        part,
        builds_on,
        question[1],
        int(minutes[1] or minutes[2]),
        path.relative_to(root).as_posix(),
        exercises.relative_to(root).as_posix(),
        tuple(_checks(_cells(exercises))) if exercises.is_file() else (),
        tuple(dict.fromkeys(_blanks(cells))),  # one blank may be judged twice
    )


def _cells(path: Path) -> Sequence[Any]:
    cells: Sequence[Any] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def _source(cell: Any) -> str:
    return "".join(cell["source"])


def _checks(cells: Sequence[Any]) -> Iterator[str]:
    """Yield the check of each graded cell."""
    for cell in cells:
        if cell["metadata"].get("nbgrader", {}).get("grade") and cell["cell_type"] == "code":
            yield from (f"checks.{name}" for name in EXERCISE.findall(_source(cell))[:1])


def _blanks(cells: Sequence[Any]) -> Iterator[str]:
    """Yield the judge of each blank."""
    for cell in cells:
        found = BLANK.search(_source(cell)) if cell["cell_type"] == "code" else None
        if found and (found[2] or found[3]):
            yield f"blanks.{found[2]}" if found[1] else f"puzzles.{found[3]}"
