"""``mlc-course lab``: JupyterLab on the course's start page."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from mlc_course.course_files import PACKAGE, course_folder
from mlc_course.errors import MachineError, MissingPackage, UsageError
from mlc_course.extras import install

HIGHEST_PORT = 65535
# Lectures from JupyterLab: the slides' addresses, and a card on the launcher that opens their list.
LECTURES = (
    "--ServerApp.jpserver_extensions=mlc_course.lecture.server=True",
    f"--LabApp.extra_labextensions_path={PACKAGE / 'lecture/labextension'}",
)
# The start page, which JupyterLab shows where it is asked for no file.
START = (
    "--ServerApp.jpserver_extensions=mlc_course.start.server=True",
    f"--LabApp.extra_labextensions_path={PACKAGE / 'start/labextension'}",
)
# Students do not meet the tools of nbgrader that an instructor uses.
FOR_STUDENTS = (
    "--ServerApp.jpserver_extensions=mlc_course.start.for_students=True",
    "--ServerApp.jpserver_extensions=nbgrader.server_extensions.formgrader=False",
    "--ServerApp.jpserver_extensions=nbgrader.server_extensions.course_list=False",
)


def command(root: Path, *, browser: bool, port: int | None, instructor: bool = False) -> list[str]:
    """The command line of JupyterLab, serving ``root`` and opening its start page.

    Raises ``UsageError`` for a port that does not exist.
    """
    if port is not None and not 0 <= port <= HIGHEST_PORT:
        raise UsageError("lab: no such port", expected=f"0 to {HIGHEST_PORT}", got=port)
    words = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}"]
    words += [*LECTURES, *START, *(() if instructor else FOR_STUDENTS)]
    # The address is all that is left of the log, unless something goes wrong.
    words += ["--ServerApp.log_level=ERROR", "--LabApp.log_level=ERROR"]
    if not browser:
        words.append("--no-browser")
    if port is not None:
        words.append(f"--port={port}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        words.append("--allow-root")  # a container's only user; the server listens on loopback
    return words


def environment(inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The inherited variables with this Python's programs first: nbgrader calls alembic by name."""
    own = str(Path(sys.executable).parent)
    path = inherited.get("PATH", os.defpath)
    return {**inherited, "PATH": os.pathsep.join((own, path))}


def has_browser(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> bool:
    """Tell whether a page can be opened for the reader, which a text browser cannot do."""
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if platform == "linux" and not any(environ.get(name) for name in displays):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def run(*, browser: bool, port: int | None, instructor: bool = False) -> int:
    """Become JupyterLab: it takes this process over, and Ctrl-C is its own.

    It serves the folder of the course that this is, or is in. Raises ``UsageError`` where there are
    no lessons, ``MissingPackage`` without JupyterLab, and ``MachineError`` when it does not start.
    """
    words = command(
        course_folder(), browser=browser and has_browser(), port=port, instructor=instructor
    )
    if find_spec("jupyterlab") is None:
        raise MissingPackage("lab: JupyterLab is not installed", hint=install("lab"))
    print("JupyterLab prints its address below. Ctrl-C, twice, stops it.", flush=True)
    try:
        os.execve(words[0], words, environment())
    except OSError as error:
        raise MachineError("lab: JupyterLab does not start", got=error, hint="make setup") from None
