"""A child cannot outlive its limits, see what is not its own, or take the grader with it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from processes import commands_below

from mlc_course.errors import MachineError
from mlc_course.grading.process import sandbox
from mlc_course.grading.process.sandbox import BUBBLEWRAP, RLIMITS, Child, Ended, Limits
from mlc_course.grading.process.walls import PACKAGE

# Time enough for a busy machine; what tests a limit of time asks for a short one.
LIMITS = Limits(seconds=300, request_seconds=120, processes=12, memory_bytes=2 << 30)
EXISTS = "__import__('os').path.exists"
STUDENT = "mlc_course.grading.process.student_process"

isolated = pytest.mark.skipif(
    not sandbox.has_bubblewrap(), reason="needs bubblewrap: apt-get install bubblewrap"
)
SANDBOXES = [pytest.param(BUBBLEWRAP, marks=isolated), RLIMITS]


@pytest.fixture(params=SANDBOXES)
def child(request: pytest.FixtureRequest) -> Iterator[Child]:
    with Child(STUDENT, LIMITS, request.param) as started:
        yield started


@pytest.fixture
def wrapped() -> Iterator[Child]:
    with Child(STUDENT, LIMITS, BUBBLEWRAP) as started:
        yield started


def run(child: Child, source: str) -> Any:
    return json.loads(child.ask(json.dumps({"do": "run", "source": source}).encode(), 120))


def value(child: Child, expression: str) -> Any:
    """What an expression gives in there."""
    run(child, f"answer = {expression}")
    reply = child.ask(json.dumps({"do": "produce", "name": "answer", "how": "value"}).encode())
    return json.loads(json.loads(reply)["text"])


def raised(child: Child, source: str) -> str:
    """The error that some lines raise in there, with its text."""
    indented = source.replace("\n", "\n    ")
    run(child, f"try:\n    {indented}\nexcept Exception as error:\n    said = repr(error)")
    return str(value(child, "said"))


def test_cells_share_a_namespace_and_an_error_is_told(child: Child) -> None:
    assert run(child, "a = 1")["failed"] == ""
    assert run(child, "a = b") == {"failed": "NameError", "line": 1}
    assert run(child, "x = 1\ndef") == {"failed": "SyntaxError", "line": 2}
    assert run(child, "%time c = a + 1")["failed"] == ""
    assert value(child, "c") == 2


@pytest.mark.parametrize(
    ("source", "seconds", "reason"),
    [
        ("while True: pass", 1.0, "time limit of 1 s"),
        ("import time; time.sleep(600)", 1.0, "time limit of 1 s"),
        ("import os; os._exit(0)", 60.0, "ended itself, with status 0"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 60.0, "SIGKILL"),
        ("import ctypes; ctypes.string_at(0)", 60.0, "SIGSEGV"),
    ],
)
def test_a_child_that_does_not_answer_is_ended_and_told_why(
    child: Child, source: str, seconds: float, reason: str
) -> None:
    run(child, "pass")
    began = time.monotonic()
    with pytest.raises(Ended, match=reason):
        child.ask(json.dumps({"do": "run", "source": source}).encode(), seconds)
    assert time.monotonic() - began < 30


def test_a_child_that_ended_is_not_late(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finding out why it ended may take longer than the request had left."""
    why, now = sandbox._why, time.monotonic

    def late(*about: Any) -> str:
        while child._tree():
            time.sleep(0.01)
        with monkeypatch.context() as patch:
            patch.setattr(time, "monotonic", lambda: now() + 100)
            time.sleep(5 * sandbox.POLL_S)
        return why(*about)

    run(child, "pass")
    monkeypatch.setattr(sandbox, "_why", late)
    with pytest.raises(Ended, match="ended itself, with status 3"):
        child.ask(json.dumps({"do": "run", "source": "import os; os._exit(3)"}).encode(), 60.0)


def test_a_child_that_hangs_up_and_runs_on_keeps_its_limit(child: Child) -> None:
    source = "import os, time\nos.closerange(3, 256)\ntime.sleep(600)"
    with pytest.raises(Ended, match="time limit of 2 s"):
        run(child, "pass")
        child.ask(json.dumps({"do": "run", "source": source}).encode(), 2.0)


def test_memory_is_limited(child: Child) -> None:
    assert run(child, "a = bytearray(3 << 30)")["failed"].startswith("MemoryError")


def test_memory_of_all_processes_together_is_limited(child: Child) -> None:
    source = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        room = bytearray(1 << 30)
        time.sleep(600)
time.sleep(600)
"""
    with pytest.raises(Ended, match="memory limit of 2048 MiB"):
        run(child, source)


def test_processes_are_limited_and_all_of_them_end(child: Child) -> None:
    source = """
import os, time
for _ in range(40):
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
time.sleep(600)
"""
    before = len(psutil.Process().children(recursive=True))
    # Memory that forks share counts for each of them, so that either limit can be met first.
    with pytest.raises(Ended, match=r"limit of 12 processes|memory limit of"):
        run(child, source)
    child.stop()
    assert len(psutil.Process().children(recursive=True)) < before


def test_output_and_files_are_limited(child: Child) -> None:
    flood = "import sys\nfor _ in range(100): sys.stdout.write('x' * (1 << 20)); sys.stdout.flush()"
    run(child, flood)
    write = "f = open('large', 'wb', buffering=0)\nfor _ in range(100): f.write(bytes(1 << 20))"
    assert "File too large" in raised(child, write)
    assert value(child, "__import__('os').path.getsize('large')") <= LIMITS.file_bytes


@isolated
def test_the_folder_is_limited(wrapped: Child) -> None:
    write = "for i in range(100): open(str(i), 'wb', buffering=0).write(bytes(4 << 20))"
    assert "No space left" in raised(wrapped, write)


@isolated
def test_nothing_of_the_course_but_its_package_is_there(wrapped: Child) -> None:
    root = Path(__file__).parents[3]
    listed = f"__import__('os').listdir({str(root)!r}) if {EXISTS}({str(root)!r}) else []"
    assert value(wrapped, listed) == [".venv"] * Path(sys.prefix).is_relative_to(root)
    assert value(wrapped, f"__import__('os').listdir({PACKAGE!r})") == ["mlc_course"]
    own = value(wrapped, "sorted(__import__('os').listdir('.'))")
    assert own == [".ipython", "printed.txt"]
    assert "solutions" not in str(value(wrapped, "dict(__import__('os').environ)"))


@isolated
def test_only_the_own_folder_can_be_written(wrapped: Child) -> None:
    package = Path(sandbox.__file__).parent
    inside = Path(PACKAGE) / package.relative_to(package.parents[2]) / "values.py"
    assert value(wrapped, f"{EXISTS}({str(inside)!r})")
    for path in (inside, "/usr/new", "/new", "/etc/passwd", "/dev/new", "/proc/self/comm"):
        assert raised(wrapped, f"open({str(path)!r}, 'w')").startswith("OSError(30")
    assert run(wrapped, "open('own', 'w').write('x')")["failed"] == ""


@isolated
def test_there_is_no_network_and_no_other_process(wrapped: Child) -> None:
    connect = "import socket; socket.create_connection(('127.0.0.1', {}), 1)"
    assert "Error" in run(wrapped, connect.format(8888))["failed"]
    interfaces = value(wrapped, "[n for _, n in __import__('socket').if_nameindex()]")
    assert interfaces == ["lo"]
    assert run(wrapped, f"import os; os.kill({os.getpid()}, 9)")["failed"].startswith(
        "ProcessLookupError"
    )
    seen = value(wrapped, "[p for p in __import__('os').listdir('/proc') if p.isdigit()]")
    assert len(seen) <= 3


def test_the_environment_is_clean(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    names = value(child, "sorted(__import__('os').environ)")
    assert not {"USER", "VIRTUAL_ENV", "PYTEST_CURRENT_TEST", "MAKEFLAGS"} & set(names)


def test_a_message_has_a_limit() -> None:
    with Child(STUDENT, replace(LIMITS, message_bytes=1000), RLIMITS) as child:
        run(child, "a = 'x' * 2000")
        with pytest.raises(Ended, match="limit of one message"):
            child.ask(json.dumps({"do": "produce", "name": "a", "how": "value"}).encode())


def test_a_partial_message_is_not_waited_for() -> None:
    source = """
import os, socket, struct, time
for fd in range(3, 30):
    try:
        socket.socket(fileno=os.dup(fd)).send(struct.pack('!i', 100) + b'x')
    except OSError:
        pass
time.sleep(600)
"""
    with Child(STUDENT, LIMITS, RLIMITS) as child:
        run(child, "pass")
        with pytest.raises(Ended, match="time limit of 2 s"):
            child.ask(json.dumps({"do": "run", "source": source}).encode(), 2.0)


def test_a_stopped_child_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Child(STUDENT, LIMITS, RLIMITS) as child:
        run(child, "open('left', 'w').write('x')")
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
    assert not [words for words in commands_below() if "warden" in words]


def test_a_sandbox_that_is_not_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "has_bubblewrap", lambda: False)
    assert sandbox.chosen(RLIMITS) == RLIMITS
    for asked in (None, BUBBLEWRAP):
        with pytest.raises(MachineError, match="apt-get install bubblewrap") as caught:
            sandbox.chosen(asked)
        assert "--sandbox rlimits" in str(caught.value)
