"""Cells and cell programs from short texts, and programs known to be right, one for each loop.

``program("paddb(psubb(B, pavgb(A, B)), A)", cell)`` reads what ``str(CellProgram)`` prints. A
constant is ``{1}`` or ``{37, 91}``, of the type that its instruction reads; an immediate follows
the name, ``psraw #8(A)``. Rows of one name are told apart by a type, ``pand:u16(A, B)``; without
it, the row that reads lanes as wide as those of its first operand is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from mlc_course.instruction_selection.integers import (
    Formula,
    IntType,
    Operand,
    absolute,
    int_type,
    maximum,
    minimum,
    saturate,
    variables,
    wrap,
)
from mlc_course.instruction_selection.isa import (
    LEVELS,
    CellProgram,
    Constant,
    Equation,
    Input,
    Instruction,
    program_of,
)
from mlc_course.instruction_selection.spec import Cell, CellOperand

ROWS: tuple[Instruction, ...] = tuple(
    dict.fromkeys(row for level in LEVELS.values() for row in level.rows)
)
_WORD = re.compile(r"\s*(\{[^}]*\}|[\w.]+(?::\w+)?(?:\s*#\d+)?|[(),])")


def cell(
    name: str, signature: str, goal: Callable[..., Operand], **ranges: tuple[int, int]
) -> Cell:
    """Return the cell of a signature, ``u8 A, s8*4 B, s32 C -> s32 C``.

    ``goal`` gets a formula for each operand, or a list of formulas where an output reads several
    lanes; its value is taken in the type of the result, as a store does. An operand that the result
    replaces is the accumulator.
    """
    reads, result = (part.strip() for part in signature.split("->"))
    operands = []
    for part in reads.split(","):
        of, called = part.split()
        kind, _, lanes = of.partition("*")
        low, high = ranges.get(called, (None, None))
        operands.append(CellOperand(called, int_type(kind), int(lanes or 1), low, high))
    of, called = result.split()
    lanes_of = [list(each.variables()) for each in operands]
    value = goal(*(lanes if len(lanes) > 1 else lanes[0] for lanes in lanes_of))
    known = [each.name for each in operands]
    return Cell(
        name,
        tuple(operands),
        int_type(of),
        wrap(int_type(of), value),
        called if called in known else None,
    )


def program(text: str, of: Cell) -> CellProgram:
    """Return the cell program of a nested text, over the operands of a cell."""
    words = _WORD.findall(text)
    assert "".join(text.split()) == "".join("".join(words).split()), text
    equations: list[Equation] = []
    inputs = {each.name: each for each in of.operands}

    def add(equation: Equation) -> int:
        equations.append(equation)
        return len(equations) - 1

    def parsed() -> int | tuple[int, ...]:
        """The number of the next value, or the numbers of a constant whose type is not known."""
        word = words.pop(0)
        if word.startswith("{"):
            return tuple(int(x) for x in word[1:-1].split(","))
        if word in inputs:
            operand = inputs[word]
            return add(Equation(Input(word), (), operand.type, operand.lanes))
        assert words.pop(0) == "(", f"{word} is no operand of {of.name}"
        operands = []
        while True:
            operands.append(parsed())
            if words.pop(0) == ")":
                break
        return add(_applied(word, operands, equations, add))

    number = parsed()
    assert not words and isinstance(number, int), text
    return program_of(equations)


def _applied(
    word: str,
    operands: list[int | tuple[int, ...]],
    equations: list[Equation],
    add: Callable[[Equation], int],
) -> Equation:
    name, _, immediate = (x.strip() for x in word.partition("#"))
    name, _, kind = name.partition(":")
    rows = [row for row in ROWS if row.name == name and len(row.reads) == len(operands)]
    assert rows, f"no instruction {name} of {len(operands)} operands"
    values = [equations[x] for x in operands if isinstance(x, int)]
    if kind:
        rows = [row for row in rows if row.reads[0].type == int_type(kind)]
    elif values:
        rows.sort(key=lambda row: row.reads[0].type.bits != values[0].type.bits)
    row = rows[0]
    if row.has_immediate:
        row = row.with_immediate(int(immediate))
    lanes = next(
        (
            equations[x].bytes // read.bytes
            for x, read in zip(operands, row.reads, strict=True)
            if isinstance(x, int)
        ),
        1,
    )
    numbers = [
        x
        if isinstance(x, int)
        else add(Equation(Constant(x), (), read.type, max(len(x), lanes * read.lanes)))
        for x, read in zip(operands, row.reads, strict=True)
    ]
    made = lanes * (2 if row.kind == "interleave" else 1)
    return Equation(row, tuple(numbers), row.result, made)


@dataclass(frozen=True)
class Known:
    """A loop and a program for it that is right, with the level that has its instructions."""

    cell: Cell
    text: str
    level: str = "avx2"

    @cached_property
    def program(self) -> CellProgram:
        return program(self.text, self.cell)

    @property
    def inputs(self) -> list[Formula]:
        return variables(self.cell.goal)


def _dot(count: int, of: IntType | None = None) -> Callable[..., Operand]:
    def goal(c: Formula, a: list[Formula], b: list[Formula]) -> Operand:
        return c + sum(x * y for x, y in zip(a, b, strict=True))

    return goal


U8, S8, U16, S16 = map(int_type, ("u8", "s8", "u16", "s16"))
_NINE = ", ".join(f"u8 {name}" for name in "ABDEFGHIJ")
_WIDE = {name: f"punpck0b({name})" for name in "ABDEFGHIJ"}


def _sum(*terms: str) -> str:
    """The text of a sum of 16-bit lanes, added in pairs."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"paddw({_sum(*terms[:half])}, {_sum(*terms[half:])})"


def _two(term: str) -> str:
    return f"psllw #1({term})"


def _sides(names: str) -> str:
    a, b, c = (_WIDE[name] for name in names)
    return _sum(a, _two(b), c)


def _distance(p: str, q: str) -> str:
    """The distance of two 16-bit sums, as the search found it."""
    return f"pminuw(psubw({p}, {q}), psubw({q}, {p}))"


def _sobel(*names: Formula) -> Operand:
    a, b, d, e, g, h, i, j = names
    x = (d + 2 * g + j) - (a + 2 * e + h)
    y = (h + 2 * i + j) - (a + 2 * b + d)
    return minimum(maximum(x, 0 - x) + maximum(y, 0 - y), 255)


_SUM9 = _sum(*_WIDE.values())
_GAUSS9 = _sum(
    *(_WIDE[x] for x in "ADHJ"),
    *(_two(_WIDE[x]) for x in "BEGI"),
    "psllw #2(punpck0b(F))",
    "{8}",
)
_EVEN, _ODD = "pmaddubsw({1, 0}, %s)", "psraw #8(%s)"

KNOWN: tuple[Known, ...] = (
    Known(
        cell("sat_add_u8", "u8 A, u8 B -> u8 O", lambda a, b: minimum(a + b, 255)),
        "paddusb(A, B)",
    ),
    Known(
        cell("sat_sub_u8", "u8 A, u8 B -> u8 O", lambda a, b: maximum(a - b, 0)),
        "psubusb(A, B)",
    ),
    Known(
        cell("avg_round_u8", "u8 A, u8 B -> u8 O", lambda a, b: (a + b + 1) >> 1),
        "pavgb(A, B)",
    ),
    Known(
        cell("avg_floor_u8", "u8 A, u8 B -> u8 O", lambda a, b: (a + b) >> 1),
        "paddb(psubb(B, pavgb(A, B)), A)",
    ),
    Known(
        cell("absdiff_u8", "u8 A, u8 B -> u8 O", lambda a, b: maximum(a - b, b - a)),
        "paddb(psubusb(A, B), psubusb(B, A))",
    ),
    Known(
        cell("gauss_121_u8", "u8 A, u8 B, u8 D -> u8 O", lambda a, b, d: (a + 2 * b + d + 2) >> 2),
        "pavgb(B, paddb(A, psubb(D, pavgb(A, D))))",
    ),
    Known(
        cell("rshift_s16", "s16 A -> s16 O", lambda a: (a + 32) >> 6),
        "pmulhrsw(A, {512})",
    ),
    Known(
        cell("requant_u8", "s16 A -> u8 O", lambda a: saturate(U8, (a + 32) >> 6)),
        "packuswb(pmulhrsw(A, {512}))",
    ),
    Known(
        cell("narrow_s32", "s32 A -> u8 O", lambda a: saturate(U8, a)),
        "packuswb(packssdw(A))",
    ),
    Known(
        cell("mul_q15_wrap", "s16 A, s16 B -> s16 O", lambda a, b: (a * b + 16384) >> 15),
        "pmulhrsw(A, B)",
    ),
    Known(
        cell(
            "mul_q15_sat",
            "s16 A, s16 B -> s16 O",
            lambda a, b: saturate(S16, (a * b + 16384) >> 15),
        ),
        "paddsw({1}, paddw({-1}, pmulhrsw(A, B)))",
    ),
    Known(
        cell("blend_u8", "u8 A, u8 B -> u8 O", lambda a, b: (a * 37 + b * 91 + 64) >> 7),
        "packuswb(pmulhrsw(pmaddubsw(punpckb(A, B), {37, 91}), {256}))",
    ),
    Known(
        cell(
            "mul_norm_u8",
            "u8 A, u8 B -> u8 O",
            lambda a, b: ((a * b + 128) + ((a * b + 128) >> 8)) >> 8,
        ),
        "packuswb(psrlw #8(paddw(paddw(pmullw(punpck0b(A), punpck0b(B)), {128}),"
        " psrlw #8(paddw(pmullw(punpck0b(A), punpck0b(B)), {128})))))",
    ),
    Known(
        cell("avg3_u8", "u8 A, u8 B, u8 D -> u8 O", lambda a, b, d: ((a + b + d) * 21846) >> 16),
        f"packuswb(pmulhw({_sum(*(_WIDE[x] for x in 'ABD'))}, {{21846}}))",
    ),
    Known(
        cell("box9_u8", f"{_NINE} -> u8 O", lambda *x: (sum(x) * 7282) >> 16),
        f"packuswb(pmulhw({_SUM9}, {{7282}}))",
    ),
    Known(
        cell(
            "gauss3x3_u8",
            f"{_NINE} -> u8 O",
            lambda a, b, d, e, f, g, h, i, j: (
                (a + 2 * b + d + 2 * e + 4 * f + 2 * g + h + 2 * i + j + 8) >> 4
            ),
        ),
        f"packuswb(psrlw #4({_GAUSS9}))",
    ),
    Known(
        cell(
            "sobel_x_u8",
            "u8 A, u8 D, u8 E, u8 G, u8 H, u8 J -> u8 O",
            lambda a, d, e, g, h, j: minimum(
                maximum((d + 2 * g + j) - (a + 2 * e + h), (a + 2 * e + h) - (d + 2 * g + j)), 255
            ),
        ),
        f"packuswb({_distance(_sides('DGJ'), _sides('AEH'))})",
    ),
    Known(
        cell("sobel_u8", ", ".join(f"u8 {x}" for x in "ABDEGHIJ") + " -> u8 O", _sobel),
        f"packuswb(paddw({_distance(_sides('DGJ'), _sides('AEH'))},"
        f" {_distance(_sides('HIJ'), _sides('ABD'))}))",
    ),
    Known(
        cell("dot4_u7s8", "s32 C, u8*4 A, s8*4 B -> s32 C", _dot(4), A=(0, 127)),
        "paddd(C, pmaddwd({1}, pmaddubsw(A, B)))",
    ),
    Known(
        cell("dot4_u8s8", "s32 C, u8*4 A, s8*4 B -> s32 C", _dot(4)),
        "paddd(paddd(C, pmaddwd({1}, pmaddubsw(pand:u16(A, {255}), B))),"
        " pmaddwd({1}, pmaddubsw(pand:u16(A, {65280}), B)))",
    ),
    Known(
        cell("dot4_s8s8", "s32 C, s8*4 A, s8*4 B -> s32 C", _dot(4), B=(-127, 127)),
        "paddd(C, pmaddwd({1}, pmaddubsw(pabsb(A), psignb(B, A))))",
    ),
    Known(
        cell("dot4_s8s8_full", "s32 C, s8*4 A, s8*4 B -> s32 C", _dot(4)),
        f"paddd(paddd(C, pmaddwd({_EVEN % 'A'}, {_EVEN % 'B'})),"
        f" pmaddwd({_ODD % 'A'}, {_ODD % 'B'}))",
    ),
    Known(
        cell(
            "dot2_s16",
            "s32 C, s16*2 A, s16*2 B -> s32 C",
            _dot(2),
            A=(-255, 255),
            B=(-128, 127),
        ),
        "paddd(C, pmaddwd(A, B))",
    ),
    Known(
        cell(
            "sad8_u8",
            "s64 C, u8*8 A, u8*8 B -> s64 C",
            lambda c, a, b: c + sum(maximum(x - y, y - x) for x, y in zip(a, b, strict=True)),
        ),
        "paddq(C, psadbw(A, B))",
    ),
    Known(
        cell(
            "requant_q31",
            "s32 A -> s8 O",
            lambda a: saturate(S8, (a + 2048) >> 12),
            A=(-(1 << 31), (1 << 31) - 1 - 2048),
        ),
        "packsswb(packssdw(psrad #12(paddd(A, {2048}))))",
    ),
    Known(
        cell("dot4_s8s8_vnni", "s32 C, s8*4 A, s8*4 B -> s32 C", _dot(4)),
        "psubd(vpdpbusd(C, pxor(A, {-128}), B), vpdpbusd({0}, {128}, B))",
        "vnni",
    ),
    Known(
        cell("dot4_u8s8_vnni", "s32 C, u8*4 A, s8*4 B -> s32 C", _dot(4)),
        "vpdpbusd(C, A, B)",
        "vnni",
    ),
    Known(
        cell(
            "median3_u8",
            "u8 A, u8 B, u8 D -> u8 O",
            lambda a, b, d: a + b + d - minimum(minimum(a, b), d) - maximum(maximum(a, b), d),
        ),
        "pmaxub(pminub(A, B), pminub(pmaxub(A, B), D))",
    ),
    Known(
        cell(
            "alpha_blend_u8",
            "u8 A, u8 B, u8 D -> u8 O",
            lambda a, b, d: (a * d + b * (255 - d) + 128) * 257 >> 16,
        ),
        "packuswb(pmulhuw(paddw(paddw(pmullw(punpck0b(A), punpck0b(D)),"
        " pmullw(punpck0b(B), psubw({255}, punpck0b(D)))), {128}), {257}))",
    ),
    Known(
        cell(
            "grey_u8",
            "u8 A, u8 B, u8 D -> u8 O",
            lambda a, b, d: (77 * a + 150 * b + 29 * d + 128) >> 8,
        ),
        "packuswb(psrlw #8(paddw(paddw(pmaddubsw(punpckb(A, D), {77, 29}), {128}),"
        " pmullw(punpck0b(B), {150}))))",
    ),
    Known(
        cell(
            "complex_real_s16",
            "s16 A, s16 B, s16 D, s16 E -> s16 O",
            lambda a, b, d, e: saturate(S16, (a * d - b * e + 16384) >> 15),
            D=(-32767, 32767),
            E=(-32767, 32767),
        ),
        "packssdw(psrad #15(paddd(pmaddwd(punpckw(A, B), punpckw(D, psubw({0}, E))), {16384})))",
    ),
    Known(
        cell(
            "gauss_121_neon", "u8 A, u8 B, u8 D -> u8 O", lambda a, b, d: (a + 2 * b + d + 2) >> 2
        ),
        "urhadd.8(B, uhadd.8(A, D))",
        "neon",
    ),
    Known(
        cell("absdiff_u8_neon", "u8 A, u8 B -> u8 O", lambda a, b: absolute(a - b)),
        "uabd.8(A, B)",
        "neon",
    ),
    Known(
        cell(
            "mul_q15_sat_neon",
            "s16 A, s16 B -> s16 O",
            lambda a, b: saturate(S16, (a * b + 16384) >> 15),
        ),
        "sqrdmulh.16(A, B)",
        "neon",
    ),
    Known(
        cell("requant_u8_neon", "s16 A -> u8 O", lambda a: saturate(U8, (a + 32) >> 6)),
        "sqrshrun #6(A)",
        "neon",
    ),
    Known(
        cell("dot4_s8s8_neon", "s32 C, s8*4 A, s8*4 B -> s32 C", _dot(4)),
        "sdot(C, A, B)",
        "neon",
    ),
)


def known(name: str) -> Known:
    """Return the loop of that name with its program."""
    return next(each for each in KNOWN if each.cell.name == name)


def by_name() -> Mapping[str, Known]:
    return {each.cell.name: each for each in KNOWN}
