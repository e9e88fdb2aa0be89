"""Submissions on disk, and what of a notebook is run: found, read and planned with suspicion."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.grading.course.exam import Exam, grading_of, source_of
from mlc_course.grading.process import printable

LARGEST_BYTES = 8 << 20  # of a notebook: ours without outputs are 20 kB
LARGEST_ARCHIVE = 32 << 20
MOST_FILES = 20  # notebooks of one student that are looked at; all are in memory at once
MOST_CELLS = 500
NOTEBOOK, CHECKPOINTS, ARCHIVE = ".ipynb", ".ipynb_checkpoints", ".zip"


@dataclass(frozen=True)
class Submission:
    """One student's notebook for one assignment; ``fault`` says why there is nothing to grade."""

    student: str
    assignment: str
    notebook: bytes = b""
    fault: str = ""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.notebook + self.fault.encode()).hexdigest()


def find(folder: Path, exams: Sequence[Exam]) -> list[Submission]:
    """The submissions under a folder, one for each student and assignment handed in.

    A student is a folder or a zip archive. Inside, a notebook belongs to the exam whose file name
    it has, or else to the one most of whose graded cells it has: learning platforms rename files.
    Symbolic links are not followed, archives are read and never unpacked.

    Raises ``UsageError`` when ``folder`` is not a folder, or holds no student.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder", expected="DIR/STUDENT/.../NOTEBOOK.ipynb")
    found: dict[tuple[str, str], Submission] = {}
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or path.name.startswith("."):
            continue
        if path.is_dir():
            files = _in_folder(path)
        elif _is_archive(path):
            files = _in_archive(path)
        else:
            continue
        student = path.stem if _is_archive(path) else path.name
        for each in _chosen(printable(student), files, exams):
            found.setdefault((each.student, each.assignment), each)
    if not found:
        raise UsageError(
            f"{folder} holds no submission",
            expected="DIR/STUDENT/.../NOTEBOOK.ipynb, or DIR/STUDENT.zip",
            got=", ".join(path.name for path in sorted(folder.iterdir())[:5]) or "nothing",
        )
    return list(found.values())


def without_notebook(folder: Path, found: Sequence[Submission]) -> list[str]:
    """Students from whom there is a folder or an archive, and no notebook of any exam in it."""
    known = {each.student for each in found}
    archived = (path for path in folder.iterdir() if path.suffix.lower() == ARCHIVE)
    paths = [*archived, *(path for path in folder.iterdir() if path.is_dir())]
    names = [printable(p.name if p.is_dir() else p.stem) for p in paths if p.name[0] != "."]
    return sorted(set(names) - known)


def _is_archive(path: Path) -> bool:
    return path.suffix.lower() == ARCHIVE and path.is_file()


@dataclass(frozen=True)
class _File:
    """A candidate: its path below the student, and its bytes or what is wrong with it."""

    path: PurePosixPath
    notebook: bytes
    fault: str = ""


def _in_folder(root: Path) -> Iterator[_File]:
    for path in sorted(root.rglob("*")):
        if _is_archive(path) and not path.is_symlink():
            yield from _in_archive(path)
        elif path.suffix == NOTEBOOK and path.parent.name != CHECKPOINTS:
            below = PurePosixPath(path.relative_to(root).as_posix())
            yield _read(below, path)


def _read(below: PurePosixPath, path: Path) -> _File:
    if any(part.is_symlink() for part in (path, *list(path.parents)[: len(below.parts) - 1])):
        return _File(below, b"", "a symbolic link, not a notebook")
    about = path.lstat()
    if not stat.S_ISREG(about.st_mode):
        return _File(below, b"", "not a file")
    if about.st_size > LARGEST_BYTES:
        return _File(below, b"", _too_large(about.st_size))
    try:
        return _File(below, path.read_bytes())
    except OSError as error:
        return _File(below, b"", f"cannot be read: {error.strerror}")


def _in_archive(path: Path) -> Iterator[_File]:
    """The notebooks in a zip archive. Its paths are only looked at, so none can lead outside."""
    try:
        if path.stat().st_size > LARGEST_ARCHIVE:
            raise OSError(f"at most {LARGEST_ARCHIVE / 1e6:.0f} MB")
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                below = PurePosixPath(entry.filename)
                if below.suffix != NOTEBOOK or below.parent.name == CHECKPOINTS:
                    continue
                if stat.S_ISLNK(entry.external_attr >> 16):
                    yield _File(below, b"", "a symbolic link, not a notebook")
                elif entry.file_size > LARGEST_BYTES:
                    yield _File(below, b"", _too_large(entry.file_size))
                else:
                    with archive.open(entry) as file:  # its header may lie about the size
                        raw = file.read(LARGEST_BYTES + 1)
                    large = len(raw) > LARGEST_BYTES
                    yield _File(below, b"" if large else raw, _too_large(len(raw)) if large else "")
    except Exception as error:  # of many kinds: zlib's, struct's, Unicode's
        why = printable(f"not a readable archive: {error}")[:200]
        yield _File(PurePosixPath(path.name), b"", why)


def _too_large(size: int) -> str:
    return f"{size / 1e6:.0f} MB; a notebook may have {LARGEST_BYTES / 1e6:.0f} MB"


def _chosen(student: str, files: Iterator[_File], exams: Sequence[Exam]) -> Iterator[Submission]:
    """One file for each exam: the one nearest to the student's folder, if there are several."""
    some = islice(files, MOST_FILES)
    found = sorted(some, key=lambda file: (len(file.path.parts), str(file.path)))
    for exam in exams:
        own = [file for file in found if file.path.name == exam.notebook]
        own = own or [file for file in found if _has_most_tests(file.notebook, exam)]
        broken = [file for file in found if file.fault and file.path.suffix.lower() == ARCHIVE]
        for file in (own or broken)[:1]:
            yield Submission(student, exam.assignment, file.notebook, file.fault)


def _has_most_tests(notebook: bytes, exam: Exam) -> bool:
    try:
        cells = _code_cells(notebook)
    except UsageError:
        return False
    names = {str(grading_of(cell).get("grade_id", "")) for cell in cells}
    asked = [test.grade_id for test in exam.tests]
    return 2 * sum(name in names for name in asked) > len(asked)


@dataclass(frozen=True)
class Run:
    """A cell to run."""

    cell: str
    source: str


@dataclass(frozen=True)
class Examine:
    """The place at which a test's answers are asked for."""

    grade_id: str


def plan(exam: Exam, notebook: bytes) -> list[Run | Examine]:
    """Return the jobs of a submission, in the order of the student's notebook.

    Locked cells are run as the solution has them, wherever the student moved or changed them;
    a test is never run, its place only tells when to ask. Missing ones are made up for.

    Raises ``UsageError`` for what is not a Python notebook.
    """
    setup, tests = dict(exam.setup), [test.grade_id for test in exam.tests]
    steps: list[Run | Examine] = []
    for number, cell in enumerate(_code_cells(notebook), start=1):
        about = grading_of(cell)
        grade_id = str(about.get("grade_id", ""))
        if grade_id in tests:
            tests.remove(grade_id)
            steps.append(Examine(grade_id))
        elif grade_id in setup:
            steps.append(Run(grade_id, setup.pop(grade_id)))
        elif not about.get("grade") and not about.get("locked"):
            steps.append(Run(grade_id or f"number {number}", source_of(cell)))
    missing = [Run(grade_id, source) for grade_id, source in setup.items()]
    return [*missing, *steps, *(Examine(grade_id) for grade_id in tests)]


def _code_cells(notebook: bytes) -> list[dict[str, Any]]:
    try:
        tree = json.loads(notebook)
        cells, metadata = tree["cells"], tree.get("metadata", {})
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        language = _language(metadata)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError("not a notebook", got=f"{type(error).__name__}: {error}"[:200]) from None
    if language != "python":
        raise UsageError("a notebook in another language", expected="python", got=language)
    if len(code) > MOST_CELLS:
        raise UsageError("too many cells", expected=f"at most {MOST_CELLS}", got=len(code))
    return code


def _language(metadata: dict[str, Any]) -> str:
    kernel = metadata.get("kernelspec", {}).get("language")
    name = str(kernel or metadata.get("language_info", {}).get("name") or "python")
    return printable(name[:40]).lower()
