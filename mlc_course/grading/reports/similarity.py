"""Answers that are the same but for comments, formatting and the names of variables.

That two are the same is no proof of anything: a short question has few answers. Left out is what
many would write alike: the text that was given, the solution, and what is very short.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from mlc_course.grading.course import Exam, Submission, grading_of
from mlc_course.grading.reports.questions import answers_in, cells_of, starting_texts

FOR_NOTEBOOKS = re.compile(r"^[%!].*$", re.MULTILINE)
SHORTEST = 80  # characters of a normal form
LONGEST = 50_000  # of an answer; nobody writes that, and trees take a hundred times the space
LARGEST_GROUP = 5  # what more students have in common tells little about two of them


@dataclass(frozen=True)
class Same:
    """Students whose answers in one cell have one normal form."""

    assignment: str
    cell: str
    students: tuple[str, ...]


@dataclass(frozen=True)
class Pair:
    """Two students, and the cells in which their answers are the same."""

    students: tuple[str, str]
    cells: tuple[str, ...]


def same_answers(
    submissions: Sequence[Submission], exams: Iterable[Exam], solutions: Path
) -> list[Same]:
    """Groups of students with the same answer, the smallest groups first."""
    found = []
    for exam in exams:
        own = (solutions / exam.assignment / exam.notebook).read_bytes()
        expected, given = answers_in(own), starting_texts(exam, solutions)
        form_of = {name: _form_of(name, own) for name in expected}
        ignored = {
            form_of[name](text)
            for texts in (expected, given)
            for name, text in texts.items()
            if name in form_of
        }
        groups: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for each in submissions:
            if each.assignment == exam.assignment:
                for cell, text in answers_in(each.notebook).items():
                    form = form_of[cell](text) if cell in form_of else ""
                    if len(form) >= SHORTEST and form not in ignored:
                        groups[cell, form].add(each.student)
        found += [
            Same(exam.assignment, cell, tuple(sorted(students)))
            for (cell, _), students in groups.items()
            if len(students) > 1
        ]
    return sorted(found, key=lambda same: (len(same.students), same.assignment, same.cell))


def pairs(same: Iterable[Same]) -> list[Pair]:
    """Two and two of small groups, those with most in common first."""
    cells: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for each in same:
        if len(each.students) <= LARGEST_GROUP:
            for first, second in combinations(each.students, 2):
                cells[first, second].append(f"{each.assignment}: {each.cell}")
    found = [Pair(students, tuple(sorted(own))) for students, own in cells.items()]
    return sorted(found, key=lambda pair: (-len(pair.cells), pair.students))


def _form_of(name: str, notebook: bytes) -> Callable[[str], str]:
    kinds = {grading_of(each).get("grade_id"): each.get("cell_type") for each in cells_of(notebook)}
    return code_form if kinds[name] == "code" else text_form


def text_form(text: str) -> str:
    """The words of a text, without capitals."""
    return " ".join(text.casefold().split())


def code_form(text: str) -> str:
    """What is left of a program without comments, docstrings, formatting and chosen names.

    What is not Python, even without the lines that only notebooks know (``%timeit``, ``!ls``), is
    compared word by word.
    """
    if len(text) > LONGEST:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a student's escapes
            tree = ast.parse(FOR_NOTEBOOKS.sub("", text))
            _Renaming(_chosen_names(tree)).visit(tree)
            return ast.unparse(ast.fix_missing_locations(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return " ".join(text.split())


def _chosen_names(tree: ast.AST) -> Iterator[str]:
    """The names that this text gives to something."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.alias(asname=str(name)):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name
            case _:
                pass


class _Renaming(ast.NodeTransformer):
    """Numbers chosen names by where they come first, and drops docstrings."""

    def __init__(self, chosen: Iterable[str]) -> None:
        self.chosen = frozenset(chosen)
        self.numbers: Counter[str] = Counter()

    def _new(self, name: str) -> str:
        if name not in self.chosen:
            return name
        if name not in self.numbers:
            self.numbers[name] = len(self.numbers) + 1
        return f"${self.numbers[name]}"  # no name that an answer can have

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("id", "arg", "name", "asname", "rest"):
            name = getattr(node, field, None)
            if isinstance(name, str) and not isinstance(node, ast.keyword):
                is_module = isinstance(node, ast.alias) and field == "name"
                setattr(node, field, name if is_module else self._new(name))
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [self._new(name) for name in node.names]
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)] or [ast.Pass()]  # type: ignore[attr-defined]
        return super().generic_visit(node)


def _is_text(node: ast.AST) -> bool:
    """A string that stands alone: a docstring, or a comment in quotes."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False
