"""An exam: what a solution notebook asks, as data.

The solution notebook is the only source. Its test cells are run once with names in place of
answers, and ``check`` writes down what it is asked; a submission's own test cells are never run.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.grading.checks import RATIO, Demand, recording
from mlc_course.grading.process import Name, Optimized, Scheduled, Written

SETTINGS = "nbgrader_config.py"  # beside the solutions of a course that nbgrader knows
BEGIN_HIDDEN, END_HIDDEN = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"


@dataclass(frozen=True)
class Test:
    """One graded cell: its points, and what its visible and its hidden part ask."""

    grade_id: str
    points: float
    visible: tuple[Demand, ...]
    hidden: tuple[Demand, ...]

    @property
    def demands(self) -> tuple[Demand, ...]:
        return (*self.visible, *self.hidden)

    def numbers(self, *, hidden: bool) -> range:
        """Return the places of its hidden or of its visible demands among all."""
        return range(len(self.visible), len(self.demands)) if hidden else range(len(self.visible))


@dataclass(frozen=True)
class Exam:
    """All graded cells of one notebook, and the locked cells that its answers rely on."""

    assignment: str
    notebook: str
    digest: str
    setup: tuple[tuple[str, str], ...]
    tests: tuple[Test, ...]

    @property
    def points(self) -> float:
        return sum(test.points for test in self.tests)


class _Answers(dict[str, Any]):
    """A namespace in which a name that nobody defined is an answer."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name) if hasattr(builtins, name) else Name(name)


def read_exam(path: Path) -> Exam:
    """The exam of a solution notebook.

    Raises ``UsageError`` for a file that is not one, and for a graded cell that asks nothing.
    """
    try:
        raw = path.read_bytes()
        cells = [cell for cell in json.loads(raw)["cells"] if cell["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path} is not a solution notebook", got=str(error)[:200]) from None
    namespace = _Answers(__name__="exam")
    setup, tests = [], []
    for cell in cells:
        about, source = grading_of(cell), source_of(cell)
        if about.get("grade") and not about.get("solution"):
            tests.append(_test(about, source, namespace, path))
            continue
        _import(source, namespace)
        if about.get("locked"):
            setup.append((str(about["grade_id"]), source))
    if not tests:
        raise UsageError(f"{path} has no graded cell", hint="solutions/ holds the notebooks to use")
    digest = hashlib.sha256(raw).hexdigest()
    return Exam(path.parent.name, path.name, digest, tuple(setup), tuple(tests))


def grading_of(cell: dict[str, Any]) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell; nothing for a cell that it does not know."""
    metadata = cell.get("metadata")
    found = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def source_of(cell: dict[str, Any]) -> str:
    """A cell's text; notebooks keep it as one string or as lines."""
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)


def parts(source: str) -> Iterator[tuple[bool, str]]:
    """The lines of a test cell, hidden or not, in runs: ``(hidden, source)``."""
    hidden = False
    lines: list[str] = []
    for line in source.splitlines():
        if line.strip() in (BEGIN_HIDDEN, END_HIDDEN):
            yield hidden, "\n".join(lines)
            hidden, lines = line.strip() == BEGIN_HIDDEN, []
        else:
            lines.append(line)
    yield hidden, "\n".join(lines)


def _test(about: dict[str, Any], source: str, namespace: _Answers, path: Path) -> Test:
    asked: dict[bool, list[Demand]] = {False: [], True: []}
    for hidden, text in parts(source):
        with recording() as demands:
            exec(compile(text, f"{path.name}:{about['grade_id']}", "exec"), namespace)
        asked[hidden] += demands
    if not (asked[False] or asked[True]):
        raise UsageError(
            f"{path}: the graded cell {about['grade_id']} asks nothing",
            expected="check(answer, ...) in it",
            got=source[:80],
        )
    for demand in (*asked[False], *asked[True]):
        _check_demand(demand, f"{path}: {about['grade_id']}")
    _check_worth(
        [*asked[False], *asked[True]], float(about["points"]), f"{path}: {about['grade_id']}"
    )
    return Test(
        str(about["grade_id"]), float(about["points"]), tuple(asked[False]), tuple(asked[True])
    )


def _check_demand(demand: Demand, where: str) -> None:
    """Refuse a demand that a wrong program could meet, and one that time alone decides."""
    kinds = {check.kind for check in demand.checks}
    if isinstance(demand.subject, Scheduled | Written | Optimized) and "correctness" not in kinds:
        raise UsageError(
            f"{where}: a program is not asked to be right",
            expected="computes() or same_graph() in every check: a function may answer each anew",
            got=", ".join(sorted(kinds)),
        )
    if RATIO in kinds and not kinds & {"structure", "counted"}:
        raise UsageError(
            f"{where}: a race stands alone",
            expected="a check of structure or counts beside faster(...)",
            got=", ".join(sorted(kinds)),
        )


def _check_worth(demands: list[Demand], points: float, where: str) -> None:
    """Refuse parts that do not make up the cell's points."""
    worth = [demand.worth for demand in demands]
    if worth == [None] * len(worth):
        return
    told = [each for each in worth if each is not None]
    if len(told) < len(worth) or min(told) < 0 or not math.isclose(sum(told), points):
        raise UsageError(
            f"{where}: what its parts are worth does not make up its points",
            expected=f"worth= in every check of the cell, {points:g} together",
            got=", ".join("nothing" if each is None else f"{each:g}" for each in worth),
        )


def _import(source: str, namespace: _Answers) -> None:
    """Run the imports of a cell, and nothing else."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a magic
        return
    tree.body = [each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
    exec(compile(tree, "imports", "exec"), namespace)
