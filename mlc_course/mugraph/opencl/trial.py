"""The first compilation of a text, in a process of its own.

Some OpenCL drivers do not refuse a text that they cannot compile: they end the process, and with it
a notebook and all that was computed in it. PoCL compiles a kernel when it is launched, for its
number of threads; so a child process launches every kernel once, on zeros, before this process
does. What passes is remembered, together with the driver and the device. The driver keeps its
machine code, so that it is compiled once.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from platformdirs import user_cache_path

from mlc_course.errors import CourseError, MachineError, RefusedText
from mlc_course.mugraph.opencl.device import CHOICE, MEANWHILE, Device, pyopencl, ways_to_build

CHILD = "mlc_course.mugraph.opencl.trial_child"
HOME = Path(__file__).parents[3]  # of this code, which the child runs as well
REFUSED = 3  # its exit status for a text that the driver refuses
TIME_LIMIT = 300  # seconds for a child
LAST = 1500  # characters of what a compiler says that are shown


@dataclass(frozen=True)
class LaunchSize:
    """A kernel by its name in a text: its launch, and the bytes of each argument."""

    kernel: str
    everywhere: tuple[int, int, int]  # threads of all work-groups, along three axes
    in_group: tuple[int, int, int]
    arguments: tuple[int, ...]


def tried(
    text: str,
    launches: Sequence[LaunchSize],
    on: Device,
    folder: Path | None = None,
    *,
    has_branches: bool = False,
) -> tuple[str, ...]:
    """Return the compiler's options with which a text compiles and runs, as a child found.

    ``folder`` is where that is remembered. Raises ``RefusedText`` for a text that the driver
    refuses, and ``MachineError`` where it ends the process or takes too long, with all options.
    """
    folder = folder or user_cache_path("mlc-course") / "opencl"
    first: CourseError | None = None
    for options in ways_to_build(on, has_branches=has_branches):
        request = json.dumps(
            {
                "text": text,
                "launches": [asdict(each) for each in launches],
                "cores": on.cores,
                "options": options,
            }
        )
        mark = folder / _key(request, on)
        if mark.exists():
            return options
        try:
            _try_in_child(request, on)
        except CourseError as error:
            first = first or error
            continue
        _remember(mark)
        return options
    assert first
    raise first


def _key(request: str, on: Device) -> str:
    known = [request, on.platform, on.version, on.name, on.processor, pyopencl().VERSION]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()


def _remember(mark: Path) -> None:
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError:  # it is tried again next time
        pass


def _try_in_child(request: str, on: Device) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HOME), *sys.path]),
        CHOICE: on.platform,
    }
    with tempfile.TemporaryDirectory() as folder:  # PoCL leaves notes where it fails
        try:
            done = subprocess.run(
                [sys.executable, "-m", CHILD],
                input=request,
                env=environment,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT,
            )
        except subprocess.TimeoutExpired:
            raise MachineError(
                f"OpenCL compiles for more than {TIME_LIMIT} seconds", got=on, hint=MEANWHILE
            ) from None
    said = done.stderr.strip()[-LAST:]
    if done.returncode == REFUSED:
        raise RefusedText(f"OpenCL refuses the text of a kernel on {on}", got=said, hint=MEANWHILE)
    if done.returncode:
        raise MachineError(
            "the OpenCL driver ended the process that compiled a kernel",
            expected=f"a driver that compiles for {on}",
            got=f"exit status {done.returncode}\n{said}",
            hint=f"another platform by {CHOICE}, or a newer driver; {MEANWHILE}",
        )
