"""``mlc-course superoptimize``, as a user calls it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from mlc_course.commands import superoptimize
from mlc_course.commands.cli import USAGE_STATUS, main
from mlc_course.mugraph.cost import A100, cost
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.programs import workload
from mlc_course.mugraph.search import Unverified
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
    lines = printed.splitlines()
    assert lines[0].startswith(f"{len(costs)} graphs equal to lora, found in ")
    assert lines[3].split()[:2] == ["the", "program,"]
    assert lines[4].split()[0] == "1"
    assert f"{1e6 * costs[0]:.2f}" in lines[4]
    assert record["found"][0]["kernels"] == len(first.equations)
    assert record["found"][0]["bytes"] < 10**7
    assert "than the program:" in printed
    assert "than the second:" in printed
    assert "pruned" not in printed
    assert record["found"][0]["verdict"]["error_bound"] <= 1e-9


def test_a_search_removes_graphs_of_an_earlier_one_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("lora", "--out", str(tmp_path))
    assert search(*arguments) == superoptimize.FOUND
    graphs = sorted(tmp_path.glob("lora_*.txt"))
    (tmp_path / "lora_99.txt").write_text(graphs[0].read_text())
    (tmp_path / "lora_notes.txt").write_text("mine")
    assert search(*arguments) == superoptimize.FOUND
    assert sorted(tmp_path.glob("lora_*.txt")) == [*graphs, tmp_path / "lora_notes.txt"]
    capsys.readouterr()
    mine = tmp_path / "lora_2.txt"
    mine.write_text(str(workload("lora")))
    assert search(str(mine), "--out", str(tmp_path)) == 2
    assert "a file that is not a search's" in capsys.readouterr().err
    assert mine.read_text() == str(workload("lora"))
    mine.write_text(f"{superoptimize.MARK}r, and changed by me\n")
    assert search(*arguments) == 2
    mine.unlink()
    mine.mkdir()
    assert search(*arguments) == 2
    mine.rmdir()
    mine.symlink_to("nowhere")
    assert search(*arguments) == 2
    assert mine.is_symlink() and all(each.exists() for each in graphs)


def test_the_second_time_nothing_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert search("gqa", "--max-ops", "7") == superoptimize.FOUND
    before = capsys.readouterr().out.partition("not measured")[2]
    monkeypatch.setattr("mlc_course.mugraph.search.superoptimizer.explore", None)
    assert search("gqa", "--max-ops", "7") == superoptimize.FOUND
    assert capsys.readouterr().out.partition("not measured")[2] == before
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
    assert "no cheaper graph found for gated_mlp" in printed
    assert "closest: no loop: it has gate, opened, up; not Y" in printed
    assert "more operators than the limit" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no_such_program"], "no such file"),
        (["lora", "--target", "a1000"], "a100 | h100"),
        (["lora", "--out", f"{__file__}/folder"], "cannot write"),
        (["lora", "--json", str(Path(__file__).parent)], "a folder"),
        (["lora", "--operators", "nowhere.py"], "cannot be run"),
        (["lora", "--operators", __file__], "no operator"),
        (["lora_fused"], "a graph already"),
    ],
)
def test_bad_input_is_refused(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert search(*arguments) == USAGE_STATUS
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lora", "--max-ops", "0"], "argument --max-ops: expected 1 or more, got '0'"),
        (["lora", "--time-limit", "-1"], "argument --time-limit: expected seconds, more than 0"),
        (["lora", "--time-limit", "inf"], "argument --time-limit: expected seconds"),
        (["lora", "--memory", "half"], "argument --memory: expected 2MB or more, such as 4GB"),
        (["lora", "--max-op-s", "3"], "did you mean --max-ops?"),
        (["lora", "--time-limits", "3"], "did you mean --time-limit?"),
    ],
)
def test_options_are_named_as_they_are_written(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=str(USAGE_STATUS)):
        search(*arguments)
    assert words in capsys.readouterr().err


OPERATORS = """
from mlc_course.mugraph.ir import Op, ops

soft_cap = Op(
    "soft_cap",
    ops.elementwise,
    lambda m, x: 50 * (1 - 2 / (m.exp(x / 25) + 1)),
)
"""
CAPPED = "p(X[b=64, d=64]):\n  S = soft_cap(X)\n  E = exp(S)\n  T = sum(E, axis=1)\n  return T\n"


def test_operators_of_one_s_own_come_from_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(OPERATORS)
    (tmp_path / "capped.txt").write_text(CAPPED)
    mine, capped = str(tmp_path / "mine.py"), str(tmp_path / "capped.txt")
    assert search(capped, "--operators", mine, "--memory", "1GB") == superoptimize.FOUND
    assert "soft_cap(" in capsys.readouterr().out
    assert main(["verify", capped, capped, "--operators", mine]) == 0
    assert search(capped) == USAGE_STATUS
    assert "soft_cap" in capsys.readouterr().err


def test_the_tale_of_the_search_is_told_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    assert search("gqa", "--max-ops", "7", "--verbose") == superoptimize.FOUND
    printed = capsys.readouterr().out
    assert "pruned" in printed
    assert "FOUND" in printed
    assert " candidates, " in printed


def test_what_is_not_verified_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    program = workload("lora")
    event = Unverified("lora", program, cost(program, A100), "no loop", "too large to be tested")
    tally = superoptimize.Tally(program, A100)
    tally.take(event)
    assert "not verified: lora, no loop" in superoptimize._answer(tally)
    assert "too large to be tested" in superoptimize._answer(tally)
    assert tally.plain()["unverified"][0]["why"] == "too large to be tested"


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
    assert all(got == wanted or " s; times are " in got for got, wanted in lines)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_keeps_what_was_found(jobs: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mlc_course.commands", "superoptimize", "transformer_layer"]
    file = tmp_path / "found.json"
    with subprocess.Popen(
        [*command, "--jobs", str(jobs), "--json", str(file), "--verbose"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
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
        assert process.stderr is not None
        said = process.stderr.read()
        assert "Traceback" not in said
        assert "leaked" not in said
        assert process.wait(timeout=60) == INTERRUPTED
    assert "stopped; the same command goes on from here" in rest
    record = json.loads(file.read_text())
    assert record["cut"] == ["interrupted"]
    assert record["found"]


@pytest.mark.slow
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mlc_course.commands", "superoptimize", "transformer_layer"]
    with subprocess.Popen(
        [*command, "--jobs", "2", "--verbose"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        next(line for line in process.stdout if "candidates" in line)
        workers = psutil.Process(process.pid).children(recursive=True)
        assert workers
        process.kill()
    gone, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive


def begun(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command with two workers, in a session of its own, as soon as it has tried something."""
    command = [sys.executable, "-m", "mlc_course.commands", "superoptimize", *arguments]
    process = subprocess.Popen(
        [*command, "--jobs", "2", "--verbose"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        env={**os.environ, "XDG_CACHE_HOME": str(folder), "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    next(line for line in process.stdout if "FOUND" in line)
    return process


@pytest.mark.slow
def test_a_worker_that_is_killed_ends_the_search_with_what_was_found(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    with begun(tmp_path, "transformer_layer", "--json", str(file)) as process:
        worker = next(
            each
            for each in psutil.Process(process.pid).children()
            if "spawn_main" in " ".join(each.cmdline())
        )
        worker.kill()
        printed, said = process.communicate(timeout=120)
    assert process.returncode == USAGE_STATUS
    assert "a worker has ended" in printed
    assert "Traceback" not in said
    assert json.loads(file.read_text())["found"]


@pytest.mark.slow
def test_ctrl_c_twice_loses_nothing(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    with begun(tmp_path, "transformer_layer", "--json", str(file)) as process:
        for _ in range(2):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.05)
        printed, said = process.communicate(timeout=120)
    assert process.returncode == INTERRUPTED
    assert "stopped" in printed
    assert "Traceback" not in said
    assert json.loads(file.read_text())["found"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import sys\nsys.exit(0)", "SystemExit"),
        ("1 +", "SyntaxError"),
        ("from mlc_course.mugraph.ir import Op, ops\ne = Op('exp', ops.elementwise, abs)", "'exp'"),
        (
            "from mlc_course.mugraph.ir import Op, ops\n"
            "a = Op('cube', ops.elementwise, lambda m, x: x)\n"
            "b = Op('cube', ops.elementwise, lambda m, x: x * x)",
            "two operators of the name 'cube'",
        ),
    ],
)
def test_files_of_operators_are_checked(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(text)
    assert search("lora", "--operators", str(tmp_path / "mine.py")) == USAGE_STATUS
    assert words in capsys.readouterr().err


def test_a_file_of_operators_may_import_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "near_by.py").write_text("LIMIT = 50\n")
    (tmp_path / "mine.py").write_text("from near_by import LIMIT\n" + OPERATORS)
    (tmp_path / "capped.txt").write_text(CAPPED)
    capped, mine = str(tmp_path / "capped.txt"), str(tmp_path / "mine.py")
    assert search(capped, "--operators", mine) == superoptimize.FOUND


def test_a_refused_search_leaves_nothing_behind(tmp_path: Path) -> None:
    out, file = tmp_path / "out", tmp_path / "json" / "found.json"
    assert search("no_such", "--out", str(out), "--json", str(file)) == USAGE_STATUS
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_an_error_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert search("gated_mlp", "--json", "/dev/full") == USAGE_STATUS
    assert "cannot write /dev/full" in capsys.readouterr().err
    assert search("gated_mlp", "--json", "x" * 300) == USAGE_STATUS


def test_a_folder_for_results_that_cannot_be_used_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(superoptimize, "default_folder", lambda: Path("/proc/nowhere"))
    assert search("gated_mlp") == USAGE_STATUS
    assert "not a folder for the store of results" in capsys.readouterr().err
    assert search("gated_mlp", "--fresh") == superoptimize.FOUND
