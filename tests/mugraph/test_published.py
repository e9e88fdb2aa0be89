from __future__ import annotations

import pytest
from small_graphs import normal_inputs, relative_error, small

from mlc_course.errors import UsageError
from mlc_course.mugraph.interpret import run
from mlc_course.mugraph.ir import ThreadGraph
from mlc_course.mugraph.published import PROGRAM_OF, published
from mlc_course.mugraph.text import parse
from mlc_course.mugraph.workloads import NAMES, workload


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_a_published_graph_computes_its_program_at_full_shape(name: str) -> None:
    program, graph = workload(PROGRAM_OF[name]), published(name)
    assert graph.inputs == program.inputs
    inputs = normal_inputs(program)
    assert relative_error(*run(graph, inputs), *run(program, inputs)) < 1e-13


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_a_published_graph_computes_its_program_on_small_sizes(name: str) -> None:
    program, graph = small(workload(PROGRAM_OF[name])), small(published(name))
    for seed in range(3):
        inputs = normal_inputs(program, seed)
        assert relative_error(*run(graph, inputs), *run(program, inputs)) < 1e-13


def test_every_workload_has_a_published_graph() -> None:
    assert set(PROGRAM_OF.values()) == set(NAMES)


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_a_published_graph_is_fused(name: str) -> None:
    """Only block graphs, and fewer of them than the program has operators."""
    graph = published(name)
    blocks = [block for _, block in graph.blocks]
    assert graph.name == name
    assert len(blocks) == len(graph.equations) < len(workload(PROGRAM_OF[name]).equations)


def test_thread_graphs_are_among_them() -> None:
    assert any(
        isinstance(equation.op, ThreadGraph)
        for name in PROGRAM_OF
        for _, block in published(name).blocks
        for equation in block.equations
    )


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("rms_norm_matmul_fused", "squares = square(x)", "squares = square(xg)"),
        ("rms_norm_matmul_fused", "imap={x: 1}, fmap={k: 0}", "imap={x: 0}, fmap={k: 1}"),
        ("gated_mlp_fused", "opened = silu(gate)", "opened = silu(up)"),
        ("online_softmax_attention", "accumulate_rescaled(sums, so_far)", "accumulate(sums)"),
        ("online_softmax_attention", "accumulate_rescaled(product, so_far)", "accumulate(product)"),
        ("attention_split_kv", "mul(total, weight)", "mul(total, total)"),
        ("attention_split_kv", "top = accumulate_max(largest)", "top = accumulate(largest)"),
        ("gqa_split_kv", "k = load(K, imap={x: 0, y: 2}", "k = load(K, imap={y: 0, z: 2}"),
    ],
)
def test_a_changed_graph_does_not_compute_the_program(name: str, old: str, new: str) -> None:
    text = str(small(published(name)))
    assert old in text
    program = small(workload(PROGRAM_OF[name]))
    inputs = normal_inputs(program)
    changed = parse(text.replace(old, new, 1))
    assert relative_error(*run(changed, inputs), *run(program, inputs)) > 1e-3


def test_another_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="lora_fused"):
        published("lora")
