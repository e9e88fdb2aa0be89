"""A transformation that is called legal gives the same results, in whatever order it runs.

Both programs are run by a slow interpreter that shares nothing with the library's analyses; loops
whose iterations have no order are mixed at random, some times.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
import pytest
from cases import Tried
from hypothesis import strategies as st
from interpreter import Interpreter, OutOfBounds
from random_pairs import statement_pair, workload_pair

from mlc_course.tensor_program.legality import Illegal, Legal, compare, races
from mlc_course.tensor_program.tir import PrimFunc

ORDERS = 6


def results(program: PrimFunc, seed: int) -> list[Any]:
    """The parameters after a run, in an order drawn at random."""
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(0.5, 1.5, [int(n) for n in each.shape]) for each in program.params]
    Interpreter(program, arrays, random.Random(seed))
    return arrays


def outcomes(program: PrimFunc, seed: int) -> list[list[Any]]:
    """The results in some orders; none where an access leaves its buffer."""
    try:
        return [results(program, seed + order) for order in range(ORDERS)]
    except OutOfBounds:
        return []


def same(one: list[Any], other: list[Any]) -> bool:
    close = [np.allclose(*pair, rtol=1e-9, equal_nan=True) for pair in zip(one, other, strict=True)]
    return all(close)


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.timeout(1800)  # 5,000 pairs take minutes
@pytest.mark.parametrize("pair", [workload_pair, statement_pair], ids=["workloads", "statements"])
def test_legal_is_never_different(
    full: bool, seed: int, tried: Tried, pair: Callable[[Any], tuple[PrimFunc, PrimFunc]]
) -> None:
    verdicts: Counter[str] = Counter()

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=5000 if full else 100,
        derandomize=False,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(st.data())
    def one(data: st.DataObject) -> None:
        before, after = pair(data.draw)
        hypothesis.note(f"{before.script()}\n{after.script()}")
        verdict = compare(before, after)
        hypothesis.note(str(verdict))
        right, found = results(before, 0), outcomes(after, seed)
        seen = not found or not all(same(right, each) for each in found)
        assert not (isinstance(verdict, Legal) and seen)
        steady = found and all(same(found[0], each) for each in found)
        assert steady or not isinstance(races(after), Legal)
        kind = type(verdict).__name__.lower()
        if isinstance(verdict, Illegal):
            kind += "" if seen else f", never seen to differ: {verdict.kind}"
        verdicts[kind] += 1

    one()
    for kind, cases in verdicts.items():
        tried(f"pairs of {pair.__name__.removesuffix('_pair')}s {kind}", cases)
    harmless = sum(cases for kind, cases in verdicts.items() if "never" in kind)
    assert verdicts["legal"]
    assert verdicts["illegal"] or not full
    if pair is workload_pair:
        assert harmless <= 0.05 * sum(verdicts.values())
