"""The first compilation of a text, in a process of its own.

Some OpenCL drivers do not refuse a text that they cannot compile: they end the process, and with it
a notebook and all that was computed in it. PoCL compiles a kernel when it is launched, for its
number of threads; so a child process launches every kernel once, on zeros, before this process
does. A text that has passed is remembered, together with the driver and the device. The driver
keeps its machine code, so that it is compiled once.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from platformdirs import user_cache_path

from mlc_course.errors import MachineError, RefusedText
from mlc_course.mugraph.opencl.device import CHOICE, MEANWHILE, Device, pyopencl

CHILD = "mlc_course.mugraph.opencl.trial_child"
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
    text: str, launches: Sequence[LaunchSize], on: Device, folder: Path | None = None
) -> None:
    """Check in a child process that a text compiles and runs, unless it is known to.

    ``folder`` is where texts that passed are remembered. Raises ``RefusedText`` for a text that
    the driver refuses, and ``MachineError`` where it ends the process or takes too long.
    """
    folder = folder or user_cache_path("mlc-course") / "opencl"
    request = {
        "text": text,
        "launches": [asdict(each) for each in launches],
        "cores": on.cores,
        "platform": on.platform,
    }
    mark = folder / _key(request, on)
    if mark.exists():
        return
    _try_in_child(request, on)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError:  # it is tried again next time
        pass


def _key(request: Mapping[str, object], on: Device) -> str:
    known = json.dumps([request, on.version, on.name, on.processor, pyopencl().VERSION])
    return hashlib.sha256(known.encode()).hexdigest()


def _try_in_child(request: Mapping[str, object], on: Device) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
        CHOICE: on.platform,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", CHILD],
            input=json.dumps(request),
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT,
        )
    except subprocess.TimeoutExpired:
        raise MachineError(
            f"OpenCL compiles for more than {TIME_LIMIT} seconds", got=str(on), hint=MEANWHILE
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
