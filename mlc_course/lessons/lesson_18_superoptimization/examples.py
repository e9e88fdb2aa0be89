"""A small attention, and the graphs that the search found for RMSNorm and a matmul."""

from __future__ import annotations

from mlc_course.mugraph.ir import KernelGraph, parse
from mlc_course.mugraph.programs import found

ATTENTION = """
attention(Q[m=8, d=4], K[d, n=12], V[n, v=4]):
  scores = matmul(Q, K)
  largest = max(scores, axis=1)
  below = sub(scores, largest)
  weights = exp(below)
  total = sum(weights, axis=1)
  shares = div(weights, total)
  O = matmul(shares, V)
  return O
"""


def small_attention() -> KernelGraph:
    """Return attention without its scale and heads, on sizes that keep expressions short."""
    return parse(ATTENTION)


def found_graphs() -> tuple[KernelGraph, KernelGraph]:
    """Return the two graphs that the search found: in one kernel, and in two."""
    return found("found_in_one_kernel"), found("found_in_two_kernels")
