"""Lines and functions that once were read with another meaning than the one that runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlc_course.errors import TextError, UsageError
from mlc_course.instruction_selection.spec import specification
from mlc_course.tensor_program.tir import IRModule, level_target, read_script, shared_tensor, tvm

SUM = "u8 A, u8 B -> u8 O: min(A + B, 255)"


@pytest.mark.parametrize(
    "line",
    [
        f"{SUM} # saturate - A",
        "u8 A, u8 B -> u8 O: min(A + B, 255)  # saturates\n - A",
        "# a sum u8 A, u8 B -> u8 O: A + B",
        "u8 A # first, u8 B -> u8 O: A + B",
    ],
)
def test_a_comment_does_not_hide_the_rest_of_a_line(line: str) -> None:
    with pytest.raises(TextError, match="#"):
        specification(line)


@pytest.mark.parametrize(
    "promised", [(0.5, 3), (0, 127.0), ("0", "3"), (None, None), (3,), (1, 2, 3), 5, None, "ab"]
)
def test_a_range_is_two_integers(promised: Any) -> None:
    if promised is None:
        assert specification(SUM, ranges={"A": promised}).ranges == {}
        return
    with pytest.raises(UsageError, match="range of A"):
        specification(SUM, ranges={"A": promised})


@pytest.mark.parametrize("of", [np.uint8, np.int8, np.int64, bool])
def test_a_range_of_numpy_integers_is_one_of_python_integers(of: type) -> None:
    made = specification(SUM, ranges={"A": (of(0), of(1)), "B": (of(0), of(1))})
    assert all(type(x) is int for x in (*made.ranges["A"], *made.ranges["B"]))


def function(dtype: str, body: str) -> Any:
    return read_script(
        "@T.prim_func(s_tir=True)\n"
        f'def main(A: T.Buffer((4096,), "{dtype}"), B: T.Buffer((4096,), "{dtype}"), '
        f'O: T.Buffer((4096,), "{dtype}")):\n'
        "    for i in range(4096):\n"
        '        with T.sblock("cell"):\n'
        "            vi = T.axis.spatial(4096, i)\n"
        f"            O[vi] = {body}\n"
    )


# What TVM computes is given for A = 255 (127 with a sign) and B = 0: it drops the comparison.
BELIEVED = [
    ("uint8", "T.Cast('uint8', T.max(T.Cast('int32', A[vi] + T.uint8(1)), 1)) ^ B[vi]"),
    ("uint8", "T.Cast('uint8', T.Select(T.Cast('int32', A[vi] + T.uint8(1)) > 0, 7, 9)) ^ B[vi]"),
    ("uint8", "T.Cast('uint8', T.min(T.Cast('int64', A[vi] - T.uint8(1)), T.int64(254))) ^ B[vi]"),
    ("int8", "T.Cast('int8', T.max(T.Cast('int32', A[vi] + T.int8(1)), -127)) ^ B[vi]"),
    ("int16", "T.Cast('int16', T.max(T.Cast('int32', A[vi] + T.int16(1)), -32767)) ^ B[vi]"),
    ("uint8", "T.Cast('uint8', T.max(T.Cast('int32', (A[vi] + T.uint8(1)) | B[vi]), 1))"),
    ("uint8", "T.Cast('uint8', T.max(T.Cast('int32', A[vi] << T.uint8(1)) + 1, 1)) ^ B[vi]"),
]


@pytest.mark.parametrize(("dtype", "body"), BELIEVED)
def test_narrow_arithmetic_that_wraps_is_refused_inside_a_wider_cast(dtype: str, body: str) -> None:
    with pytest.raises(UsageError, match="in a cast"):
        specification(function(dtype, body))


KEPT = [
    ("uint8", "T.max(A[vi] + T.uint8(1), T.uint8(1)) ^ B[vi]"),
    ("int8", "T.max(A[vi] + T.int8(1), T.int8(-127)) ^ B[vi]"),
    ("int8", "T.min(A[vi] + T.int8(1), A[vi]) + B[vi]"),
    ("uint8", "T.Select(A[vi] + T.uint8(1) > B[vi] + T.uint8(1), B[vi], A[vi])"),
    ("uint8", "T.Cast('uint8', T.Cast('uint16', A[vi] + B[vi]) + T.uint16(3))"),
    ("uint8", "T.Cast('uint8', (T.Cast('int32', A[vi]) + 1) & 255) ^ B[vi]"),
    ("uint8", "T.Cast('uint8', T.Cast('int32', A[vi] + T.uint8(1) > B[vi]) * 3)"),
]


@pytest.mark.parametrize(("dtype", "body"), KEPT)
def test_narrow_arithmetic_that_is_read_wraps_as_it_runs(dtype: str, body: str) -> None:
    made = function(dtype, body)
    of = np.dtype(dtype)
    ends = np.iinfo(of)
    special = np.array([ends.min, ends.min + 1, ends.max - 1, ends.max, 0, 1, 2, 3] * 2)
    a, b = (x.ravel().astype(of) for x in np.meshgrid(np.arange(ends.min, ends.max + 1), special))
    wanted = specification(made).evaluate({"A": a, "B": b})
    got = np.zeros(4096, of)
    run = tvm.compile_module(IRModule({"main": made}), level_target({"mcpu": "haswell"}))
    aligned = [_aligned(x) for x in (a, b, got)]
    run["main"](*(shared_tensor(x) for x in aligned))
    assert (aligned[-1] == wanted).all()


def _aligned(values: Any) -> Any:
    room = np.empty(values.nbytes + 64, np.uint8)
    skip = -room.ctypes.data % 64
    copy = room[skip : skip + values.nbytes].view(values.dtype)
    copy[...] = values
    return copy
