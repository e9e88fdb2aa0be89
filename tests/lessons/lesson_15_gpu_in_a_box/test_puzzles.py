"""The puzzles of lesson 15: right kernels in several forms, and wrong ones that get no tick."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlc_course.errors import UsageError
from mlc_course.grading.admission import admitted_kernel
from mlc_course.lessons.lesson_15_gpu_in_a_box import PUZZLES, attempt, verdict
from mlc_course.mugraph.box import launch

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "15_gpu_in_a_box.ipynb"

RIGHT: list[tuple[int, str]] = [
    (1, "i = t.block.x * t.threads.x + t.thread.x\nout[i] = 2 * a[i]"),
    (1, "i = t.block.x * 32 + t.thread.x\nout[i] = a[i] + a[i]"),
    (1, "i = t.thread.x * 4 + t.block.x\nout[i] = 2 * a[i]"),
    (
        1,
        "x = t.thread.x\nfor i in range(t.block.x * 32 + x, len(a), t.blocks.x * 32):\n"
        "    out[i] = 2 * a[i]",
    ),
    (2, "i = t.block.x * t.threads.x + t.thread.x\nif i < len(a):\n    out[i] = 2 * a[i]"),
    (2, "i = t.block.x * 32 + t.thread.x\nif i >= 70:\n    return\nout[i] = 2 * a[i]"),
    (
        2,
        "for i in range(t.block.x * 32 + t.thread.x, a.shape[0], 96):\n    out[i] = 2 * a[i]",
    ),
    (
        3,
        "i = t.block.x * 32 + t.thread.x\ns = a[i]\nif i > 0:\n    s += a[i - 1]\n"
        "if i < 63:\n    s += a[i + 1]\nout[i] = s",
    ),
    (
        3,
        "i = t.block.x * 32 + t.thread.x\ns = 0.0\nfor k in range(max(i - 1, 0), min(i + 2, 64)):\n"
        "    s = s + a[k]\nout[i] = s",
    ),
    (
        3,
        "i = t.block.x * 32 + t.thread.x\nleft = a[i - 1] if i else 0.0\n"
        "right = a[i + 1] if i + 1 < len(a) else 0.0\nout[i] = left + a[i] + right",
    ),
    (
        4,
        "x = t.block.x * t.threads.x + t.thread.x\ny = t.block.y * t.threads.y + t.thread.y\n"
        "out[y, x] = 2 * a[y, x]",
    ),
    (
        5,
        'tile = t.shared("tile", 64)\ni = t.block.x * 64 + t.thread.x\ntile[t.thread.x] = a[i]\n'
        "yield t.barrier()\nout[i] = tile[63 - t.thread.x]",
    ),
    (5, "first = t.block.x * 64\nout[first + 63 - t.thread.x] = a[first + t.thread.x]"),
    (
        6,
        'tile, x = t.shared("tile", 64), t.thread.x\ntile[x] = a[x]\nstride = 32\n'
        "while stride > 0:\n    yield t.barrier()\n    if x < stride:\n"
        "        tile[x] += tile[x + stride]\n    stride = stride // 2\n"
        "if x == 0:\n    out[0] = tile[0]",
    ),
    (
        6,
        'tile = t.shared("tile", 64)\ntile[t.thread.x] = a[t.thread.x]\nyield t.barrier()\n'
        "if t.thread.x == 0:\n    s = 0.0\n    for k in range(64):\n        s += tile[k]\n"
        "    out[0] = s",
    ),
    (
        7,
        'tile = t.shared("tile", (32, 33))\nx, y = t.thread.x, t.thread.y\n'
        "for row in range(0, 32, 8):\n    tile[y + row, x] = a[y + row, x]\nyield t.barrier()\n"
        "for row in range(0, 32, 8):\n    out[y + row, x] = tile[x, y + row]",
    ),
    (
        7,
        'tile = t.shared("tile", (32, 32))\nx, y = t.thread.x, t.thread.y\n'
        "for row in range(0, 32, 8):\n    tile[y + row, (x + y + row) % 32] = a[y + row, x]\n"
        "yield t.barrier()\n"
        "for row in range(0, 32, 8):\n    out[y + row, x] = tile[x, (x + y + row) % 32]",
    ),
    (
        8,
        'tile, x = t.shared("tile", 64), t.thread.x\nright = (x + 1) % 64\ns = a[x] + a[right]\n'
        "tile[x] = s\nyield t.barrier()\ns = s + tile[right]\nyield t.barrier()\ntile[x] = s\n"
        "out[x] = tile[x]",
    ),
    (
        8,
        'tile, x = t.shared("tile", 64), t.thread.x\nright = (x + 1) % 64\ns = a[x] + a[right]\n'
        "tile[x] = s\nyield t.barrier()\nout[x] = s + tile[right]",
    ),
]

THREE = (
    'tile, x = t.shared("tile", 64), t.thread.x\nright = (x + 1) % 64\ns = a[x] + a[right]\n'
    "tile[x] = s\nyield t.barrier()\ns = s + tile[right]\nyield t.barrier()\ntile[x] = s\n"
    "yield t.barrier()\nout[x] = tile[x]"
)
BARRIER = "yield t.barrier()\n"


def without(number: int) -> str:
    """The kernel of puzzle 8 without one of its three barriers."""
    parts = THREE.split(BARRIER)
    joined = parts[0]
    for n, part in enumerate(parts[1:], 1):
        joined += (BARRIER if n != number else "") + part
    return joined


WRONG: list[tuple[int, str, str]] = [
    (1, "i = t.block.x + t.thread.x\nout[i] = 2 * a[i]", "both write out["),
    (1, "i = t.block.x * t.thread.x\nout[i] = 2 * a[i]", "race"),
    (1, "i = t.block.x * 33 + t.thread.x\nout[i] = 2 * a[i]", "and a[128] ends at 127"),
    (2, "i = t.block.x * 32 + t.thread.x\nif i <= len(a):\n    out[i] = 2 * a[i]", "reads a[70]"),
    (
        2,
        "i = t.block.x * 32 + t.thread.x\nif t.block.x < 2:\n    out[i] = 2 * a[i]",
        "nothing: no thread writes it",
    ),
    (
        3,
        "i = t.block.x * 32 + t.thread.x\nif 0 < i < 63:\n    out[i] = a[i - 1] + a[i] + a[i + 1]",
        "2 elements of 64 are wrong, first out[0]",
    ),
    (
        3,
        "i = t.block.x * 32 + t.thread.x\nout[i] = a[max(i - 1, 0)] + a[i] + a[min(i + 1, 63)]",
        "are wrong, first out[0]",
    ),
    (
        4,
        "x = t.block.x * 32 + t.thread.x\ny = t.block.y * 8 + t.thread.y\nout[y, x] = 2 * a[x, y]",
        "are wrong",
    ),
    (
        5,
        'tile = t.shared("tile", 64)\ni = t.block.x * 64 + t.thread.x\nyield t.barrier()\n'
        "tile[t.thread.x] = a[i]\nout[i] = tile[63 - t.thread.x]",
        "thread 0 writes tile[0], thread 63 reads it",
    ),
    (
        5,
        'tile = t.shared("tile", 64)\ni = t.block.x * 64 + t.thread.x\n'
        "tile[t.thread.x] = a[i]\nt.barrier()\nout[i] = tile[63 - t.thread.x]",
        "without yield",
    ),
    (
        6,
        'tile, x = t.shared("tile", 64), t.thread.x\ntile[x] = a[x]\nyield t.barrier()\n'
        "stride = 32\nwhile stride > 0:\n    if x < stride:\n"
        "        tile[x] += tile[x + stride]\n    stride = stride // 2\n"
        "if x == 0:\n    out[0] = tile[0]",
        "race",
    ),
    (
        6,
        "if t.thread.x == 0:\n    s = 0.0\n    for k in range(64):\n        s += a[k]\n"
        "    out[0] = s",
        "too many requests",
    ),
    (
        7,
        "x, y = t.thread.x, t.thread.y\nfor row in range(0, 32, 8):\n"
        "    out[x, y + row] = a[y + row, x]",
        "too many sectors",
    ),
    (
        7,
        'tile = t.shared("tile", (32, 34))\nx, y = t.thread.x, t.thread.y\n'
        "for row in range(0, 32, 8):\n    tile[y + row, x] = a[y + row, x]\nyield t.barrier()\n"
        "for row in range(0, 32, 8):\n    out[y + row, x] = tile[x, y + row]",
        "too many wavefronts",
    ),
    (8, without(1), "thread 0 writes tile[0], thread 63 reads it"),
    (8, without(2), "race"),
    (
        8,
        "x = t.thread.x\nout[x] = a[x] + 2 * a[(x + 1) % 64] + a[(x + 2) % 64]",
        "too many accesses",
    ),
]


def judged(number: int, body: str) -> tuple[bool, str]:
    source = "\n".join(["def kernel(t, out, a):", *(f"    {line}" for line in body.split("\n"))])
    kernel = admitted_kernel(source)
    return verdict(number, kernel)


@pytest.mark.parametrize(("number", "body"), RIGHT)
def test_a_right_kernel_solves_its_puzzle_in_any_form(number: int, body: str) -> None:
    is_solved, said = judged(number, body)
    assert is_solved, said
    assert said.startswith("Solved: ")


@pytest.mark.parametrize(("number", "body", "words"), WRONG)
def test_a_wrong_kernel_gets_no_tick_and_is_told_why(number: int, body: str, words: str) -> None:
    is_solved, said = judged(number, body)
    assert not is_solved
    assert said.startswith("Not yet") and words in said, said


def test_every_puzzle_has_right_and_wrong_kernels() -> None:
    assert {number for number, _ in RIGHT} == {number for number, *_ in WRONG} == set(PUZZLES)


def given_kernels() -> dict[int, str]:
    """The kernels that the lesson gives to be repaired, by the number of their puzzle."""
    found = {}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        name, source = cell["id"], "".join(cell["source"])
        if name.startswith("puzzle-") and name.endswith("-try"):
            found[int(name.split("-")[1])] = source.split("\n\n\n")[0]
    return found


@pytest.mark.parametrize("number", PUZZLES)
def test_what_the_lesson_gives_is_not_solved_yet(number: int) -> None:
    is_solved, said = verdict(number, admitted_kernel(given_kernels()[number]))
    assert not is_solved
    if number not in (4, 7, 8):  # these are right, and cost too much
        assert "thread" in said


def test_an_unknown_puzzle_is_refused() -> None:
    with pytest.raises(UsageError, match="no puzzle 9"):
        attempt(9, lambda t: None)


def test_an_attempt_prints_its_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    attempt(1, admitted_kernel("def k(t, out, a):\n    out[t.thread.x] = 1"))
    assert capsys.readouterr().out.startswith("Not yet: race: thread 0 of block 0")


# ---- what the lesson says of kernels


def shift(t: Any, out: Any, a: Any) -> Any:
    tile = t.shared("tile", 64)
    x = t.thread.x
    tile[x] = a[x]
    out[x] = tile[max(x - 1, 0)]


def test_the_race_of_the_lesson_is_right_in_ascending_order_only() -> None:
    import numpy as np

    numbers = np.arange(64, dtype=np.float32)
    right = {}
    for order in ("ascending", "descending", 1):
        out = np.zeros(64, np.float32)
        run = launch(shift, out, numbers, threads=64, order=order)
        assert run.faults[0].kind == "race"
        right[order] = np.array_equal(out, numbers[np.maximum(np.arange(64) - 1, 0)])
    assert right == {"ascending": True, "descending": False, 1: False}
