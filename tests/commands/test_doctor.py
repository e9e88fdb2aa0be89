from __future__ import annotations

import ast
import json
import os
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from processes import all_end

from mlc_course.commands import cli, doctor
from mlc_course.commands.doctor import Finding, Status, pinned_pair
from mlc_course.machine import UNKNOWN, Machine
from mlc_course.measure import Noise, Timing
from mlc_course.mugraph.cuda import driver_version

ROOT = Path(__file__).parents[2]
PAIR = {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.14.post1"}
PLAIN = Machine("a CPU", "a system", 2, "SSE", 128, 16, 0, 0, 0, 64, 1 << 33)
FAST = Machine("a CPU", "a system", 2, "AVX2", 256, 16, 1 << 15, 1 << 20, 0, 64, 1 << 33)


BLANK = Machine("a CPU", "a system", 2, UNKNOWN, 128, 16, 0, 0, 0, 64, 1 << 33)
SLEEPS = (sys.executable, "-c", "import time; time.sleep(600)")


def prints(text: str, status: int = 0) -> tuple[str, ...]:
    return (sys.executable, "-c", f"print({text!r}); raise SystemExit({status})")


HOPPER = {"name": "a Hopper", "arch": "90"}


def driver_says(
    gpus: list[dict[str, str]], *, version: tuple[int, int] | None = (13, 0), fault: str = ""
) -> tuple[str, ...]:
    said = {"version": version, "extra": "gpu13", "gpus": gpus, "fault": fault}
    return prints(json.dumps(said))


def script(folder: Path, text: str) -> str:
    """A program that exists, and does this."""
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def refuses_to_write(folder: Path) -> int:
    raise OSError(30, "Read-only file system")


def noise(*seconds: float) -> Noise:
    return Noise(Timing("matmul", seconds))


def nothing(_name: str) -> None:
    return None


def wrong_pair() -> Finding:
    return doctor.tvm_pair(lambda: PAIR | {"apache-tvm-ffi": "0.1.15.post2"}, lambda: PAIR)


def test_the_metadata_pins_the_pair_exactly() -> None:
    assert pinned_pair() == PAIR


def test_the_pinned_pair_is_ok() -> None:
    assert doctor.tvm_pair(lambda: PAIR, lambda: PAIR).status is Status.OK


@pytest.mark.parametrize("ffi", ["0.1.15.post2", None])
def test_another_pair_is_broken_and_the_remedy_installs_the_pinned_one(ffi: str | None) -> None:
    finding = doctor.tvm_pair(lambda: PAIR | {"apache-tvm-ffi": ffi}, lambda: PAIR)
    assert finding.status is Status.BROKEN
    assert finding.remedy == "pip install apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post1"


CHILD = "print('0.27.0', {!r}, 'LLVM')"
BROKEN_OR_WORSE = [
    (doctor.python_version, {"version": (3, 10, 9)}, Status.BROKEN, "3.10.9"),
    (
        doctor.import_tvm,
        {"command": (sys.executable, "-c", CHILD.format("without"))},
        Status.BROKEN,
        "without LLVM",
    ),
    (
        doctor.import_tvm,
        {"command": (sys.executable, "-c", "import os; os.abort()")},
        Status.BROKEN,
        "status -6",
    ),
    (doctor.import_tvm, {"command": prints("", 0)}, Status.BROKEN, "says nothing"),
    (
        doctor.libraries,
        {"command": doctor.python(doctor.IMPORT_ALL, "json", "no_such_library")},
        Status.BROKEN,
        "no_such_library: ModuleNotFoundError No module named 'no_such_library'",
    ),
    (doctor.libraries, {"command": prints("", 0)}, Status.BROKEN, "says nothing"),
    (doctor.libraries, {"command": prints("all tried", 3)}, Status.BROKEN, "all tried"),
    (doctor.lesson_libraries, {"command": prints("", 0)}, Status.BROKEN, "says nothing"),
    (doctor.jupyterlab, {"installed": lambda _: None}, Status.WARNING, "missing; the engines"),
    (
        doctor.c_library,
        {"system": "linux", "found": lambda: ("glibc", "2.17")},
        Status.BROKEN,
        "glibc 2.17",
    ),
    (
        doctor.c_library,
        {"system": "linux", "found": lambda: ("", "")},
        Status.BROKEN,
        "not glibc (musl?)",
    ),
    (
        doctor.command_on_path,
        {"which": lambda _: "/another/env/bin/mlc-course"},
        Status.WARNING,
        "/another/env/bin/mlc-course, and this is",
    ),
    (
        doctor.versions,
        {
            "lines": lambda: ["numpy", 'onnx; extra == "onnx"', 'mlc-course[lab]; extra == "dev"'],
            "tested": lambda: {"numpy": "2.4.6", "onnx": "1.23.2"},
            "installed": {"numpy": "2.5.0", "mlc-course": "0.1.0"}.get,
        },
        Status.WARNING,
        "numpy 2.5.0 (tested: 2.4.6)",
    ),
    (
        doctor.folder_of_the_course,
        {"find": lambda: Path("/dev/null")},
        Status.WARNING,
        "/dev/null cannot be written: Not a directory",
    ),
    (
        doctor.folder_of_the_course,
        {"find": lambda: ROOT, "free": lambda _: 1 << 20},
        Status.WARNING,
        "0.0 GiB free",
    ),
    (doctor.jupyterlab, {"command": prints("no jupyterlab", 1)}, Status.BROKEN, "no jupyterlab"),
    (
        doctor.jupyterlab,
        {"command": prints("4.6.6\n/another/env/bin/python")},
        Status.BROKEN,
        "4.6.6, but notebooks run in /another/env/bin/python",
    ),
    (
        doctor.nbgrader,
        {"command": (sys.executable, "-c", "import no_such_module")},
        Status.WARNING,
        "No module named 'no_such_module'; optional",
    ),
    (
        doctor.cpu_quota,
        {"quota": lambda: 0.5, "cores": lambda: 2},
        Status.WARNING,
        "0.5 of 2 cores",
    ),
    (doctor.vector_width, {"describe": lambda: BLANK}, Status.WARNING, "unknown; programs are"),
    (doctor.cache_folder, {"folder": Path("/dev/null/no")}, Status.WARNING, "cannot be written"),
    (
        doctor.cache_folder,
        {"free": refuses_to_write},
        Status.WARNING,
        "cannot be written: Read-only file system",
    ),
    (doctor.cache_folder, {"free": lambda _: 1 << 20}, Status.WARNING, "0.0 GiB free"),
    (doctor.characters, {"encoding": "ascii"}, Status.WARNING, "ascii, which lacks some"),
    (doctor.characters, {"encoding": "iso8859-1"}, Status.WARNING, "lacks some"),
    (doctor.characters, {"encoding": "no such encoding"}, Status.WARNING, "lacks some"),
    (doctor.blas, {"pools": list}, Status.WARNING, "no BLAS"),
    (doctor.cores_and_caches, {"describe": lambda: PLAIN}, Status.WARNING, "caches unknown"),
    (doctor.vector_width, {"describe": lambda: PLAIN}, Status.WARNING, "16 registers of 128 bits"),
    (doctor.free_memory, {"available": lambda: 1 << 29}, Status.WARNING, "0.5 GiB"),
    (doctor.timing_noise, {"noise": lambda: noise(1, 2, 3)}, Status.WARNING, "noisy"),
    (
        doctor.opencl,
        {"installed": lambda _: "2026.1", "command": (sys.executable, "-c", "")},
        Status.WARNING,
        "no device",
    ),
    (
        doctor.opencl,
        {
            "installed": lambda _: "2026.1",
            "command": (sys.executable, "-c", "import os; os.abort()"),
        },
        Status.WARNING,
        "status -6",
    ),
    (
        doctor.gpu,
        {"command": prints("Segmentation fault", 1)},
        Status.WARNING,
        "Segmentation fault",
    ),
    (
        doctor.gpu,
        {"command": driver_says([], fault="CUDA_ERROR_NO_DEVICE"), "installed": nothing},
        Status.WARNING,
        "no GPU, driver for CUDA 13.0: CUDA_ERROR_NO_DEVICE; kernels run on cpu",
    ),
    (
        doctor.gpu,
        {"command": driver_says([HOPPER]), "installed": nothing},
        Status.WARNING,
        "a Hopper (sm_90), driver for CUDA 13.0; CuPy is missing; kernels run on cpu",
    ),
    (
        doctor.gpu,
        {"command": driver_says([HOPPER]), "installed": {"cupy-cuda12x": "14"}.get},
        Status.WARNING,
        "cupy-cuda12x does not fit it",
    ),
    (doctor.nvrtc, {"found": lambda: ()}, Status.WARNING, "missing; optional"),
    (
        partial(doctor.program, "valgrind", ("valgrind",), "counts", "remedy", lambda _: ""),
        {"which": nothing},
        Status.WARNING,
        "missing; optional: counts",
    ),
]


@pytest.mark.parametrize(("check", "facts", "status", "detail"), BROKEN_OR_WORSE)
def test_a_check_refuses(check: Any, facts: dict[str, Any], status: Status, detail: str) -> None:
    finding = check(**facts)
    assert finding.status is status
    assert detail in finding.detail
    assert finding.remedy


@pytest.mark.parametrize(
    ("check", "facts", "detail"),
    [
        (doctor.python_version, {"version": (3, 14, 0)}, "3.14.0"),
        (
            doctor.import_tvm,
            {"command": (sys.executable, "-c", CHILD.format("with"))},
            "0.27.0 with LLVM",
        ),
        (doctor.c_library, {"system": "linux", "found": lambda: ("glibc", "2.28")}, "glibc 2.28"),
        (doctor.c_library, {"system": "darwin"}, "that of darwin"),
        (doctor.command_on_path, {"which": nothing}, "not on PATH (source"),
        (
            doctor.command_on_path,
            {"which": lambda _: str(Path(sys.executable).with_name("mlc-course"))},
            "mlc-course, and this is",
        ),
        (doctor.lesson_libraries, {"installed": nothing}, "not installed, as JupyterLab is not"),
        (
            doctor.extras,
            {
                "lines": lambda: ["numpy", 'onnx; extra == "onnx"', 'nbgrader; extra == "grade"'],
                "installed": {"onnx": "1.23.2"}.get,
            },
            "onnx; pip install 'mlc-course[NAME]' adds grade (marks)",
        ),
        (doctor.versions, {"lines": lambda: ["numpy"], "tested": dict}, "constraints.txt"),
        (doctor.folder_of_the_course, {"find": lambda: ROOT}, "GiB free"),
        (doctor.cores_and_caches, {"describe": lambda: FAST}, "2 cores, L1d 32 KiB, L2 1024 KiB"),
        (doctor.vector_width, {"describe": lambda: FAST}, "AVX2"),
        (doctor.timing_noise, {"noise": lambda: noise(1, 1, 1)}, "quiet"),
        (doctor.gpu, {"command": driver_says([], version=None)}, "no NVIDIA driver; kernels run"),
        (
            doctor.gpu,
            {"command": driver_says([HOPPER]), "installed": {"cupy-cuda13x": "14.2.0"}.get},
            "a Hopper (sm_90), driver for CUDA 13.0, CuPy 14.2.0",
        ),
        (doctor.nvrtc, {"found": lambda: (13, 12)}, "CUDA 13, CUDA 12"),
        (doctor.opencl, {"installed": nothing}, "optional"),
        (doctor.opencl, {"installed": lambda _: "1", "command": prints("PoCL\nB")}, "PoCL, B"),
        (doctor.jupyterlab, {"command": prints("4.6.6\npython")}, "4.6.6"),
        (doctor.jupyterlab, {"command": prints(f"4.6.6\n{sys.executable}")}, "4.6.6"),
        (doctor.nbgrader, {"command": prints("0.9.6")}, "0.9.6"),
        (doctor.cpu_quota, {"quota": lambda: None}, "none"),
        (doctor.cpu_quota, {"quota": lambda: 8.0, "cores": lambda: 2}, "none"),
        (doctor.cpu_quota, {"quota": lambda: 2.5, "cores": lambda: 64}, "2.5 of 64 cores"),
        (doctor.characters, {"encoding": "utf-8"}, "utf-8"),
    ],
)
def test_a_check_accepts(check: Any, facts: dict[str, Any], detail: str) -> None:
    finding = check(**facts)
    assert finding.status is Status.OK
    assert detail in finding.detail
    assert not finding.remedy


def test_the_driver_of_this_machine_is_asked() -> None:
    finding = doctor.gpu()
    assert finding.status is not Status.BROKEN
    if driver_version() is None:
        assert finding.status is Status.OK
        assert "no NVIDIA driver" in finding.detail and "cpu, opencl and box" in finding.detail


@pytest.mark.parametrize("extra", doctor.CUPY_OF)
def test_every_extra_for_a_gpu_is_one_of_the_course(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    brought = project["optional-dependencies"][extra]
    assert any(line.partition(";")[0] == doctor.CUPY_OF[extra] for line in brought)


PROGRAMS = {each.args[0]: each for each in doctor.OPTIONAL if isinstance(each, partial)}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo it cannot run here >&2; exit 1", "it cannot run here"),
        ("exit 0", "does not do what it should"),
        ("echo Version 1.0", "does not do what it should: Version 1.0"),
        ("kill -ABRT $$", "status -6"),
    ],
)
def test_a_program_that_exists_and_fails_is_not_ok(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    path = script(tmp_path, text)
    finding = PROGRAMS[name](which=lambda _: path)
    assert finding.status is Status.WARNING
    assert f"{path} fails" in finding.detail
    assert words in finding.detail
    assert finding.remedy


@pytest.mark.parametrize("text", ["not a program", ""])
def test_a_file_that_is_no_program_is_not_ok(tmp_path: Path, text: str) -> None:
    path = tmp_path / "valgrind"
    path.write_text(text)
    finding = PROGRAMS["valgrind"](which=lambda _: str(path))
    assert finding.status is Status.WARNING
    assert "Permission denied" in finding.detail


@pytest.mark.parametrize("name", ["chromium", "valgrind"])
def test_a_program_that_hangs_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(doctor, "PATIENCE_S", 2.0)
    pids = tmp_path / "pids"
    path = script(tmp_path, f"echo $$ > {pids}; sleep 600 & echo $! >> {pids}; sleep 600")
    finding = PROGRAMS[name](which=lambda _: path)
    assert "does not end" in finding.detail
    # A busy machine may end it before it has written anything.
    assert not pids.exists() or all_end(map(int, pids.read_text().split()))


@pytest.mark.parametrize(
    "check", [doctor.import_tvm, doctor.libraries, doctor.jupyterlab, doctor.nbgrader]
)
def test_a_python_that_hangs_is_told(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PATIENCE_S", 0.2)
    assert "does not end" in check(command=SLEEPS).detail


def test_a_folder_without_the_right_to_write_is_not_ok(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    assert "Permission denied" in doctor.cache_folder(tmp_path / "cache").detail


def test_the_cache_folder_is_left_as_it_was(tmp_path: Path) -> None:
    assert doctor.cache_folder(tmp_path).status is Status.OK
    assert not list(tmp_path.iterdir())


def imported(source: str) -> set[str]:
    lines = [line for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))]
    found = set()
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        if isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"mlc_course"}


def test_every_library_that_is_imported_is_tried() -> None:
    root = Path(doctor.__file__).parents[2]
    sources = [path.read_text() for path in (root / "mlc_course").rglob("*.py")]
    for path in [*(root / "notebooks").glob("*.ipynb"), *(root / "solutions").glob("*/*.ipynb")]:
        cells = json.loads(path.read_text())["cells"]
        sources += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    tried = {*doctor.LIBRARIES, *doctor.OF_LESSONS, "tvm", "tvm_ffi", "nbgrader"}
    tried |= {"jupyterlab", "jupyter_client"}
    its_own = imported(Path(doctor.__file__).read_text())
    optional = {"cupy", "pyopencl", "distributed", "onnx", "argcomplete"}
    assert not set().union(*map(imported, sources)) - optional - tried - its_own


def fainting() -> Finding:
    raise OSError("no such register\nand more")


def test_a_check_that_raises_is_a_finding() -> None:
    needed, optional = doctor.examine((fainting,), (fainting,))
    assert (needed.status, optional.status) == (Status.BROKEN, Status.WARNING)
    assert needed.name == "fainting"
    assert needed.detail == "OSError: no such register"


def run_doctor_with(
    monkeypatch: pytest.MonkeyPatch, *checks: doctor.Check, arguments: tuple[str, ...] = ()
) -> int:
    monkeypatch.setattr(doctor, "examine", partial(doctor.examine, checks, ()))
    return cli.main(["doctor", *arguments])


def test_a_wrong_pair_ends_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_doctor_with(monkeypatch, wrong_pair) == 1
    line, remedy = capsys.readouterr().out.splitlines()
    assert line.startswith("broken   TVM pair")
    assert "-> pip install apache-tvm==0.27.0.post1" in remedy


def test_a_warning_ends_with_status_0(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_doctor_with(monkeypatch, partial(doctor.nbgrader, prints("", 1))) == 0


def test_json_holds_every_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_doctor_with(monkeypatch, wrong_pair, doctor.python_version, arguments=("--json", "-"))
    pair, python = json.loads(capsys.readouterr().out)["findings"]
    assert (pair["status"], python["status"]) == ("broken", "ok")
    assert set(pair) == {"name", "status", "detail", "remedy"}


def test_nothing_that_the_course_needs_is_broken_here() -> None:
    broken = [str(finding) for finding in doctor.examine() if finding.status is Status.BROKEN]
    assert not broken
