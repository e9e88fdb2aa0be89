from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

import pytest

from mlc_course.commands import cli, doctor
from mlc_course.commands.doctor import Finding, Status, pinned_pair
from mlc_course.machine import Machine
from mlc_course.measure import Noise, Timing

PAIR = {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.14.post1"}
PLAIN = Machine("a CPU", "a system", 2, "SSE", 128, 16, 0, 0, 0, 64, 1 << 33)
FAST = Machine("a CPU", "a system", 2, "AVX2", 256, 16, 1 << 15, 1 << 20, 0, 64, 1 << 33)


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
    (doctor.jupyterlab, {"installed": nothing}, Status.BROKEN, "missing"),
    (doctor.nbgrader, {"installed": nothing}, Status.WARNING, "missing"),
    (doctor.blas, {"pools": list}, Status.WARNING, "no BLAS"),
    (doctor.cores_and_caches, {"describe": lambda: PLAIN}, Status.WARNING, "caches unknown"),
    (doctor.vector_width, {"describe": lambda: PLAIN}, Status.WARNING, "16 registers of 128 bits"),
    (doctor.free_memory, {"available": lambda: 1 << 29}, Status.WARNING, "0.5 GiB"),
    (doctor.timing_noise, {"noise": lambda: noise(1, 2, 3)}, Status.WARNING, "noisy"),
    (
        doctor.opencl,
        {"installed": lambda _: "2026.1", "devices": list},
        Status.WARNING,
        "no device",
    ),
    (
        partial(doctor.program, "valgrind", ("valgrind",), "counts"),
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
        (doctor.cores_and_caches, {"describe": lambda: FAST}, "2 cores, L1d 32 KiB, L2 1024 KiB"),
        (doctor.vector_width, {"describe": lambda: FAST}, "AVX2"),
        (doctor.timing_noise, {"noise": lambda: noise(1, 1, 1)}, "quiet"),
        (doctor.gpu, {"which": nothing}, "needs none"),
        (doctor.opencl, {"installed": nothing}, "optional"),
        (doctor.opencl, {"installed": lambda _: "1", "devices": lambda: ["PoCL"]}, "PoCL"),
    ],
)
def test_a_check_accepts(check: Any, facts: dict[str, Any], detail: str) -> None:
    finding = check(**facts)
    assert finding.status is Status.OK
    assert detail in finding.detail
    assert not finding.remedy


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
    assert run_doctor_with(monkeypatch, partial(doctor.nbgrader, nothing)) == 0


def test_json_holds_every_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_doctor_with(monkeypatch, wrong_pair, doctor.python_version, arguments=("--json",))
    pair, python = json.loads(capsys.readouterr().out)
    assert (pair["status"], python["status"]) == ("broken", "ok")
    assert set(pair) == {"name", "status", "detail", "remedy"}


def test_nothing_that_the_course_needs_is_broken_here() -> None:
    broken = [str(finding) for finding in doctor.examine() if finding.status is Status.BROKEN]
    assert not broken
