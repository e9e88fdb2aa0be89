"""The course's inner loops: each as a line, beside it the same in NumPy with narrow types.

``in_numpy`` is how a careful reader writes the loop in NumPy: the types as narrow as the values
allow. It is a baseline, and a second opinion that shares no code with the line. A *wording* is the
same loop in TensorIR in the narrowest right types, which is what a compiler needs to find the
instructions by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from mlc_course.errors import check_known
from mlc_course.instruction_selection.integers import S16, U8, U16, IntType
from mlc_course.instruction_selection.spec.line import read_line
from mlc_course.instruction_selection.spec.loop import Array, Specification, from_line
from mlc_course.tensor_program.tir import PrimFunc

i16, i32, u8, u16, u32 = np.int16, np.int32, np.uint8, np.uint16, np.uint32


@dataclass(frozen=True)
class Wording:
    """The same loop in narrower types, or in other words; ``specification`` is that loop."""

    name: str
    specification: Specification

    def prim_func(self, outputs: int) -> PrimFunc:
        """Return the loop over so many outputs; its parameters are those of the entry."""
        return self.specification.prim_func(outputs)


@dataclass(frozen=True, eq=False)
class Entry:
    """One loop of the catalogue.

    ``narrow`` are its wordings: a name, an expression (empty: the same one), and the type that
    arithmetic is in. ``in_numpy`` takes the arrays of the operands in their order.
    """

    name: str
    line: str
    sentence: str
    in_numpy: Callable[..., Array]
    narrow: tuple[tuple[str, str, IntType], ...] = ()

    @cached_property
    def specification(self) -> Specification:
        return from_line(read_line(self.line), self.name, self.sentence)

    @cached_property
    def wordings(self) -> tuple[Wording, ...]:
        head, _, body = self.line.partition(":")
        return tuple(
            Wording(
                name,
                from_line(
                    read_line(f"{head}: {other or body}", arithmetic=of),
                    self.name,
                    f"{self.sentence} ({name})",
                ),
            )
            for name, other, of in self.narrow
        )

    def numpy(self, arrays: Mapping[str, Array]) -> Array:
        """Return the outputs as NumPy computes them; arrays by the name of their operand."""
        operands = self.specification.cell.operands
        return self.in_numpy(*(arrays[each.name] for each in operands))


def entry(name: str) -> Entry:
    """Return the loop of that name; raises ``UsageError`` with the nearest for another."""
    check_known("no specification of the catalogue", name, CATALOGUE)
    return CATALOGUE[name]


def _tri(a: Array, b: Array, c: Array) -> Array:
    total: Array = a.astype(u16) + b + b + c
    return total


def _slope(p: Array, q: Array) -> Array:
    slope: Array = np.abs(p.astype(i16) - q.astype(i16))
    return slope


def _dot(c: Array, a: Array, b: Array) -> Array:
    total: Array = c + (a.astype(i32) * b).sum(1, dtype=i32)
    return total


def _norm(x: Array) -> Array:
    return ((x + (x >> u16(8))) >> u16(8)).astype(u8)


def _clip15(x: Array) -> Array:
    clipped: Array = np.clip((x + i32(16384)) >> i32(15), -32768, 32767).astype(i16)
    return clipped


def _binomial_row(a: Array, b: Array, c: Array, d: Array, e: Array) -> Array:
    total: Array = a.astype(u16) + u16(4) * b + u16(6) * c + u16(4) * d + e
    return total


def _binomial(*pixels: Array) -> Array:
    rows = [_binomial_row(*pixels[i : i + 5]) for i in range(0, 25, 5)]
    total: Array = rows[0] + u16(4) * rows[1] + u16(6) * rows[2] + u16(4) * rows[3] + rows[4]
    return ((total + u16(128)) >> u16(8)).astype(u8)


def _u8(names: Iterable[str]) -> str:
    return ", ".join(f"u8 {name}" for name in names)


def _weighted(names: Iterable[str]) -> str:
    return "({} + 4 * {} + 6 * {} + 4 * {} + {})".format(*names)


_ROWS = [[f"P{i}{j}" for j in range(5)] for i in range(5)]
_ACROSS = "abs((D + 2 * G + J) - (A + 2 * E + H))"
_DOWN = "abs((H + 2 * I + J) - (A + 2 * B + D))"

_ENTRIES = (
    Entry(
        "sat_add_u8",
        "u8 A, u8 B -> u8 O: min(A + B, 255)",
        "The sum of two bytes, at most 255.",
        lambda a, b: np.minimum(a.astype(u16) + b, u16(255)).astype(u8),
        (("in u16", "", U16), ("as a u8 select", "select(A + B < A, 255, A + B)", U8)),
    ),
    Entry(
        "sat_sub_u8",
        "u8 A, u8 B -> u8 O: max(A - B, 0)",
        "The difference of two bytes, at least 0.",
        lambda a, b: np.maximum(a.astype(i16) - b, i16(0)).astype(u8),
        (("in s16", "", S16), ("as a u8 select", "select(A > B, A - B, 0)", U8)),
    ),
    Entry(
        "avg_round_u8",
        "u8 A, u8 B -> u8 O: (A + B + 1) >> 1",
        "The average of two bytes, rounded up.",
        lambda a, b: ((a.astype(u16) + b + u16(1)) >> u16(1)).astype(u8),
        (("in u16", "", U16), ("in u8, by bits", "(A | B) - ((A ^ B) >> 1)", U8)),
    ),
    Entry(
        "avg_floor_u8",
        "u8 A, u8 B -> u8 O: (A + B) >> 1",
        "The average of two bytes, rounded down.",
        lambda a, b: ((a.astype(u16) + b) >> u16(1)).astype(u8),
        (("in u16", "", U16), ("in u8, by bits", "(A & B) + ((A ^ B) >> 1)", U8)),
    ),
    Entry(
        "absdiff_u8",
        "u8 A, u8 B -> u8 O: max(A - B, B - A)",
        "The distance of two bytes.",
        lambda a, b: np.abs(a.astype(i16) - b).astype(u8),
        (("in s16", "", S16), ("in u8", "max(A, B) - min(A, B)", U8)),
    ),
    Entry(
        "gauss_121_u8",
        "u8 A, u8 B, u8 D -> u8 O: (A + 2 * B + D + 2) >> 2",
        "Three neighbours with weights 1, 2, 1, rounded: a Gaussian along one line.",
        lambda a, b, d: ((_tri(a, b, d) + u16(2)) >> u16(2)).astype(u8),
        (("in u16", "", U16),),
    ),
    Entry(
        "rshift_s16",
        "s16 A -> s16 O: (A + 32) >> 6",
        "A 16-bit number divided by 64, rounded.",
        lambda a: ((a.astype(i32) + i32(32)) >> i32(6)).astype(i16),
        (("in s16, by bits", "(A >> 6) + ((A >> 5) & 1)", S16),),
    ),
    Entry(
        "requant_u8",
        "s16 A -> u8 O: clamp((A + 32) >> 6, 0, 255)",
        "A 16-bit sum scaled back to a byte: divided by 64, rounded, saturated.",
        lambda a: np.clip((a.astype(i32) + i32(32)) >> i32(6), 0, 255).astype(u8),
        (("in s16, by bits", "clamp((A >> 6) + ((A >> 5) & 1), 0, 255)", S16),),
    ),
    Entry(
        "narrow_s32",
        "s32 A -> u8 O: clamp(A, 0, 255)",
        "The nearest byte of a 32-bit number.",
        lambda a: np.clip(a, 0, 255).astype(u8),
    ),
    Entry(
        "mul_q15_wrap",
        "s16 A, s16 B -> s16 O: (A * B + 16384) >> 15",
        "The rounded product of two fractions of 15 bits; -1 times -1 wraps to -1.",
        lambda a, b: ((a.astype(i32) * b + i32(16384)) >> i32(15)).astype(i16),
    ),
    Entry(
        "mul_q15_sat",
        "s16 A, s16 B -> s16 O: clamp((A * B + 16384) >> 15, -32768, 32767)",
        "The rounded product of two fractions of 15 bits, saturated.",
        lambda a, b: _clip15(a.astype(i32) * b),
    ),
    Entry(
        "blend_u8",
        "u8 A, u8 B -> u8 O: (A * 37 + B * 91 + 64) >> 7",
        "Two images blended with the weights 37/128 and 91/128.",
        lambda a, b: (
            (a.astype(u16) * u16(37) + b.astype(u16) * u16(91) + u16(64)) >> u16(7)
        ).astype(u8),
        (("in u16", "", U16),),
    ),
    Entry(
        "mul_norm_u8",
        "u8 A, u8 B -> u8 O: ((A * B + 128) + ((A * B + 128) >> 8)) >> 8",
        "A * B / 255, rounded: the product of two bytes that mean 0 to 1.",
        lambda a, b: _norm(a.astype(u16) * b + u16(128)),
        (("in u16", "", U16),),
    ),
    Entry(
        "avg3_u8",
        "u8 A, u8 B, u8 D -> u8 O: ((A + B + D) * 21846) >> 16",
        "The average of three bytes, rounded down.",
        lambda a, b, d: (((a.astype(u16) + b + d).astype(u32) * u32(21846)) >> u32(16)).astype(u8),
    ),
    Entry(
        "box9_u8",
        f"{_u8('ABDEFGHIJ')} -> u8 O: ((A + B + D + E + F + G + H + I + J) * 7282) >> 16",
        "The average of 3 x 3 pixels, rounded down.",
        lambda *x: ((sum(a.astype(u16) for a in x).astype(u32) * u32(7282)) >> u32(16)).astype(u8),
    ),
    Entry(
        "gauss3x3_u8",
        f"{_u8('ABDEFGHIJ')} -> u8 O: "
        "(A + 2 * B + D + 2 * E + 4 * F + 2 * G + H + 2 * I + J + 8) >> 4",
        "3 x 3 pixels with weights 1, 2, 1 in both directions, rounded.",
        lambda a, b, d, e, f, g, h, i, j: (
            (_tri(a, b, d) + _tri(e, f, g) + _tri(e, f, g) + _tri(h, i, j) + u16(8)) >> u16(4)
        ).astype(u8),
        (("in u16", "", U16),),
    ),
    Entry(
        "sobel_x_u8",
        f"{_u8('ADEGHJ')} -> u8 O: min({_ACROSS}, 255)",
        "The slope of an image from left to right: its size, at most 255.",
        lambda a, d, e, g, h, j: np.minimum(_slope(_tri(d, g, j), _tri(a, e, h)), 255).astype(u8),
        (("in s16", "", S16),),
    ),
    Entry(
        "sobel_u8",
        f"{_u8('ABDEGHIJ')} -> u8 O: min({_ACROSS} + {_DOWN}, 255)",
        "The slopes of an image in both directions: the sum of their sizes, at most 255.",
        lambda a, b, d, e, g, h, i, j: np.minimum(
            _slope(_tri(d, g, j), _tri(a, e, h)) + _slope(_tri(h, i, j), _tri(a, b, d)), 255
        ).astype(u8),
        (("in s16", "", S16),),
    ),
    Entry(
        "dot4_u7s8",
        "s32 C, u8*4 A in 0..127, s8*4 B -> s32 C: C + A * B",
        "Four products of bytes added to a 32-bit sum, with A of 7 bits.",
        _dot,
    ),
    Entry(
        "dot4_u8s8",
        "s32 C, u8*4 A, s8*4 B -> s32 C: C + A * B",
        "Four products of bytes added to a 32-bit sum, unsigned by signed.",
        _dot,
    ),
    Entry(
        "dot4_s8s8",
        "s32 C, s8*4 A, s8*4 B in -127..127 -> s32 C: C + A * B",
        "Four products of signed bytes added to a 32-bit sum, with B never -128.",
        _dot,
    ),
    Entry(
        "dot4_s8s8_full",
        "s32 C, s8*4 A, s8*4 B -> s32 C: C + A * B",
        "Four products of any signed bytes added to a 32-bit sum.",
        _dot,
    ),
    Entry(
        "dot2_s16",
        "s32 C, s16*2 A, s16*2 B -> s32 C: C + A * B",
        "Two products of 16-bit numbers added to a 32-bit sum.",
        _dot,
    ),
    Entry(
        "sad8_u8",
        "s64 C, u8*8 A, u8*8 B -> s64 C: C + abs(A - B)",
        "The distances of eight pairs of bytes added to a sum: how unlike two blocks are.",
        lambda c, a, b: c + np.abs(a.astype(i16) - b).sum(1, dtype=np.int64),
    ),
    Entry(
        "requant_q31",
        "s32 A in -2147483648..2147481599 -> s8 O: clamp((A + 2048) >> 12, -128, 127)",
        "A 32-bit sum scaled back to a signed byte: divided by 4096, rounded, saturated.",
        lambda a: np.clip((a + i32(2048)) >> i32(12), -128, 127).astype(np.int8),
    ),
    Entry(
        "cmul_re_s16",
        "s16 AR, s16 AI, s16 BR in -32767..32767, s16 BI in -32767..32767 -> s16 O: "
        "clamp((AR * BR - AI * BI + 16384) >> 15, -32768, 32767)",
        "The real part of a complex product of 15-bit fractions, rounded and saturated: the "
        "butterfly of a Fourier transform, whose factors B are never -1.",
        lambda ar, ai, br, bi: _clip15(ar.astype(i32) * br - ai.astype(i32) * bi),
    ),
    Entry(
        "cmul_im_s16",
        "s16 AR, s16 AI, s16 BR in -32767..32767, s16 BI in -32767..32767 -> s16 O: "
        "clamp((AR * BI + AI * BR + 16384) >> 15, -32768, 32767)",
        "The imaginary part of a complex product of 15-bit fractions, rounded and saturated.",
        lambda ar, ai, br, bi: _clip15(ar.astype(i32) * bi + ai.astype(i32) * br),
    ),
    Entry(
        "binomial5x5_u8",
        f"{_u8(sum(_ROWS, []))} -> u8 O: ({_weighted(map(_weighted, _ROWS))[1:-1]} + 128) >> 8",
        "5 x 5 pixels with weights 1, 4, 6, 4, 1 in both directions, rounded.",
        _binomial,
        (("in u16", "", U16),),
    ),
    Entry(
        "alpha_blend_u8",
        "u8 A, u8 B, u8 M -> u8 O: ((A * M + B * (255 - M) + 128)"
        " + ((A * M + B * (255 - M) + 128) >> 8)) >> 8",
        "Two images blended by a mask, (A * M + B * (255 - M)) / 255, rounded.",
        lambda a, b, m: _norm(a.astype(u16) * m + b.astype(u16) * (u8(255) - m) + u16(128)),
        (("in u16", "", U16),),
    ),
    Entry(
        "rgb_to_grey_u8",
        "u8 R, u8 G, u8 B -> u8 O: (77 * R + 150 * G + 29 * B + 128) >> 8",
        "The brightness of red, green and blue, rounded.",
        lambda r, g, b: ((u16(77) * r + u16(150) * g + u16(29) * b + u16(128)) >> u16(8)).astype(
            u8
        ),
        (("in u16", "", U16),),
    ),
    Entry(
        "median3_u16",
        "u16 A, u16 B, u16 D -> u16 O: max(min(A, B), min(max(A, B), D))",
        "The middle one of three 16-bit numbers.",
        lambda a, b, d: np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), d)),
        (("in u16", "", U16),),
    ),
)
CATALOGUE: Mapping[str, Entry] = MappingProxyType({each.name: each for each in _ENTRIES})
