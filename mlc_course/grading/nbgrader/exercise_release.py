"""From solutions to exercises: what students get is generated, never edited.

``solutions/NN_name/NN_name.ipynb`` holds the answers between ``### BEGIN SOLUTION`` and
``### END SOLUTION``, and tests that students do not see between ``### BEGIN HIDDEN TESTS`` and
``### END HIDDEN TESTS``. nbgrader takes both out, and locks the cells that are graded.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mlc_course.extras import brought_by

with brought_by("grade"):
    from nbconvert.exporters import NotebookExporter
    from nbgrader.api import Gradebook
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.nbgraderformat import SchemaTooNewError, SchemaTooOldError, ValidationError
    from nbgrader.preprocessors import SaveCells
    from traitlets.config.loader import Config, PyFileConfigLoader

import mlc_course
from mlc_course.errors import CourseError, UsageError
from mlc_course.grading.course import SETTINGS

ROOT = Path(mlc_course.__file__).resolve().parent.parent
QUIET = logging.Logger("nbgrader", logging.CRITICAL + 1)  # its messages are in our errors
# What nbgrader and nbformat raise for a notebook that they cannot use.
REFUSALS = (
    RuntimeError,
    ValueError,
    KeyError,
    ValidationError,
    SchemaTooOldError,
    SchemaTooNewError,
)


def settings(root: Path = ROOT) -> Config:
    """nbgrader's settings for the course in this folder; makes its ``.grading`` folder.

    Raises ``UsageError`` when the folder has none, as an installed package has none.
    """
    if not (root / SETTINGS).is_file():
        raise UsageError(
            "grading: nbgrader's settings are not here",
            expected=SETTINGS,
            got=f"no such file in {root}",
            hint="install from a checkout of the course: make setup",
        )
    config: Config = PyFileConfigLoader(SETTINGS, path=str(root)).load_config()
    return config


def release(
    solutions: Path, out: Path, assignments: Sequence[str] | None = None, *, db_url: str = ""
) -> list[Path]:
    """Write the students' version of these assignments, or of all and of nothing else.

    Returns the files in ``out``. The same on every machine: the text depends on the solutions
    alone. With ``db_url``, the cells are registered in that gradebook too. Raises ``UsageError``
    for an unknown assignment and for a notebook that nbgrader refuses; then ``out`` is as it was.
    """
    chosen = find_assignments(solutions, assignments)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder:
        new, old = Path(folder, "new"), Path(folder, "old")
        for assignment in chosen:
            _copy_others(assignment, new / assignment.name)
            for notebook in _notebooks(assignment):
                text = _convert(notebook)
                (new / assignment.name / notebook.name).write_text(text, "utf-8", newline="\n")
        if db_url:
            register(chosen, db_url)
        old.mkdir()
        if assignments is None:
            _replace(out, new, old / "all")
        else:
            out.mkdir(exist_ok=True)
            for assignment in chosen:
                name = assignment.name
                _replace(out / name, new / name, old / name)
    written = (path for each in chosen for path in (out / each.name).rglob("*"))
    return sorted(path for path in written if path.is_file())


def open_gradebook(db_url: str) -> Gradebook:
    """The gradebook, made if it is not there: then nbgrader calls alembic, which is beside Python.

    A context manager: it closes what it opened.
    """
    path = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), path))
    try:
        return Gradebook(db_url, settings().CourseDirectory.course_id)
    finally:
        os.environ["PATH"] = path


def register(assignments: Iterable[Path], db_url: str) -> None:
    """Tell a gradebook which cells of these solution folders are graded, with their points.

    Raises ``UsageError`` when nbgrader refuses: a gradebook with submissions keeps its cells.
    """
    for folder in assignments:
        with open_gradebook(db_url) as book:
            known = book.update_or_create_assignment(folder.name)
            present = {path.stem for path in _notebooks(folder)}
            for name in {each.name for each in known.notebooks} - present:
                book.remove_notebook(name, folder.name)
        for notebook in _notebooks(folder):
            _convert(notebook, db_url)


def find_assignments(solutions: Path, assignments: Sequence[str] | None = None) -> list[Path]:
    """The folders of these assignments, or of all; raises ``UsageError`` for an unknown one."""
    known = sorted(path.parent for path in solutions.glob("[!.]*/*.ipynb"))
    folders = {path.name: path for path in known}
    unknown = [name for name in assignments or () if name not in folders]
    if unknown or not folders:
        raise UsageError(
            f"release: no assignment {', '.join(unknown) or 'at all'}",
            expected=" | ".join(folders) or "a folder with a notebook",
            got=", ".join(unknown) or f"none in {solutions}",
            hint=f"an assignment is {solutions.name}/NAME/NAME.ipynb",
        )
    return [folders[name] for name in folders if assignments is None or name in assignments]


def _notebooks(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.ipynb"))


def _copy_others(source: Path, target: Path) -> None:
    """All files but notebooks: data, pictures, helpers."""
    ignored = shutil.ignore_patterns("*.ipynb", *settings().CourseDirectory.ignore)
    shutil.copytree(source, target, ignore=ignored)


def _replace(target: Path, new: Path, old: Path) -> None:
    if target.exists():
        target.rename(old)
    new.rename(target)


def _convert(notebook: Path, db_url: str = "") -> str:
    """The students' version of a solution notebook, by the steps of nbgrader generate_assignment.

    One of the steps writes to the gradebook; without ``db_url`` it is left out.
    """
    _check_ids(notebook)
    config = settings()
    steps = GenerateAssignment(coursedir=CourseDirectory(config=config), config=config)
    exporter = NotebookExporter(config=Config(Exporter={"default_preprocessors": []}), log=QUIET)
    exporter.update_config(config)
    for each in steps.preprocessors:
        if each is not SaveCells or db_url:
            exporter.register_preprocessor(each, enabled=True)
    place = {"notebook": notebook.stem, "assignment": notebook.parent.name, "db_url": db_url}
    try:
        text, _ = exporter.from_filename(str(notebook), resources={"nbgrader": place})
    except REFUSALS as error:
        raise UsageError(
            f"release: nbgrader refuses {notebook.parent.name}/{notebook.name}",
            expected="a solution notebook that nbgrader can convert",
            got=error.__context__ or error,
            hint="JupyterLab's Create Assignment panel shows what nbgrader knows of each cell",
        ) from None
    return str(text)


def _check_ids(notebook: Path) -> None:
    """Raises ``UsageError`` where Jupyter would invent a cell's id, another one on every run."""
    what = f"release: {notebook.parent.name}/{notebook.name}"
    try:
        cells: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{what} is no notebook", expected="cells, as JSON", got=error) from None
    ids = [cell.get("id") for cell in cells]
    for number, each in enumerate(ids, start=1):
        if not each or ids.count(each) > 1:
            raise UsageError(
                f"{what}: cell {number} has no id of its own",
                expected="an id in words, such as predict-the-fastest, used once",
                got=repr(each),
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate exercises/ from solutions/, and register what is graded in the gradebook."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these assignments")
    names = parser.parse_args(arguments).names or None
    try:
        db_url = settings().CourseDirectory.db_url
        written = release(ROOT / "solutions", ROOT / "exercises", names, db_url=db_url)
    except CourseError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    for path in written:
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
