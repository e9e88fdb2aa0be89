"""``mlc-course ladder``, as its user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlc_course.commands import cli, ladder
from mlc_course.tensor_program.memory import Roofs

FIELDS = {
    "name",
    "why",
    "median_s",
    "ratio_to_numpy",
    "ratio_iqr",
    "ratio_interval",
    "warning",
    "gflops",
    "fraction_of_peak",
    "relative_error",
}


def test_a_quick_climb_prints_every_rung_and_writes_what_it_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {suffix: tmp_path / f"new folder/ladder.{suffix}" for suffix in ("json", "png")}
    command = ["ladder", "softmax", "--sizes", "20,32"]
    roofline = tmp_path / "roofline.svg"
    command += ["--json", str(paths["json"]), "--plot", str(paths["png"])]
    assert cli.main([*command, "--roofline", str(roofline)]) == 0
    record = json.loads(paths["json"].read_text())
    assert {"machine", "workload", "baseline", "rungs"} <= record.keys()
    assert record["baseline"]["name"] == "NumPy" and record["baseline"]["median_s"] > 0
    printed = capsys.readouterr().out
    for rung in record["rungs"]:
        assert rung.keys() >= FIELDS
        assert rung["name"] in printed
        assert all(fetched > 0 for fetched in rung["bytes_moved"])
    assert len(record["rungs"]) == 5
    assert paths["png"].read_bytes().startswith(b"\x89PNG")
    assert "byte from memory" in roofline.read_text()


def test_ctrl_c_after_the_last_rung_keeps_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ladder.json"
    measured = [ladder.roofs(1)]

    def roofs(threads: int, *, remeasure: bool) -> Roofs:
        if not measured:
            raise KeyboardInterrupt
        return measured.pop()

    def leave() -> None:
        raise SystemExit(130)

    monkeypatch.setattr(ladder, "roofs", roofs)
    monkeypatch.setattr(ladder, "leave", leave)
    command = ["ladder", "softmax", "--sizes", "20,32", "--rungs", "naive", "--json", str(path)]
    with pytest.raises(SystemExit, match="130"):
        cli.main(command)
    assert [rung["name"] for rung in json.loads(path.read_text())["rungs"]] == ["naive"]


@pytest.mark.slow
def test_ctrl_c_keeps_the_rungs_that_are_done(tmp_path: Path) -> None:
    path = tmp_path / "ladder.json"
    command = [sys.executable, "-m", "mlc_course.commands", "ladder", "matmul", "--json", str(path)]
    with subprocess.Popen(
        [*command, "--rungs", "reorder,naive,tile", "--sizes", "512,512,512"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's & ignores it
    ) as climb:
        assert climb.stdout is not None
        lines = iter(climb.stdout.readline, "")
        next(line for line in lines if line.startswith("naive"))
        start = time.monotonic()
        climb.send_signal(signal.SIGINT)
        rest = climb.stdout.read()
        assert climb.wait(300) == 130
        assert time.monotonic() - start < 120
    assert [rung["name"] for rung in json.loads(path.read_text())["rungs"]][0] == "naive"
    assert "record:" in rest


def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    picture = str(tmp_path / "picture.svg")
    assert cli.main(["ladder", "softmax", "--plot", picture]) == 2
    said = capsys.readouterr()
    assert "mlc-course[bench]" in said.err and not said.out
