"""A loop means here what TVM compiles, and what TVM compiles wrongly is refused."""

from __future__ import annotations

import random

import numpy as np
import pytest

from mlc_course.errors import CourseError, UsageError
from mlc_course.instruction_selection.integers import S8, U8, U16, variable, wrap
from mlc_course.instruction_selection.spec import Specification, specification
from mlc_course.tensor_program.tir import PrimFunc, tvm

OUTPUTS = 61
ONE = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((256,), "{of}"), O: T.Buffer((256,), "int32")):
    for i in range(256):
        with T.sblock("cell"):
            vi = T.axis.spatial(256, i)
            O[vi] = {body}
"""


def drawn(rng: random.Random, depth: int) -> str:
    """An expression over A and B."""
    if depth == 0 or rng.random() < 0.15:
        numbers = [0, 1, 2, 3, 7, 15, 64, 127, 128, 255, -1, -5]
        return rng.choice("AB") if rng.random() < 0.75 else str(rng.choice(numbers))
    a, b, c, d = (drawn(rng, depth - 1) for _ in range(4))
    cast = rng.choice(["u8", "s8", "u16", "s16", "u32", "s64"])
    return rng.choice(
        [
            *(f"({a} {op} {b})" for op in "+-*&|^"),
            f"({a} >> {rng.randrange(9)})",
            f"({a} << {rng.randrange(9)})",
            *(f"{name}({a}, {b})" for name in ("min", "max")),
            *(f"select({a} {op} {b}, {c}, {d})" for op in ("<", "<=", ">", ">=", "==", "!=")),
            *[f"{cast}({a})"] * 3,
            f"-{a}",
            f"~{a}",
            f"abs({a})",
            f"clamp({a}, -128, 127)",
        ]
    )


def by_tvm(spec: Specification, arrays: dict[str, np.ndarray]) -> np.ndarray:
    given = {
        each.name: tvm.tvm.runtime.tensor(
            arrays.get(each.name, np.zeros(each.shape(OUTPUTS), each.type.numpy))
        )
        for each in spec.tile.buffers
    }
    tvm.compile_module(spec.prim_func(OUTPUTS), tvm.cpu_target())["main"](*given.values())
    return given[spec.result.buffer].numpy()


def function(body: str, of: str = "uint8") -> PrimFunc:
    return tvm.read_script(ONE.format(body=body, of=of))


@pytest.mark.parametrize("seed", range(6))
def test_lines_drawn_at_random_mean_what_tvm_compiles(seed: int) -> None:
    rng = random.Random(seed)
    run = 0
    for number in range(12):
        body = drawn(rng, 3)
        read = [f"{rng.choice(['u8', 's8', 'u16', 's16'])} {name}" for name in "AB" if name in body]
        if not read:
            continue
        head = f"{', '.join(read)} -> {rng.choice(['u8', 's16', 's32'])} O"
        try:
            spec = specification(f"{head}: {body}")
        except CourseError as error:
            assert "overflow" in str(error)
            continue
        arrays = spec.sample(OUTPUTS, number, extremes=0.5)
        assert np.array_equal(by_tvm(spec, arrays), spec.evaluate(arrays)), spec.line
        run += 1
    assert run >= 5


def test_a_cast_of_a_line_is_one_wrap() -> None:
    a = variable("A[0]", U8)
    assert specification("u8 A -> s32 O: s8(A)").cell.goal is wrap(S8, a)
    b = variable("A[0]", U16)
    assert specification("u16 A -> s32 O: u8(A + 1) + 1").cell.goal is wrap(U8, b + 1) + 1
    assert specification("u8 A -> s32 O: s16(A)").cell.goal is a


@pytest.mark.parametrize(
    "body",
    [
        'T.max(T.cast(T.cast(A[vi], "int8"), "int32"), 0)',
        'T.max((T.cast(A[vi], "int32") << 24) >> 24, 0)',
    ],
)
def test_tvm_takes_it_that_casts_and_shifts_keep_values(body: str) -> None:
    """Why these are refused: were TVM to give 0, they need not be."""
    made = function(body)
    given = [tvm.tvm.runtime.tensor(np.full(256, 200, np.uint8))]
    given.append(tvm.tvm.runtime.tensor(np.zeros(256, np.int32)))
    tvm.compile_module(made, tvm.cpu_target())["main"](*given)
    assert given[1].numpy()[0] == 200 - 256
    with pytest.raises(UsageError, match="overflow|cast that may change"):
        specification(made)


def test_the_hint_of_a_refused_cast_is_the_mask_to_write() -> None:
    with pytest.raises(UsageError, match="cast that may change") as caught:
        specification(function('T.max(T.cast(T.cast(A[vi], "int8"), "int32"), 0)'))
    assert caught.value.hint == "write ((x & 255) ^ 128) - 128"
    masked = 'T.max(((T.cast(A[vi], "int32") & 255) ^ 128) - 128, 0)'
    spec = specification(function(masked))
    assert spec.cell.goal is specification("u8 A -> s32 O: max(s8(A), 0)").cell.goal


def test_a_cast_that_keeps_the_value_or_is_stored_is_none_to_refuse() -> None:
    stored = 'T.cast(T.cast(A[vi], "uint8"), "int32")'
    whole = specification(function(f"T.max({stored}, 3)", "int16"))  # all bytes are possible
    assert whole.cell.goal.hi == 255
    kept = specification(function(stored, "int8"), ranges={"A": (0, 100)})
    assert (kept.cell.goal.lo, kept.cell.goal.hi) == (0, 100)
    assert specification("s16 A -> u8 O: A + 300").cell.result == U8
