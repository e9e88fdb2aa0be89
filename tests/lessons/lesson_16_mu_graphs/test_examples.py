"""Lesson 16's graphs are what the lesson says they are."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_16_mu_graphs.changes import changed
from mlc_course.lessons.lesson_16_mu_graphs.examples import NAMES, example
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.verify import difference


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_printed_as_it_is_written(name: str) -> None:
    assert str(parse(example(name))) == example(name)


@pytest.mark.parametrize("name", ["one_kernel", "scaled_early", "by_rows"])
def test_a_fused_kernel_computes_what_seven_do(name: str) -> None:
    assert not difference(parse(example(name)), parse(example("seven_kernels")))


def test_x_cuts_columns_and_y_cuts_rows() -> None:
    """One convention in the whole lesson, and in the explorer's map: x goes across."""
    for name in ("one_kernel", "product", "scaled_early", "by_rows"):
        for _, block in parse(example(name)).blocks:
            (omap,) = (store.omap for store in block.stores)
            assert dict(omap) in ({"x": 1, "y": 0}, {"y": 0})


def test_another_letter_computes_something_else() -> None:
    text = changed("W by y")
    said = difference(parse(text), parse(example("seven_kernels")))
    assert said.startswith("18432 of 24576 elements differ")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UsageError, match="no example 'x'"):
        example("x")
