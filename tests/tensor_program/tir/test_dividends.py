from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlc_course.tensor_program.problems import aligned
from mlc_course.tensor_program.tir import (
    PrimFunc,
    T,
    compile_program,
    doubtful_quotient,
    shared_tensor,
    tirx,
    walk,
)

FALLING = {
    "(7 - v) // 4": lambda v: (7 - v) // 4,
    "(7 - v) % 4": lambda v: (7 - v) % 4,
    "(v * -1 + 7) // 4": lambda v: (v * -1 + 7) // 4,
    "((7 - v) // 2) % 2": lambda v: ((7 - v) // 2) % 2,
    "(7 - v % 4) // 2": lambda v: (7 - v % 4) // 2,
    "(7 - v // 2) // 2": lambda v: (7 - v // 2) // 2,
    "(100 - v) // 4": lambda v: (100 - v) // 4,
    "(v - 1) // 4": lambda v: (v - 1) // 4,
    "(22 + (v - 17) // 8) % 7": lambda v: (22 + (v - 17) // 8) % 7,
}
RISING = {
    "v // 4": lambda v: v // 4,
    "7 - v // 4": lambda v: 7 - v // 4,
    "(v * 3 + 5) % 7": lambda v: (v * 3 + 5) % 7,
    "(v // 2 + 1) % 3": lambda v: (v // 2 + 1) % 3,
    "7 - v": lambda v: 7 - v,
}


def scattered(index: Any) -> PrimFunc:
    """B[index(v) + 100] = A[v], for v from 0 to 7, with v bound to an iterator."""
    a, b = tirx.decl_buffer((8,), name="A"), tirx.decl_buffer((256,), name="B")
    i = tirx.Var("i", "int32")
    body = tirx.BufferStore(b, a[i], [index(i) + 100])
    return PrimFunc([a, b], tirx.For(i, 0, 8, tirx.ForKind.SERIAL, body))


def compiled(program: PrimFunc) -> Any:
    given, out = aligned(np.arange(1, 9, dtype=np.float32)), aligned(np.zeros(256, np.float32))
    compile_program(program.with_attr("global_symbol", "main"))(
        shared_tensor(given), shared_tensor(out)
    )
    return out


def right(index: Any) -> Any:
    out = np.zeros(256, np.float32)
    for v in range(8):
        out[index(v) + 100] = v + 1
    return out


@pytest.mark.parametrize("text", FALLING)
def test_a_doubtful_quotient_is_found(text: str) -> None:
    assert doubtful_quotient(walk(scattered(FALLING[text]))) is not None


@pytest.mark.parametrize("text", RISING)
def test_another_quotient_is_left_alone_and_compiled_well(text: str) -> None:
    program = scattered(RISING[text])
    assert doubtful_quotient(walk(program)) is None
    assert (compiled(program) == right(RISING[text])).all()


def test_an_iterator_may_fall_too() -> None:
    @T.prim_func(s_tir=True)
    def turned(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("B"):
                v = T.axis.spatial(8, 7 - i)
                B[v] = A[v // 4]

    assert str(doubtful_quotient(walk(turned))) == "v // 4"
