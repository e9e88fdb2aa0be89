"""``mlc-course compile`` and ``mlc-course run``, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlc_course.commands.cli import USAGE_STATUS, main

GRAPH = """\
small(X[b=8, d=64], W[d, n=96]):
  squares = square(X)
  total = sum(squares, axis=1)
  rms = sqrt(total)
  normed = div(X, rms)
  Y = matmul(normed, W)
  return Y
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "small.txt"
    path.write_text(GRAPH)
    return str(path)


def test_kernels_are_printed(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", source, "--threads", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("\nkernel ") == 5
    assert "kernel Y(normed[8, 64], W[64, 96]) -> Y[8, 96]" in printed
    assert "between kernels: squares[8, 64]" in printed


@pytest.mark.parametrize(
    ("suffix", "said"), [(".txt", "kernel squares("), (".ll", "define "), (".s", "ret")]
)
def test_a_text_is_written(source: str, tmp_path: Path, suffix: str, said: str) -> None:
    out = tmp_path / f"kernels{suffix}"
    assert main(["compile", source, "--out", str(out), "--threads", "1"]) == 0
    assert said in out.read_text()


def test_a_graph_is_run_and_checked(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    arguments = ["run", source, "--check", "--time", "--threads", "1", "--json", str(file)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "agrees with the interpreter in float64" in printed
    assert "NumPy" in printed
    record = json.loads(file.read_text())
    assert record["kernels"] == 5
    assert record["errors"][0] < 1e-5
    assert record["times"][0]["ratio"] > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compile", "no_such_graph"], "no such file, and no graph of the course"),
        (["compile", "lora", "--target", "tpu"], "no target"),
        (["compile", "lora", "--storage", "int4"], "no storage"),
        (["compile", "lora", "--threads", "4000"], "threads"),
        (["compile", "lora", "--out", "kernels.docx"], "cannot write"),
        (["compile", "lora", "--out", "/proc/no/kernels.txt"], "cannot write"),
        (["run", "lora", "--json", "/proc/no/found.json"], "cannot write"),
        (["superoptimize", "lora", "--run"], "--target cpu"),
        (["superoptimize", "lora", "--target", "tpu"], "no target"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == USAGE_STATUS
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_a_program_becomes_measured_kernels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    arguments = ["superoptimize", "lora", "--target", "cpu", "--run", "--jobs", "1"]
    assert main([*arguments, "--fresh", "--threads", "1", "--json", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "measured on 1 thread, in turns with NumPy" in printed
    measured = json.loads(file.read_text())["measured"]
    names = [each["name"] for each in measured]
    assert "unfused" in names and len(names) >= 3
    ratios = [each["ratio"] for each in measured]
    assert ratios == sorted(ratios, reverse=True)
    assert all(error <= 1e-5 for each in measured for error in each["errors"])
