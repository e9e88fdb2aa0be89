"""Demands of the exercises of lesson 7 on an answer, in a student's notebook and in the grader."""

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
from mlc_course.lessons.lesson_07_two_levels.blanks import in_registers
from mlc_course.machine import describe
from mlc_course.tensor_program.memory import Cache, count
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.schedule import reorder, tile
from mlc_course.tensor_program.tir import Schedule

SMALL = Cache(4096)
LARGEST = 1_100_000  # multiply-adds of the counter-example, so that counting is quick


def any_size(answer: Any, *sizes: tuple[int, int, int]) -> None:
    """Exercise 1: few misses, where no tile divides the sizes."""
    demand = computes(), inner_stride("C"), misses(10_000, SMALL)
    for m, k, n in sizes or ((50, 70, 90), (61, 71, 83)):  # the second are three primes
        check(scheduled(answer, matmul(m, k, n)), *demand)


def tiny(answer: Any) -> None:
    """Exercise 1, hidden: matrices that are smaller than any tile."""
    check(scheduled(answer, matmul(3, 2, 17)), computes())
    check(scheduled(answer, matmul(1, 19, 1)), computes())


def register_tile(answer: Any) -> None:
    """Exercise 2: the register tile with the fewest loads for each multiply-add."""
    check(
        called(answer),
        returns(16, result=(4, 3), hint="one register is for the element of A, v are for B"),
        returns(4, result=(2, 1), hint="a 2 x 1 tile needs r v + v + 1 = 4 registers"),
        returns(32, result=(5, 5), hint="compare (r + v) / (r v): a square is best"),
    )


def in_register_tiles(answer: Any, rows: int = 48) -> None:
    """Exercise 3: four rows and two vectors of C stay in registers while k runs."""
    check(scheduled(answer, matmul(rows, 384, 384)), computes(), in_registers(0.75))


def lanes() -> int:
    """Return the float32 in a vector of the machine that programs are written for."""
    return describe().lanes


def tile_loses(answer: Any) -> None:
    """Exercise 4: sizes for which a tile that fits fetches more than no tile."""
    check(given(answer), breaks("a tile that fits never fetches more", _never_more))


def _never_more(value: Any) -> str | None:
    """Return the reason why the claim stands for these sizes, or None."""
    check_parts(value, ("M", "K", "N"))
    for name, size in value.items():
        if type(size) is not int or not 16 <= size <= 2048 or size % 16:
            raise UnmetCheck(
                f"{name}: not a size for this tile",
                expected="a multiple of 16, from 16 to 2,048",
                got=shown(size),
            )
    work = value["M"] * value["K"] * value["N"]
    if work > LARGEST:
        raise UnmetCheck(
            "too much to count", expected=f"M * K * N of at most {LARGEST:,}", got=f"{work:,}"
        )
    plain = Schedule(matmul(**value).program())
    tiles = plain.copy()
    reorder(plain, "C", "m", "k", "n")
    tile(tiles, "C", m=16, k=16, n=16)
    without, within = (count(each.mod, Cache())[0].misses for each in (plain, tiles))
    if within > 1.02 * without:
        return None
    short = ": less than 2 % more" if within > without else ""
    return f"{within:,} misses with the tiles, {without:,} without{short}"
