"""The visible checks of lesson 16's exercises, each called by one line of the notebook."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlc_course.exercise import UnmetCheck, check, given, holds, same_program, shown
from mlc_course.mugraph.ir import parse, run
from mlc_course.words import tr

# --- 1. The maps of a matmul ----------------------------------------------------------------------

MATMUL = """
matmul(A[m=32, d=64], B[d, n=48]):
  C = matmul(A, B)
  return C
"""
IN_BLOCKS = """
matmul_in_blocks(A[m=32, d=64], B[d, n=48]):
  block grid(x=6, y=4) loop(k=8):
    a = load(A, ...)
    b = load(B, ...)
    p = matmul(a, b)
    c = accumulate(p)
    C = store(c, ...)
  return C
"""


def maps(my_maps: Any) -> None:
    """Check exercise 1: maps with which 6 x 4 blocks compute A B."""
    extents = {"x": 6, "y": 4, "k": 8}
    check(
        given(my_maps),
        holds(_meeting(extents, (32, 64), (64, 48)), kind="tiles"),
        same_program(MATMUL, frame=IN_BLOCKS),
    )


def _meeting(extents: dict[str, int], A: tuple[int, int], B: tuple[int, int]) -> Any:
    """Return a check that says in the tiles' own names where those of a and b do not meet."""

    def meet(value: Any) -> str:
        shapes = {}
        for name, size in (("a", A), ("b", B)):
            cuts = _cuts(value, name)
            shapes[name] = [
                extent / _product(extents.get(axis, 1) for axis, at in cuts if at == dimension)
                for dimension, extent in enumerate(size)
            ]
        a, b = ([f"{extent:g}" for extent in shapes[name]] for name in "ab")
        if a[1] != b[0]:
            raise UnmetCheck(
                tr("the tiles a and b do not meet"),
                expected=tr("as many columns in a as rows in b"),
                got=f"a {' x '.join(a)}, b {' x '.join(b)}",
                hint=tr("which loop walks along d, and which dimension of each tensor is d?"),
            )
        return tr("tiles a {a} and b {b} meet", a=" x ".join(a), b=" x ".join(b))

    return meet


def _cuts(value: Any, name: str) -> list[tuple[str, Any]]:
    """Return every axis and dimension of a tensor's maps; none where they have another form."""
    own = value.get(name) if type(value) is dict else None
    both = [own.get(kind, {}) for kind in ("imap", "fmap")] if type(own) is dict else []
    return [(str(axis), at) for each in both if type(each) is dict for axis, at in each.items()]


def _product(numbers: Any) -> int:
    return int(np.prod(list(numbers), dtype=int))


# --- 2. Split the sum -----------------------------------------------------------------------------

THIN = """
thin(A[m=2, d=1024], B[d, n=16]):
  C = matmul(A, B)
  return C
"""


def split(my_split: Any) -> None:
    """Check exercise 2: two kernels in which no block loads more than 1,000 bytes."""
    check(given(my_split), same_program(THIN, kernels=2, loaded_by_block=1000))


# --- 3. One kernel, within limits -----------------------------------------------------------------

NORMED = """
normed(X[b=32, d=512], G[1, d], W[d, n=384]):
  s = square(X)
  r = sum(s, axis=1)
  m = scale(r, by=1/d)
  q = sqrt(m)
  a = mul(X, G)
  y = div(a, q)
  Y = matmul(y, W)
  return Y
"""


def fused(my_fused: Any) -> None:
    """Check exercise 3: one kernel with little shared memory and few loads."""
    check(given(my_fused), same_program(NORMED, kernels=1, shared=24_000, loaded=700_000))


# --- 4. Bug hunt ----------------------------------------------------------------------------------

SQUARE = """
matmul(A[m=64, d=64], B[d, n=64]):
  C = matmul(A, B)
  return C
"""
SUSPECT = """
in_portions(A[m=64, d=64], B[d, n=64]):
  block grid(x=4, y=4) loop(i=4, k=4):
    a = load(A, imap={y: 0}, fmap={i: 0, k: 1})
    b = load(B, imap={x: 1}, fmap={i: 0})
    p = matmul(a, b)
    c = accumulate(p, fmap={i: 0})
    C = store(c, omap={x: 1, y: 0})
  return C
"""
IN_PORTIONS = """
in_portions(A[m=64, d=64], B[d, n=64]):
  block grid(x=4, y=4) loop(i=4, k=4):
    a = load(A, ...)
    b = load(B, ...)
    p = matmul(a, b)
    c = accumulate(p, fmap={i: 0})
    C = store(c, ...)
  return C
"""


def hunt(my_repair: Any, my_witness: Any) -> None:
    """Check exercise 4: the right maps, and ones that tell the two graphs apart."""
    check(given(my_repair), same_program(SQUARE, frame=IN_PORTIONS))
    check(given(my_witness), holds(_tells_apart, kind="counter-example"))


def _tells_apart(value: Any) -> str:
    """Holds single ones for which the suspect and A B differ."""
    form = '{"A": [row, column], "B": [row, column]}'
    if type(value) is not dict or sorted(value) != ["A", "B"]:
        raise UnmetCheck(tr("not a witness"), expected=form, got=shown(value))
    ones = {}
    for name, at in value.items():
        pair = type(at) is list and len(at) == 2
        if not pair or not all(type(n) is int and 0 <= n < 64 for n in at):
            raise UnmetCheck(
                tr("{name}: not a place", name=name),
                expected=tr("[row, column], whole numbers from 0 to 63"),
                got=shown(at),
            )
        ones[name] = np.zeros((64, 64))
        ones[name][tuple(at)] = 1
    (made,), right = run(parse(SUSPECT), ones), ones["A"] @ ones["B"]
    if np.array_equal(made, right):
        raise UnmetCheck(
            tr("this test does not tell them apart"),
            expected=tr("another result of the suspect than A B"),
            got=tr("both give a 1 at {place}", place=np.argwhere(right)[0].tolist())
            if right.any()
            else tr("both give zeros only"),
        )
    return tr("the suspect fails this test")
