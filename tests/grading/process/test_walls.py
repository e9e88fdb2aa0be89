"""What a child must not see is not there, wherever it lies; what it shares with another is nothing.

Each test of a warm parent's child is run with a child in a bubblewrap of its own too.
"""

from __future__ import annotations

import ast
import ctypes
import errno
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from processes import all_end

from mlc_course.errors import UsageError
from mlc_course.grading.process import lives, privileges, walls
from mlc_course.grading.process.sandbox import BUBBLEWRAP, RLIMITS, Child, Ended, Limits
from mlc_course.grading.process.walls import seen

LIMITS = Limits(seconds=300, request_seconds=120, processes=12, memory_bytes=2 << 30)
STUDENT = "mlc_course.grading.process.student_process"

isolated = pytest.mark.skipif(
    not walls.has_bubblewrap(), reason="needs bubblewrap: apt-get install bubblewrap"
)


@pytest.fixture(params=["warm", "cold"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "cold":
        monkeypatch.setattr(lives, "warm_parent", lambda module, hidden: None)
    elif not lives.warm_works():
        pytest.skip("a warm parent forks nothing here: no nested namespaces, or Python below /tmp")
    yield request.param


def run(child: Child, source: str) -> Any:
    return json.loads(child.ask(json.dumps({"do": "run", "source": source}).encode(), 120))


def value(child: Child, source: str) -> Any:
    """What the last line of some lines gives in there, or the error that one of them raises."""
    tree = ast.parse(source)
    last = tree.body[-1]
    assert isinstance(last, ast.Expr)
    tree.body[-1] = ast.parse(f"answer = {ast.unparse(last.value)}").body[0]
    body = textwrap.indent(ast.unparse(tree), "    ")
    run(child, f"try:\n{body}\nexcept BaseException as error:\n    answer = repr(error)")
    reply = child.ask(json.dumps({"do": "produce", "name": "answer", "how": "value"}).encode())
    return json.loads(json.loads(reply)["text"])


WRITABLE = """
import os
found = []
for place, folders, files in os.walk("/"):
    folders[:] = [f for f in folders if (place, f) not in (("/", "usr"), ("/", "proc"))]
    if os.access(place, os.W_OK):
        found.append(place)
        folders[:] = []
sorted(found)
"""
LEAVE = """
import builtins, ctypes, os, socket, sys
for place in ("/tmp", "/dev/shm", "."):
    open(place + "/left", "w").write("left")
builtins.left = sys.modules["left"] = "left"
libc = ctypes.CDLL(None)
segment = libc.shmget(4711, 4096, 0o1666)
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\\0left")
abstract.listen()
server = socket.create_server(("127.0.0.1", 47110))
os.environ["LEFT"] = "left"
segment >= 0
"""
FIND = """
import builtins, ctypes, os, socket, sys
def reached(family, address):
    try:
        socket.socket(family).connect(address)
        return True
    except OSError:
        return False
[
    [place for place in ("/tmp", "/dev/shm", ".") if "left" in os.listdir(place)],
    hasattr(builtins, "left") or "left" in sys.modules or "LEFT" in os.environ,
    ctypes.CDLL(None).shmget(4711, 4096, 0) >= 0,
    reached(socket.AF_UNIX, "\\0left"),
    reached(socket.AF_INET, ("127.0.0.1", 47110)),
]
"""


@isolated
def test_two_children_share_nothing(way: str) -> None:
    with Child(STUDENT, LIMITS, BUBBLEWRAP) as one, Child(STUDENT, LIMITS, BUBBLEWRAP) as other:
        assert value(one, LEAVE) is True
        assert value(one, FIND) == [["/tmp", "/dev/shm", "."], True, True, True, True]
        assert value(other, FIND) == [[], False, False, False, False]
        drawn = "[__import__('random').random(), float(__import__('numpy').random.rand())]"
        assert not set(value(one, drawn)) & set(value(other, drawn))
        pids = "sorted(int(p) for p in __import__('os').listdir('/proc') if p.isdigit())"
        assert value(one, pids) == value(other, pids) == [1, 2]


NUMBERS = {"x86_64": (1, 248, 249, 250, 425), "aarch64": (0, 217, 218, 219, 425)}
KEYS = """
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
_, add, ask, control, _ = {numbers}[platform.machine()]
def left():
    key = libc.syscall(ask, b"user", b"left", None, 0)
    return key > 0 and libc.syscall(control, 11, key, None, 0)
def session():
    return libc.syscall(control, 0, -3, 0)
"""
knows_calls = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in NUMBERS, reason="calls by their numbers"
)


@pytest.fixture
def keyring() -> int:
    """A session keyring of this process, as a login has one, in which a submission left a key."""
    libc = ctypes.CDLL(None, use_errno=True)
    _, add, _, control, _ = NUMBERS[platform.machine()]
    session: int = libc.syscall(control, 1, None)
    if session < 0 or libc.syscall(add, b"user", b"left", b"data", 4, -3) < 0:
        pytest.skip("this kernel keeps no keys")
    return session


@knows_calls
@pytest.mark.parametrize("sandbox", [pytest.param(BUBBLEWRAP, marks=isolated), RLIMITS])
def test_no_child_reaches_a_keyring_that_another_reaches(
    way: str, keyring: int, sandbox: str
) -> None:
    lives.end_warm_parents()  # one that was started before has no such keyring
    look = KEYS.format(numbers=NUMBERS)
    own: dict[str, object] = {}
    exec(look + "found = [left(), session()]", own)
    assert own["found"] == [4, keyring]  # the search is a real one
    with Child(STUDENT, LIMITS, sandbox) as child:
        assert value(child, look + "[left(), session()]") == [False, -1]
        add = f"libc.syscall(add, b'user', b'mine', b'data', 4, {keyring})"
        assert value(child, look + add) == -1


@isolated
@knows_calls
def test_sockets_belong_to_a_network_of_its_own(way: str) -> None:
    """A virtual machine's sockets to its host belong to none."""
    tries = f"""
import ctypes, platform, socket
def opens(family, kind):
    try:
        socket.socket(family, kind).close()
        return True
    except OSError:
        return False
libc = ctypes.CDLL(None, use_errno=True)
_, _, _, _, ring = {NUMBERS}[platform.machine()]
[
    [opens(each, socket.SOCK_STREAM) for each in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)],
    opens(16, socket.SOCK_RAW),
    [each for each in range(60) if each not in (1, 2, 10, 16)
     for kind in (1, 2, 3, 5) if opens(each, kind)],
    [libc.syscall(ring, 8, ctypes.create_string_buffer(128)), ctypes.get_errno()],
]
"""
    with Child(STUDENT, LIMITS, BUBBLEWRAP) as child:
        assert value(child, tries) == [[True] * 3, True, [], [-1, errno.ENOSYS]]


@knows_calls
def test_other_numbers_of_the_same_calls_are_refused() -> None:
    if platform.machine() != "x86_64":
        pytest.skip("another numbering of x86")
    tries = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
[[libc.syscall(0x40000000 + n, 40, 1, 0), ctypes.get_errno()] for n in (39, 41, 250)]
"""
    with Child(STUDENT, LIMITS, RLIMITS) as child:
        assert value(child, tries) == [[-1, errno.ENOSYS]] * 3


@isolated
def test_only_what_is_its_own_can_be_written(way: str) -> None:
    with Child(STUDENT, LIMITS, BUBBLEWRAP) as child:
        assert value(child, WRITABLE) == ["/dev/pts", "/dev/shm", walls.FOLDER, "/tmp"]


@isolated
def test_a_child_has_no_privilege_and_gains_none(way: str) -> None:
    tries = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def refused(result):
    return result != 0
lines = open("/proc/self/status").read().splitlines()
status = dict(line.split(":\\t") for line in lines if ":\\t" in line)
[
    {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16},
    status["NoNewPrivs"] == "1",
    os.getuid() == 65534,
    refused(libc.unshare(0x10000000)),
    refused(libc.unshare(0x00020000)),
    refused(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)),
    refused(libc.umount2(b"/proc", 2)),
    refused(libc.umount2(b"/tmp", 2)),
    refused(libc.setuid(0)),
    refused(libc.sethostname(b"x", 1)),
    refused(libc.setns(os.open("/proc/1/ns/user", 0), 0) if os.access("/proc/1/ns/user", 4) else 1),
    not os.access("/proc/sys/kernel/core_pattern", os.W_OK),
]
"""
    with Child(STUDENT, LIMITS, BUBBLEWRAP) as child:
        assert value(child, tries) == [True] * 12


OPEN = """
import os
def kind(fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}").split(":")[0]
    except OSError:
        return None
sorted(each for each in map(kind, os.listdir("/proc/self/fd")) if each)
"""


@isolated
def test_nothing_of_the_grader_is_left_open_inside_walls(way: str, tmp_path: Path) -> None:
    with (tmp_path / "marks.sqlite").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        with Child(STUDENT, LIMITS, BUBBLEWRAP) as child:
            printed = f"{walls.FOLDER}/printed.txt"
            assert value(child, OPEN) == ["/dev/null", printed, printed, "socket"]


def test_nothing_of_the_grader_is_left_open_without_walls(tmp_path: Path) -> None:
    with (tmp_path / "marks.sqlite").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        with Child(STUDENT, LIMITS, RLIMITS) as child:
            *printed, last = value(child, OPEN)
            assert [Path(each).name for each in printed] == ["null", "printed.txt", "printed.txt"]
            assert last == "socket"


@pytest.mark.skipif(sys.platform != "linux", reason="a system call of Linux")
def test_without_walls_the_memory_of_the_grader_stays_closed() -> None:
    tries = f"""
import ctypes
def read(path):
    try:
        return open(path, "rb").read(1)
    except OSError as error:
        return type(error).__name__
[*map(read, ("/proc/{os.getpid()}/mem", "/proc/{os.getpid()}/environ",
                "/proc/{os.getpid()}/maps")),
 ctypes.CDLL(None).ptrace(16, {os.getpid()}, 0, 0)]
"""
    with Child(STUDENT, LIMITS, RLIMITS) as child:
        assert value(child, tries) == [*["PermissionError"] * 3, -1]


# --- hidden folders -------------------------------------------------------------------------------


@pytest.fixture
def course() -> Iterator[Path]:
    """A course below /usr, where images of containers put one."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="mlc-course-", dir="/usr/src"))
    except OSError:
        pytest.skip("/usr/src cannot be written here")
    for name in ("solutions/07_twice", "class/ann", "out", "tests", ".git"):
        (folder / name).mkdir(parents=True)
        (folder / name / "secret.txt").write_text("the answer")
    yield folder
    shutil.rmtree(folder)


@isolated
def test_a_course_below_a_bound_folder_is_not_seen(way: str, course: Path) -> None:
    there = f"[f for _, _, files in __import__('os').walk({str(course)!r}) for f in files]"
    with Child(STUDENT, LIMITS, BUBBLEWRAP) as child:
        assert value(child, there) == ["secret.txt"] * 5  # the search is a real one
    for hidden, left in (((course,), 0), ((course / "solutions", course / "class"), 3)):
        with Child(STUDENT, replace(LIMITS, hidden=hidden), BUBBLEWRAP) as child:
            assert value(child, there) == ["secret.txt"] * left


@isolated
def test_an_environment_inside_a_hidden_course_is_seen(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lies there in a checkout; nothing beside it may be seen with it."""
    (course / ".venv" / "lib").mkdir(parents=True)
    bound = walls.needed()
    monkeypatch.setattr(walls, "needed", lambda: [*bound, course / ".venv"])
    there = f"[sorted(__import__('os').listdir(p)) for p in ({str(course)!r}, '{course}/.venv')]"
    with Child(STUDENT, replace(LIMITS, hidden=(course,)), BUBBLEWRAP) as child:
        assert value(child, there) == [[".venv"], ["lib"]]


def mounts_of(arguments: list[str]) -> dict[str, str]:
    """The last thing that is mounted at each place."""
    found = {}
    for i, word in enumerate(arguments):
        if word in ("--ro-bind", "--ro-bind-try"):
            found[arguments[i + 2]] = "bound"
        if word == "--tmpfs":
            found[arguments[i + 1]] = "covered"
    return found


def test_the_checkout_of_the_package_is_covered_where_it_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editable install below a bound folder, and an environment that is the checkout itself."""
    checkout = tmp_path / "app"
    for name in ("solutions", "tests", ".git", "lib", "bin"):
        (checkout / name).mkdir(parents=True)
    monkeypatch.setattr(walls, "checkout", lambda: [checkout])
    monkeypatch.setattr(walls, "needed", lambda: [tmp_path])
    assert mounts_of(seen(()))[str(checkout)] == "covered"
    monkeypatch.setattr(walls, "needed", lambda: [checkout])
    found = mounts_of(seen(()))
    assert found[str(checkout)] == "bound"
    covered = {Path(place).name for place, how in found.items() if how == "covered"}
    assert covered == {"solutions", "tests", ".git"}


def test_a_hidden_folder_is_covered_under_every_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real" / "solutions").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setattr(walls, "needed", lambda: [tmp_path / "link", tmp_path / "real"])
    monkeypatch.setattr(walls, "checkout", list)
    found = mounts_of(seen([tmp_path / "link" / "solutions"]))
    assert found[str(tmp_path / "link" / "solutions")] == "covered"
    assert found[str(tmp_path / "real" / "solutions")] == "covered"


@pytest.mark.parametrize("secret", [Path("/usr"), Path(sys.prefix)])
def test_what_programs_need_cannot_be_hidden(secret: Path) -> None:
    with pytest.raises(UsageError, match="seen by submissions"):
        seen([secret])


# --- the ends of children -------------------------------------------------------------------------


@isolated
def test_a_warm_parent_that_ends_is_replaced() -> None:
    if not lives.warm_works():
        pytest.skip("a warm parent forks nothing here")
    with Child(STUDENT, LIMITS, BUBBLEWRAP) as child:
        parent = lives.warm_parent(STUDENT, ())
        assert parent is not None
        parent._process.kill()
        with pytest.raises(Ended):
            run(child, "import time; time.sleep(600)")
    with Child(STUDENT, LIMITS, BUBBLEWRAP) as child:
        assert run(child, "a = 1")["failed"] == ""


CHAIN = 'sh -c \'sh -c "sh -c \\"sleep 600; true\\"; true"; true\'; true'


def test_processes_are_counted_no_further_than_needed() -> None:
    started = subprocess.Popen(["sh", "-c", CHAIN])
    try:
        root = psutil.Process(started.pid)
        while len(every := lives.below(root)) < 4:
            time.sleep(0.05)
        assert lives.below(root, 1) == every[:2]
        assert lives.below(root, 9) == every
    finally:
        for pid in every:
            psutil.Process(pid).kill()
        started.kill()
        started.wait()


FORKS = """
import os, time
made = 0
try:
    while made < 5000:
        if os.fork() == 0:
            time.sleep(600)
        made += 1
except OSError:
    pass
"""


@isolated
@pytest.mark.skipif(privileges.kernel() < (6, 14), reason="a kernel that counts for the machine")
def test_the_kernel_stops_forks_that_the_grader_is_too_late_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not lives.warm_works():
        pytest.skip("a warm parent forks nothing here")
    monkeypatch.setattr("mlc_course.grading.process.sandbox.POLL_S", 600.0)
    limits = replace(LIMITS, processes=40, threads=250, memory_bytes=64 << 30)
    with Child(STUDENT, limits, BUBBLEWRAP) as child:
        run(child, FORKS)
        made = int(value(child, "made"))
    assert 40 < made < limits.tasks
    assert int(Path("/proc/sys/kernel/pid_max").read_text()) > 5000


DAEMON = """
import ctypes, os, time
ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)  # its orphans are no longer its own
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        with open({mark!r} + ".part", "w") as file:
            file.write(str(os.getpid()))
        os.rename({mark!r} + ".part", {mark!r})
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.exists({mark!r}): time.sleep(0.01)
"""


def test_a_daemon_without_walls_does_not_outlive_its_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlc_course.grading.process.sandbox.POLL_S", 600.0)  # it is never seen
    mark = tmp_path / "daemon"
    with Child(STUDENT, LIMITS, RLIMITS) as child:
        run(child, DAEMON.format(mark=str(mark)))
        pid = int(mark.read_text())
        assert psutil.pid_exists(pid)
    assert all_end([pid])


def test_python_is_found_however_it_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called = Path(sys.prefix, "bin", Path(sys.executable).name)
    monkeypatch.setattr(sys, "executable", f"{sys.prefix}/outside/../bin/{called.name}")
    assert lives.own_python() == str(called)
    monkeypatch.setattr(sys, "executable", "/opt/outside/../bin/python-of-another-name")
    assert lives.own_python() == "/opt/bin/python-of-another-name"
