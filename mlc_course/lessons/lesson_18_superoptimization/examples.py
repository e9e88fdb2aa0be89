"""A small attention, and the graphs that the search found for RMSNorm and a matmul."""

from __future__ import annotations

from mlc_course.mugraph.ir import KernelGraph, parse

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
# What the search found for RMSNorm and a matmul, as the cost model chose it for an A100.
ONE_KERNEL = """
found_in_one_kernel(X[b=16, d=4096], G[1, d], W[d, n=6144]):
  block grid(x=96) loop(k=8):
    x = load(X, fmap={k: 1})
    g = load(G, fmap={k: 1})
    w = load(W, imap={x: 1}, fmap={k: 0})
    scaled = mul(x, g)
    product = matmul(scaled, w)
    all_product = accumulate(product)
    squares = square(x)
    sums = sum(squares, axis=1)
    total = accumulate(sums)
    thread:
      mean = scale(total, by=1/d)
      rms = sqrt(mean)
      y = div(all_product, rms)
    Y = store(y, omap={x: 1})
  return Y
"""
# The same with d in parts, of which each block of the first kernel has one.
TWO_KERNELS = """
found_in_two_kernels(X[b=16, d=4096], G[1, d], W[d, n=6144]):
  block grid(x=24, y=4) loop(k=8):
    x = load(X, imap={y: 1}, fmap={k: 1})
    g = load(G, imap={y: 1}, fmap={k: 1})
    w = load(W, imap={x: 1, y: 0}, fmap={k: 0})
    scaled = mul(x, g)
    product = matmul(scaled, w)
    all_product = accumulate(product)
    squares = square(x)
    sums = sum(squares, axis=1)
    all_sums = accumulate(sums)
    Product_parts = store(all_product, omap={x: 1, y: 1})
    Sums_parts = store(all_sums, omap={x: 1, y: 1})
  block grid(x=24) loop(part=4):
    product_parts = load(Product_parts, imap={x: 1}, fmap={part: 1})
    sums_parts = load(Sums_parts, imap={x: 1}, fmap={part: 1})
    all_product_parts = accumulate(product_parts)
    total = accumulate(sums_parts)
    thread:
      mean = scale(total, by=1/d)
      rms = sqrt(mean)
      y = div(all_product_parts, rms)
    Y = store(y, omap={x: 1})
  return Y
"""


def small_attention() -> KernelGraph:
    """Return attention without its scale and heads, on sizes that keep expressions short."""
    return parse(ATTENTION)


def found_graphs() -> tuple[KernelGraph, KernelGraph]:
    """Return the two graphs that the search found: in one kernel, and in two."""
    return parse(ONE_KERNEL), parse(TWO_KERNELS)
