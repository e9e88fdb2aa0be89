from __future__ import annotations

import copy
import json
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from small_graphs import (
    FILES,
    SAVED,
    normal_inputs,
    relative_error,
    saved_graphs,
    saved_program,
    small,
)

from mlc_course.errors import CourseError, GraphError
from mlc_course.mugraph.ir.interpreter import run
from mlc_course.mugraph.ir.mirage import read_mirage
from mlc_course.mugraph.ir.nodes import Input
from mlc_course.mugraph.ir.parser import parse

COUNTS = {
    "gated_mlp": 32,
    "gqa_bs1": 28,
    "lora": 4,
    "mha_bs1": 21,
    "mqa_bs1": 12,
    "ntrans_bs1": 9,
    "rmsnorm_bs1": 18,
    "single_gated_mlp": 1,
    "single_lora": 1,
}


def _file(name: str) -> Any:
    return json.loads((SAVED / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", FILES)
def test_every_saved_graph_computes_its_program(file: str) -> None:
    program = small(saved_program(file))
    graphs = saved_graphs(file)
    assert len(graphs) == COUNTS[file]
    for number, graph in enumerate(graphs):
        inputs = normal_inputs(program, seed=number)
        (expected,) = run(program, inputs)
        assert relative_error(*run(small(graph), inputs), expected) < 1e-13, f"{file} {number}"


@pytest.mark.parametrize("file", FILES)
def test_the_first_graph_of_a_file_computes_its_program_at_full_shape(file: str) -> None:
    program, graph = saved_program(file), saved_graphs(file)[0]
    inputs = normal_inputs(program)
    assert relative_error(*run(graph, inputs), *run(program, inputs)) < 1e-13


@pytest.mark.parametrize("file", FILES)
def test_tiles_have_the_shapes_that_the_file_says(file: str) -> None:
    for saved, graph in zip(_file(file), saved_graphs(file), strict=True):
        custom = [each for each in saved if each["op_type"] == "kn_customized_op"]
        assert len(custom) == len(list(graph.blocks))
        for operator, (place, block) in zip(custom, graph.blocks, strict=True):
            inside = operator["bgraph"]["operators"]
            tiles = _outputs(each for each in inside if each["op_type"] == "tb_input_op")
            shapes = graph.tiles(place).shapes
            assert list(shapes[: len(block.loads)]) == tiles
            assert set(_outputs(inside)) <= set(shapes)


def _outputs(operators: Any) -> list[tuple[int, ...]]:
    return [
        tuple(tensor["dim"][: tensor["num_dims"]])
        for operator in operators
        for tensor in operator["output_tensors"]
    ]


@pytest.mark.parametrize("file", FILES)
def test_no_size_is_baked_into_a_saved_graph(file: str) -> None:
    for graph in saved_graphs(file):
        equations = "\n".join(str(graph).splitlines()[1:])
        assert not re.search(r"(by|to)=[\d/]*(\d\d|[^\w/]|$)", equations)


def _changed(file: str, old: str, new: str) -> Any:
    text = json.dumps(_file(file)[0])
    assert old in text
    return json.loads(text.replace(old, new, 1))


def test_a_changed_graph_does_not_compute_the_program() -> None:
    program = saved_program("rmsnorm_bs1")
    changed = read_mirage(_changed("rmsnorm_bs1", "tb_div_op", "tb_mul_op"), program.inputs)
    program, changed = small(program), small(changed)
    inputs = normal_inputs(program)
    assert relative_error(*run(changed, inputs), *run(program, inputs)) > 0.1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("tb_div_op", "tb_pow_op", ["Mirage's tb_pow_op is not known here", "matmul | add"]),
        ("kn_customized_op", "kn_allreduce_op", ["kn_allreduce_op is not known"]),
        ('"dim": [4096, 6144,', '"dim": [2048, 6144,', ["size d", "expected  4096"]),
        ('"forloop_dim": 0', '"forloop_dim": 1', ["not equal tiles", "k = 32 divides 24"]),
        ('"forloop_range": 32', '"forloop_range": 3', ["k = 3 divides 4096"]),
        ('"op_type"', '"type"', ["not a graph that Mirage saved", "KeyError: 'op_type'"]),
    ],
)
def test_a_file_that_is_not_right_is_refused(old: str, new: str, words: list[str]) -> None:
    with pytest.raises(CourseError) as caught:
        read_mirage(_changed("rmsnorm_bs1", old, new), saved_program("rmsnorm_bs1").inputs)
    for each in words:
        assert each in str(caught.value)


def test_a_result_of_another_shape_than_the_file_says_is_refused() -> None:
    saved = copy.deepcopy(_file("rmsnorm_bs1")[0])
    saved[2]["output_tensors"][0]["dim"][1] = 6145
    with pytest.raises(GraphError, match="the shape of") as caught:
        read_mirage(saved, saved_program("rmsnorm_bs1").inputs)
    assert caught.value.__notes__ == ["in Mirage's kn_customized_op"]


@pytest.mark.parametrize("inputs", [(), ("bd",), ("bd", "dne"), ("bd", "dn", "n")])
def test_inputs_that_do_not_fit_are_refused(inputs: tuple[str, ...]) -> None:
    given = [Input(f"I{number}", tuple(dims)) for number, dims in enumerate(inputs)]
    with pytest.raises(GraphError, match="inputs"):
        read_mirage(_file("rmsnorm_bs1")[0], given)


@pytest.mark.parametrize("saved", [None, 3, "text", [3], [[]], {"op_type": "kn_input_op"}])
def test_what_is_no_graph_is_refused(saved: Any) -> None:
    with pytest.raises(GraphError, match="not a graph that Mirage saved"):
        read_mirage(saved, [])


def _tensor(guid: int, *dims: int) -> dict[str, Any]:
    return {"guid": guid, "num_dims": len(dims), "dim": [*dims, 0, 0, 0][:4]}


def _one_operator(kind: str, inputs: int, *result: int) -> list[dict[str, Any]]:
    """A graph of one block, whose loop cuts (4, 8) in two, with one operator and its result."""
    tiles = [_tensor(10 + n, 4, 4) for n in range(inputs)]
    loads = [
        {
            "op_type": "tb_input_op",
            "dtensor": _tensor(n, 4, 8),
            "forloop_dim": 1,
            "input_map": {"x": -1, "y": -1, "z": -1},
            "output_tensors": [tiles[n]],
        }
        for n in range(inputs)
    ]
    made = {"op_type": kind, "input_tensors": tiles, "output_tensors": [_tensor(20, *result)]}
    kept = {
        "op_type": "tb_accum_nored_op",
        "input_tensors": [_tensor(20, *result)],
        "output_tensors": [_tensor(21, *result)],
    }
    accumulates = kind.startswith("tb_accum")
    store = {
        "op_type": "tb_output_op",
        "input_tensors": [_tensor(20 if accumulates else 21, *result)],
        "output_tensors": [],
        "output_map": {"x": -1, "y": -1, "z": -1},
    }
    block = {
        "grid_dim": {"x": 1, "y": 1, "z": 1},
        "forloop_range": 2,
        "reduction_dimx": 2,
        "operators": [*loads, made, *([] if accumulates else [kept]), store],
    }
    return [
        *(
            {"op_type": "kn_input_op", "input_tensors": [], "output_tensors": [_tensor(n, 4, 8)]}
            for n in range(inputs)
        ),
        {
            "op_type": "kn_customized_op",
            "bgraph": block,
            "input_tensors": [_tensor(n, 4, 8) for n in range(inputs)],
            "output_tensors": [_tensor(30, *result)],
        },
        {"op_type": "kn_output_op", "input_tensors": [_tensor(30, *result)], "output_tensors": []},
    ]


X = np.random.default_rng(5).standard_normal((4, 8))
HALVES = X[:, :4], X[:, 4:]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("tb_accum_nored_op", HALVES[0] + HALVES[1]),
        ("tb_accum_max_op", np.maximum(*HALVES)),
        ("tb_accum_red_ld_sum_op", X.sum(axis=1, keepdims=True)),
        ("tb_accum_red_ld_mean_op", X.mean(axis=1, keepdims=True)),
        ("tb_accum_red_ld_rms_op", np.linalg.norm(X, axis=1, keepdims=True) / np.sqrt(8)),
        ("tb_accum_redtox_ld_sum_op", X[:, 0:2] + X[:, 2:4] + X[:, 4:6] + X[:, 6:8]),
        ("tb_reduction_0_op", (HALVES[0] + HALVES[1]).sum(axis=0, keepdims=True)),
        ("tb_reduction_1_op", X.sum(axis=1, keepdims=True)),
        ("tb_reduction_0_to_dimx_op", sum(half[:2] + half[2:] for half in HALVES)),
        ("tb_reduction_1_to_dimx_op", X.reshape(4, 4, 2).sum(axis=1)),
        ("tb_exp_op", np.exp(HALVES[0]) + np.exp(HALVES[1])),
    ],
)
def test_an_operator_means_what_mirage_computes(kind: str, expected: NDArray[np.float64]) -> None:
    graph = read_mirage(_one_operator(kind, 1, *expected.shape), [Input("X", ("a", "b"))])
    assert relative_error(*run(graph, {"X": X}), expected) < 1e-14
    assert parse(str(graph)) == graph


def test_concatenation_is_along_its_axis() -> None:
    inputs = [Input("X", ("a", "b")), Input("Y", ("a", "b"))]
    for axis, shape in ((0, (8, 4)), (1, (4, 8))):
        graph = read_mirage(_one_operator(f"tb_concat_{axis}_op", 2, *shape), inputs)
        (got,) = run(graph, {"X": X, "Y": 2 * X})
        summed = HALVES[0] + HALVES[1]
        assert relative_error(got, np.concatenate([summed, 2 * summed], axis)) < 1e-14


def test_a_reduction_of_an_axis_that_is_not_there_is_refused() -> None:
    with pytest.raises(CourseError, match="no such axis"):
        read_mirage(_one_operator("tb_reduction_2_op", 1, 4, 4), [Input("X", ("a", "b"))])
