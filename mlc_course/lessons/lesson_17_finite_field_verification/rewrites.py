"""The graphs of lesson 17 that are longer than a line: an epsilon that moved into a loop."""

from __future__ import annotations

PROGRAM = """program(X[b=16, d=1024]):
  s = square(X)
  m = mean(s, axis=1)
  e = shift(m, by=1e-6)
  r = sqrt(e)
  Y = div(X, r)
  return Y"""
LOOPED = """looped(X[b=16, d=1024]):
  block grid(x=16) loop(k=8):
    x = load(X, imap={x: 0}, fmap={k: 1})
    s = square(x)
    t = sum(s, axis=1)
    m = scale(t, by=1/d)
    e = shift(m, by=5e-7)
    a = accumulate(e)
    A = store(a, omap={x: 0})
  r = sqrt(A)
  Y = div(X, r)
  return Y"""
