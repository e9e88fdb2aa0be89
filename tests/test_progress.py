"""What a student has done is kept, whatever happens to the file, and only where a student works."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from mlc_course import progress
from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks import Demand, check, recording, returns
from mlc_course.grading.process import called
from mlc_course.lessons.kit import Blank, asks

ROOT = Path(__file__).parent.parent
TASK = "05_loop_reorder/checks.along_rows"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "folder" / "progress.json"
    monkeypatch.setenv(progress.PROGRESS_FILE, str(path))
    return path


def test_what_was_met_is_read_again(file: Path) -> None:
    assert progress.done() == {}
    progress.record([TASK])
    progress.record([TASK, "05_loop_reorder/blanks.jumps", "06_tiling/checks.tiled"])
    assert progress.done() == {
        "05_loop_reorder": {"checks.along_rows", "blanks.jumps"},
        "06_tiling": {"checks.tiled"},
    }
    assert sorted(each.name for each in file.parent.iterdir()) == [
        "progress.json",
        "progress.json.lock",
    ]


def test_it_can_be_forgotten(file: Path) -> None:
    progress.forget()
    progress.record([TASK])
    progress.forget()
    assert progress.done() == {}


def test_the_tests_do_not_write_into_the_user_s_folder() -> None:
    assert os.environ[progress.PROGRESS_FILE]


RECORD = """import sys
from pathlib import Path
from mlc_course.progress import record
for n in range(20):
    record([f"lesson_{sys.argv[1]}/checks.{n}"], Path(sys.argv[2]))
"""


def test_several_notebooks_at_once_lose_nothing(file: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", RECORD]
    others = [
        subprocess.Popen([*words, str(number), str(file)], env=environment) for number in range(3)
    ]
    threads = [
        threading.Thread(target=progress.record, args=([f"thread/checks.{n}"],)) for n in range(20)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [other.wait(60) for other in others] == [0, 0, 0]
    assert {lesson: len(names) for lesson, names in progress.done().items()} == {
        "lesson_0": 20,
        "lesson_1": 20,
        "lesson_2": 20,
        "thread": 20,
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"05_loop_reorder": "checks.along_rows"}',
        '{"05_loop_reorder": [1]}',
        "[" * 100_000,
        "\x00\xff",
        " " * (progress.LONGEST + 1) + "{}",
    ],
    ids=lambda text: text[:12] or "empty",
)
def test_a_broken_file_is_set_aside_and_told(
    file: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file.parent.mkdir()
    for number in (1, 2):
        file.write_bytes(text.encode("latin-1"))
        assert progress.done() == {}
        progress.record([TASK])
        assert f"progress-broken-{number}.json" in capsys.readouterr().out
        assert progress.done() == {"05_loop_reorder": {"checks.along_rows"}}
    assert (file.parent / "progress-broken-1.json").read_bytes() == text.encode("latin-1")


@pytest.mark.parametrize("place", ["file", "folder"])
def test_what_cannot_be_written_is_told_and_stops_nothing(
    place: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if place == "file":
        file.mkdir(parents=True)  # a folder where the file should be
    else:
        file.parent.write_text("")  # a file where the folder should be
    progress.record([TASK])
    assert "could not be written" in capsys.readouterr().out
    assert progress.done() == {}


def test_a_process_that_dies_while_it_writes_leaves_the_file_whole(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    progress.record([TASK])
    before = file.read_bytes()

    def full(*arguments: object, **options: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    progress.record(["06_tiling/checks.tiled"])
    assert file.read_bytes() == before
    assert "no space left" in capsys.readouterr().out


# --- in a notebook --------------------------------------------------------------------------------


class Shell:
    """What ``progress`` uses of a notebook's shell: ``kernel``, and an event after each cell."""

    def __init__(self) -> None:
        self.kernel: object = object()
        self.events = self
        self.callbacks: list[Any] = []

    def register(self, event: str, callback: Any) -> None:
        assert event == "post_run_cell"
        self.callbacks.append(callback)

    def run(self, act: Any) -> None:
        """Run a cell."""
        try:
            act()
            succeeded = True
        except Exception:
            succeeded = False
        for each in [*self.callbacks]:
            each(SimpleNamespace(success=succeeded))


@pytest.fixture
def shell(file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    shell = Shell()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    yield shell
    progress._followed.clear()
    progress._met.clear()
    progress._unwritten.clear()


MODULE = "mlc_course.lessons.lesson_99_nothing"


def lesson(kind: str, source: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A module of a lesson, made of its source."""
    names: dict[str, Any] = {"__name__": f"{MODULE}.{kind}", "check": check, "called": called}
    names |= {"returns": returns, "Blank": Blank, "asks": asks}
    exec(source, names)
    monkeypatch.setitem(sys.modules, names["__name__"], SimpleNamespace(**names))
    return names


CHECKS = """
def both(first, second):
    _one(first)
    _one(second)

def _one(value):
    check(called(lambda x: value), returns(1, result=2))
"""


def test_an_exercise_is_done_when_its_cell_has_succeeded(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = lesson("checks", CHECKS, monkeypatch)["both"]
    shell.run(lambda: both(2, 3))  # the first of its checks is met
    assert progress.done() == {}
    shell.run(lambda: both(3, 2))
    assert progress.done() == {}
    shell.run(lambda: both(2, 2))
    assert progress.done() == {"99_nothing": {"checks.both"}}
    assert len(shell.callbacks) == 1


def test_what_could_not_be_written_is_written_with_the_next(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    both = lesson("checks", CHECKS, monkeypatch)["both"]
    half = lesson("blanks", 'half = Blank(asks(called, returns(4, result=2)), (), "")', monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(progress, "_write", lambda *_: (_ for _ in ()).throw(OSError("full")))
        shell.run(lambda: both(2, 2))
    assert "could not be written" in capsys.readouterr().out
    assert progress.done() == {}
    shell.run(lambda: half["half"](lambda x: x // 2))
    assert progress.done() == {"99_nothing": {"checks.both", "blanks.half"}}
    assert not progress._unwritten


def test_an_exercise_is_not_done_where_what_its_check_says_is_caught(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = lesson("checks", CHECKS, monkeypatch)["both"]

    def careful(second: int) -> None:
        with contextlib.suppress(UnmetCheck):
            both(2, second)

    shell.run(lambda: careful(3))  # the first of its checks is met
    assert progress.done() == {}
    shell.run(lambda: [careful(3), careful(2)])
    assert progress.done() == {"99_nothing": {"checks.both"}}


def test_a_blank_is_filled_when_it_is_right(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    blank = 'half = Blank(asks(called, returns(4, result=2)), (), "x / 2")'
    half = lesson("blanks", blank, monkeypatch)["half"]
    for wrong in (..., lambda x: ..., lambda x: x):
        shell.run(lambda wrong=wrong: half(wrong))
        assert progress.done() == {}
    shell.run(lambda: half(lambda x: x // 2))
    assert progress.done() == {"99_nothing": {"blanks.half"}}


def test_a_check_of_ones_own_is_no_task(shell: Shell) -> None:
    shell.run(lambda: check(called(lambda x: 2), returns(1, result=2)))
    assert progress.done() == {}


def test_nothing_is_kept_outside_a_notebook(
    shell: Shell, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = lesson("checks", CHECKS, monkeypatch)["both"]
    shell.kernel = None  # the shell of the grader's processes, and of a terminal
    shell.run(lambda: both(2, 2))
    monkeypatch.delitem(sys.modules, "IPython")
    both(2, 2)
    assert not file.exists() and not shell.callbacks


def test_nothing_is_kept_where_a_grader_only_writes_down_what_is_asked(
    shell: Shell, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = lesson("checks", CHECKS, monkeypatch)["both"]
    with recording() as demands:
        shell.run(lambda: both(2, 2))
    assert len(demands) == 2 and isinstance(demands[0], Demand)
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    shell.run(lambda: both(2, 2))
    assert not file.exists()


def test_a_check_still_says_what_is_wrong(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    both = lesson("checks", CHECKS, monkeypatch)["both"]
    with pytest.raises(UnmetCheck):
        both(2, 3)


CELLS = (
    "from mlc_course.lessons.lesson_02_tensor_program_abstraction import blanks, checks",
    'checks.kinds({"column_max": "RS", "outer": "SS", "matmul": "RSR", "depthwise": "SSR"})',
    'blanks.kind(lambda axis, written: "S" if axis in written else "R")',
    'checks.kinds({"column_max": "RS", "outer": "SS", "matmul": "RSS", "depthwise": "SSR"})',
)


@pytest.mark.slow
def test_a_real_notebook_keeps_what_was_met(file: Path) -> None:
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    wanted: list[dict[str, list[str]] | None] = [
        None,
        None,
        {"02_tensor_program_abstraction": ["blanks.kind"]},
        {"02_tensor_program_abstraction": ["blanks.kind", "checks.kinds"]},
    ]
    client = NotebookClient(nbformat.v4.new_notebook(cells=cells), allow_errors=True, timeout=120)
    with client.setup_kernel():
        for number, cell in enumerate(cells):
            client.execute_cell(cell, number)
            kept = json.loads(file.read_text()) if file.exists() else None
            assert kept == wanted[number], cell.source
