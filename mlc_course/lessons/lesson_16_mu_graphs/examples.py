"""The graphs of lesson 16, on sizes that NumPy runs in a moment."""

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
)
_BY_NAME = {text.partition("(")[0]: text for text in (dedent(t).strip() for t in _TEXTS)}
NAMES = tuple(_BY_NAME)


def example(name: str) -> str:
    """Return the text of a graph by its name; raise ``UsageError`` for another name."""
    check_known("no example", name, NAMES)
    return _BY_NAME[name]
