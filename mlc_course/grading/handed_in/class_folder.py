"""A class's folder becomes submissions, and a list of what is not graded and why.

Every entry of the folder, and every notebook and archive below, is in one of the two. Passed over
without a word are only: hidden folders inside a student's, folders of installed packages, what
systems and Jupyter leave behind, files that are neither notebooks nor archives beside a notebook
that is, and a second copy of what counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from mlc_course.errors import MachineError, UsageError
from mlc_course.grading.course import Exam, Submission, grade_ids
from mlc_course.grading.handed_in.files import (
    NOTEBOOK,
    UNREAD,
    File,
    Unreadable,
    files_in,
    is_archive,
    is_clutter,
    read,
)
from mlc_course.grading.handed_in.layouts import Origin, origin_of_file, origin_of_folder
from mlc_course.parallel import run_limited

UNREAD_WHY = "an archive of a kind that is not read; pack it as .zip or .tar.gz"
READ_SECONDS = 60  # of processor time, to read what one student handed in
READ_BYTES = 2 << 30
MOST_RENAMED = 100  # notebooks of one student, under names of no assignment, that are looked into


@dataclass(frozen=True)
class Left:
    """A file that is not graded: its path below the class's folder, and why."""

    path: str
    why: str


Entry = tuple[Path, Origin]


class Collected(NamedTuple):
    """The work of a class: submissions to grade, and everything else."""

    submissions: tuple[Submission, ...]
    left: tuple[Left, ...]


@dataclass(frozen=True)
class _Found:
    """A file that may be work; ``path`` is below the class's folder."""

    path: str
    name: str
    order: tuple[str, int, str]
    file: File


def collect(folder: Path, exams: Sequence[Exam], passed_over: Container[Path] = ()) -> Collected:
    """The submissions under a folder, one for each student and assignment handed in.

    A student is a folder, an archive, or the part of a name that a learning platform wrote
    (``layouts``); entries of the same student are taken together. Inside, a notebook belongs to the
    exam whose file name it has, or else to the one most of whose graded cells it has: platforms
    rename files. Of several, the last turn counts, and of one turn the nearest to the top. Entries
    in ``passed_over`` (resolved) are nobody's work: what this command itself wrote.

    Raises ``UsageError`` when ``folder`` is not a folder, or holds no notebook of an exam.
    """
    if not folder.is_dir():
        raise UsageError(
            f"{folder} is not a folder",
            expected="DIR/STUDENT/.../NOTEBOOK.ipynb",
            hint="unpack it into a folder" if is_archive(folder.name) else None,
        )
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{folder} cannot be read", got=error.strerror) from None
    of_student: defaultdict[str, list[Entry]] = defaultdict(list)
    left: list[Left] = []
    here = folder.resolve()
    for path in entries:
        if is_clutter(path.name) or here / path.name in passed_over:
            continue
        origin = _origin(path, exams)
        if isinstance(origin, str):
            left.append(Left(_shown(path.name), origin))
        else:
            of_student[_shown(origin.student)].append((path, origin))
    submissions: list[Submission] = []
    for student, own in of_student.items():
        found = _read_apart(student, own, exams)
        submissions += found.submissions
        left += found.left
    if not submissions:
        raise UsageError(
            f"{folder} holds no submission",
            expected="DIR/STUDENT/.../NOTEBOOK.ipynb, or DIR/STUDENT.zip",
            got="; ".join(f"{each.path}: {each.why}" for each in left[:5]) or "nothing",
        )
    return Collected(tuple(submissions), tuple(left))


def _read_apart(student: str, entries: Sequence[Entry], exams: Sequence[Exam]) -> Collected:
    """Read one student's entries in a process with limits: none costs others their marks.

    An archive can grow without end, or take hours to read.

    Where several together pass a limit, those that do so alone are left, and the others taken.
    """

    def read_all(some: Sequence[Entry]) -> Collected:
        return run_limited(
            partial(_of_student, student, some, exams),
            seconds=READ_SECONDS,
            memory_bytes=READ_BYTES,
        )

    try:
        return read_all(entries)
    except MachineError as error:
        why = f"cannot be read: {error.what}"
    well, left = list[Entry](), list[Left]()
    for path, origin in entries if len(entries) > 1 else ():
        try:
            read_all([(path, origin)])
            well.append((path, origin))
        except MachineError as error:
            left.append(Left(_shown(path.name), f"cannot be read: {error.what}"))
    if not left:
        return Collected((), tuple(Left(_shown(path.name), why) for path, _ in entries))
    try:
        found = read_all(well)
    except MachineError:
        found = Collected((), tuple(Left(_shown(path.name), why) for path, _ in well))
    return Collected(found.submissions, (*left, *found.left))


def _of_student(student: str, entries: Sequence[Entry], exams: Sequence[Exam]) -> Collected:
    """The submissions of one student, and what else is in their entries."""
    works, left = list[_Found](), list[Left]()
    for path, origin in entries:
        for each in _works(path, origin):
            if isinstance(each, Left):
                left.append(each)
            else:
                works.append(each)
    chosen, others = _chosen(student, sorted(works, key=lambda each: each.order), exams)
    return Collected(tuple(chosen), (*left, *others))


def _origin(path: Path, exams: Sequence[Exam]) -> Origin | str:
    """Whose an entry is, or why it is nobody's."""
    try:
        path.lstat()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if path.is_symlink():
        return "a link, which is not followed"
    if path.name.startswith("."):
        return "hidden"
    if path.is_dir():
        return origin_of_folder(path.name)
    origin = origin_of_file(path.name, [exam.notebook for exam in exams])
    if origin is None and path.name.lower().endswith(UNREAD):
        return UNREAD_WHY
    return origin or "a loose file, and its name names no student; put it into a folder that does"


def _works(path: Path, origin: Origin) -> Iterator[_Found | Left]:
    """Notebooks of an entry, and what cannot be read; the entry itself is left, if it has none."""
    passed_over, seen, is_empty = list[str](), dict[str, int](), True
    for file in files_in(path):
        is_entry = not path.is_dir() and file.path == PurePosixPath(path.name)
        where = _shown(path.name if is_entry else f"{path.name}/{file.path}")
        plain = where
        while where in seen:  # an archive may have two files of one path
            seen[plain] += 1
            where = f"{plain} ({seen[plain]})"
        seen[where] = 1
        name = origin.file if is_entry and origin.file else file.path.name
        if NOTEBOOK in name.lower():
            order = (_last_first(origin.turn), len(file.path.parts), str(file.path))
            yield _Found(where, name, order, file)
        elif file.fault:
            yield Left(where, file.fault)
        elif name.lower().endswith(UNREAD):
            yield Left(where, UNREAD_WHY)
        else:
            passed_over.append(str(file.path))
            continue
        is_empty = False
    if is_empty:
        names = f": {_shown(', '.join(passed_over[:3]))}" if passed_over else ""
        yield Left(_shown(path.name), f"no notebook in it{names}")


def _last_first(turn: str) -> str:
    """A key that sorts later turns before earlier ones, and any turn before none."""
    return "".join(chr(0x10FFFF - ord(c)) for c in turn) + "\U0010ffff"


def _chosen(
    student: str, found: Sequence[_Found], exams: Sequence[Exam]
) -> tuple[list[Submission], list[Left]]:
    """One file for each exam, and why the others are not it."""
    names, left = {exam.notebook.casefold() for exam in exams}, list[Left]()
    renamed = [each for each in found if each.name.casefold() not in names]
    for each in renamed[MOST_RENAMED:]:
        why = f"not looked into: {MOST_RENAMED} notebooks under names of no assignment came first"
        left.append(Left(each.path, why))
    unread = {each.path for each in left}
    notebooks = [_opened(each) for each in found if each.path not in unread]
    submissions, counts = list[Submission](), dict[str, Submission]()
    for exam in exams:
        own = sorted(
            (each for each in notebooks if _is_of(each, exam, names)),
            key=lambda each: (bool(each.fault), not _has_tests(each, exam), each.order),
        )
        if own:
            first = own[0]
            submissions.append(
                Submission(student, exam.assignment, first.raw, first.fault, first.path)
            )
            for one in own:
                counts.setdefault(one.path, submissions[-1])
    graded = {each.path for each in submissions}
    for opened in notebooks:
        counted = counts.get(opened.path)
        if opened.path in graded:
            continue
        if opened.fault:
            left.append(Left(opened.path, opened.fault))
        elif counted is None:
            left.append(Left(opened.path, opened.strange or "a notebook of no assignment"))
        elif opened.raw != counted.notebook:
            left.append(Left(opened.path, f"another one counts: {counted.path}"))
    return submissions, left


@dataclass(frozen=True)
class _Notebook:
    """A file that was read; ``strange`` says why it has no cells that can be graded."""

    path: str
    name: str
    order: tuple[str, int, str]
    raw: bytes
    fault: str
    grade_ids: frozenset[str]
    strange: str


def _opened(found: _Found) -> _Notebook:
    raw, fault, names, strange = b"", "", frozenset[str](), ""
    try:
        raw = read(found.file)
        names = grade_ids(raw)
    except Unreadable as error:
        fault = str(error)
    except UsageError as error:  # the grader says so too, if it counts
        strange = error.what
    return _Notebook(found.path, found.name, found.order, raw, fault, names, strange)


def _is_of(notebook: _Notebook, exam: Exam, names: set[str]) -> bool:
    """Tell whether it has an exam's name or, under a name of none, most of its graded cells."""
    name = notebook.name.casefold()
    return name == exam.notebook.casefold() or name not in names and _has_tests(notebook, exam)


def _has_tests(notebook: _Notebook, exam: Exam) -> bool:
    asked = [test.grade_id for test in exam.tests]
    return 2 * sum(name in notebook.grade_ids for name in asked) > len(asked)


def _shown(name: str) -> str:
    """Write what a terminal obeys, or UTF-8 cannot say, as an escape; names stay different."""
    return "".join(c if c.isprintable() and c != "\\" else repr(c)[1:-1] for c in name)
