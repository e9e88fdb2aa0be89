"""Partitions by hand: what is none is refused, and traffic is counted by the rule."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.tensor_program.graphs.fusion import fuse
from mlc_course.tensor_program.graphs.graph import Graph
from mlc_course.tensor_program.graphs.partition import partitioned, sketch, traffic

BIG, ROW = (100, 10), (100, 1)


def softmax() -> Graph:
    return sketch(
        {"x": BIG},
        [
            ("e", "exp", "elementwise", ("x",), BIG),
            ("s", "sum", "reduction", ("e",), ROW),
            ("d", "divide", "elementwise", ("e", "s"), BIG),
        ],
    )


def test_a_sketch_is_a_graph_of_single_kernels() -> None:
    made = softmax()
    assert len(made.kernels) == 3
    assert made.outputs == ("d",)
    assert len(fuse(made).kernels) == 3


@pytest.mark.parametrize(
    ("kernels", "moved"),
    [
        ([["e"], ["s"], ["d"]], (1000 + 1000) + (1000 + 100) + (1000 + 100 + 1000)),
        ([["e", "s"], ["d"]], (1000 + 1000 + 100) + (1000 + 100 + 1000)),
        ([["e"], ["s", "d"]], (1000 + 1000) + (1000 + 1000)),
        ([["d", "e", "s"]], 1000 + 1000),
    ],
)
def test_traffic_is_what_enters_and_leaves(kernels: list[list[str]], moved: int) -> None:
    assert traffic(partitioned(softmax(), kernels)) == 4 * moved


def test_kernels_that_wait_for_each_other_are_refused() -> None:
    with pytest.raises(UsageError, match="wait for each other") as caught:
        partitioned(softmax(), [["e", "d"], ["s"]])
    assert caught.value.got == "[e, d] and [s]"


@pytest.mark.parametrize(
    ("kernels", "words"),
    [
        ([["e", "s"]], "not once: d"),
        ([["e", "s"], ["s", "d"]], "not once: s"),
        ([["e", "s"], ["d", "q"]], "unknown: q"),
        ([], "not once: d, e, s"),
    ],
)
def test_what_is_no_partition_is_refused(kernels: list[list[str]], words: str) -> None:
    with pytest.raises(UsageError, match="not a partition") as caught:
        partitioned(softmax(), kernels)
    assert caught.value.got == words
