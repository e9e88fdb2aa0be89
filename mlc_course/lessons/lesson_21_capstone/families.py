"""Families of programs: one pattern each, drawn with sizes, operators and names of its own."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from textwrap import dedent

from mlc_course.errors import check_known
from mlc_course.mugraph.ir import parse

# Programs to try things on. What is graded are programs of further families.
PRACTICE: Mapping[str, str] = {
    "chain": """
chain(X[rows, cols], Y[rows, cols], G[1, cols]):
  both = mul(X, Y)
  bent = ACT(both)
  moved = add(bent, X)
  Z = mul(moved, G)
  return Z
""",
    "linear": """
linear(X[rows, deep], W[deep, wide], C[1, wide]):
  product = matmul(X, W)
  moved = add(product, C)
  Y = ACT(moved)
  return Y
""",
    "norm_linear": """
norm_linear(X[rows, deep], W[deep, wide]):
  squares = square(X)
  total = sum(squares, axis=1)
  mean = scale(total, by=1/deep)
  rms = sqrt(mean)
  normed = div(X, rms)
  Y = matmul(normed, W)
  return Y
""",
}
SIZES: Mapping[str, tuple[int, ...]] = {
    "rows": (1024, 1536, 2048),
    "cols": (256, 320, 384, 512),
    "deep": (256, 320, 384, 512),
    "wide": (32, 48, 64),
    "few": (8, 16),
    # Where a block holds both operands of a matmul whole, nothing has to be loaded twice.
    "inner": (256, 320, 384),
    "slim": (32, 48),
}
ACTIVATIONS = ("silu", "sigmoid", "relu", "tanh")
NAMES = ("alpha", "beta", "gamma", "delta", "kappa", "omega", "sigma", "theta")
WORD = re.compile(r"\b[A-Za-z]\w*\b")


def practice(name: str, seed: int = 0) -> str:
    """Return a program of a family to practise on; raises ``UsageError`` for another name."""
    check_known("no family to practise on", name, PRACTICE)
    return drawn(PRACTICE[name], seed)


def drawn(pattern: str, seed: int) -> str:
    """Return a program of a pattern, with names, sizes and operators that the seed chooses.

    ``ACT`` in the pattern becomes an activation; a dimension is one of ``SIZES``.
    """
    rng = random.Random(seed)
    text = re.sub(r"\bACT\b", lambda _: rng.choice(ACTIVATIONS), dedent(pattern).strip())
    graph_words = {*ACTIVATIONS, "matmul", "return", "axis", "by"}
    inside = [word for word in WORD.findall(text) if word not in graph_words]
    dims = [word for word in dict.fromkeys(inside) if word in SIZES]
    values = [word for word in dict.fromkeys(inside) if word not in SIZES and _is_value(word, text)]
    letters = rng.sample("abcdefgijlmnpqrsuvw", len(dims))
    numbers = rng.sample(range(10, 100), len(values))
    new = {word: letter for word, letter in zip(dims, letters, strict=True)}
    new |= {
        word: f"{rng.choice(NAMES)}{number}" for word, number in zip(values, numbers, strict=True)
    }
    sizes = {new[dim]: rng.choice(SIZES[dim]) for dim in dims}
    renamed = WORD.sub(lambda word: new.get(word[0], word[0]), text)
    head, _, body = renamed.partition("\n")
    for dim, size in sizes.items():
        head = re.sub(rf"(?<=[\[ ]){dim}(?=[,\]])", f"{dim}={size}", head, count=1)
    return str(parse(f"{head}\n{body}"))


def _is_value(word: str, text: str) -> bool:
    """Tell whether a word of a pattern is an input, a line's value, or the program itself."""
    return bool(re.search(rf"^\s*{word} =|\b{word}\[|^{word}\(", text, re.MULTILINE))
