"""The catalogue of known mu-graphs: the benchmark programs, and fused graphs that compute them.

Each graph is a file ``graphs/NAME.mugraph`` in the text form. A *workload* is a benchmark program
in operators of a kernel graph only: norms and softmax are spelled out, so that a search has to find
what a fused kernel does with them. Sizes are those of Mirage's benchmarks (M. Wu et al., OSDI 2025,
section 8; its ``benchmark/*.py``). ``MODELS`` are parts of today's models, with sizes of our own.

A *published* graph is fused: a search should find it, a verifier must accept it, and lessons draw
it. Where a paper shows a graph as a picture, the file is our reading of it, with names and tile
sizes of our own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from mlc_course.errors import check_known
from mlc_course.mugraph.ir import KernelGraph, parse

GRAPHS = Path(__file__).parent / "graphs"
NAMES = (
    "rms_norm_matmul",
    "gated_mlp",
    "lora",
    "gqa",
    "qk_norm_attention",
    "n_trans",
    "attention",
    "stable_attention",
)
# Programs of today's models, which nobody has fused by hand here.
MODELS = (
    "rope_masked_attention",
    "rope_rotated_attention",
    "soft_capped_attention",
    "gated_mlp_layer",
    "router",
    "layer_norm_linear_gelu",
    "cross_entropy",
    "transformer_layer",
)
# Operators of a kernel graph that lessons compile by themselves.
OPERATORS = ("softmax",)
# The workload that each published graph computes.
PROGRAM_OF: Mapping[str, str] = {
    "rms_norm_matmul_fused": "rms_norm_matmul",
    "gated_mlp_fused": "gated_mlp",
    "lora_fused": "lora",
    "lora_looped": "lora",
    "gqa_split_kv": "gqa",
    "qk_norm_attention_fused": "qk_norm_attention",
    "n_trans_fused": "n_trans",
    "attention_fused": "attention",
    "online_softmax_attention": "stable_attention",
    "attention_split_kv": "stable_attention",
}
# The workload that each graph computes which the search found, as the cost model chose it.
FOUND: Mapping[str, str] = {
    "found_in_one_kernel": "rms_norm_matmul",
    "found_in_two_kernels": "rms_norm_matmul",
}
# The workload that each graph computes whose sizes may be free (``mugraph.symbolic``).
FREE_SIZED: Mapping[str, str] = {
    "rms_norm_matmul_in_rows": "rms_norm_matmul",
    "softmax_in_two_passes": "softmax",
    "online_softmax_attention": "stable_attention",
}


def workload(name: str) -> KernelGraph:
    """Return a program at its benchmark's sizes; raise ``UsageError`` for another name."""
    return _read(name, (*NAMES, *MODELS, *OPERATORS), "workload")


def published(name: str) -> KernelGraph:
    """Return a fused graph at its benchmark's sizes; raise ``UsageError`` for another name."""
    return _read(name, PROGRAM_OF, "published graph")


def found(name: str) -> KernelGraph:
    """Return a graph that the search found for an A100; raise ``UsageError`` for another name."""
    return _read(name, FOUND, "found graph")


def free_sized(name: str) -> KernelGraph:
    """Return a fused graph whose blocks do the same at every size, at its benchmark's sizes.

    Raises ``UsageError`` for another name.
    """
    return _read(name, FREE_SIZED, "graph of free sizes")


def _read(name: str, names: Collection[str], kind: str) -> KernelGraph:
    check_known(f"no {kind}", name, names)
    return parse((GRAPHS / f"{name}.mugraph").read_text(encoding="utf-8"))
