"""Passes as stages, kernels put back into a graph, and graphs raced against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlc_course.errors import UsageError, WrongResult
from mlc_course.tensor_program.networks import passes
from mlc_course.tensor_program.networks.graphs import graph
from mlc_course.tensor_program.networks.passes import Pass
from mlc_course.tensor_program.networks.race import compiled, race_graphs
from mlc_course.tensor_program.problems import aligned, relative_error
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import (
    IRModule,
    compile_graph,
    constant,
    dataflow,
    is_const,
    is_op,
    op,
    rewrite_call,
    shared_tensor,
    wildcard,
)

RNG = np.random.default_rng(0)
X, W, B = (aligned(RNG.normal(size=shape)) for shape in ((24, 16), (16, 20), (20,)))
INPUTS = {"x": X, "w": W, "b": B}


def layer(bb: Any, x: Any, w: Any, b: Any) -> Any:
    s = bb.emit(op.multiply(x, constant(0.5)), "s")
    p = bb.emit(op.matmul(s, w), "p")
    t = bb.emit(op.add(p, b), "t")
    bb.emit(op.max(t), "unused")
    return op.nn.relu(t)


def numpy() -> Any:
    return np.maximum((0.5 * X) @ W + B, 0)


@pytest.fixture
def written() -> IRModule:
    return dataflow(layer, **{name: array.shape for name, array in INPUTS.items()})


def into_weights(module: IRModule) -> IRModule:
    x, s, w = wildcard(), is_const(), wildcard()
    scaled = is_op("relax.matmul")(is_op("relax.multiply")(x, s), w)

    def rewritten(call: Any, found: Any) -> Any:
        return op.matmul(found[x], op.multiply(found[w], found[s]))

    return IRModule({"main": rewrite_call(scaled, rewritten, module["main"])})


PIPELINE = [
    passes.DEAD_CODE,
    passes.bind_weights({"w": W, "b": B}),
    Pass("scale the weights", "(s x) W = x (s W)", into_weights),
    passes.FOLD,
    *passes.LOWERING,
    *passes.FUSION,
]


def test_each_stage_shows_what_its_pass_made(written: IRModule) -> None:
    found = passes.stages(written, PIPELINE)
    assert [stage.name for stage in found] == ["as written", *(each.name for each in PIPELINE)]
    assert all(stage.reason and stage.picture.startswith("<svg") for stage in found)
    assert "unused" in found[0].program
    assert "unused" not in found[1].program
    assert "T.int64" not in found[-1].program
    assert "fused_matmul_add_relu" in found[-1].program


@pytest.mark.parametrize("count", range(len(PIPELINE) + 1))
def test_no_pass_changes_what_the_graph_computes(written: IRModule, count: int) -> None:
    module = passes.run(written, *PIPELINE[:count])
    got = compiled(module, INPUTS)()
    got = got[0] if isinstance(got, tuple) else got
    relative_error("ours", got.numpy(), numpy())


def test_a_pass_leaves_the_module_that_it_is_given(written: IRModule) -> None:
    before = written.script()
    passes.run(written, *PIPELINE)
    assert written.script() == before


def test_folding_leaves_one_constant_for_the_scaled_weights(written: IRModule) -> None:
    folded = graph(passes.run(written, *PIPELINE[:4]))
    assert [node.op for node in folded.nodes] == ["matmul", "add", "nn.relu"]
    assert folded.bytes_constant == W.nbytes + B.nbytes


def test_a_scheduled_kernel_goes_back_into_the_graph(written: IRModule) -> None:
    fused = passes.run(written, *PIPELINE)

    def rows(sch: Any) -> None:
        steps.reorder(sch, "matmul", "i0", "k", "i1")

    tuned = passes.with_schedules(fused, {"fused_matmul_add_relu": rows})
    assert "i0, k, i1" in passes.script(tuned)
    assert "i0, k, i1" not in passes.script(fused)
    got = compile_graph(tuned)(shared_tensor(X)).numpy()
    np.testing.assert_allclose(got, numpy(), rtol=1e-4, atol=1e-4)
    with pytest.raises(UsageError, match="no kernel 'matmul'"):
        passes.with_schedules(fused, {"matmul": rows})


def test_graphs_are_checked_and_then_timed(written: IRModule) -> None:
    two = {"one": passes.run(written, *PIPELINE), "two": written}
    found = race_graphs(two, INPUTS, numpy, budget_s=0.01)
    assert list(found) == ["one", "two"]
    assert len(found["one"].timing.seconds) >= 5


def test_a_graph_that_computes_something_else_is_not_timed(written: IRModule) -> None:
    with pytest.raises(WrongResult, match="ours: the result differs"):
        race_graphs({"ours": written}, INPUTS, lambda: 2 * numpy())
    with pytest.raises(WrongResult, match="shape"):
        race_graphs({"ours": written}, INPUTS, lambda: numpy()[:-1])


def test_a_parameter_needs_an_input(written: IRModule) -> None:
    with pytest.raises(UsageError, match="without an input"):
        compiled(written, {"x": X})
