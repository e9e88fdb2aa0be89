from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from small_graphs import normal_inputs, relative_error, small

from mlc_course.errors import UsageError
from mlc_course.mugraph.ir import KernelGraph, ThreadGraph, parse, run
from mlc_course.mugraph.programs import MODELS, NAMES, PROGRAM_OF, published, workload
from mlc_course.mugraph.programs.catalogue import FOUND, FREE_SIZED, GRAPHS, OPERATORS

Array = NDArray[np.float64]


def _rms(x: Array, axis: int = -1) -> Array:
    return x * np.sqrt(x.shape[axis]) / np.linalg.norm(x, axis=axis, keepdims=True)


def _attention(q: Array, k: Array, v: Array, scale: float = 1.0) -> Array:
    scores = scale * np.einsum("hmd,hdn->hmn", q, k)
    return np.asarray(np.exp(scores - np.logaddexp.reduce(scores, axis=2, keepdims=True)) @ v)


def _silu(x: Array) -> Array:
    return x * (1 + np.tanh(x / 2)) / 2


MEANINGS: dict[str, Callable[..., Array]] = {
    "rms_norm_matmul": lambda X, G, W: (_rms(X) * G) @ W,
    "gated_mlp": lambda X, W1, W2: _silu(X @ W1) * (X @ W2),
    "lora": lambda X, W, A, B: X @ (W + A @ B),
    "gqa": lambda Q, K, V: _attention(Q, K, V),
    "qk_norm_attention": lambda Q, K, V: _attention(_rms(Q), _rms(K, 1), V),
    "n_trans": lambda H, X, A: _rms(X + A * (_rms(H) + X)),
    "attention": lambda Q, K, V: _attention(Q, K, V, Q.shape[2] ** -0.5),
    "stable_attention": lambda Q, K, V: _attention(Q, K, V, Q.shape[2] ** -0.5),
}
SHAPES: dict[str, list[tuple[int, ...]]] = {
    "rms_norm_matmul": [(16, 4096), (1, 4096), (4096, 6144)],
    "gated_mlp": [(8, 4096), (4096, 4096), (4096, 4096)],
    "lora": [(16, 256), (256, 4096), (256, 16), (16, 4096)],
    "n_trans": [(8, 4096)] * 3,
}
ATTENTION = [(2, 256, 64), (2, 64, 4096), (2, 4096, 64)]


@pytest.mark.parametrize("name", NAMES)
def test_a_workload_computes_what_numpy_says(name: str) -> None:
    program = small(workload(name))
    inputs = normal_inputs(program)
    assert relative_error(*run(program, inputs), MEANINGS[name](**inputs)) < 1e-14


def _softmax(x: Array) -> Array:
    return np.asarray(np.exp(x - np.logaddexp.reduce(x, axis=-1, keepdims=True)))


def _layer_norm(x: Array) -> Array:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)


def _normed(x: Array, gain: Array) -> Array:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain


def _gelu(x: Array) -> Array:
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _turned(x: Array, cos: Array, sin: Array) -> Array:
    low, high = np.split(x, 2, axis=2)
    return x * cos + np.concatenate([-high, low], axis=2) * sin


def _halves(Q1: Array, Q2: Array, K1: Array, K2: Array, V: Array, *rest: Array) -> Array:
    Cq, Sq, Ck, Sk, M = rest
    q = np.concatenate([Q1 * Cq - Q2 * Sq, Q2 * Cq + Q1 * Sq], axis=2)
    k = np.concatenate([K1 * Ck - K2 * Sk, K2 * Ck + K1 * Sk], axis=1)
    return _softmax(q @ k / 8 + M) @ V


def _layer(X: Array, G1: Array, Wq: Array, Wk: Array, Wv: Array, M: Array, *rest: Array) -> Array:
    Wo, G2, W1, W2, W3 = rest
    a = _normed(X, G1)
    scores = (a @ Wq) @ (a @ Wk).transpose(0, 2, 1) / np.sqrt(Wq.shape[2]) + M
    between = X + ((_softmax(scores) @ (a @ Wv)) @ Wo).sum(0, keepdims=True)
    b = _normed(between, G2)
    return between + (_silu(b @ W1) * (b @ W2)) @ W3


MODEL_MEANINGS: dict[str, Callable[..., Any]] = {
    "rope_masked_attention": lambda **given: _halves(*given.values()),
    "rope_rotated_attention": lambda Q, K, V, Cq, Sq, Ck, Sk, M: (
        _softmax(
            _turned(Q, Cq, Sq) @ _turned(K, Ck, Sk).transpose(0, 2, 1) / np.sqrt(Q.shape[2]) + M
        )
        @ V
    ),
    "soft_capped_attention": lambda Q, K, V: (
        _softmax(50 * np.tanh(Q @ K / np.sqrt(Q.shape[2]) / 50)) @ V
    ),
    "gated_mlp_layer": lambda X, G, W1, W2, W3: (
        (_silu(_normed(X, G) @ W1) * (_normed(X, G) @ W2)) @ W3 + X
    ),
    "router": lambda X, W: (_softmax(X @ W), _softmax(X @ W).max(1, keepdims=True)),
    "layer_norm_linear_gelu": lambda X, G, B, W, C: _gelu((_layer_norm(X) * G + B) @ W + C),
    "cross_entropy": lambda X, T: (
        -(T * np.log(_softmax(X))).sum(1, keepdims=True).mean(0, keepdims=True)
    ),
    "transformer_layer": lambda **given: _layer(*given.values()),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_computes_what_numpy_says(name: str) -> None:
    program = workload(name)
    few = zip(program.sizes, (2, 4, 6, 8, 3), strict=False)
    program = program.resized({size: n if whole > 1 else 1 for (size, whole), n in few})
    inputs = normal_inputs(program)
    wanted = MODEL_MEANINGS[name](**inputs)
    outputs = wanted if isinstance(wanted, tuple) else (wanted,)
    for got, each in zip(run(program, inputs), outputs, strict=True):
        assert relative_error(got, each) < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_a_workload_has_the_sizes_of_its_benchmark(name: str) -> None:
    program = workload(name)
    assert program.name == name
    assert list(program.shapes[: len(program.inputs)]) == SHAPES.get(name, ATTENTION)


def test_stable_attention_survives_large_scores_and_plain_attention_does_not() -> None:
    stable, plain = small(workload("stable_attention")), small(workload("attention"))
    inputs: dict[str, Any] = normal_inputs(stable)
    inputs["Q"] = 3000 * inputs["Q"]
    assert relative_error(*run(stable, inputs), MEANINGS["attention"](**inputs)) < 1e-12
    assert np.isnan(run(plain, inputs)[0]).any()


@pytest.mark.parametrize("name", NAMES)
def test_no_operator_makes_a_benchmark_trivial(name: str) -> None:
    assert not {"rms_norm", "softmax", "stable_softmax", "mean", "block"} & {
        equation.op.name for equation in workload(name).equations
    }


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


@pytest.mark.parametrize(
    ("read", "name", "known"), [(workload, "gated", "gated_mlp"), (published, "lora", "lora_fused")]
)
def test_an_unknown_name_is_refused_with_the_known_ones(
    read: Callable[[str], KernelGraph], name: str, known: str
) -> None:
    with pytest.raises(UsageError, match=known):
        read(name)


def test_every_file_is_in_the_catalogue() -> None:
    assert {path.stem for path in GRAPHS.iterdir()} == {
        *NAMES,
        *PROGRAM_OF,
        *MODELS,
        *OPERATORS,
        *FREE_SIZED,
        *FOUND,
    }
