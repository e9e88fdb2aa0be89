"""Kernels as source: what is run, and what is refused before it is."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.errors import CourseError, UnmetCheck, UnsafeProgram
from mlc_course.grading.admission import admitted_kernel
from mlc_course.mugraph.box import launch

SUM = """
def total(t, out, a):
    \"\"\"The sum of a, by one block.\"\"\"
    tile = t.shared("tile", t.threads.x)
    tile[t.thread.x] = a[t.thread.x]
    stride = t.threads.x // 2
    while stride > 0:
        yield t.barrier()
        if t.thread.x < stride:
            tile[t.thread.x] += tile[t.thread.x + stride]
        stride //= 2
    if t.thread.x == 0:
        out[0] = tile[0]
"""


def test_an_admitted_kernel_runs_and_its_lines_are_known() -> None:
    out = np.zeros(1, np.float32)
    run = launch(admitted_kernel(SUM), out, np.ones(32, np.float32)).checked()
    assert out[0] == 32
    assert "line 13: out[0] = tile[0]" in {str(each.place) for each in run.counts}


def body(*lines: str) -> str:
    return "\n".join(["def kernel(t, out, a):", *(f"    {line}" for line in lines)])


@pytest.mark.parametrize(
    "lines",
    [
        ["import os"],
        ["from os import path"],
        ["open('x')"],
        ["out[0] = __import__('os')"],
        ["__builtins__"],
        ["t._launch"],
        ["t.block._replace(x=1)"],
        ["t.__class__"],
        ["t.shared.__func__"],
        ["a._session"],
        ["a.shape.__class__"],
        ["t.block = 1"],
        ["x = lambda: 1"],
        ["x = [i for i in range(3)]"],
        ["x = 2 ** 100"],
        ["x = 1 << 100"],
        ["x = 9", "x **= 9"],
        ["def inner(): pass"],
        ["global out"],
        ["with a: pass"],
        ["try:", "    pass", "except: pass"],
        ["eval('1')"],
        ["range = len"],
        ["t = a"],
        ["x = f'{a}'"],
        ["assert a"],
        ["del a"],
        ["out[0] = np.exp(a[0])"],
        ["(range if a else len)(3)"],
    ],
    ids=lambda lines: lines[0],
)
def test_what_is_not_on_the_list_is_refused_before_it_runs(lines: list[str]) -> None:
    with pytest.raises(UnsafeProgram, match="line [23]"):
        admitted_kernel(body(*lines))


@pytest.mark.parametrize(
    "source",
    [
        "@staticmethod\ndef k(t, a):\n    pass",
        "def k(t, a=1):\n    pass",
        "def k(*t):\n    pass",
        "def k():\n    pass",
        "async def k(t):\n    pass",
        "x = 1",
        "def k(t:\n",
        "def k(t):\n    pass\nprint(1)",
        7,
        "def k(t):\n    pass" + " " * 30_000,
    ],
    ids=repr,
)
def test_what_is_no_plain_function_is_refused(source: object) -> None:
    with pytest.raises(CourseError):
        admitted_kernel(source)


def test_an_empty_exercise_is_said_to_be_one() -> None:
    with pytest.raises(UnmetCheck, match="no answer yet"):
        admitted_kernel(body("raise NotImplementedError"))


@pytest.mark.parametrize("loop", ["while True:", "for i in range(1000000000):"])
def test_a_loop_without_an_end_is_ended(loop: str) -> None:
    kernel = admitted_kernel(body(loop, "    pass"))
    with pytest.raises(UnmetCheck, match="turns of loops"):
        launch(kernel, np.zeros(1), np.zeros(1))


@pytest.mark.parametrize("search", ["0.5 in range(10000000000)", "max(range(0, -10000000000, -1))"])
def test_a_search_without_an_end_is_not_begun(search: str) -> None:
    kernel = admitted_kernel(body(f"x = {search}"))
    with pytest.raises(UnmetCheck, match="a range that is too long"):
        launch(kernel, np.zeros(1), np.zeros(1))
