"""``mlc-course superoptimize``, as a user calls it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_course.commands import superoptimize
from mlc_course.commands.cli import USAGE_STATUS, main
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.programs import workload
from mlc_course.mugraph.verify import verify
from mlc_course.parallel import INTERRUPTED


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setattr(superoptimize, "default_folder", lambda: folder)
    return folder


def search(*arguments: str) -> int:
    return main(["superoptimize", *arguments, "--jobs", "1"])


def test_graphs_are_printed_ranked_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, file = tmp_path / "out", tmp_path / "found.json"
    assert search("lora", "--out", str(out), "--json", str(file)) == superoptimize.FOUND
    printed = capsys.readouterr().out
    record = json.loads(file.read_text())
    assert record["program"] == "lora"
    assert record["seconds"] > 0
    assert record["values"] > 100
    assert record["pruned"]["its expression is no part of the goal"] > 1000
    costs = [each["cost"] for each in record["found"]]
    assert costs == sorted(costs)
    assert costs[0] == pytest.approx(sum(record["found"][0]["cost_terms"].values()))
    first = parse(record["found"][0]["text"])
    assert verify(workload("lora"), first, seed=3).equal
    assert str(first) in printed
    assert parse((out / "lora_01.txt").read_text()) == first
    assert len(list(out.glob("lora_*.txt"))) == len(costs)
    assert "than the program:" in printed
    assert "than the second:" in printed
    assert record["found"][0]["verdict"]["error_bound"] <= 1e-9


def test_the_second_time_nothing_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert search("gqa", "--max-ops", "7") == superoptimize.FOUND
    before = capsys.readouterr().out.partition("ranked")[2]
    monkeypatch.setattr("mlc_course.mugraph.search.superoptimizer.explore", None)
    assert search("gqa", "--max-ops", "7") == superoptimize.FOUND
    assert capsys.readouterr().out.partition("ranked")[2] == before
    with pytest.raises(TypeError):
        search("gqa", "--max-ops", "7", "--fresh")


def test_a_file_in_the_text_form_is_a_program(tmp_path: Path) -> None:
    path = tmp_path / "scaled.txt"
    path.write_text("scaled(X[b=16, d=64]):\n  E = exp(X)\n  Y = mul(E, X)\n  return Y\n")
    assert search(str(path)) == superoptimize.FOUND


def test_a_search_that_finds_nothing_says_what_came_closest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert search("gated_mlp", "--max-ops", "2") == superoptimize.NOTHING
    printed = capsys.readouterr().out
    assert "no graph found for gated_mlp" in printed
    assert "closest: no loop: it has gate, opened, up; not Y" in printed
    assert "more operators than the limit" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no_such_program"], "no such file"),
        (["lora", "--target", "a1000"], "a100 | h100"),
        (["lora", "--max-ops", "0"], "1 or more"),
        (["lora", "--time-limit", "-1"], "more than 0"),
        (["lora", "--out", f"{__file__}/folder"], "cannot write"),
        (["lora_fused"], "a graph already"),
    ],
)
def test_bad_input_is_refused(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert search(*arguments) == USAGE_STATUS
    assert words in capsys.readouterr().err


def test_executors_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["superoptimize", "lora", "--executor", "tcp://here"]) == USAGE_STATUS
    assert "dask://HOST:PORT" in capsys.readouterr().err


@pytest.mark.slow
def test_a_cluster_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    distributed = pytest.importorskip("distributed")
    assert search("gqa", "--fresh") == superoptimize.FOUND
    alone = capsys.readouterr().out
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        assert (
            main(["superoptimize", "gqa", "--fresh", "--executor", address]) == superoptimize.FOUND
        )
        distributed.default_client().close()  # as the end of the process does
    lines = zip(capsys.readouterr().out.splitlines(), alone.splitlines(), strict=True)
    assert all(got == wanted or " s, ranked for " in got for got, wanted in lines)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_keeps_what_was_found(jobs: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mlc_course.commands", "superoptimize", "qk_norm_attention"]
    file = tmp_path / "found.json"
    with subprocess.Popen(
        [*command, "--jobs", str(jobs), "--json", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's & ignores it
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "FOUND" in line:
                os.killpg(process.pid, signal.SIGINT)
                break
        rest = process.stdout.read()
        assert process.wait(timeout=60) == INTERRUPTED
    assert "stopped; the same command goes on from here" in rest
    record = json.loads(file.read_text())
    assert record["cut"] == ["interrupted"]
    assert record["found"]
