"""What a student has done: the checks of exercises and the blanks of lessons that were met here.

It is one small file in the user's data folder, which the start page reads. Nothing leaves the
machine, and no check ends because the file cannot be written.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock
from platformdirs import user_data_path

PROGRESS_FILE = "MLC_COURSE_PROGRESS"  # the variable that names another file
LONGEST = 1 << 20  # bytes; all tasks of the course take a hundredth of it
PATIENCE_S = 10.0  # for other notebooks that are writing
POLL_S = 0.01
LESSON = re.compile(r"mlc_course\.lessons\.lesson_(\w+)\.(\w+)")

Done = Mapping[str, frozenset[str]]  # by lesson: {"05_loop_reorder": {"checks.along_rows"}}


def path() -> Path:
    """Return the file's place, which exists only after something was met."""
    named = os.environ.get(PROGRESS_FILE)
    return Path(named) if named else user_data_path("mlc-course") / "progress.json"


def done(file: Path | None = None) -> Done:
    """Return the tasks that were met, by lesson; nothing from a file that cannot be read."""
    try:
        return _read(file or path())
    except (OSError, ValueError, RecursionError):
        return {}


def record(tasks: Iterable[str], file: Path | None = None) -> bool:
    """Add tasks such as ``05_loop_reorder/checks.along_rows`` to those that were met.

    Several processes lose nothing of each other's. A file that cannot be read is set aside, and one
    that cannot be written is left; either is told in a line, and nothing is raised. Returns whether
    the tasks are written.
    """
    file = file or path()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{file}.lock", timeout=PATIENCE_S, poll_interval=POLL_S):
            _write(file, _with(_read_or_set_aside(file), tasks))
        return True
    except (OSError, NotImplementedError) as error:  # a full disk, or one that cannot lock
        print(f"Your progress could not be written to {file}: {error}")
        return False


def forget(file: Path | None = None) -> None:
    """Remove the file; raises ``OSError`` where that is not allowed."""
    file = file or path()
    _unwritten.clear()
    if file.exists():
        with FileLock(f"{file}.lock", timeout=PATIENCE_S):
            file.unlink(missing_ok=True)


def _with(known: Done, tasks: Iterable[str]) -> Done:
    found = {lesson: set(names) for lesson, names in known.items()}
    for task in tasks:
        lesson, _, name = task.partition("/")
        found.setdefault(lesson, set()).add(name)
    return {lesson: frozenset(names) for lesson, names in found.items()}


def _read(file: Path) -> Done:
    """Return what a file holds; raises ``ValueError`` for anything that ``_write`` does not."""
    if not file.exists():
        return {}
    with file.open("rb") as opened:
        text = opened.read(LONGEST + 1)
    if len(text) > LONGEST:
        raise ValueError("too long")
    held = json.loads(text)
    if not isinstance(held, dict) or not all(
        isinstance(names, list) and all(isinstance(name, str) for name in names)
        for names in held.values()
    ):
        raise ValueError("not lists of words by lesson")
    return {lesson: frozenset(names) for lesson, names in held.items()}


def _read_or_set_aside(file: Path) -> Done:
    try:
        return _read(file)
    except (ValueError, RecursionError) as error:
        aside = next(
            place
            for number in range(1, sys.maxsize)
            if not (place := file.with_name(f"{file.stem}-broken-{number}{file.suffix}")).exists()
        )
        file.replace(aside)
        print(f"Your progress could not be read ({error}). It begins anew; the old file is {aside}")
        return {}


def _write(file: Path, held: Done) -> None:
    """Write a file whole or not at all."""
    data = {lesson: sorted(names) for lesson, names in sorted(held.items())}
    draft = file.with_name(f"{file.name}.part")  # one at a time, by the lock
    try:
        draft.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


# --- in a notebook --------------------------------------------------------------------------------

_met: set[str] = set()  # in the cell that runs now
_unwritten: set[str] = set()  # in earlier ones, while the file could not be written
_followed: list[Any] = []  # the shell whose cells are followed


def met(task: str | None) -> None:
    """Keep a task if the notebook's cell that runs now succeeds.

    Outside a notebook nothing is kept: not in tests, not in a grader's processes. Nothing is kept
    either where nbgrader runs other people's notebooks.
    """
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython else None
    is_notebook = getattr(shell, "kernel", None) is not None
    if task is None or not is_notebook or os.environ.get("NBGRADER_EXECUTION") == "autograde":
        return
    if shell not in _followed:
        _followed[:] = [shell]
        shell.events.register("post_run_cell", _keep)
    _met.add(task)


def missed(task: str | None) -> None:
    """Take back a task of the cell that runs now: another check of it was not met.

    A cell may succeed all the same, where a reader catches what ``check`` raises.
    """
    _met.discard(task or "")


def _keep(result: Any) -> None:
    """Record what was met in a cell that has run to its end, not in one that failed later on."""
    tasks = sorted(_met)
    _met.clear()
    if tasks and result.success:
        _unwritten.update(tasks)
        with contextlib.suppress(Exception):  # Jupyter would print a traceback below the answer
            if record(sorted(_unwritten)):
                _unwritten.clear()


def under_way() -> str | None:
    """Return the task whose function runs now: the outermost function of a lesson that does."""
    found, frame = None, sys._getframe(1)
    while frame:
        if place := LESSON.fullmatch(frame.f_globals.get("__name__", "")):
            found = f"{place[1]}/{place[2]}.{frame.f_code.co_name}"
        frame = frame.f_back  # type: ignore[assignment]
    return found


def named(value: object) -> str | None:
    """Return the task that is a value in a module of a lesson, such as a blank."""
    for module_name, module in [*sys.modules.items()]:
        if place := LESSON.fullmatch(module_name):
            for name, held in [*vars(module).items()]:
                if held is value:
                    return f"{place[1]}/{place[2]}.{name}"
    return None
