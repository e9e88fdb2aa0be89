from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mlc_course.commands import tune as report
from mlc_course.errors import MachineError, UsageError
from mlc_course.tensor_program.ladders import climb
from mlc_course.tensor_program.problems import Workload, make_workload
from mlc_course.tensor_program.search import spaces, tune
from mlc_course.tensor_program.search import tune as trial
from mlc_course.tensor_program.search.spaces import STRATEGIES
from mlc_course.tensor_program.search.tune import Tried

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small() -> Workload:
    return make_workload("matmul_exp_matmul", (20, 19, 11, 31))


def run(workload: Workload, strategy: str, folder: Path, trials: int, seed: int = 0) -> list[Tried]:
    found = tune.search(workload, STRATEGIES[strategy], folder, trials=trials, seed=seed)
    return list(found)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_best_of_every_strategy_is_right_when_replayed(
    strategy: str, small: Workload, tmp_path: Path
) -> None:
    tried = run(small, strategy, tmp_path, 4)
    assert len(tried) == 4 and all(each.seconds is not None for each in tried)
    best = tune.best(tmp_path)
    assert best is not None
    assert best.seconds == pytest.approx(min(s for s in tune.readings(tmp_path) if s))
    (climbed,) = climb(small, [best.rung], budget_s=0.01)
    assert climbed.relative_error < 1e-5


def traces(folder: Path) -> list[str]:
    lines = (folder / tune.RECORDS_FILE).read_text().splitlines()
    return [json.dumps(json.loads(line)[1][0]) for line in lines]


def test_the_same_seed_draws_the_same_candidates_and_another_seed_others(
    small: Workload, tmp_path: Path
) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        run(small, "random", tmp_path / name, 3, seed)
    a, b, c = (traces(tmp_path / name) for name in "abc")
    assert a == b
    assert a != c


def test_a_run_goes_on_where_its_database_stops(small: Workload, tmp_path: Path) -> None:
    assert len(run(small, "random", tmp_path, 2)) == 2
    first = traces(tmp_path)
    assert len(run(small, "random", tmp_path, 5)) == 3
    assert traces(tmp_path)[:2] == first
    assert len(set(traces(tmp_path))) > 2, "the same candidates were drawn again"
    assert run(small, "random", tmp_path, 5) == []


def failing(folder: Path) -> Callable[..., list[float]]:
    """A measurement that kills its process the first time, hangs the second, then works."""
    count, measure = folder / "count", trial.measure

    def timed(path: str, shapes: list[tuple[int, ...]], threads: int) -> list[float]:
        seen = int(count.read_text()) if count.exists() else 0
        count.write_text(str(seen + 1))
        if seen == 0:
            os.abort()
        if seen == 1:
            time.sleep(600)
        return measure(path, shapes, threads)

    return timed


def test_a_crash_and_a_hang_cost_a_candidate_each_and_not_the_run(
    small: Workload, tmp_path: Path
) -> None:
    found = tune.search(
        small,
        STRATEGIES["random"],
        tmp_path / "db",
        trials=4,
        limit_s=15.0,
        timed=failing(tmp_path),
    )
    crashed, hung, *others = found
    assert crashed.seconds is None and crashed.error
    assert hung.seconds is None and hung.error == "not done after 15 s"
    assert len(others) == 2 and all(each.seconds for each in others)
    assert [s is None for s in tune.readings(tmp_path / "db")] == [True, True, False, False]
    assert tune.best(tmp_path / "db") is not None


def test_a_folder_of_another_search_is_refused_and_left_alone(
    small: Workload, tmp_path: Path
) -> None:
    run(small, "random", tmp_path, 1)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(UsageError, match="holds another search") as refused:
        run(small, "packing", tmp_path, 1)
    assert "--out" in str(refused.value)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_search_in_which_nothing_ran_says_so(small: Workload, tmp_path: Path) -> None:
    def broken(*_: object) -> list[float]:
        raise RuntimeError("no")

    found = tune.search(small, STRATEGIES["random"], tmp_path, trials=2, timed=broken)
    assert [each.seconds for each in found] == [None, None]
    assert tune.best(tmp_path) is None
    with pytest.raises(MachineError, match="no candidate ran"):
        report.compare_best(small, tmp_path, threads=1)


def test_a_folder_without_a_search_has_no_best(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no search in"):
        tune.best(tmp_path)


def test_what_cannot_be_packed_or_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no matrix product"):
        run(make_workload("softmax", (4, 8)), "packing", tmp_path, 1)
    with pytest.raises(UsageError, match="no strategy"):
        spaces.strategy("luck")
    with pytest.raises(UsageError, match="too few trials"):
        report.search("matmul", strategy="random", trials=0)


def test_ctrl_c_keeps_the_best_so_far_and_the_next_run_goes_on(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mlc_course.commands",
        "tune",
        "matmul",
        "--sizes",
        "16,16,16",
    ]
    command += ["--strategy", "random", "--out", str(tmp_path / "db")]
    with subprocess.Popen(
        [*command, "--trials", "4000"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's & ignores it
    ) as search:
        records = tmp_path / "db" / tune.RECORDS_FILE
        deadline = time.monotonic() + 240
        while not (records.exists() and records.read_text().count("\n") >= 8):
            assert search.poll() is None and time.monotonic() < deadline
            time.sleep(0.2)
        os.killpg(search.pid, signal.SIGINT)
        text, _ = search.communicate(timeout=240)
    assert search.returncode == 130
    assert "stopped; the same command goes on" in text and "random search" in text
    kept = len(tune.readings(tmp_path / "db"))
    done = subprocess.run(
        [*command, "--trials", str(kept + 1)], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert len(tune.readings(tmp_path / "db")) == kept + 1


@pytest.mark.skipif(not shutil.which("g++"), reason="an RPC server links with g++")
def test_a_fleet_behind_a_tracker_measures_for_us(small: Workload, tmp_path: Path) -> None:
    from tvm.rpc.server import Server
    from tvm.rpc.tracker import Tracker

    tracker = Tracker(host="127.0.0.1", port=9190, port_end=9290, silent=True)
    address = ("127.0.0.1", tracker.port)
    server = Server(
        host="127.0.0.1", port=9290, port_end=9390, key="desk", tracker_addr=address, silent=True
    )
    try:
        fleet = tune.Fleet("127.0.0.1", tracker.port, "desk")
        found = tune.search(
            small, STRATEGIES["random"], tmp_path, trials=2, limit_s=60.0, fleet=fleet
        )
        tried = list(found)
    finally:
        server.terminate()
        tracker.terminate()
    assert len(tried) == 2 and all(each.seconds for each in tried), tried
    assert tune.best(tmp_path) is not None
