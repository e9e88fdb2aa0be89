"""Cells and answers that take all of something: time, processes, memory, disk."""

from __future__ import annotations

from pathlib import Path

from corpus.handing_in import Notebook, hand_in


def infinite_loop(folder: Path, exercise: Notebook) -> None:
    """A cell that never ends, deaf to interrupts."""
    hand_in(
        folder,
        exercise,
        first="""\
while True:
    try:
        while True: pass
    except BaseException:
        pass""",
    )


def infinite_answers(folder: Path, exercise: Notebook) -> None:
    """A schedule and a function that never end."""
    hand_in(
        folder,
        exercise,
        along_rows="def along_rows(sch):\n    while True: pass",
        mean_of_rows="def mean_of_rows(a):\n    while True: pass",
    )


def sleep(folder: Path, exercise: Notebook) -> None:
    """A cell that does nothing, for a day."""
    hand_in(folder, exercise, first="import time\ntime.sleep(86_400)")


def slow_everywhere(folder: Path, exercise: Notebook) -> None:
    """A hundred cells, each just below the limit of one."""
    slow = {"cell_type": "code", "metadata": {}, "source": "import time\ntime.sleep(0.5)"}
    cells = [slow | {"id": f"slow-{i}"} for i in range(100)]
    hand_in(folder, exercise | {"cells": [*cells, *exercise["cells"]]})


def a_regular_expression(folder: Path, exercise: Notebook) -> None:
    """C code that holds the interpreter's lock for a year."""
    hand_in(folder, exercise, first="import re\nre.match('(a*)*b', 'a' * 60)")


def fork_bomb(folder: Path, exercise: Notebook) -> None:
    """Every process makes two, each in a session of its own."""
    hand_in(
        folder,
        exercise,
        first="""\
import os
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        pass""",
    )


def thread_bomb(folder: Path, exercise: Notebook) -> None:
    """As many threads as there can be, with small stacks."""
    hand_in(
        folder,
        exercise,
        first="""\
import threading, time
threading.stack_size(32 << 10)
while True:
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()""",
    )


def memory_bomb(folder: Path, exercise: Notebook) -> None:
    """One list of everything."""
    hand_in(
        folder,
        exercise,
        first="""\
kept = []
while True:
    try:
        kept.append(bytearray(64 << 20))
    except MemoryError:
        pass""",
    )


def memory_in_many_processes(folder: Path, exercise: Notebook) -> None:
    """Each below the limit of one."""
    hand_in(
        folder,
        exercise,
        first="""\
import os, time
for _ in range(10):
    if os.fork() == 0:
        kept = bytearray(800 << 20)
        time.sleep(600)
time.sleep(600)""",
    )


def memory_without_a_process(folder: Path, exercise: Notebook) -> None:
    """Pages that belong to no process: files in memory, in every place that takes them."""
    hand_in(
        folder,
        exercise,
        first="""\
import os
block = bytes(1 << 20)
for place in ("/dev/shm", "/dev", "/tmp", "/run", "/var/tmp", "."):
    for number in range(64):
        try:
            with open(f"{place}/{number}", "wb", buffering=0) as file:
                for _ in range(15):
                    file.write(block)
        except OSError:
            break
kept = sum(os.stat(f"/dev/shm/{name}").st_size for name in os.listdir("/dev/shm")) >> 20
raise MemoryError("/dev/shm keeps " + ("little" if kept <= 64 else f"{kept} MiB"))""",
    )


def output_flood(folder: Path, exercise: Notebook) -> None:
    """Gigabytes of output."""
    hand_in(
        folder,
        exercise,
        first="""\
import os, sys
line = "x" * (1 << 20) + "\\n"
for _ in range(4000):
    for write in (sys.stdout.write, sys.stderr.write, lambda t: os.write(1, t.encode())):
        try:
            write(line)
        except OSError:
            pass""",
    )


def huge_files(folder: Path, exercise: Notebook) -> None:
    """A file larger than the disk, and more files than it has names for."""
    hand_in(
        folder,
        exercise,
        first="""\
import os
for name in ("large", "/tmp/large"):
    try:
        with open(name, "wb") as file:
            file.truncate(1 << 45)
    except OSError:
        pass
    try:
        with open(name, "wb") as file:
            while True:
                file.write(bytes(1 << 20))
    except OSError:
        pass
number = 0
while True:
    os.close(os.open(f"{number}", os.O_CREAT | os.O_WRONLY))
    number += 1""",
    )


def endless_recursion(folder: Path, exercise: Notebook) -> None:
    """A stack without an end, in Python and in C."""
    hand_in(
        folder,
        exercise,
        first="""\
import sys
sys.setrecursionlimit(1 << 30)
def deeper(a): return deeper(a)""",
        mean_of_rows="mean_of_rows = deeper",
        along_rows="along_rows = deeper",
        last="value = ()\nfor _ in range(10_000_000): value = (value,)\nhash(value)",
    )


def large_answers(folder: Path, exercise: Notebook) -> None:
    """Values that are larger than any message, or deeper, or a number of many digits."""
    hand_in(
        folder,
        exercise,
        mean_of_rows="def mean_of_rows(a):\n    return np.zeros(1 << 27)",
        flaws="flaws = []\nfor _ in range(100_000): flaws = [flaws]",
        counter_example="counter_example = [1 << 10_000_000] * 3",
    )
