"""Cells and programs on them, written by hand: the programs of the course's specifications.

``program("pavgb(B, paddb(A, D))", cell, rows)`` reads a nested call; constants are numbers in
braces, immediates follow ``#``, and ``pand:u16`` is the row of a family for a type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mlc_course.instruction_selection.integers import (
    Formula,
    IntType,
    int_type,
    maximum,
    minimum,
    wrap,
)
from mlc_course.instruction_selection.isa import (
    CellProgram,
    Constant,
    Equation,
    Input,
    Instruction,
    level_of,
    program_of,
)
from mlc_course.instruction_selection.spec import Cell, CellOperand

TOKEN = re.compile(r"\s*([\w.:#]+|\{[^}]*\}|[(),])")


@dataclass(frozen=True)
class Case:
    """A cell, the text of its body, and a program that computes it at some level."""

    cell: Cell
    body: str
    text: str
    level: str

    @property
    def program(self) -> CellProgram:
        return program(self.text, self.cell, level_of(self.level).rows)

    def __str__(self) -> str:
        return f"{self.cell.name}-{self.level}"


def cell(name: str, signature: str, body: str, **ranges: tuple[int, int]) -> Cell:
    """Return the cell of a line such as ``u8*4 A!, s8*4 B, s32 C -> s32 C`` with a body."""
    reads, result = signature.split("->")
    operands = []
    for part in reads.split(","):
        text, operand = part.split()
        of, _, lanes = text.partition("*")
        lo, hi = ranges.get(operand.strip("!"), (None, None))
        operands.append(
            CellOperand(
                operand.strip("!"), int_type(of), int(lanes or 1), lo, hi, operand.endswith("!")
            )
        )
    of, output = result.split()
    to = int_type(of)
    accumulator = output if output in {each.name for each in operands} else None
    return Cell(name, tuple(operands), to, goal(body, operands, to, accumulator), accumulator)


def goal(
    body: str, operands: Sequence[CellOperand], to: IntType, accumulator: str | None
) -> Formula:
    """Return the formula of a body: of one output, summed over the lanes that it reads."""
    words = {"min": minimum, "max": maximum, "clamp": _clamp}
    lanes = {each.name: each.variables() for each in operands}
    count = max(each.lanes for each in operands)
    value = lanes[accumulator][0] if accumulator else None
    for k in range(count):
        here = {name: held[k if len(held) > 1 else 0] for name, held in lanes.items()}
        if accumulator:
            here[accumulator] = value
        value = eval(body, words | here)
    return wrap(to, value)


def _clamp(x: Formula, lo: int, hi: int) -> Formula:
    return maximum(minimum(x, hi), lo)


def program(text: str, of: Cell, rows: Sequence[Instruction]) -> CellProgram:
    """Return the program of a nested call over the operands of a cell."""
    equations: list[Equation] = []
    tokens = iter(TOKEN.findall(text))
    _read(next(tokens), tokens, of, rows, equations)
    return program_of(equations)


def _row(word: str, rows: Sequence[Instruction]) -> Instruction:
    named, _, immediate = word.partition("#")
    name, _, of = named.partition(":")
    found = [each for each in rows if each.name == name and of in ("", str(each.result))]
    assert found, f"no row {word}"
    return found[0].with_immediate(int(immediate)) if immediate else found[0]


def _read(
    word: str,
    tokens: Iterator[str],
    of: Cell,
    rows: Sequence[Instruction],
    equations: list[Equation],
) -> int | tuple[int, ...]:
    """Read one value; return its number, or the numbers of a constant that still lacks a type."""
    if word.startswith("{"):
        return tuple(int(x) for x in word[1:-1].split(","))
    known = {each.name: each for each in of.operands}
    if word in known:
        each = known[word]
        equations.append(Equation(Input(word), (), each.type, each.lanes))
        return len(equations) - 1
    instruction = _row(word, rows)
    assert next(tokens) == "("
    operands = []
    for token in tokens:
        if token == ")":
            break
        if token != ",":
            operands.append(_read(token, tokens, of, rows, equations))
    given = [equations[x].bytes for x in operands if isinstance(x, int)]
    width = max(given, default=instruction.reads[0].bytes)
    numbers = []
    for each, read in zip(operands, instruction.reads, strict=True):
        if isinstance(each, tuple):
            equations.append(Equation(Constant(each), (), read.type, width // read.type.bytes))
            each = len(equations) - 1
        numbers.append(each)
    scale: dict[str, Callable[[int], int]] = {
        "narrow": lambda x: x // 2,
        "widen": lambda x: 2 * x,
        "interleave": lambda x: 2 * x,
        "long": lambda x: 2 * x,
        "lane": lambda x: x,
    }
    lanes = scale[instruction.kind](width) // instruction.result.bytes
    if instruction.kind == "interleave":
        lanes = 2 * width // instruction.reads[0].type.bytes
    made = instruction.result if instruction.kind != "interleave" else instruction.reads[0].type
    equations.append(Equation(instruction, tuple(numbers), made, lanes))
    return len(equations) - 1


def _summed(words: Sequence[str]) -> str:
    text = words[0]
    for word in words[1:]:
        text = f"paddw({text}, {word})"
    return text


def _wide(name: str) -> str:
    return f"punpck0b({name})"


def _pairs(*words: str) -> str:
    """Return the sum of pairs (A, B, weight of A, weight of B) by pmaddubsw."""
    return _summed([f"pmaddubsw(punpckb({a}, {b}), {{{v}, {w}}})" for a, b, v, w in words])  # type: ignore[misc]


BODIES: dict[str, tuple[str, str, dict[str, tuple[int, int]]]] = {
    "sat_add_u8": ("u8 A, u8 B -> u8 O", "min(A + B, 255)", {}),
    "sat_sub_u8": ("u8 A, u8 B -> u8 O", "max(A - B, 0)", {}),
    "avg_round_u8": ("u8 A, u8 B -> u8 O", "(A + B + 1) >> 1", {}),
    "avg_floor_u8": ("u8 A, u8 B -> u8 O", "(A + B) >> 1", {}),
    "absdiff_u8": ("u8 A, u8 B -> u8 O", "max(A - B, B - A)", {}),
    "gauss_121_u8": ("u8 A, u8 B, u8 D -> u8 O", "(A + 2 * B + D + 2) >> 2", {}),
    "rshift_s16": ("s16 A -> s16 O", "(A + 32) >> 6", {}),
    "requant_u8": ("s16 A -> u8 O", "clamp((A + 32) >> 6, 0, 255)", {}),
    "narrow_s32": ("s32 A -> u8 O", "clamp(A, 0, 255)", {}),
    "mul_q15_wrap": ("s16 A, s16 B -> s16 O", "(A * B + 16384) >> 15", {}),
    "mul_q15_sat": ("s16 A, s16 B -> s16 O", "clamp((A * B + 16384) >> 15, -32768, 32767)", {}),
    "blend_u8": ("u8 A, u8 B -> u8 O", "(A * 37 + B * 91 + 64) >> 7", {}),
    "mul_norm_u8": (
        "u8 A, u8 B -> u8 O",
        "((A * B + 128) + ((A * B + 128) >> 8)) >> 8",
        {},
    ),
    "avg3_u8": ("u8 A, u8 B, u8 D -> u8 O", "((A + B + D) * 21846) >> 16", {}),
    "box9_u8": (
        ", ".join(f"u8 {x}" for x in "ABDEFGHIJ") + " -> u8 O",
        "((A + B + D + E + F + G + H + I + J) * 7282) >> 16",
        {},
    ),
    "gauss3x3_u8": (
        ", ".join(f"u8 {x}" for x in "ABDEFGHIJ") + " -> u8 O",
        "(A + 2 * B + D + 2 * E + 4 * F + 2 * G + H + 2 * I + J + 8) >> 4",
        {},
    ),
    "sobel_u8": (
        ", ".join(f"u8 {x}" for x in "ABDEGHIJ") + " -> u8 O",
        "min(max((D + 2 * G + J) - (A + 2 * E + H), (A + 2 * E + H) - (D + 2 * G + J))"
        " + max((H + 2 * I + J) - (A + 2 * B + D), (A + 2 * B + D) - (H + 2 * I + J)), 255)",
        {},
    ),
    "dot4_u7s8": ("s32 C, u8*4 A, s8*4 B -> s32 C", "C + A * B", {"A": (0, 127)}),
    "dot4_u8s8": ("s32 C, u8*4 A, s8*4 B -> s32 C", "C + A * B", {}),
    "dot4_s8s8": ("s32 C, s8*4 A, s8*4 B -> s32 C", "C + A * B", {"B": (-127, 127)}),
    "dot4_s8s8_full": ("s32 C, s8*4 A, s8*4 B -> s32 C", "C + A * B", {}),
    "dot2_s16": (
        "s32 C, s16*2 A, s16*2 B -> s32 C",
        "C + A * B",
        {"A": (-255, 255), "B": (-128, 127)},
    ),
    "sad8_u8": (
        "s64 C, u8*8 A, u8*8 B -> s64 C",
        "C + max(A - B, B - A)",
        {"C": (-(1 << 62), 1 << 62)},
    ),
    "matmul_u8s8": ("s32 C, u8*4 A!, s8*4 B -> s32 C", "C + A * B", {}),
    "widened_sum": ("u8 A, s16 B -> s16 O", "A + B", {"B": (-1000, 1000)}),
    "widened_u8": ("u8 A -> u16 O", "A + 7", {}),
    "widened_s8": ("s8 A -> s16 O", "A * 3", {}),
    "widened_twice": ("u8 A -> s32 O", "A + 1", {}),
    "scaled_s8": ("s8 A -> s8 O", "clamp((A * 96 + 32) >> 6, -128, 127)", {}),
}

_SUM3 = _summed([_wide(x) for x in "ABD"])
_SUM9 = _summed([_wide(x) for x in "ABDEFGHIJ"])
_GAUSS = _summed(
    [
        "pmaddubsw(punpckb(A, B), {1, 2})",
        "pmaddubsw(punpckb(D, E), {1, 2})",
        "pmaddubsw(punpckb(F, G), {4, 2})",
        "pmaddubsw(punpckb(H, I), {1, 2})",
        "punpck0b(J)",
        "{8}",
    ]
)
_COLUMNS = (
    "psubw(paddw(pmaddubsw(punpckb(D, G), {1, 2}), punpck0b(J)),"
    " paddw(pmaddubsw(punpckb(A, E), {1, 2}), punpck0b(H)))"
)
_ROWS = (
    "psubw(paddw(pmaddubsw(punpckb(H, I), {1, 2}), punpck0b(J)),"
    " paddw(pmaddubsw(punpckb(A, B), {1, 2}), punpck0b(D)))"
)
_T = "paddw(pmullw(punpck0b(A), punpck0b(B)), {128})"
_EVEN = "pand:u16(A, {255})"

# name -> level -> program
TEXTS: dict[str, dict[str, str]] = {
    "sat_add_u8": {"avx2": "paddusb(A, B)", "neon": "uqadd.8(A, B)"},
    "sat_sub_u8": {"avx2": "psubusb(A, B)", "neon": "uqsub.8(A, B)"},
    "avg_round_u8": {"avx2": "pavgb(A, B)", "neon": "urhadd.8(A, B)"},
    "avg_floor_u8": {"avx2": "paddb(psubb(B, pavgb(A, B)), A)", "neon": "uhadd.8(A, B)"},
    "absdiff_u8": {"avx2": "paddb(psubusb(A, B), psubusb(B, A))", "neon": "uabd.8(A, B)"},
    "gauss_121_u8": {
        "avx2": "pavgb(B, paddb(A, psubb(D, pavgb(A, D))))",
        "neon": "urhadd.8(B, uhadd.8(A, D))",
    },
    "rshift_s16": {"avx2": "pmulhrsw(A, {512})", "neon": "srshr.16#6(A)"},
    "requant_u8": {"avx2": "packuswb(pmulhrsw(A, {512}))", "neon": "sqrshrun#6(A)"},
    "narrow_s32": {"avx2": "packuswb(packssdw(A))", "neon": "sqxtun(sqxtn.32(A))"},
    "mul_q15_wrap": {"avx2": "pmulhrsw(A, B)"},
    "mul_q15_sat": {
        "avx2": "paddsw({1}, paddw({-1}, pmulhrsw(A, B)))",
        "neon": "sqrdmulh.16(A, B)",
    },
    "blend_u8": {
        "avx2": "packuswb(pmulhrsw(pmaddubsw(punpckb(A, B), {37, 91}), {256}))",
        "neon": "rshrn#7(add.16(umull.8(A, {37}), umull.8(B, {91})))",
    },
    "mul_norm_u8": {
        "avx2": f"packuswb(psrlw#8(paddw({_T}, psrlw#8({_T}))))",
    },
    "avg3_u8": {
        "avx2": f"packuswb(pmulhw({_SUM3}, {{21846}}))",
    },
    "box9_u8": {
        "avx2": f"packuswb(pmulhw({_SUM9}, {{7282}}))",
    },
    "gauss3x3_u8": {"avx2": f"packuswb(psrlw#4({_GAUSS}))"},
    "sobel_u8": {
        "avx2": f"packuswb(paddw(pabsw({_COLUMNS}), pabsw({_ROWS})))",
    },
    "dot4_u7s8": {
        "avx2": "paddd(C, pmaddwd({1}, pmaddubsw(A, B)))",
        "vnni": "vpdpbusd(C, A, B)",
        "neon": "usdot(C, A, B)",
    },
    "dot4_u8s8": {
        "avx2": (
            "paddd(C, paddd(pmaddwd({1}, pmaddubsw(pand:u8(A, {127}), B)),"
            " pmaddwd({1}, pmaddubsw(pand:u8(A, {-128}), B))))"
        ),
        "vnni": "vpdpbusd(C, A, B)",
        "neon": "usdot(C, A, B)",
    },
    "dot4_s8s8": {
        "avx2": "paddd(C, pmaddwd({1}, pmaddubsw(pabsb(A), psignb(B, A))))",
        "vnni": "psubd(vpdpbusd(C, pxor:u8(A, {128}), B), vpdpbusd({0}, {128}, B))",
        "neon": "sdot(C, A, B)",
    },
    "dot4_s8s8_full": {
        "avx512": (
            "paddd(C, paddd(pmaddwd(psraw#8(A), psraw#8(B)),"
            " pmaddwd(psraw#8(psllw#8(A)), psraw#8(psllw#8(B)))))"
        ),
        "vnni": "psubd(vpdpbusd(C, pxor:u8(A, {128}), B), vpdpbusd({0}, {128}, B))",
        "neon": "sdot(C, A, B)",
    },
    "dot2_s16": {"avx2": "paddd(C, pmaddwd(A, B))", "vnni": "vpdpwssd(C, A, B)"},
    "sad8_u8": {"avx2": "paddq(C, psadbw(A, B))"},
    "matmul_u8s8": {
        "avx2": (
            "paddd(C, paddd(pmaddwd({1}, pmaddubsw(pand:u8(A, {127}), B)),"
            " pmaddwd({1}, pmaddubsw(pand:u8(A, {-128}), B))))"
        ),
        "vnni": "vpdpbusd(C, A, B)",
        "neon": "usdot(C, A, B)",
    },
    "widened_sum": {"avx2": "paddw(punpck0b(A), B)", "neon": "add.16(uxtl:u16(A), B)"},
    "widened_u8": {"avx2": "paddw(punpck0b(A), {7})", "neon": "uaddl.8(A, {7})"},
    "widened_s8": {"avx2": "pmullw(pmovsxb(A), {3})", "neon": "smull.8(A, {3})"},
    "widened_twice": {
        "avx2": "paddd(punpck0w(punpck0b(A)), {1})",
        "neon": "uaddl.16(uxtl:u16(A), {1})",
    },
    "scaled_s8": {
        "avx2": "packsswb(psraw#6(paddw(pmullw(pmovsxb(A), {96}), {32})))",
        "neon": "sqrshrn#6(smull.8(A, {96}))",
    },
}

CASES = [
    Case(cell(name, signature, body, **ranges), body, text, level)
    for name, (signature, body, ranges) in BODIES.items()
    for level, text in TEXTS[name].items()
]


def widths_of(case: Case) -> tuple[int, ...]:
    """Return the widths of registers at which every instruction of a case has a form."""
    return tuple(
        width
        for width in (128, 256, 512)
        if all(width in each.reach for each in case.program.instructions)
    )
