# mypy: ignore-errors
from __future__ import annotations

import itertools

import numpy as np
import pytest

from mlc_course.errors import SizeError, UsageError
from mlc_course.lessons.lesson_05_loop_reorder.loop_orders import (
    LAYOUTS,
    LINE,
    LINES,
    ORDERS,
    SIDE,
    in_order,
    product,
    visits,
)
from mlc_course.tensor_program.memory import Cache, count
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import Schedule, compile_program, shared_tensor

FLOAT = 4
TINY = Cache(LINES * LINE * FLOAT, ways=LINES, line=LINE * FLOAT)


def test_there_are_six_orders_and_the_naive_one_is_first() -> None:
    assert ORDERS[0] == "m-n-k"
    assert sorted(ORDERS) == sorted("-".join(each) for each in itertools.permutations("kmn"))


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_is_that_of_the_loops(order: str) -> None:
    sch = Schedule(product(4, 5, 6).program())
    in_order(order)(sch)
    assert lookup.loops(sch, "C") == order.split("-")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", ["m-n-k", "k-n-m"])
def test_a_product_of_transposed_operands_is_the_product(layout: str, order: str) -> None:
    problem = product(5, 7, 3, layout)
    sch = Schedule(problem.program())
    in_order(order)(sch)
    inputs, ours, out = problem.inputs(), problem.output(), problem.output()
    compile_program(sch)(*map(shared_tensor, (*inputs, ours)))
    problem.check(ours, problem.reference(inputs))
    problem.numpy(*inputs, out)
    assert np.allclose(ours, out, atol=1e-4)


@pytest.mark.parametrize("wrong", ["i-j-k", "mnk", "", "m-n"])
def test_another_order_is_refused(wrong: str) -> None:
    for use in (in_order, visits):
        with pytest.raises(UsageError, match="no such order"):
            use(wrong)


def test_another_layout_or_size_is_refused() -> None:
    with pytest.raises(UsageError, match="no such layout"):
        product(4, 4, 4, "upside down")
    with pytest.raises(SizeError):
        product(4, 0, 4)


@pytest.mark.parametrize("order", ORDERS)
def test_the_misses_of_the_visits_are_those_of_the_cache_simulator(order: str) -> None:
    sch = Schedule(product(SIDE, SIDE, SIDE).program())
    in_order(order)(sch)
    (expected,) = count(sch, TINY)
    assert sum(visits(order).misses.values()) == expected.misses


@pytest.mark.parametrize("order", ORDERS)
def test_visits_go_through_all_iterations_in_order(order: str) -> None:
    found = visits(order)
    places = ["mnk".index(loop) for loop in order.split("-")]
    by_loop = [tuple(point[place] for place in places) for point in found.points.tolist()]
    assert by_loop == list(itertools.product(range(SIDE), repeat=3))
    m, n, k = found.points.T.tolist()
    for place, indices in enumerate(((m, k), (k, n), (m, n))):
        assert found.elements[:, place].T.tolist() == [*map(list, indices)]


def test_a_jump_in_the_inner_loop_is_a_miss_in_every_iteration() -> None:
    assert visits("m-n-k").misses == {"A": 32, "B": 512, "C": 16}
    assert visits("m-k-n").misses == {"A": 16, "B": 128, "C": 16}
    assert visits("k-n-m").misses == {"A": 512, "B": 16, "C": 512}


def test_what_is_said_of_an_iteration() -> None:
    found = visits("m-n-k")
    assert found.said(0) == "m-n-k: an empty cache; 512 iterations to come."
    assert found.said(1) == (
        "m-n-k, iteration 1 of 512 (m = 0, n = 0, k = 0): fetches a line of A and of B and of C. "
        "3 misses."
    )
    assert "all lines are here" in visits("m-k-n").said(2)
    assert found.misses_until(0) == {"A": 0, "B": 0, "C": 0}
    assert all(len(lines) <= LINES for lines in found.held)
