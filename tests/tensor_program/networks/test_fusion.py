"""The course's rules of fusion are TVM's, and say why they refuse."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mlc_course.errors import UsageError
from mlc_course.tensor_program.networks import passes
from mlc_course.tensor_program.networks.fusion import Fusion, fuse, partitioned, sketch, traffic
from mlc_course.tensor_program.networks.graphs import KINDS, Graph, Node, Value, graph
from mlc_course.tensor_program.tir import IRModule, dataflow, library_call, op

SIDE = 8
Body = Callable[..., Any]


def lowered(body: Body, **shapes: tuple[int, ...]) -> IRModule:
    return passes.run(dataflow(body, **(shapes or {"x": (SIDE, SIDE)})), *passes.LOWERING)


def fused(body: Body, **shapes: tuple[int, ...]) -> Fusion:
    return fuse(graph(lowered(body, **shapes)))


def random_graph(seed: int) -> Body:
    """Up to nine operators, each on values made before it; some meet again, some do not."""
    rng = random.Random(seed)

    def body(bb: Any, x: Any, w: Any, v: Any) -> Any:
        values = [x]

        def spread(a: Any, b: Any) -> Any:
            total = bb.emit(op.sum(a, axis=[1], keepdims=True))
            return op.broadcast_to(total, (SIDE, SIDE))

        def reshaped(a: Any, b: Any) -> Any:
            flat = bb.emit(op.reshape(a, (SIDE * SIDE,)))
            return op.reshape(flat, (SIDE, SIDE))

        operators = [
            lambda a, b: op.exp(a),
            lambda a, b: op.nn.relu(a),
            lambda a, b: op.add(a, b),
            lambda a, b: op.multiply(a, v),
            lambda a, b: op.matmul(a, b),
            lambda a, b: op.matmul(a, w),
            lambda a, b: op.permute_dims(a),
            lambda a, b: library_call("sort", a, shape=(SIDE, SIDE)),
            spread,
            reshaped,
        ]
        for _ in range(rng.randint(2, 9)):
            a = values[-1] if rng.random() < 0.6 else rng.choice(values)
            values.append(bb.emit(rng.choice(operators)(a, rng.choice(values))))
        last = op.exp(values[-1])
        if rng.random() < 0.3:
            return bb.emit(last), bb.emit(op.negative(rng.choice(values)))
        return op.add(bb.emit(last), rng.choice(values)) if rng.random() < 0.4 else last

    return body


def operators(graph: Graph, kernels: Sequence[Sequence[str]]) -> Counter[tuple[str, ...]]:
    """The kernels by what they compute: TVM gives new names to what leaves one."""
    return Counter(tuple(sorted(graph.node(name).op for name in names)) for names in kernels)


@pytest.mark.parametrize("seed", range(120))
def test_kernels_are_those_that_tvm_makes(seed: int) -> None:
    square = (SIDE, SIDE)
    module = passes.run(
        dataflow(random_graph(seed), x=square, w=square, v=(SIDE,)),
        passes.DEAD_CODE,
        *passes.LOWERING,
    )
    ours = graph(module)
    theirs = graph(passes.FUSE_OPS.apply(module))
    by_tvm = [[node.name for node in nodes] for nodes in theirs.kernels.values()]
    assert operators(ours, fuse(ours).kernels) == operators(theirs, by_tvm)


def softmax(bb: Any, x: Any) -> Any:
    e = bb.emit(op.exp(x), "e")
    return op.divide(e, bb.emit(op.sum(e, axis=[1], keepdims=True), "s"))


def around_a_library(bb: Any, x: Any) -> Any:
    e = bb.emit(op.exp(x), "e")
    return op.add(e, bb.emit(library_call("sort", e, shape=(SIDE, SIDE)), "o"))


def two_matmuls(bb: Any, x: Any) -> Any:
    p = bb.emit(op.matmul(x, x), "p")
    return op.add(p, bb.emit(op.matmul(x, x), "q"))


def read_twice(bb: Any, x: Any) -> Any:
    e = bb.emit(op.exp(x), "e")
    return bb.emit(op.nn.relu(e), "r"), bb.emit(op.negative(e), "n")


def returned(bb: Any, x: Any) -> Any:
    e = bb.emit(op.exp(x), "e")
    return e, bb.emit(op.nn.relu(e), "r")


def before_a_matmul(bb: Any, x: Any) -> Any:
    return op.matmul(bb.emit(op.exp(x), "e"), x)


def transposed_after(bb: Any, x: Any) -> Any:
    return op.permute_dims(bb.emit(op.matmul(x, x), "m"))


def transposed_before(bb: Any, x: Any) -> Any:
    return op.sum(bb.emit(op.permute_dims(x), "t"), axis=[1])


@pytest.mark.parametrize(
    ("body", "kernels", "producer", "words"),
    [
        (softmax, 3, "e", "leads through sum (reduction), and a reduction ends its kernel"),
        (softmax, 3, "s", "sum is a reduction"),
        (around_a_library, 3, "e", "leads through sort (opaque)"),
        (around_a_library, 3, "o", "TVM cannot look inside sort"),
        (two_matmuls, 2, "q", "the kernel of gv has an operator of the kind out-fusable"),
        (read_twice, 3, "e", "its readers never meet again: r, n"),
        (returned, 2, "e", "it is an output"),
        (before_a_matmul, 2, "e", "leads through matmul (out-fusable), and nothing comes before"),
        (transposed_after, 2, "m", "transpose (injective), and only elementwise work may follow"),
        (transposed_before, 2, "t", "only elementwise work comes before that"),
    ],
)
def test_a_refusal_has_its_reason(body: Body, kernels: int, producer: str, words: str) -> None:
    found = fused(body)
    assert len(found.kernels) == kernels
    reasons = {each.producer: each.reason for each in found.refusals}
    assert words in reasons[producer]
    assert f"{producer}: " in str(found)


def test_two_readers_that_meet_again_are_no_obstacle() -> None:
    def diamond(bb: Any, x: Any) -> Any:
        n = bb.emit(op.negative(x), "n")
        return op.add(bb.emit(op.exp(n), "e"), bb.emit(op.nn.relu(n), "r"))

    assert str(fused(diamond)) == "1 kernel: n + e + r + gv"


def by_tvm(module: IRModule) -> list[int]:
    """The number of operators in each kernel that TVM makes."""
    return [len(nodes) for nodes in graph(passes.FUSE_OPS.apply(module)).kernels.values()]


@pytest.mark.slow
def test_a_kernel_has_at_most_as_many_operators_as_tvm_allows() -> None:
    def chain(bb: Any, x: Any) -> Any:
        for _ in range(300):
            x = bb.emit(op.exp(x))
        return bb.emit(op.negative(x))

    module = lowered(chain)
    found = fuse(graph(module))
    assert [len(kernel) for kernel in found.kernels] == by_tvm(module) == [256, 45]
    (refusal,) = found.refusals
    assert refusal.reason == "the kernel would have more than 256 operators"


@pytest.mark.slow
@pytest.mark.parametrize("before", [252, 253, 254])
def test_paths_that_meet_again_are_counted_as_tvm_counts_them(before: int) -> None:
    def diamonds(bb: Any, x: Any) -> Any:
        for _ in range(before):
            x = bb.emit(op.exp(x))
        y = bb.emit(op.add(bb.emit(op.exp(x)), bb.emit(op.negative(x))))
        return bb.emit(op.exp(y))

    module = lowered(diamonds)
    assert sorted(map(len, fuse(graph(module)).kernels)) == sorted(by_tvm(module))


def test_an_operator_that_is_not_lowered_is_opaque_as_for_tvm() -> None:
    def summed(bb: Any, x: Any) -> Any:
        return op.exp(bb.emit(op.cumsum(bb.emit(op.exp(x), "e"), axis=1), "c"))

    module = lowered(summed)
    found = fuse(graph(module))
    assert len(found.kernels) == len(by_tvm(module)) == 3
    assert {each.producer: each.reason for each in found.refusals} == {
        "e": "the path leads through cumsum (opaque), and TVM cannot look inside",
        "c": "TVM cannot look inside cumsum (opaque)",
    }


def test_a_graph_without_kinds_is_refused() -> None:
    with pytest.raises(UsageError, match="kind of exp is not known"):
        fuse(graph(dataflow(lambda bb, x: op.exp(x), x=(4, 4))))
    node = Node("exp", ("x",), Value("e", (4,)), kind="magic", kernel="e")
    with pytest.raises(UsageError, match="not known"):
        fuse(Graph((Value("x", (4,)),), (), (node,), ("e",)))


def test_every_kind_is_found_by_tvm() -> None:
    def one(operator: Callable[..., Any], **shapes: tuple[int, ...]) -> str:
        (node,) = graph(lowered(lambda bb, *operands: operator(*operands), **shapes)).nodes
        return node.kind

    square, row = (SIDE, SIDE), (SIDE,)
    found = [
        one(op.add, x=square, b=row),
        one(lambda b: op.broadcast_to(b, square), b=row),
        one(op.permute_dims, x=square),
        one(lambda x: op.sum(x, axis=[1]), x=square),
        one(op.matmul, x=square, w=square),
        one(lambda x: library_call("sort", x, shape=square), x=square),
    ]
    assert found == list(KINDS.values())


BIG, ROW = (100, 10), (100, 1)


def softmax_sketch() -> Graph:
    return sketch(
        {"x": BIG},
        [
            ("e", "exp", "elementwise", ("x",), BIG),
            ("s", "sum", "reduction", ("e",), ROW),
            ("d", "divide", "elementwise", ("e", "s"), BIG),
        ],
    )


def test_a_sketch_is_a_graph_of_single_kernels() -> None:
    made = softmax_sketch()
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
    assert traffic(partitioned(softmax_sketch(), kernels)) == 4 * moved


def test_kernels_that_wait_for_each_other_are_refused() -> None:
    with pytest.raises(UsageError, match="wait for each other") as caught:
        partitioned(softmax_sketch(), [["e", "d"], ["s"]])
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
        partitioned(softmax_sketch(), kernels)
    assert caught.value.got == words
