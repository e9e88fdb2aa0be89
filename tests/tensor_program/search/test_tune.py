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

import psutil
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
BUSY_S = 120.0  # for a candidate and the start of its process, on a busy machine


@pytest.fixture(scope="module")
def small() -> Workload:
    return make_workload("matmul_exp_matmul", (20, 19, 11, 31))


def run(workload: Workload, strategy: str, folder: Path, trials: int, seed: int = 0) -> list[Tried]:
    used = STRATEGIES[strategy]
    found = tune.search(workload, used, folder, trials=trials, seed=seed, limit_s=BUSY_S)
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


@pytest.mark.parametrize("strategy", sorted({*STRATEGIES} - {"evolutionary"}))
def test_the_same_seed_draws_the_same_candidates_and_another_seed_others(
    strategy: str, small: Workload, tmp_path: Path
) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        run(small, strategy, tmp_path / name, 3, seed)
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


def test_a_search_that_nobody_reads_any_more_ends(small: Workload, tmp_path: Path) -> None:
    found = tune.search(small, STRATEGIES["random"], tmp_path, trials=4000, limit_s=BUSY_S)
    for _ in range(2 * tune.BATCH):
        next(found)
    found.close()
    kept = (tmp_path / tune.RECORDS_FILE).read_bytes()
    assert tune.BATCH <= kept.count(b"\n") < 3 * tune.BATCH
    assert len(run(small, "random", tmp_path, kept.count(b"\n") + 1)) == 1, "it is locked"
    assert (tmp_path / tune.RECORDS_FILE).read_bytes().startswith(kept)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process dies with its parent")
def test_a_candidate_that_hangs_ends_with_the_search_whatever_that_dies_of(tmp_path: Path) -> None:
    code = HANGING.format(folder=tmp_path)
    with subprocess.Popen([sys.executable, "-c", code]) as searching:
        try:
            own = tmp_path / "own"
            while not (own.exists() and own.read_text()):
                assert searching.poll() is None
                time.sleep(0.1)
            hanging = psutil.Process(int(own.read_text()))
        finally:
            searching.kill()
    hanging.wait(BUSY_S)


HANGING = """
from pathlib import Path
from mlc_course.tensor_program.problems import make_workload
from mlc_course.tensor_program.search import STRATEGIES, tune
def timed(*_):
    import os, time
    Path("{folder}", "own").write_text(str(os.getpid()))
    time.sleep(600)
small, used = make_workload("matmul", (16, 16, 16)), STRATEGIES["random"]
list(tune.search(small, used, Path("{folder}", "db"), trials=1, limit_s=600, timed=timed))
"""


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
        limit_s=30.0,
        timed=failing(tmp_path),
    )
    crashed, hung, *others = found
    assert crashed.seconds is None and crashed.error
    assert hung.seconds is None and hung.error == "not done after 30 s"
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


@pytest.fixture(scope="module")
def searched(small: Workload, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searched")
    run(small, "random", folder, 3)
    return folder


def copied(searched: Path, folder: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    """A copy of a search in which one file is changed."""
    shutil.copytree(searched, folder)
    (folder / name).write_bytes(change((folder / name).read_bytes()))
    return folder


@pytest.mark.parametrize(
    ("cut", "strategy"), [(1, "random"), (2, "evolutionary"), (40, "packing"), (400, "random")]
)
def test_a_last_line_that_was_not_written_whole_is_dropped(
    cut: int, strategy: str, small: Workload, searched: Path, tmp_path: Path
) -> None:
    if strategy != "random":
        searched = tmp_path / "whole"
        run(small, strategy, searched, 3)
    folder = copied(searched, tmp_path / "db", tune.RECORDS_FILE, lambda all_: all_[:-cut])
    kept = tune.readings(searched)[: 3 if cut == 1 else 2]  # without its end alone, it is whole
    assert tune.readings(folder) == kept
    assert tune.best(folder) is not None
    again = run(small, strategy, folder, 4)
    assert len(again) == 4 - len(kept)
    assert tune.readings(folder)[: len(kept)] == kept and len(tune.readings(folder)) == 4


@pytest.mark.parametrize("line", [b"{", b"[0]", b"\xff\xfe", b"null", b""])
def test_another_line_that_is_no_record_is_named(
    line: bytes, small: Workload, searched: Path, tmp_path: Path
) -> None:
    def damaged(content: bytes) -> bytes:
        first, second, *others = content.splitlines(keepends=True)
        return b"".join([first, line + b"\n", second, *others])

    folder = copied(searched, tmp_path / "db", tune.RECORDS_FILE, damaged)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for ask in (tune.best, tune.readings, lambda where: run(small, "random", where, 4)):
        with pytest.raises(UsageError, match=r"records.json, line 2: no record") as caught:
            ask(folder)
        assert caught.value.expected and caught.value.hint
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"machine": 1}'])
def test_a_search_that_does_not_say_what_it_is_for_is_refused(
    content: bytes, small: Workload, searched: Path, tmp_path: Path
) -> None:
    folder = copied(searched, tmp_path / "db", tune.ABOUT_FILE, lambda _: content)
    for ask in (tune.best, lambda where: run(small, "random", where, 4)):
        with pytest.raises(UsageError, match=r"about.json is damaged"):
            ask(folder)
    assert (folder / tune.ABOUT_FILE).read_bytes() == content


def test_two_searches_do_not_write_into_one_folder(small: Workload, tmp_path: Path) -> None:
    first = tune.search(small, STRATEGIES["random"], tmp_path, trials=2)
    with pytest.raises(UsageError, match="another search writes") as caught:
        run(small, "random", tmp_path, 2)
    assert "--out" in str(caught.value)
    assert len(list(first)) == 2
    assert len(run(small, "random", tmp_path, 3)) == 1  # the first is done with it


@pytest.mark.parametrize("taken", [[], [float("nan")], [-1.0], [0.0], [1.0, float("inf")]])
def test_what_is_no_time_costs_a_candidate(
    taken: list[float], small: Workload, tmp_path: Path
) -> None:
    def timed(*_: object) -> list[float]:
        return taken

    found = tune.search(small, STRATEGIES["random"], tmp_path, trials=1, timed=timed)
    (tried,) = found
    assert tried.seconds is None and "the clock gave no times" in str(tried.error)
    assert tune.readings(tmp_path) == [None]


def test_a_disk_that_keeps_nothing_is_told(small: Workload, tmp_path: Path) -> None:
    """TVM's database takes no notice of a write that fails."""
    run(small, "random", tmp_path, 1)
    records = tmp_path / tune.RECORDS_FILE
    line = records.read_bytes()
    before = (1 << 20) // len(line)  # so that drafts are smaller than what the disk has room for
    records.write_bytes(line * before)
    code = FULL.format(folder=tmp_path, room=len(line) * before + 100, trials=before + 2)
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "did not keep what was measured" in child.stderr and "is the disk full?" in child.stderr
    assert len(tune.readings(tmp_path)) == before
    assert len(run(small, "random", tmp_path, before + 1)) == 1


FULL = """
import resource, signal
from pathlib import Path
from mlc_course.tensor_program.problems import make_workload
from mlc_course.tensor_program.search import STRATEGIES, tune
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
found = tune.search(
    make_workload("matmul_exp_matmul", (20, 19, 11, 31)),
    STRATEGIES["random"],
    Path("{folder}"),
    trials={trials},
)
print(list(found))
"""
