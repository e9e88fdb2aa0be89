"""Questions that a person grades: what is asked, what it is worth, and what each student wrote.

nbgrader knows two kinds: a *manually graded answer*, which is the student's own cell, and a
*manually graded task*, which is answered in new cells below it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlc_course.grading.course import Exam, grading_of, source_of

EXERCISES = "exercises"  # beside the solutions: what students were given
NO_ANSWER = ("", "YOUR ANSWER HERE")
LONGEST_ANSWER = 20_000  # characters; the notebook has the rest


@dataclass(frozen=True)
class Question:
    """One cell that a person grades. ``given`` is the text that students found in it."""

    assignment: str
    name: str
    out_of: float
    asked: str = ""
    solution: str = ""
    given: str = ""
    is_task: bool = False


def questions_in(exams: Iterable[Exam], solutions: Path) -> list[Question]:
    """The questions of these exams' solution notebooks, in their order."""
    return [question for exam in exams for question in _questions(exam, solutions)]


def _questions(exam: Exam, solutions: Path) -> Iterator[Question]:
    notebook = (solutions / exam.assignment / exam.notebook).read_bytes()
    given = starting_texts(exam, solutions)
    asked = ""
    for cell in cells_of(notebook):
        about, source = grading_of(cell), source_of(cell)
        is_task = bool(about.get("task"))
        if is_task or about.get("grade") and about.get("solution"):
            name = str(about["grade_id"])
            own = answer(Question(exam.assignment, name, 0, is_task=is_task), notebook)
            yield Question(
                exam.assignment,
                name,
                float(about.get("points", 0)),
                source if is_task else asked,
                _without_marks(own),
                "" if is_task else given.get(name, ""),
                is_task,
            )
        if cell.get("cell_type") == "markdown" and not about.get("solution"):
            asked = source


def _without_marks(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(each for each in lines if each.strip() not in SOLUTION_MARKS)


SOLUTION_MARKS = ("### BEGIN SOLUTION", "### END SOLUTION")


def answer(question: Question, notebook: bytes) -> str:
    """A student's answer; empty where there is none, or only what was given."""
    texts, inside = list[str](), False
    for cell in cells_of(notebook):
        grade_id = grading_of(cell).get("grade_id")
        if question.is_task:
            if grade_id is None and inside:
                texts.append(source_of(cell))
            inside = grade_id == question.name or inside and grade_id is None
        elif grade_id == question.name:
            texts.append(source_of(cell))
    text = "\n\n".join(each.strip() for each in texts)
    blank = {_words(each) for each in (*NO_ANSWER, question.given)}
    if _words(text) in blank:
        return ""
    if len(text) > LONGEST_ANSWER:
        return f"{text[:LONGEST_ANSWER]}\n(cut here; the notebook has {len(text):,} characters)"
    return text


def starting_texts(exam: Exam, solutions: Path) -> Mapping[str, str]:
    """The texts that students found in their answers' cells, by name.

    They are in ``exercises/``, beside the solutions; where that is missing, none is known.
    """
    path = solutions.parent / EXERCISES / exam.assignment / exam.notebook
    try:
        notebook = path.read_bytes()
    except OSError:
        return {}
    return answers_in(notebook)


def answers_in(notebook: bytes) -> dict[str, str]:
    """The texts of a notebook's answer cells, by name; of two of one name, the first."""
    found: dict[str, str] = {}
    for cell in cells_of(notebook):
        about = grading_of(cell)
        if about.get("solution"):
            found.setdefault(str(about.get("grade_id")), source_of(cell))
    return found


def cells_of(notebook: bytes) -> list[dict[str, Any]]:
    """All cells of a notebook, none of what is not one."""
    try:
        cells = json.loads(notebook)["cells"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []


def _words(text: str) -> str:
    return " ".join(text.split())
