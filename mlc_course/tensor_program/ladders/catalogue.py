"""The ladders, by the workload that they climb."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mlc_course.errors import check_known
from mlc_course.machine import Machine, describe
from mlc_course.tensor_program.ladders import conv2d, matmul_exp_matmul, single_product, softmax
from mlc_course.tensor_program.ladders.micro_kernels import Product
from mlc_course.tensor_program.ladders.rungs import Rung

MATMUL = Product("C", left="A", right="B", row="m", column="n", inner="k")
LINEAR_RELU = Product("R_matmul", left="X", right="W", row="m", column="n", inner="k")

LADDERS: dict[str, Callable[[Machine], tuple[Rung, ...]]] = {
    "matmul_exp_matmul": matmul_exp_matmul.rungs,
    "matmul": partial(single_product.rungs, product=MATMUL),
    "linear_relu": partial(single_product.rungs, product=LINEAR_RELU),
    "softmax": softmax.rungs,
    "conv2d": conv2d.rungs,
}

# Those that the article climbs, with its own tile.
ARTICLE_LADDERS: dict[str, Callable[[Machine], tuple[Rung, ...]]] = {
    "matmul_exp_matmul": matmul_exp_matmul.article,
}

# The matrix products that a workload consists of, in program order.
PRODUCTS: dict[str, tuple[Product, ...]] = {
    "matmul_exp_matmul": matmul_exp_matmul.PRODUCTS,
    "matmul": (MATMUL,),
    "linear_relu": (LINEAR_RELU,),
}

# Small enough for the naive rung to take less than a second.
QUICK_SIZES: dict[str, tuple[int, ...]] = {
    "matmul_exp_matmul": (256, 512, 256, 768),
    "matmul": (256, 256, 256),
    "linear_relu": (128, 256, 256),
    "softmax": (512, 512),
    "conv2d": (16, 30, 30, 32, 3, 3),
}


def ladder(name: str, machine: Machine | None = None, *, article: bool = False) -> tuple[Rung, ...]:
    """The rungs for a workload of this name, on this machine or another.

    ``article`` asks for the article's rungs with the article's tile, whatever the machine. Raises
    ``UsageError`` for a workload without such a ladder.
    """
    check_known("no ladder for", name, LADDERS)
    if article:
        check_known("the article has no ladder for", name, ARTICLE_LADDERS)
    return (ARTICLE_LADDERS if article else LADDERS)[name](machine or describe())
