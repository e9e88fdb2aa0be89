"""The graphs of lesson 16, on sizes that NumPy runs in a moment, and of lesson 18's exercises."""

from __future__ import annotations

from textwrap import dedent

from mlc_course.errors import check_known

_TEXTS = (
    # Seven operators, each a kernel of its own.
    """
    seven_kernels(X[b=64, d=512], G[1, d], W[d, n=384]):
      s = square(X)
      r = sum(s, axis=1)
      m = scale(r, by=1/d)
      q = sqrt(m)
      a = mul(X, G)
      y = div(a, q)
      Y = matmul(y, W)
      return Y
    """,
    # The same in one kernel: the product is divided at the end (Mirage, figure 3).
    """
    one_kernel(X[b=64, d=512], G[1, d], W[d, n=384]):
      block grid(x=4, y=4) loop(k=16):
        x = load(X, imap={y: 0}, fmap={k: 1})
        g = load(G, fmap={k: 1})
        w = load(W, imap={x: 1}, fmap={k: 0})
        a = mul(x, g)
        p = matmul(a, w)
        P = accumulate(p)
        s = square(x)
        r = sum(s, axis=1)
        R = accumulate(r)
        thread:
          m = scale(R, by=1/d)
          q = sqrt(m)
          y = div(P, q)
        Y = store(y, omap={x: 1, y: 0})
      return Y
    """,
    # The last product of the seven alone, on the same grid and with the same loop.
    """
    product(A[b=64, d=512], W[d, n=384]):
      block grid(x=4, y=4) loop(k=16):
        a = load(A, imap={y: 0}, fmap={k: 1})
        w = load(W, imap={x: 1}, fmap={k: 0})
        p = matmul(a, w)
        P = accumulate(p)
        Y = store(P, omap={x: 1, y: 0})
      return Y
    """,
    # With the scale in the loop and in registers, so that no square is stored in float16.
    """
    scaled_early(X[b=64, d=512], G[1, d], W[d, n=384]):
      block grid(x=4, y=4) loop(k=16):
        x = load(X, imap={y: 0}, fmap={k: 1})
        g = load(G, fmap={k: 1})
        w = load(W, imap={x: 1}, fmap={k: 0})
        a = mul(x, g)
        p = matmul(a, w)
        P = accumulate(p)
        thread:
          h = square(x)
          s = scale(h, by=1/d)
        r = sum(s, axis=1)
        R = accumulate(r)
        thread:
          q = sqrt(R)
          y = div(P, q)
        Y = store(y, omap={x: 1, y: 0})
      return Y
    """,
    # One block for each row of X, which then loads all of W.
    """
    by_rows(X[b=64, d=512], G[1, d], W[d, n=384]):
      block grid(y=64) loop(k=16):
        x = load(X, imap={y: 0}, fmap={k: 1})
        g = load(G, fmap={k: 1})
        w = load(W, fmap={k: 0})
        a = mul(x, g)
        p = matmul(a, w)
        P = accumulate(p)
        s = square(x)
        r = sum(s, axis=1)
        R = accumulate(r)
        thread:
          m = scale(R, by=1/d)
          q = sqrt(m)
          y = div(P, q)
        Y = store(y, omap={y: 0})
      return Y
    """,
    # What the search found for RMSNorm and a matmul, as the cost model chose it for an A100.
    """
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
    """,
    # The same with d in parts, of which each block of the first kernel has one.
    """
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
    """,
)
_BY_NAME = {text.partition("(")[0]: text for text in (dedent(t).strip() for t in _TEXTS)}
NAMES = tuple(_BY_NAME)


def example(name: str) -> str:
    """Return the text of a graph by its name; raise ``UsageError`` for another name."""
    check_known("no example", name, NAMES)
    return _BY_NAME[name]
