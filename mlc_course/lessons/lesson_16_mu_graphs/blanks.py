"""The blanks of lesson 16: a tile as a slice, the maps of a kernel, loaded bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlc_course.exercise import called, given, returns, same_program
from mlc_course.lessons.kit import Blank, asks
from mlc_course.lessons.lesson_16_mu_graphs.examples import example
from mlc_course.words import marked

B = np.arange(48.0 * 96).reshape(48, 96)
ROWS, COLUMNS = 12, 32  # of a tile of B


def _tile(x: int, k: int) -> Any:
    return B[ROWS * k : ROWS * (k + 1), COLUMNS * x : COLUMNS * (x + 1)]


def _case(x: int, k: int, hint: str) -> Any:
    return returns(B, x, k, result=_tile(x, k), hint=hint)


tile_of_b = Blank(
    asks(
        called,
        _case(0, 0, marked("a tile has 12 rows and 32 columns")),
        _case(1, 0, marked("x cuts the columns: block 1 begins at column 32")),
        _case(0, 2, marked("k cuts the rows: iteration 2 begins at row 24")),
        _case(2, 3, marked("block 2 in iteration 3: rows 36 to 47, columns 64 to 95")),
    ),
    (
        marked(
            "Rows come first. Which of x and k cuts the rows of B, and how many rows has a tile?"
        ),
        marked("In iteration k the rows begin at 12 * k and end before 12 * (k + 1)."),
        marked("The columns are alike, with 32 and x in place of 12 and k."),
    ),
    "return B[12 * k : 12 * (k + 1), 32 * x : 32 * (x + 1)]",
)

FRAME = (
    example("one_kernel")
    .replace("load(X, imap={y: 0}, fmap={k: 1})", "load(X, ...)")
    .replace("load(G, fmap={k: 1})", "load(G, ...)")
    .replace("load(W, imap={x: 1}, fmap={k: 0})", "load(W, ...)")
)
maps = Blank(
    asks(given, same_program(example("seven_kernels"), frame=FRAME)),
    (
        marked(
            "The block at (x, y) makes rows y and columns x of Y. For that it needs the same rows "
            "of X and the same columns of W. Does x or y cut G? An empty map is {}."
        ),
        marked("The loop runs along d. Which dimension is d in X, in G, in W?"),
        marked(
            'For X: {"imap": {"y": 0}, "fmap": {"k": 1}}. G is cut by the loop alone; W by x and k.'
        ),
    ),
    """fused_maps = {
    "x": {"imap": {"y": 0}, "fmap": {"k": 1}},
    "g": {"imap": {}, "fmap": {"k": 1}},
    "w": {"imap": {"x": 1}, "fmap": {"k": 0}},
}""",
)


def _loaded(x: int, y: int, hint: str) -> Callable[..., Any]:
    X, G, W = 65_536, 1_024, 393_216
    found: Any = returns(x, y, X, G, W, result=X * x + G * x * y + W * y, hint=hint)
    return found  # type: ignore[no-any-return]


loaded = Blank(
    asks(
        called,
        _loaded(1, 1, marked("a single block loads each tensor once")),
        _loaded(4, 1, marked("four blocks side by side: which tensors do all four of them load?")),
        _loaded(1, 4, marked("four blocks one below the other: which tensors do all four load?")),
        _loaded(8, 2, marked("G has neither x nor y in its imap")),
    ),
    (
        marked("Blocks with the same y load the same rows of X. How many blocks have the same y?"),
        marked("X is loaded x times over, because x is not in its imap. And W?"),
        marked("G is loaded by each of the x * y blocks. Add the three."),
    ),
    "return X * x + W * y + G * x * y",
)
