"""``mlc-course ladder``, as its user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlc_course import cli

FIELDS = {
    "name",
    "why",
    "median_s",
    "ratio_to_numpy",
    "ratio_iqr",
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


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["ladder", "sort"], "no ladder for 'sort'"),
        (["ladder", "softmax", "--rungs", "naive,elevator"], "no such rung"),
        (["ladder", "softmax", "--sizes", "3"], "wrong number of sizes"),
        (["ladder", "softmax", "--sizes", "3,0"], "below one"),
        (["ladder", "softmax", "--threads", "0"], "threads"),
        (["ladder", "softmax", "--threads", "100000"], "threads"),
        (["ladder", "softmax", "--plot", "picture.doc"], "cannot write"),
        (["ladder", "softmax", "--roofline", "picture.doc"], "cannot write"),
        (["ladder", "softmax", "--json", "/proc/nowhere/ladder.json"], "cannot write"),
        (["tune", "matmul", "--rpc", "somewhere"], "a fleet is an address and a key"),
        (["tune", "matmul", "--strategy", "luck"], "no strategy 'luck'"),
        (["tune", "matmul", "--trials", "0"], "too few trials"),
        (["tune", "matmul", "--json", "/proc/nowhere/tune.json"], "cannot write"),
    ],
)
def test_bad_input_is_refused_before_anything_is_measured(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 2
    captured = capsys.readouterr()
    assert complaint in captured.err and "expected" in captured.err
    assert "naive" not in captured.out


@pytest.mark.parametrize("words", [["--sizes", "a,b"], ["--threads", "two"]])
def test_what_is_no_number_is_a_usage_error(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["ladder", "softmax", *words])


@pytest.mark.slow
def test_ctrl_c_keeps_the_rungs_that_are_done(tmp_path: Path) -> None:
    path = tmp_path / "ladder.json"
    command = [sys.executable, "-m", "mlc_course.cli", "ladder", "matmul", "--json", str(path)]
    with subprocess.Popen(
        [*command, "--rungs", "reorder,naive,tile", "--sizes", "1024,1024,1024"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as climb:
        assert climb.stdout is not None
        lines = iter(climb.stdout.readline, "")
        next(line for line in lines if line.startswith("naive"))
        start = time.monotonic()
        climb.send_signal(2)
        rest = climb.stdout.read()
        assert climb.wait(60) == 130
        assert time.monotonic() - start < 30
    assert [rung["name"] for rung in json.loads(path.read_text())["rungs"]][0] == "naive"
    assert "record:" in rest
