"""The text of a product on a matrix unit, in CUDA C++: ``ldmatrix`` and ``mma.m16n8k16``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from mlc_course.mugraph.kernels import (
    Compute,
    MatrixLoad,
    Read,
    matrix_product,
    turns,
    var,
    variables,
)

MOST_UNROLLED = 8  # steps of the depth that are written out; of more, so many at a time
SIXTEEN, EIGHT, DEPTH = "m", "n", "d"  # numbers of an instruction along the sides and the depth
INDENT = "  "


class Spelling(Protocol):
    """The knowledge of a text's writer: places and names."""

    def address(self, read: Read) -> str:
        """Return a pointer to an element."""
        ...

    def cell(self, read: Read) -> str:
        """Return an element as a place that can be assigned to."""
        ...

    def counting(self, name: str) -> AbstractContextManager[str]:
        """Name a variable of a loop."""
        ...

    def unused(self, wish: str) -> str:
        """Return a name that nothing around has."""
        ...


def matrix_lines(s: Compute, text: Spelling) -> Iterator[str]:
    """Yield the lines of a product: loads of both operands, then the instructions.

    An operand that does not depend on the other side's number is loaded once for all of these.
    """
    sixteen, eight, deep = turns(s)
    product = matrix_product(
        s,
        *(
            var(name) if n > 1 else 0
            for name, n in zip((SIXTEEN, EIGHT, DEPTH), turns(s), strict=True)
        ),
    )
    a, b = text.unused("a"), text.unused("b")
    with (
        text.counting(SIXTEEN) as m,
        text.counting(EIGHT) as n,
        text.counting(DEPTH) as d,
    ):
        load_a, load_b = (_load(text, each) for each in (product.sixteen, product.eight))
        cells = ", ".join(map(text.cell, product.sums))
        of_m, of_n = _loop(m, sixteen), _loop(n, eight)
        if _depends(product.eight, SIXTEEN):
            inner = _nest(of_n, [f"unsigned {b}[2];", load_b % b, _multiply(cells, a, b)])
            body = _nest(of_m, [f"unsigned {a}[4];", load_a % a, *inner])
        elif _depends(product.sixteen, EIGHT):
            inner = _nest(of_m, [f"unsigned {a}[4];", load_a % a, _multiply(cells, a, b)])
            body = _nest(of_n, [f"unsigned {b}[2];", load_b % b, *inner])
        else:
            every = f"{a}[{m}]" if sixteen > 1 else a
            count = f"[{sixteen}]" * (sixteen > 1)
            body = [f"unsigned {a}{count}[4];", *_nest(of_m, [load_a % every])]
            inner = _nest(of_m, [_multiply(cells, every, b)])
            body += _nest(of_n, [f"unsigned {b}[2];", load_b % b, *inner])
        whole = _nest(_loop(d, deep, MOST_UNROLLED), body)
        yield from whole if deep > 1 else _nest(["{"], body)


def _depends(load: MatrixLoad, number: str) -> bool:
    return any(number in variables(each) for each in load.read.index)


def _load(text: Spelling, load: MatrixLoad) -> str:
    name = "load_transposed" if load.transposed else "load_matrices"
    address = text.address(load.read).replace("%", "%%")
    return f"{name}(%s, {address});"


def _multiply(cells: str, a: str, b: str) -> str:
    return f"multiply_add({cells}, {a}, {b});"


def _loop(name: str, count: int, most: int = 0) -> list[str]:
    if count == 1:
        return []
    unroll = f"#pragma unroll {most}" if 0 < most < count else "#pragma unroll"
    return [unroll, f"for (int {name} = 0; {name} < {count}; ++{name}) {{"]


def _nest(head: list[str], body: list[str]) -> list[str]:
    return [*head, *(INDENT + line for line in body), "}"] if head else body
