"""The graphs of lesson 13, on sizes that NumPy runs in a moment."""

from __future__ import annotations

from mlc_course.errors import UsageError
from mlc_course.mugraph.workloads import named

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
        x = load(X, imap={x: 0}, fmap={k: 1})
        g = load(G, fmap={k: 1})
        w = load(W, imap={y: 1}, fmap={k: 0})
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
        Y = store(y, omap={x: 0, y: 1})
      return Y
    """,
    # The last product of the seven alone, on the same grid and with the same loop.
    """
    product(A[b=64, d=512], W[d, n=384]):
      block grid(x=4, y=4) loop(k=16):
        a = load(A, imap={x: 0}, fmap={k: 1})
        w = load(W, imap={y: 1}, fmap={k: 0})
        p = matmul(a, w)
        P = accumulate(p)
        Y = store(P, omap={x: 0, y: 1})
      return Y
    """,
)
_BY_NAME = named(_TEXTS)
NAMES = tuple(_BY_NAME)


def example(name: str) -> str:
    """The text of one of them; raises ``UsageError`` for another name."""
    if name not in _BY_NAME:
        raise UsageError(f"no example {name!r}", expected=" | ".join(NAMES), got=name)
    return _BY_NAME[name]
