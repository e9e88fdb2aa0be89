"""A Relax function as values: nodes, kernels, bytes before and after each pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlc_course.errors import SizeError, UsageError
from mlc_course.tensor_program.networks import passes
from mlc_course.tensor_program.networks.graphs import (
    Graph,
    Node,
    Value,
    graph,
    scratch_bytes,
)
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import IRModule, T, bind, constant, dataflow, library_call, op
from mlc_course.units import size_text

ROWS, INNER, COLUMNS = 32, 16, 24


def linear_relu(bb: Any, x: Any, w: Any, b: Any) -> Any:
    p = bb.emit(op.matmul(x, w), "p")
    s = bb.emit(op.add(p, b), "s")
    return op.nn.relu(s)


def written() -> IRModule:
    return dataflow(linear_relu, x=(ROWS, INNER), w=(INNER, COLUMNS), b=(COLUMNS,))


def test_operators_are_read_in_order_with_what_they_read() -> None:
    found = graph(written())
    assert [(node.name, node.op, node.operands) for node in found.nodes] == [
        ("p", "matmul", ("x", "w")),
        ("s", "add", ("p", "b")),
        ("gv", "nn.relu", ("s",)),
    ]
    assert found.outputs == ("gv",)
    assert [str(value) for value in found.inputs] == ["x  32 x 16", "w  16 x 24", "b  24"]
    assert len(found.kernels) == 3


def test_intermediates_are_counted_once_and_the_output_is_none_of_them() -> None:
    found = graph(written())
    assert [value.name for value in found.between] == ["p", "s"]
    assert found.bytes_between == 2 * 4 * ROWS * COLUMNS
    assert found.bytes_inside == 0


def test_kinds_are_known_after_annotate() -> None:
    lowered = passes.run(written(), passes.LEGALIZE)
    assert {node.kind for node in graph(lowered).nodes} == {""}
    annotated = graph(passes.ANNOTATE.apply(lowered))
    assert [node.kind for node in annotated.nodes] == ["out-fusable", "elementwise", "elementwise"]


@pytest.mark.parametrize("last", [passes.FUSE_OPS, passes.FUSE_TIR])
def test_fusion_moves_bytes_inside_and_removes_none(last: passes.Pass) -> None:
    before = passes.run(written(), *passes.LOWERING)
    way = passes.FUSION[: passes.FUSION.index(last) + 1]
    after = graph(passes.run(before, *way))
    assert len(after.kernels) == 1
    assert after.bytes_between == 0
    assert after.bytes_inside == graph(before).bytes_between


def test_what_fuse_ops_made_shows_its_inside() -> None:
    found = graph(passes.run(written(), *passes.LOWERING, passes.FUSE_OPS))
    assert [node.name for node in found.nodes] == ["p", "s", "gv"]
    assert {node.kernel for node in found.nodes} == {"gv"}
    assert {node.function for node in found.nodes} == {"fused_matmul_add_relu"}


def test_merged_nests_keep_a_row_only() -> None:
    fused = passes.run(written(), *passes.LOWERING, *passes.FUSION)

    def one_nest(sch: Any) -> None:
        steps.inline(sch, "T_add")
        steps.reorder(sch, "matmul", "i0", "k", "i1")
        steps.fuse_consumer(sch, "compute", into="matmul", at="i0")

    after = passes.with_schedules(fused, {"fused_matmul_add_relu": one_nest})
    assert graph(after).bytes_inside == 4 * COLUMNS


def test_two_calls_of_one_fused_function_are_two_kernels() -> None:
    def twice(bb: Any, x: Any, w: Any) -> Any:
        p = bb.emit(op.nn.relu(bb.emit(op.matmul(x, w), "a")), "p")
        return op.nn.relu(bb.emit(op.matmul(p, w), "a"))

    module = dataflow(twice, x=(16, 16), w=(16, 16))
    found = graph(passes.run(module, *passes.LOWERING, passes.FUSE_OPS))
    assert len(found.kernels) == 2
    assert len({node.name for node in found.nodes}) == 4


def test_constants_count_and_numbers_are_called_by_their_value() -> None:
    def scaled(bb: Any, x: Any, w: Any) -> Any:
        return op.matmul(bb.emit(op.multiply(x, constant(0.25)), "s"), w)

    module = dataflow(scaled, x=(ROWS, INNER), w=(INNER, COLUMNS))
    found = graph(bind(module, {"w": np.zeros((INNER, COLUMNS), np.float32)}))
    assert found.node("s").operands == ("x", "0.25")
    assert found.bytes_constant == 4 * INNER * COLUMNS + 4


def test_a_library_call_is_opaque_from_the_start() -> None:
    module = dataflow(lambda bb, x: library_call("sort", x, shape=(8, 8)), x=(8, 8))
    (node,) = graph(module).nodes
    assert (node.op, node.kind, node.operands) == ("sort", "opaque", ("x",))


def test_several_outputs() -> None:
    def two(bb: Any, x: Any) -> Any:
        e = bb.emit(op.exp(x), "e")
        return e, bb.emit(op.nn.relu(e), "r")

    found = graph(dataflow(two, x=(8, 8)))
    assert found.outputs == ("e", "r")
    assert found.bytes_between == 0


def test_what_is_no_graph_is_refused() -> None:
    with pytest.raises(UsageError, match="no graph 'main'"):
        graph(IRModule({}))
    with pytest.raises(UsageError, match="no graph 'other'"):
        graph(written(), "other")


def test_a_graph_that_reads_what_nobody_makes_is_refused() -> None:
    made = Node("exp", ("y",), Value("e", (8,)))
    with pytest.raises(UsageError, match="e reads what is not made yet"):
        Graph((Value("x", (8,)),), (), (made,), ("e",))
    with pytest.raises(UsageError, match="no operator makes"):
        Graph((Value("x", (8,)),), (), (), ("e",))
    with pytest.raises(UsageError, match="no operator makes 'q'"):
        graph(written()).node("q")


def test_a_graph_needs_parameters_with_sizes() -> None:
    with pytest.raises(UsageError, match="no parameters"):
        dataflow(lambda bb: constant(1))
    with pytest.raises(SizeError, match="parameter x"):
        dataflow(lambda bb, x: op.exp(x), x=(0, 4))
    with pytest.raises(SizeError, match="parameter x"):
        dataflow(lambda bb, x: op.exp(x), x=4)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no parameter 'v'"):
        bind(written(), {"v": np.zeros(3, np.float32)})


def test_scratch_is_what_tvm_allocates() -> None:
    @T.prim_func(s_tir=True)
    def kernel(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):  # type: ignore[no-untyped-def]
        S = T.sblock_alloc_buffer((64, 64))
        for i in range(64):
            for j in range(64):
                with T.sblock("S"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    S[vi, vj] = A[vi, vj] * A[vi, vj]
            for j in range(64):
                with T.sblock("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = S[vi, vj] + A[vi, vj]

    assert scratch_bytes(kernel) == 4 * 64


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (51200, "51.2 kB"), (1149600, "1.15 MB"),
     (2 * 10**9, "2 GB")],
)  # fmt: skip
def test_sizes_have_three_digits(size: int, text: str) -> None:
    assert size_text(size) == text
