"""The benchmark programs: what is to be computed, in operators of a kernel graph only.

Norms and softmax are spelled out, so that a search has to find what a fused kernel does with them.
Sizes are those of Mirage's benchmarks (M. Wu et al., OSDI 2025, section 8; its ``benchmark/*.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

from mlc_course.errors import UsageError
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.text import parse

_TEXTS = (
    # RMSNorm (B. Zhang, R. Sennrich, 2019) with gain G, then a linear layer.
    """
    rms_norm_matmul(X[b=16, d=4096], G[1, d], W[d, n=6144]):
      squares = square(X)
      total = sum(squares, axis=1)
      mean = scale(total, by=1/d)
      rms = sqrt(mean)
      scaled = mul(X, G)
      normed = div(scaled, rms)
      Y = matmul(normed, W)
      return Y
    """,
    # The gated feed-forward layer of LLaMA (N. Shazeer, 2020), up to its last product.
    """
    gated_mlp(X[b=8, d=4096], W1[d, n=4096], W2[d, n]):
      gate = matmul(X, W1)
      opened = silu(gate)
      up = matmul(X, W2)
      Y = mul(opened, up)
      return Y
    """,
    # A linear layer with a low-rank addition (E. Hu et al., 2021).
    """
    lora(X[b=16, d=256], W[d, n=4096], A[d, r=16], B[r, n]):
      base = matmul(X, W)
      down = matmul(X, A)
      up = matmul(down, B)
      Y = add(base, up)
      return Y
    """,
    # Attention as Mirage's group_query_attention.py has it: no scale, no maximum. The queries of
    # one group of heads, m of them, share its keys and values; h groups.
    """
    gqa(Q[h=2, m=256, d=64], K[h, d, n=4096], V[h, n, v=64]):
      scores = matmul(Q, K)
      weights = exp(scores)
      total = sum(weights, axis=2)
      shares = div(weights, total)
      O = matmul(shares, V)
      return O
    """,
    # Queries and keys normed, so that no score grows large. (Mirage's qknorm_gqa.py norms Q and V.)
    """
    qk_norm_attention(Q[h=2, m=256, d=64], K[h, d, n=4096], V[h, n, v=64]):
      q_squares = square(Q)
      q_total = sum(q_squares, axis=2)
      q_mean = scale(q_total, by=1/d)
      q_rms = sqrt(q_mean)
      q = div(Q, q_rms)
      k_squares = square(K)
      k_total = sum(k_squares, axis=1)
      k_mean = scale(k_total, by=1/d)
      k_rms = sqrt(k_mean)
      k = div(K, k_rms)
      scores = matmul(q, k)
      weights = exp(scores)
      total = sum(weights, axis=2)
      shares = div(weights, total)
      O = matmul(shares, V)
      return O
    """,
    # A residual step of nGPT (I. Loshchilov et al., 2024) as Mirage's norm_transformer.py has it:
    # with root mean squares for norms, and a sum where nGPT has a difference.
    """
    n_trans(H[b=8, d=4096], X[b, d], A[b, d]):
      h_squares = square(H)
      h_total = sum(h_squares, axis=1)
      h_mean = scale(h_total, by=1/d)
      h_rms = sqrt(h_mean)
      h = div(H, h_rms)
      moved = add(h, X)
      step = mul(A, moved)
      new = add(X, step)
      squares = square(new)
      total = sum(squares, axis=1)
      mean = scale(total, by=1/d)
      rms = sqrt(mean)
      Y = div(new, rms)
      return Y
    """,
    # Attention (A. Vaswani et al., 2017): exact, but exp overflows where a score is large.
    """
    attention(Q[h=2, m=256, d=64], K[h, d, n=4096], V[h, n, v=64]):
      products = matmul(Q, K)
      scores = scale(products, by=1/sqrt(d))
      weights = exp(scores)
      total = sum(weights, axis=2)
      shares = div(weights, total)
      O = matmul(shares, V)
      return O
    """,
    # The same function, with the largest score of each row subtracted first.
    """
    stable_attention(Q[h=2, m=256, d=64], K[h, d, n=4096], V[h, n, v=64]):
      products = matmul(Q, K)
      scores = scale(products, by=1/sqrt(d))
      largest = max(scores, axis=2)
      below = sub(scores, largest)
      weights = exp(below)
      total = sum(weights, axis=2)
      shares = div(weights, total)
      O = matmul(shares, V)
      return O
    """,
)


def named(texts: tuple[str, ...]) -> Mapping[str, str]:
    """Texts of graphs by the names of the graphs."""
    stripped = (dedent(text).strip() for text in texts)
    return {text.partition("(")[0]: text for text in stripped}


def workload(name: str) -> KernelGraph:
    """A benchmark program at its benchmark's sizes; raises ``UsageError`` for another name."""
    if name not in _BY_NAME:
        raise UsageError(f"no workload {name!r}", expected=" | ".join(NAMES), got=name)
    return parse(_BY_NAME[name])


_BY_NAME = named(_TEXTS)
NAMES = tuple(_BY_NAME)
