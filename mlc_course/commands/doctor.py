"""``mlc-course doctor``: is this machine ready for the course? One small check for each fact.

A check takes the facts that it judges as arguments whose defaults read them from this machine, so
that a test can hand it others. A program is judged by running it: one that only exists may fail.
"""

from __future__ import annotations

import functools
import json
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from platformdirs import user_cache_path
from threadpoolctl import threadpool_info

from mlc_course import machine, measure
from mlc_course.commands.output import NOWHERE, Results
from mlc_course.course_files import PACKAGE, course_folder, origin
from mlc_course.errors import MachineError, UsageError
from mlc_course.extras import install
from mlc_course.mugraph.cuda import generations
from mlc_course.parallel import Said, run_program
from mlc_course.provenance import installed_version

COURSE = "mlc-course"
# As this Python was set up: by make or conda from a checkout, or by pip.
IN_CHECKOUT = (PACKAGE.parent / "Makefile").is_file()
BY_CONDA = (Path(sys.prefix) / "conda-meta").is_dir()
BY_HAND = "conda env update -f environment.yml" if BY_CONDA else "make clean setup"
SETUP = BY_HAND if IN_CHECKOUT else install("lab")
TVM_PAIR = ("apache-tvm", "apache-tvm-ffi")
OLDEST_PYTHON = (3, 11)
ENOUGH_MEMORY = 1 << 30  # bytes; the tensors of the largest lesson and a compiler beside them
ENOUGH_DISK = 64 << 20  # bytes: roofs, results of searches, databases of trials
OLDEST_GLIBC = (2, 28)  # for which TVM's wheels are built
LISTED = 4  # of packages with another version than the course's
PATIENCE_S = 60.0  # for another program's answer, on a machine that is busy
# In a child process, because a TVM that does not fit its ffi ends the process that imports it.
IMPORT_TVM = (
    "import tvm; "
    "print(tvm.__version__, 'with' if tvm.runtime.enabled('llvm') else 'without', 'LLVM')"
)

# What the engines and the lessons import besides; each is tried, in a child process for the same
# reason.
LIBRARIES = (
    *("scipy", "islpy", "tqdm", "cloudpickle", "filelock", "ml_dtypes", "tornado", "xgboost"),
    *("typing_extensions",),
)
OF_LESSONS = (
    *("ipywidgets", "anywidget", "matplotlib", "IPython", "traitlets", "jinja2", "igraph"),
    *("sklearn", "exo", "nbformat", "nbconvert", "mistune", "nbclient", "jupyter_server"),
    "babel",
)
# Extras that anybody may want, by what they are for.
EXTRAS = {
    "lab": "lessons",
    "grade": "marks",
    "bench": "pictures",
    "onnx": "models of ONNX",
    "opencl": "kernels with real work-groups",
    "cluster": "Dask",
}
IMPORT_ALL = """\
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except BaseException as error:
        print(name + ":", type(error).__name__, str(error).partition(chr(10))[0])
print("all tried")
"""
# The kernel that notebooks ask for by its name, and which Python it runs.
FIND_KERNEL = """\
import jupyterlab
from jupyter_client.kernelspec import KernelSpecManager
print(jupyterlab.__version__, KernelSpecManager().get_kernel_spec("python3").argv[0], sep=chr(10))
"""
THIS_PYTHON = ("python", "python3", f"python3.{sys.version_info[1]}")  # so a kernel may name it
LOCK_IN = """\
import sys
from mlc_course.grading.process.sandbox import wall_fault
print(wall_fault(sys.argv[1]) or "locked in")
"""
LIST_OPENCL = """\
import pyopencl
try:
    platforms = pyopencl.get_platforms()
except pyopencl.LogicError:  # its way to say: none
    platforms = []
for platform in platforms:
    for device in platform.get_devices():
        print(device.name)
"""
# In a child process: a driver that does not fit its kernel module may end the process that asks it.
LIST_GPUS = """\
import json
from mlc_course.errors import CourseError
from mlc_course.mugraph.cuda import driver_version, extra_for, gpus
version, found, fault = driver_version(), [], ""
if version:
    try:
        found = gpus()
    except CourseError as error:
        fault = str(error.got or error)
known = [{"name": each.name, "arch": each.arch.removeprefix("sm_")} for each in found]
said = {"version": version, "extra": extra_for(version), "gpus": known, "fault": fault}
print(json.dumps(said))
"""
CUPY_OF = {"gpu12": "cupy-cuda12x", "gpu13": "cupy-cuda13x"}
WITHOUT_GPU = "kernels run on cpu, opencl and box, and CUDA text is written and compiled"
MARK = "mlc-course"  # on a page that Chromium is to show
PAGE = "data:text/html,<script>document.write('mlc'+'-course')</script>"
CHROMIUM = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom")
CACHEGRIND = ("--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null")


def python(source: str, *words: str) -> tuple[str, ...]:
    """The command line of this Python, running a few lines."""
    return (sys.executable, "-c", source, *words)


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


def requirements() -> list[str]:
    """The lines of the course's metadata that name a package, with their markers."""
    try:
        return metadata.requires(COURSE) or []
    except metadata.PackageNotFoundError:
        return []


def extra_of(requirement: str) -> str:
    """The extra for which a line of the metadata names a package; "" for the library itself."""
    found = re.search(r"""extra == ['"]([\w-]+)""", requirement)
    return found[1] if found else ""


def name_of(requirement: str) -> str:
    """The package that a line of the metadata, or of the lock, names."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def locked() -> dict[str, str]:
    """The versions that the course was tested with, by package."""
    try:
        lines = (origin() / "constraints.txt").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return dict(line.split("==", 1) for line in lines if "==" in line and line[0] != "#")


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


def import_tvm(command: tuple[str, ...] = python(IMPORT_TVM)) -> Finding:
    """Check that this Python loads TVM, and that TVM generates machine code."""
    said = run_program(command, PATIENCE_S)
    detail = str(said) if said.status else (said.out.strip() or str(said)).splitlines()[-1]
    good = said.status == 0 and detail.endswith("with LLVM")
    return judge("import tvm", good, detail, Status.BROKEN, SETUP)


def c_library(
    system: str = sys.platform, found: Callable[[], tuple[str, str]] = platform.libc_ver
) -> Finding:
    """The C library, for which TVM and others must have been built."""
    if system != "linux":
        return Finding("C library", Status.OK, f"that of {system}")
    name, version = found()
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    oldest = ".".join(map(str, OLDEST_GLIBC))
    return judge(
        "C library",
        name == "glibc" and numbers >= OLDEST_GLIBC,
        f"{name or 'not glibc (musl?)'} {version}".strip(),
        Status.BROKEN,
        f"TVM's packages need glibc {oldest} or newer: Debian 10, Ubuntu 20.04, RHEL 8, or newer; "
        "in a container, debian:12",
    )


def command_on_path(
    which: Callable[[str], str | None] = shutil.which, own: str = sys.executable
) -> Finding:
    """The ``mlc-course`` that a terminal runs: is it this Python's?"""
    folder, found = Path(own).parent, which(COURSE)
    activate = folder / "activate"
    if found is None:
        detail = f"{folder / COURSE}; not on PATH (source {activate}, or type the whole path)"
        return Finding("command", Status.OK, detail)
    return judge(
        "command",
        os.path.realpath(Path(found).parent) == os.path.realpath(folder),
        f"{found}, and this is {own}",
        Status.WARNING,
        f"another environment comes first on PATH: source {activate}",
    )


def libraries(command: tuple[str, ...] = python(IMPORT_ALL, *LIBRARIES)) -> Finding:
    """Check that what the engines import can be imported."""
    return _all_imported("libraries", LIBRARIES, command)


def lesson_libraries(
    command: tuple[str, ...] = python(IMPORT_ALL, *OF_LESSONS),
    installed: Callable[[str], str | None] = installed_version,
) -> Finding:
    """Check that what the lessons import can be imported, if they were installed at all."""
    if installed("jupyterlab") is None:
        return Finding("of lessons", Status.OK, "not installed, as JupyterLab is not")
    return _all_imported("of lessons", OF_LESSONS, command)


def _all_imported(name: str, tried: tuple[str, ...], command: tuple[str, ...]) -> Finding:
    said = run_program(command, PATIENCE_S)
    *failed, last = said.out.strip().splitlines() or [""]
    good = said.status == 0 and last == "all tried" and not failed
    all_of_them = f"{', '.join(tried[:3])} and {len(tried) - 3} others"
    detail = all_of_them if good else "; ".join(failed) or str(said)
    return judge(name, good, detail, Status.BROKEN, SETUP)


def extras(
    lines: Callable[[], list[str]] = requirements,
    installed: Callable[[str], str | None] = installed_version,
) -> Finding:
    """The extras whose packages are all here, and those that can be added."""
    needed: dict[str, list[str]] = {}
    for line in lines():
        if (extra := extra_of(line)) in EXTRAS and "platform" not in line:
            needed.setdefault(extra, []).append(name_of(line))
    here = [extra for extra, names in needed.items() if all(map(installed, names))]
    there = [f"{extra} ({EXTRAS[extra]})" for extra in needed if extra not in here]
    more = f"; {install('NAME')} adds {', '.join(there)}" if there else ""
    return Finding("extras", Status.OK, f"{', '.join(here) or 'none'}{more}")


def versions(
    lines: Callable[[], list[str]] = requirements,
    tested: Callable[[], dict[str, str]] = locked,
    installed: Callable[[str], str | None] = installed_version,
) -> Finding:
    """Check that the packages are those with which the course was tested."""
    pins = {name.lower(): version for name, version in tested().items()}
    names = sorted({name_of(line) for line in lines() if extra_of(line) in ("", *EXTRAS)})
    other = [
        f"{name} {here} (tested: {pins[name]})"
        for name in names
        if (here := installed(name)) and pins.get(name, here) != here
    ]
    more = f" and {len(other) - LISTED} more" if len(other) > LISTED else ""
    lock = origin() / "constraints.txt"
    return judge(
        "versions",
        not other,
        f"not those of the course's lock: {', '.join(other[:LISTED])}{more}"
        if other
        else f"those of {lock}",
        Status.WARNING,
        f"if something fails: pip install -c '{lock}' '{COURSE}[lab]'",
    )


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
        f"ratios to NumPy may use unequal threads: install numpy from PyPI ({SETUP})",
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


def cpu_quota(
    quota: Callable[[], float | None] = machine.cpu_quota,
    cores: Callable[[], int] = machine.allowed_cores,
) -> Finding:
    """Check that the time of a whole core is this process's: below that no time means anything."""
    limit, there = quota(), cores()
    if limit is None or limit >= there:
        return Finding("CPU quota", Status.OK, "none")
    return judge(
        "CPU quota",
        limit >= 1,
        f"{limit:g} of {there} cores, by the control group (a container's limit)",
        Status.WARNING,
        "give the container at least one core (docker run --cpus=2): with less it is stopped again "
        "and again, and times mean nothing; counts and checks hold",
    )


def vector_width(describe: Callable[[], machine.Machine] = machine.describe) -> Finding:
    """Check that the vector width is known, from which the register tile follows."""
    here = describe()
    registers = f"{here.vector_registers} registers of {here.vector_bits} bits"
    known = here.isa != machine.UNKNOWN
    return judge(
        "vectors",
        known and here.isa != "SSE",
        f"{here.isa}: {registers}" if known else f"unknown; programs are made for {registers}",
        Status.WARNING,
        "the ladder works, but was only held against NumPy with AVX-512, AVX2 or NEON",
    )


def available_memory() -> int:
    """Bytes that are free on this machine and within the limits of its container."""
    free, left = int(psutil.virtual_memory().available), machine.memory_left()
    return free if left is None else min(free, left)


def free_memory(available: Callable[[], int] = available_memory) -> Finding:
    """Memory that a lesson may take now."""
    free = available()
    return judge(
        "free memory",
        free >= ENOUGH_MEMORY,
        f"{free / (1 << 30):.1f} GiB",
        Status.WARNING,
        "close notebooks and programs that you do not need",
    )


def cache_folder(
    folder: Path | None = None,
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
) -> Finding:
    """Check that the folder can be written in which roofs and results of searches are kept."""
    folder = folder or user_cache_path("mlc-course")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(1 << 16))
        room = free(folder)
    except OSError as error:
        fault = f"{folder} cannot be written: {error.strerror or error}"
        remedy = "name a folder that can (export XDG_CACHE_HOME=...), or measure again each time"
        return Finding("cache folder", Status.WARNING, fault, remedy)
    return judge(
        "cache folder",
        room >= ENOUGH_DISK,
        f"{folder}, {room / (1 << 30):.1f} GiB free",
        Status.WARNING,
        "free some disk space: notebooks and results cannot be saved on a full disk",
    )


def folder_of_the_course(
    find: Callable[[], Path] = course_folder,
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
) -> Finding:
    """Check that the folder that ``mlc-course lab`` would open from here can be written."""
    try:
        folder = find()
    except UsageError:
        hint = "none here; mlc-course init DIR lays the lessons out"
        return Finding("course folder", Status.OK, hint)
    try:
        with tempfile.TemporaryFile(dir=folder / "notebooks"):
            pass
        room = free(folder)
    except OSError as error:
        fault = f"{folder} cannot be written: {error.strerror or error}"
        remedy = "answers cannot be saved there: mlc-course init DIR, in a folder of yours"
        return Finding("course folder", Status.WARNING, fault, remedy)
    return judge(
        "course folder",
        room >= ENOUGH_DISK,
        f"{folder}, {room / (1 << 30):.1f} GiB free",
        Status.WARNING,
        "free some disk space: notebooks cannot be saved on a full disk",
    )


def characters(encoding: str | None = None) -> Finding:
    """Check that the terminal and files take the characters that findings and tables use."""
    encoding = encoding or sys.stdout.encoding or "ascii"
    try:
        "\u2714 \u00d7 \u00b5".encode(encoding)  # check mark, times, micro
    except (UnicodeEncodeError, LookupError):
        remedy = "export LC_ALL=C.UTF-8"
        return Finding("characters", Status.WARNING, f"{encoding}, which lacks some", remedy)
    return Finding("characters", Status.OK, encoding)


def opencl(
    installed: Callable[[str], str | None] = installed_version,
    command: tuple[str, ...] = python(LIST_OPENCL),
) -> Finding:
    """OpenCL devices, which run GPU kernels with real work-groups where there is no GPU."""
    if installed("pyopencl") is None:
        return Finding("OpenCL", Status.OK, "pyopencl is not installed; optional")
    said = run_program(command, PATIENCE_S)
    found = ", ".join(said.out.split("\n")[:-1]) if said.status == 0 else ""
    fault = "pyopencl finds no device" if said.status == 0 else str(said)
    return judge(
        "OpenCL",
        bool(found),
        found or fault,
        Status.WARNING,
        "pip install pocl-binary-distribution gives a device that runs on the CPU",
    )


def gpu(
    installed: Callable[[str], str | None] = installed_version,
    command: tuple[str, ...] = python(LIST_GPUS),
) -> Finding:
    """An NVIDIA GPU, its driver, and the CuPy that fits it; nothing on a CPU needs one."""
    said = run_program(command, PATIENCE_S)
    if said.status != 0:
        hint = "run nvidia-smi by hand: driver and kernel module may differ until a reboot"
        return Finding("GPU", Status.WARNING, str(said), hint)
    found = json.loads(said.out.splitlines()[-1])
    if found["version"] is None:
        return Finding("GPU", Status.OK, f"no NVIDIA driver; {WITHOUT_GPU}")
    version = ".".join(map(str, found["version"]))
    devices = ", ".join(f"{each['name']} (sm_{each['arch']})" for each in found["gpus"])
    here = f"{devices or 'no GPU'}, driver for CUDA {version}"
    if found["fault"] or not devices:
        detail = f"{here}: {found['fault'] or 'it shows none'}; {WITHOUT_GPU}"
        return Finding("GPU", Status.WARNING, detail, "run nvidia-smi by hand")
    fitting = CUPY_OF[found["extra"]]
    cupy = installed(fitting) or installed("cupy")
    if cupy:
        return Finding("GPU", Status.OK, f"{here}, CuPy {cupy}")
    others = [each for each in CUPY_OF.values() if installed(each)]
    fault = f"{', '.join(others)} does not fit it" if others else "CuPy is missing"
    remedy = f"pip install 'mlc-course[{found['extra']}]', which brings {fitting}"
    remedy = f"pip uninstall {' '.join(others)}; {remedy}" if others else remedy
    return Finding("GPU", Status.WARNING, f"{here}; {fault}; {WITHOUT_GPU}", remedy)


def nvrtc(found: Callable[[], tuple[int, ...]] = generations) -> Finding:
    """NVIDIA's compiler as a library, which makes machine code for a GPU without one."""
    here = ", ".join(f"CUDA {each}" for each in found())
    return judge(
        "NVRTC",
        bool(here),
        here or "missing; optional: compiles CUDA text without a GPU",
        Status.WARNING,
        "pip install 'mlc-course[cuda-text]' (NVIDIA has none for macOS)",
    )


def jupyterlab(
    command: tuple[str, ...] = python(FIND_KERNEL),
    installed: Callable[[str], str | None] = installed_version,
) -> Finding:
    """Check that JupyterLab, in which lessons are read, is here and runs them with this Python."""
    if installed("jupyterlab") is None:
        detail = "missing; the engines and their commands work, lessons need it"
        return Finding("JupyterLab", Status.WARNING, detail, install("lab"))
    said = run_program(command, PATIENCE_S)
    lines = said.out.strip().splitlines()
    if said.status != 0 or len(lines) != 2:
        return Finding("JupyterLab", Status.BROKEN, str(said), SETUP)
    version, kernel = lines
    # By folder: the Pythons of all virtual environments may be links to the same file.
    here, there = (os.path.realpath(os.path.dirname(path)) for path in (sys.executable, kernel))
    same = os.path.basename(kernel) in (*THIS_PYTHON, os.path.basename(sys.executable))
    own = kernel in THIS_PYTHON or (there == here and same)
    return judge(
        "JupyterLab",
        own,
        version if own else f"{version}, but notebooks run in {kernel}",
        Status.BROKEN,
        f"{sys.executable} -m ipykernel install --user",
    )


def nbgrader(
    command: tuple[str, ...] = python("import nbgrader.apps; print(nbgrader.__version__)"),
) -> Finding:
    """Check that nbgrader, with which an instructor releases exercises, is here."""
    said = run_program(command, PATIENCE_S)
    good = said.status == 0
    detail = said.out.strip() if good else f"{said}; optional: instructors need it"
    return judge("nbgrader", good, detail, Status.WARNING, install("grade"))


def chromium(program: str) -> str:
    """Let Chromium run a script on a page; what went wrong, or an empty text."""
    with tempfile.TemporaryDirectory(prefix="mlc-doctor-") as folder:
        command = (program, *CHROMIUM, f"--user-data-dir={folder}", PAGE)
        said = run_program(command, PATIENCE_S)
    return "" if said.status == 0 and MARK in said.out else _told(said)


def valgrind(program: str) -> str:
    """Count the cache misses of a small program; what went wrong, or an empty text."""
    said = run_program((program, *CACHEGRIND, "true"), PATIENCE_S)
    return "" if said.status == 0 and "refs:" in said.errors else _told(said)


def bubblewrap(program: str) -> str:
    """Lock a program in as the grader does; what went wrong, or an empty text."""
    said = run_program(python(LOCK_IN, program), PATIENCE_S)
    return "" if said.out.strip() == "locked in" else f"does not do what it should: {said}"


def _told(said: Said) -> str:
    return str(said) if said.status != 0 else f"does not do what it should: {said}"


def program(
    name: str,
    commands: tuple[str, ...],
    purpose: str,
    remedy: str,
    fault: Callable[[str], str],
    which: Callable[[str], str | None] = shutil.which,
) -> Finding:
    """An optional program of the system: any of ``commands`` will do, if ``fault`` finds none."""
    found = next((path for command in commands if (path := which(command))), None)
    if found is None:
        install = f"apt-get install {name} (Debian, Ubuntu)"
        return Finding(name, Status.WARNING, f"missing; optional: {purpose}", install)
    wrong = fault(found)
    if not wrong:
        return Finding(name, Status.OK, found)
    detail = f"{found} fails: {wrong.strip().splitlines()[-1]}; optional: {purpose}"
    return Finding(name, Status.WARNING, detail, remedy)


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
    c_library,
    command_on_path,
    tvm_pair,
    import_tvm,
    libraries,
    jupyterlab,
    lesson_libraries,
    extras,
    versions,
    blas,
    cores_and_caches,
    cpu_quota,
    vector_width,
    free_memory,
    cache_folder,
    folder_of_the_course,
    characters,
    timing_noise,
)
OPTIONAL: tuple[Check, ...] = (
    opencl,
    gpu,
    nvrtc,
    nbgrader,
    functools.partial(
        program,
        "chromium",
        ("chromium", "chromium-browser", "google-chrome"),
        "the browser test needs it",
        "apt-get install --reinstall chromium, or run it by hand and read what it says",
        chromium,
    ),
    functools.partial(
        program,
        "valgrind",
        ("valgrind",),
        "counts cache misses",
        "apt-get install valgrind libc6-dbg",
        valgrind,
    ),
    functools.partial(
        program,
        "bubblewrap",
        ("bwrap",),
        "keeps graded programs locked in",
        "let users make namespaces: sysctl kernel.unprivileged_userns_clone=1, on Ubuntu "
        "kernel.apparmor_restrict_unprivileged_userns=0; in a container its host decides",
        bubblewrap,
    ),
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
        name = getattr(check, "__name__", None) or str(getattr(check, "args", ["a check"])[0])
        name = name.replace("_", " ")
        first_line = str(error).partition("\n")[0]
        return Finding(name, when_it_raises, f"{type(error).__name__}: {first_line}", SETUP)


def run(*, results: Results = NOWHERE) -> int:
    """Print each finding as it comes; 1 when something needed is broken, else 0."""
    findings = []
    for finding in examine():
        findings.append(finding)
        print(finding, flush=True)
    broken = any(finding.status is Status.BROKEN for finding in findings)
    results.write({"ready": not broken, "findings": [asdict(finding) for finding in findings]})
    return int(broken)
