"""Whatever sequence of steps is taken: each is refused and nothing changes, or the result is right.

The result is compared with float64 NumPy, as TVM compiles it, and where loops run in parallel also
as a slow interpreter runs it in an order drawn at random.
"""

from __future__ import annotations

import random
from typing import Any

import hypothesis
import numpy as np
import pytest
from cases import Tried
from hypothesis import strategies as st
from interpreter import Interpreter
from odd_programs import KINDS
from random_steps import NAMES, random_step

from mlc_course.errors import CourseError
from mlc_course.machine import usable_cores
from mlc_course.tensor_program.problems import aligned
from mlc_course.tensor_program.tir import (
    Schedule,
    compile_program,
    main_function,
    shared_tensor,
)

SIZES = ((4, 6, 8), (8, 8, 8), (5, 4, 3), (1, 4, 7), (16, 12, 4), (7, 2, 1), (6, 16, 5))
MOST = 12  # steps


def take(data: st.DataObject, sch: Schedule, note: Any) -> bool:
    """Take a step, or see that its refusal leaves everything as it was."""
    name, args, named = random_step(data.draw, sch)
    before, done = sch.mod, len(sch.trace.insts)
    try:
        NAMES[name](sch, *args, **named)
    except CourseError as error:
        assert sch.mod.same_as(before)
        assert len(sch.trace.insts) == done
        assert str(error)
        return False
    note(f"{name}(sch, {args}, {named})")
    return True


def check(sch: Schedule, kind: str, sizes: tuple[int, int, int], seed: int) -> None:
    odd = KINDS[kind]
    rng = np.random.default_rng(seed)
    inputs = [rng.uniform(-1, 1, shape) for shape in odd.shapes(*sizes)]
    inputs = [each.astype(np.float32).astype(np.float64) for each in inputs]
    right = odd.numpy(*inputs)
    scale = max(1.0, float(np.abs(right).max()))
    in_parallel = "T.parallel" in sch.mod.script()
    compiled = compile_program(sch, threads=usable_cores() if in_parallel else 1)
    single = [shared_tensor(aligned(each.astype(np.float32))) for each in inputs]
    for _ in range(3 if in_parallel else 1):
        out = aligned(np.full(right.shape, np.nan, np.float32))
        compiled(*single, shared_tensor(out))
        assert np.abs(out - right).max() <= 1e-4 * scale, "as TVM compiles it"
    out64 = np.full(right.shape, np.nan)
    Interpreter(main_function(sch), [*map(np.copy, inputs), out64], random.Random(seed))
    assert np.abs(out64 - right).max() <= 1e-5 * scale, "in an order drawn at random"


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.timeout(1800)  # 5,000 programs take ten minutes
def test_a_step_is_refused_or_right(full: bool, seed: int, tried: Tried) -> None:
    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=5000 if full else 100,
        derandomize=False,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(st.data())
    def one(data: st.DataObject) -> None:
        sizes = data.draw(st.sampled_from(SIZES), label="sizes")
        kind = data.draw(
            st.sampled_from([k for k in KINDS if KINDS[k].sizes(*sizes)]), label="kind"
        )
        sch = Schedule(KINDS[kind].program(*sizes))
        taken = 0
        for _ in range(data.draw(st.integers(1, MOST), label="steps")):
            taken += take(data, sch, hypothesis.note)
        tried("programs", 1)
        tried("steps taken", taken)
        check(sch, kind, sizes, seed)

    one()
