"""Demands of the exercises of lesson 6 on an answer, in a student's notebook and in the grader."""

from __future__ import annotations

from typing import Any

from mlc_course.errors import UnmetCheck
from mlc_course.exercise import (
    breaks,
    called,
    check,
    check_parts,
    computes,
    given,
    inner_stride,
    misses,
    returns,
    scheduled,
    shown,
)
from mlc_course.tensor_program.memory import Cache, count
from mlc_course.tensor_program.problems import FLOAT_BYTES, matmul
from mlc_course.tensor_program.schedule import reorder, split
from mlc_course.tensor_program.tir import Schedule

SMALL = Cache(4096)
ANYWHERE = Cache(4096, ways=64)  # any line in any place: no sets, so that only size and shape count
ROOM = 2048  # bytes of the tiles of the last exercise: half of the cache
PRODUCT = {"M": 48, "K": 96, "N": 96}


def tiled(answer: Any, rows: int = 80) -> None:
    """Exercise 1: few misses, and an inner loop along rows."""
    demand = computes(), inner_stride("C"), misses(75 * rows, SMALL)
    check(scheduled(answer, matmul(rows, 80, 80)), *demand)


def largest_tile(answer: Any) -> None:
    """Exercise 2: the largest square tile of which the working set fits."""
    check(
        called(answer),
        returns(4096, 64, result=16, hint="a tile of 32 x 32 is 4096 bytes; A and C need room"),
        returns(8192, 64, result=32, hint="only the tile has t rows; of A and C it is one row"),
        returns(32 * 1024, 64, result=80, hint="80 is a multiple of 16, and no power of two"),
        returns(4352, 64, result=32, hint="exactly the size of the cache is not larger than it"),
    )


def repaired(answer: Any, sizes: tuple[int, int, int] = (80, 80, 80)) -> None:
    """Exercise 3: the same product, whose tile is used while it is there."""
    m, k, n = sizes
    demand = computes(), inner_stride("C"), misses(m * k * n // 80, SMALL)
    check(scheduled(answer, matmul(m, k, n)), *demand)


def larger_is_worse(answer: Any) -> None:
    """Exercise 4: two tiles that fit, of which the larger one misses more."""
    check(given(answer), breaks("of two tiles that fit, the larger one misses less", _never_more))


def _never_more(value: Any) -> str | None:
    """Return the reason why the claim stands for these two tiles, or None."""
    check_parts(value, ("smaller", "larger"))
    sizes = {name: _size(name, pair) for name, pair in value.items()}
    if not sizes["smaller"] < sizes["larger"]:
        raise UnmetCheck(
            "the working set of larger is not the larger one",
            expected="smaller < larger",
            got=f"{sizes['smaller']:,} and {sizes['larger']:,} bytes",
        )
    found = {name: tile_misses(*pair) for name, pair in value.items()}
    if found["larger"] > 1.1 * found["smaller"]:
        return None
    return f"{found['larger']:,} misses with the larger tile, {found['smaller']:,} with the smaller"


def _size(name: str, pair: Any) -> int:
    """Return the bytes of a tile's working set; refuse what is no tile of this exercise."""
    k, n = pair if isinstance(pair, list | tuple) and len(pair) == 2 else (None, None)
    if type(k) is not int or type(n) is not int or k < 1 or n < 1 or 96 % k or 96 % n or n % 16:
        raise UnmetCheck(
            f"{name}: not a tile of this exercise",
            expected="(k, n): k divides 96, n is 16, 32, 48 or 96",
            got=shown(pair),
        )
    size = FLOAT_BYTES * (k * n + k + n)
    if size > ROOM:
        raise UnmetCheck(
            f"{name}: the working set takes more than half of the cache",
            expected=f"at most {ROOM:,} bytes",
            got=f"{size:,}",
        )
    return size


def tile_misses(k: int, n: int) -> int:
    """Count the misses of a product of 48, 96 and 96 in tiles of B of k x n."""
    sch = Schedule(matmul(**PRODUCT).program())
    split(sch, "C", "k", k)
    split(sch, "C", "n", n)
    reorder(sch, "C", "n_0", "k_0", "m", "k_1", "n_1")
    return count(sch.mod, ANYWHERE)[0].misses
