"""An operator of one's own is one ``Op``: for the search, its workers, its results, and costs."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_graphs import SOFT_CAP, normal_inputs, relative_error

from mlc_course.errors import UsageError
from mlc_course.mugraph.cost import A100, cost, operations
from mlc_course.mugraph.ir import KernelGraph, Op, ops, parse, run
from mlc_course.mugraph.search import Found, Store, superoptimize
from mlc_course.mugraph.search.own_operators import digest, own, packed, unpacked

pytestmark = pytest.mark.slow

TEXT = """
capped(X[b=64, d=64], W[d, n=512]):
  P = matmul(X, W)
  S = soft_cap(P, by=50)
  E = exp(S)
  T = sum(E, axis=1)
  Y = div(E, T)
  return Y
"""


def program(op: Op = SOFT_CAP) -> KernelGraph:
    return parse(TEXT, (*ops.OPERATORS, op))


def found(*given: Any, **options: Any) -> list[Found]:
    return [each for each in superoptimize(*given, **options) if isinstance(each, Found)]


def test_a_program_with_an_operator_of_one_s_own_is_searched() -> None:
    graphs = found(program())
    assert any(len(each.graph.equations) < 5 for each in graphs)
    inputs = normal_inputs(program())
    for each in graphs:
        assert "soft_cap" in str(each.graph)
        assert relative_error(*run(each.graph, inputs), *run(program(), inputs)) < 1e-12


def test_workers_find_the_same(tmp_path: Path) -> None:
    here = [str(each.graph) for each in found(program())]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        there = found(program(), executor=pool, store=Store(tmp_path))
    assert [str(each.graph) for each in there] == here
    again = found(program(), store=Store(tmp_path))
    assert [str(each.graph) for each in again] == here


def test_another_meaning_is_another_search(tmp_path: Path) -> None:
    """A result that is stored for one operator is not served for another of its name."""
    other = replace(SOFT_CAP, meaning=lambda m, x, by: x * m.constant(by))
    assert digest(packed([other])) != digest(packed([SOFT_CAP]))
    found(program(), store=Store(tmp_path))
    inputs = {name: 0.01 * array for name, array in normal_inputs(program(other)).items()}
    for each in found(program(other), store=Store(tmp_path)):
        assert relative_error(*run(each.graph, inputs), *run(program(other), inputs)) < 1e-12


def test_an_operator_that_the_program_lacks_is_offered() -> None:
    """x tanh(x) is in the program; an operator for it is what a graph may use in its place."""
    gate = Op("gate", ops.elementwise, lambda m, x: x * (1 - 2 / (m.exp(x + x) + 1)))
    text = "p(X[b=64, d=64]):\n  t = tanh(X)\n  Y = mul(X, t)\n  S = sum(Y, axis=1)\n  return S"
    assert any("gate" in str(each.graph) for each in found(parse(text), operators=[gate]))
    assert not any("gate" in str(each.graph) for each in found(parse(text)))


def test_two_operators_of_one_name_are_refused() -> None:
    for op in (replace(SOFT_CAP), replace(ops.exp)):
        with pytest.raises(UsageError, match="two operators of the name"):
            own(program(), [op])


def test_an_operator_that_cannot_be_sent_is_refused() -> None:
    lock = threading.Lock()
    stuck = Op("stuck", ops.elementwise, lambda m, x: x if lock else -x)
    with pytest.raises(UsageError, match="cannot be sent to other processes: stuck"):
        packed([stuck])


def test_operators_come_back_from_bytes() -> None:
    (again,) = unpacked(packed([SOFT_CAP]))
    assert again.name == "soft_cap"
    assert again.shape is ops.elementwise
    assert unpacked(packed([])) == ()


def test_an_operator_with_a_shape_rule_of_its_own_stays_a_kernel() -> None:
    def halved(shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] // 2)

    def half(m: Any, x: Any) -> Any:
        return m.take(x, (slice(None), slice(0, x.shape[1] // 2)))

    op = Op("first_half", halved, half)
    text = """
p(X[b=64, d=64], A[b, h=32]):
  s = square(X)
  e = exp(s)
  f = first_half(e)
  g = mul(f, A)
  Y = exp(g)
  return Y
"""
    given = parse(text, (*ops.OPERATORS, op))
    graphs = found(given)
    assert graphs
    inputs = {name: 0.1 * array for name, array in normal_inputs(given).items()}
    for each in graphs:
        assert any(equation.op is op for equation in each.graph.equations)
        assert relative_error(*run(each.graph, inputs), *run(given, inputs)) < 1e-12


def test_an_operator_costs_what_its_meaning_does() -> None:
    spelled = TEXT.replace(
        "S = soft_cap(P, by=50)", "Q = scale(P, by=1/50)\n  R = tanh(Q)\n  S = scale(R, by=50)"
    )
    ours, theirs = cost(program(), A100), cost(parse(spelled), A100)
    assert ours.special == theirs.special > 0
    assert 0 < ours.elements < 1.5 * theirs.elements


def drawn(m: Any, x: Any) -> Any:
    return x * random.randint(1, 9)


def summed(m: Any, x: Any) -> Any:
    return m.sum(x, 0)


def of_numpy(m: Any, x: Any) -> Any:
    return np.exp(x)


def broken(m: Any, x: Any) -> Any:
    raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("meaning", "words"),
    [
        (drawn, "no function of its operands"),
        (summed, "its meaning and its shape rule differ"),
        (of_numpy, "fails"),
        (broken, "not today"),
    ],
)
@pytest.mark.parametrize("offered", [True, False])
def test_an_operator_that_is_no_function_is_refused_before_the_search(
    meaning: Callable[..., Any], words: str, offered: bool
) -> None:
    op = Op("odd", ops.elementwise, meaning)
    text = "p(X[b=64, d=64]):\n  Y = odd(X)\n  Z = exp(Y)\n  return Z"
    given = parse(text.replace("odd", "square") if offered else text, (*ops.OPERATORS, op))
    with pytest.raises(UsageError, match=words):
        next(superoptimize(given, operators=[op] if offered else ()))


def test_an_accumulator_of_one_s_own_is_not_offered() -> None:
    op = Op(
        "mine", ops.elementwise, lambda m, b, x: x if b is None else b + x, carried="accumulate"
    )
    text = "p(X[b=64, d=64]):\n  Y = exp(X)\n  Z = sum(Y, axis=1)\n  return Z"
    assert not any("mine" in str(each.graph) for each in found(parse(text), operators=[op]))


def test_a_meaning_may_look_at_an_extent() -> None:
    """The cost model has arrays of extents; such a meaning is asked for each by itself."""
    op = Op(
        "centred_unless_one",
        ops.along,
        lambda m, x, axis: x if x.shape[axis] == 1 else x - m.sum(x, axis) / m.count(x, axis),
        1,
        {"axis": "axis"},
    )
    text = "p(X[b=64, d=64]):\n  Y = centred_unless_one(X, axis=1)\n  Z = exp(Y)\n  return Z"
    given = parse(text, (*ops.OPERATORS, op))
    inputs = normal_inputs(given)
    for each in found(given):
        assert relative_error(*run(each.graph, inputs), *run(given, inputs)) < 1e-12


@pytest.mark.parametrize(
    ("place", "count"),
    [((1, None), 7), ((-1, None), 1), ((None, -1), 7), ((0, 6, 2), 3), ((0, 99), 8)],
)
def test_a_part_that_is_taken_is_counted_as_long_as_it_is(
    place: tuple[int | None, ...], count: int
) -> None:
    op = Op(
        "part",
        ops.elementwise,
        lambda m, x: m.exp(m.take(x, (slice(None), slice(*place)))),
    )
    assert operations(op, [(4, 8)], {}).special == 4 * count
