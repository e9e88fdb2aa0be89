"""Admitted programs stay inside their buffers when they run, and read and write what they say."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from cases import Tried
from index_expressions import Index, drawn, nest

from mlc_course.errors import UnsafeProgram, UsageError
from mlc_course.grading.admission.admitted_programs import admit
from mlc_course.tensor_program.problems import aligned
from mlc_course.tensor_program.tir import (
    IRModule,
    PrimFunc,
    T,
    compile_program,
    shared_tensor,
    tirx,
)

N = 64  # elements of a buffer
GUARD = 4096  # elements before and behind it
TOGETHER = 24  # expressions in one program


@T.prim_func(s_tir=True)
def COPY(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):  # type: ignore[no-untyped-def]
    for i in range(N):
        B[i] = A[i]


def integer(value: Any) -> Any:
    return tirx.const(value, "int32") if isinstance(value, int) else value


class Draft:
    """Some index expressions, each read from A and each written to B, one after the other."""

    def __init__(self) -> None:
        self.a, self.b = COPY.params
        self.stores: list[Any] = []
        self.meant: list[tuple[list[int], Index, bool]] = []

    def add(self, extents: list[int], index: Index, *, writes: bool, inner: str) -> bool:
        """Add an expression if it is admitted."""

        def store(loops: list[Any]) -> Any:
            at = integer(index(loops, tirx.min, tirx.max))
            if writes:
                return tirx.BufferStore(self.b, self.a[0] + tirx.const(1.0), [at])
            return tirx.BufferStore(self.b, self.b[1] + self.a[at], [1])

        try:
            stmt = nest(extents, store, inner)
            admit(IRModule({"main": self.function([stmt])}), self.function([stmt]))
            if inner == "VECTORIZED":  # TVM has no vectors of some conditions, and says so
                compile_program(self.function([stmt]))
        except (UnsafeProgram, UsageError):
            return False
        self.stores.append(stmt)
        self.meant.append((extents, index, writes))
        return True

    def function(self, stores: list[Any]) -> PrimFunc:
        body = stores[0] if len(stores) == 1 else tirx.SeqStmt(stores)
        return PrimFunc([self.a, self.b], body).with_attr("global_symbol", "main")

    def check(self) -> None:
        a, b = aligned(np.full(N + 2 * GUARD, np.nan)), aligned(np.full(N + 2 * GUARD, 7.0))
        a[GUARD : GUARD + N] = np.arange(N)
        b[GUARD : GUARD + N] = 0
        inner = [shared_tensor(each[GUARD : GUARD + N]) for each in (a, b)]
        compile_program(self.function(self.stores))(*inner)
        right = np.zeros(N, np.float32)
        for extents, index, writes in self.meant:
            for at in np.ndindex(*extents):
                here = index([int(each) for each in at], min, max)
                if writes:
                    right[here] = 1
                else:
                    right[1] += np.float32(here)
        assert (b[:GUARD] == 7).all()
        assert (b[GUARD + N :] == 7).all()
        np.testing.assert_array_equal(b[GUARD : GUARD + N], right)


@pytest.mark.slow
@pytest.mark.fuzz
def test_no_admitted_program_touches_a_guard_zone(full: bool, seed: int, tried: Tried) -> None:
    rng = random.Random(seed)
    admitted = 0
    for _ in range(10_000 // TOGETHER if full else 16):
        draft, texts = Draft(), []
        for _ in range(100 * TOGETHER):
            if len(draft.stores) == TOGETHER:
                break
            extents = [rng.randint(1, 9) for _ in range(rng.randint(1, 3))]
            text, index = drawn(rng, len(extents), rng.randint(1, 4))
            tried("index expressions", 1)
            writes = rng.random() < 0.7
            inner = rng.choice(["SERIAL", "UNROLLED", *(["VECTORIZED"] if writes else [])])
            if draft.add(extents, index, writes=writes, inner=inner):
                texts.append(f"{text} in {extents}, {inner.lower()}")
        assert len(draft.stores) == TOGETHER
        admitted += TOGETHER
        try:
            draft.check()
        except AssertionError as error:
            error.add_note("\n".join(texts))
            raise
    tried("index expressions admitted and run", admitted)
