"""``mlc-course doctor``: is this machine ready for the course? One small check for each fact.

A check takes the facts that it judges as arguments whose defaults read them from this machine, so
that a test can hand it others.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata
from typing import Any

import numpy as np
import psutil
from threadpoolctl import threadpool_info

from mlc_course import machine, measure
from mlc_course.errors import MachineError

COURSE = "mlc-course"
TVM_PAIR = ("apache-tvm", "apache-tvm-ffi")
OLDEST_PYTHON = (3, 11)
ENOUGH_MEMORY = 1 << 30  # bytes; the tensors of the largest lesson and a compiler beside them
PATIENCE_S = 60.0  # for another program's answer
# In a child process, because a TVM that does not fit its ffi ends the process that imports it.
IMPORT_TVM = (
    "import tvm; "
    "print(tvm.__version__, 'with' if tvm.runtime.enabled('llvm') else 'without', 'LLVM')"
)


def installed_version(package: str) -> str | None:
    """The version that pip would list, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def installed_pair() -> dict[str, str | None]:
    """The versions of TVM and its ffi that are here."""
    return {package: installed_version(package) for package in TVM_PAIR}


def pinned_pair() -> dict[str, str | None]:
    """The versions of TVM and its ffi that the course's own metadata asks for, exactly.

    Raises ``MachineError`` when the course is imported from a folder without being installed.
    """
    try:
        requirements = metadata.requires(COURSE) or []
    except metadata.PackageNotFoundError:
        raise MachineError(f"the package {COURSE} is not installed", hint="make setup") from None
    exact = dict(line.split("==", 1) for line in requirements if "==" in line and ";" not in line)
    return {package: exact.get(package) for package in TVM_PAIR}


class Status(StrEnum):
    """``broken`` is kept for what the CPU course cannot do without."""

    OK = "ok"
    WARNING = "warning"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """The finding of one check, and what to do about it (empty where there is nothing to do)."""

    name: str
    status: Status
    detail: str
    remedy: str = ""

    def __str__(self) -> str:
        line = f"{self.status:<8} {self.name:<16} {self.detail}"
        return f"{line}\n{'':<25} -> {self.remedy}" if self.remedy else line


Check = Callable[[], Finding]


def judge(name: str, good: bool, detail: str, otherwise: Status, remedy: str) -> Finding:
    """Ok when ``good``; ``otherwise`` that status with its remedy."""
    return Finding(name, Status.OK, detail) if good else Finding(name, otherwise, detail, remedy)


def python_version(version: tuple[int, ...] = sys.version_info[:3]) -> Finding:
    """The interpreter that runs this."""
    return judge(
        "Python",
        version >= OLDEST_PYTHON,
        ".".join(map(str, version)),
        Status.BROKEN,
        "make clean setup PYTHON=python3.12 (any Python from 3.11 on)",
    )


def tvm_pair(
    installed: Callable[[], Mapping[str, str | None]] = installed_pair,
    pinned: Callable[[], Mapping[str, str | None]] = pinned_pair,
) -> Finding:
    """TVM and its ffi, which crash in any other combination than the pinned one."""
    here, wanted = installed(), pinned()
    detail = ", ".join(f"{package} {version or 'missing'}" for package, version in here.items())
    exactly = " ".join(f"{package}=={version}" for package, version in wanted.items())
    return judge("TVM pair", here == wanted, detail, Status.BROKEN, f"pip install {exactly}")


def import_tvm(command: tuple[str, ...] = (sys.executable, "-c", IMPORT_TVM)) -> Finding:
    """Check that this Python loads TVM, and that TVM generates machine code."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    detail = said[-1] if said else f"ended with status {done.returncode} and said nothing"
    good = done.returncode == 0 and detail.endswith("with LLVM")
    return judge("import tvm", good, detail, Status.BROKEN, "make clean setup")


def blas(pools: Callable[[], list[dict[str, Any]]] = threadpool_info) -> Finding:
    """The library behind NumPy's matrix product, which is the baseline of every ladder."""
    found = [pool for pool in pools() if pool.get("user_api") == "blas"]
    libraries = ", ".join(
        f"{pool['internal_api']} {pool.get('version') or ''} with {pool['num_threads']} threads"
        for pool in found
    )
    return judge(
        "BLAS",
        bool(found),
        f"NumPy {np.__version__}, {libraries or 'no BLAS whose threads can be limited'}",
        Status.WARNING,
        "ratios to NumPy may use unequal threads: install numpy from PyPI (make clean setup)",
    )


def cores_and_caches(describe: Callable[[], machine.Machine] = machine.describe) -> Finding:
    """Check that the cores and caches are known, from which tile sizes follow."""
    here = describe()
    sizes = {"L1d": here.l1d_bytes, "L2": here.l2_bytes, "L3": here.l3_bytes}
    caches = ", ".join(f"{name} {size >> 10} KiB" for name, size in sizes.items() if size)
    return judge(
        "cores, caches",
        bool(here.l1d_bytes and here.l2_bytes),
        f"{here.cpu}: {here.cores} cores, {caches or 'caches unknown'}",
        Status.WARNING,
        "the system does not tell the cache sizes: lessons that draw them use common ones",
    )


def vector_width(describe: Callable[[], machine.Machine] = machine.describe) -> Finding:
    """Check that the vector width is known, from which the register tile follows."""
    here = describe()
    return judge(
        "vectors",
        here.isa != "SSE",
        f"{here.isa}: {here.vector_registers} registers of {here.vector_bits} bits",
        Status.WARNING,
        "the ladder works, but was only held against NumPy with AVX-512, AVX2 or NEON",
    )


def free_memory(
    available: Callable[[], int] = lambda: psutil.virtual_memory().available,
) -> Finding:
    """Memory that a lesson may take now."""
    free = available()
    return judge(
        "free memory",
        free >= ENOUGH_MEMORY,
        f"{free / (1 << 30):.1f} GiB",
        Status.WARNING,
        "close notebooks and programs that you do not need",
    )


def opencl(
    installed: Callable[[str], str | None] = installed_version,
    devices: Callable[[], list[str]] | None = None,
) -> Finding:
    """OpenCL devices, which run GPU kernels with real work-groups where there is no GPU."""
    if installed("pyopencl") is None:
        return Finding("OpenCL", Status.OK, "pyopencl is not installed; optional")
    found = (devices or _opencl_devices)()
    return judge(
        "OpenCL",
        bool(found),
        ", ".join(found) or "pyopencl finds no device",
        Status.WARNING,
        "pip install pocl-binary-distribution gives a device that runs on the CPU",
    )


def _opencl_devices() -> list[str]:
    import pyopencl  # optional, so not at the top

    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.LogicError:  # its way to say: none
        return []
    return [str(device.name) for platform in platforms for device in platform.get_devices()]


def gpu(which: Callable[[str], str | None] = shutil.which) -> Finding:
    """An NVIDIA GPU and its driver; nothing on a CPU needs one."""
    command = which("nvidia-smi")
    if command is None:
        return Finding("GPU", Status.OK, "no NVIDIA driver; the CPU course needs none")
    query = [command, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True, timeout=PATIENCE_S)
    found = "; ".join(done.stdout.strip().splitlines())
    return judge(
        "GPU",
        done.returncode == 0 and bool(found),
        found or "nvidia-smi fails",
        Status.WARNING,
        "run nvidia-smi by hand: driver and kernel module may differ until a reboot",
    )


def jupyterlab(installed: Callable[[str], str | None] = installed_version) -> Finding:
    """Check that JupyterLab, in which lessons are read, is installed."""
    version = installed("jupyterlab")
    return judge(
        "JupyterLab", version is not None, version or "missing", Status.BROKEN, "make setup"
    )


def nbgrader(installed: Callable[[str], str | None] = installed_version) -> Finding:
    """Check that nbgrader, with which an instructor releases exercises, is installed."""
    version = installed("nbgrader")
    detail = version or "missing; optional: instructors need it"
    return judge("nbgrader", version is not None, detail, Status.WARNING, "make setup")


def program(
    name: str,
    commands: tuple[str, ...],
    purpose: str,
    which: Callable[[str], str | None] = shutil.which,
) -> Finding:
    """An optional program of the system: any of ``commands`` will do."""
    found = next((path for command in commands if (path := which(command))), None)
    detail = f"missing; optional: {purpose}"
    return judge(name, found is not None, found or detail, Status.WARNING, f"apt install {name}")


def timing_noise(noise: Callable[[], measure.Noise] = measure.noise) -> Finding:
    """Check that the same arithmetic takes the same time, right now."""
    now = noise()
    return judge(
        "timing",
        now.verdict == "quiet",
        f"{now.verdict}: the middle half of equal runs spans {now.spread:.1%} of their median",
        Status.WARNING,
        "close other programs, plug a laptop in; trust ratios more than times",
    )


NEEDED: tuple[Check, ...] = (
    python_version,
    tvm_pair,
    import_tvm,
    jupyterlab,
    blas,
    cores_and_caches,
    vector_width,
    free_memory,
    timing_noise,
)
OPTIONAL: tuple[Check, ...] = (
    opencl,
    gpu,
    nbgrader,
    functools.partial(
        program, "chromium", ("chromium", "chromium-browser"), "the browser test needs it"
    ),
    functools.partial(program, "valgrind", ("valgrind",), "counts cache misses"),
    functools.partial(program, "bubblewrap", ("bwrap",), "keeps graded programs locked in"),
)


def examine(
    needed: Iterable[Check] = NEEDED, optional: Iterable[Check] = OPTIONAL
) -> Iterator[Finding]:
    """Each check's finding, as it comes; a check that raises is a finding too, not the end."""
    for checks, when_it_raises in ((needed, Status.BROKEN), (optional, Status.WARNING)):
        for check in checks:
            yield _attempt(check, when_it_raises)


def _attempt(check: Check, when_it_raises: Status) -> Finding:
    try:
        return check()
    except Exception as error:  # a doctor who faints helps nobody
        name = getattr(check, "__name__", "a check").replace("_", " ")
        first_line = str(error).partition("\n")[0]
        return Finding(name, when_it_raises, f"{type(error).__name__}: {first_line}", "make setup")


def run(*, as_json: bool) -> int:
    """Print each finding as it comes, or all as JSON; 1 when something needed is broken, else 0."""
    findings = []
    for finding in examine():
        findings.append(finding)
        if not as_json:
            print(finding, flush=True)
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    return int(any(finding.status is Status.BROKEN for finding in findings))
