"""The vector instructions of AArch64 (NEON, with the dot products of later versions).

Meanings follow Arm's reference manual; ``semantics`` compares each row with an emulator. Unlike
x86, NEON keeps lanes in the order of memory wherever it narrows, widens or takes halves.
"""

from __future__ import annotations

from mlc_course.instruction_selection.integers import (
    absolute,
    maximum,
    minimum,
    saturate,
    wrap,
)
from mlc_course.instruction_selection.isa.instruction import Instruction, family


def _at(text: str) -> dict[int, str]:
    return {128: text}


def _llvm(name: str) -> dict[int, str]:
    return {128: f"llvm.aarch64.neon.{name}"}


def _halves(name: str) -> dict[int, str]:
    return {128: f"halves(llvm.aarch64.neon.{name})"}


# fmt: off
NEON: tuple[Instruction, ...] = tuple(row for rows in (
    family("add.{n}", "u8 u16 u32", "T,T->T", lambda T, a, b: wrap(T, a + b),
           _at("{0} + {1}"), feature="neon", cycles=0.5, commutes=True),
    family("sub.{n}", "u8 u16 u32", "T,T->T", lambda T, a, b: wrap(T, a - b),
           _at("{0} - {1}"), feature="neon", cycles=0.5),
    family("{s}qadd.{n}", "u8 s8 u16 s16", "T,T->T", lambda T, a, b: saturate(T, a + b),
           _at("llvm.{s}add.sat"), feature="neon", cycles=0.5, commutes=True),
    family("{s}qsub.{n}", "u8 s8 u16 s16", "T,T->T", lambda T, a, b: saturate(T, a - b),
           _at("llvm.{s}sub.sat"), feature="neon", cycles=0.5),
    family("{s}rhadd.{n}", "u8 s8 u16 s16", "T,T->T", lambda T, a, b: (a + b + 1) >> 1,
           _llvm("{s}rhadd"), feature="neon", cycles=0.5, commutes=True),
    family("{s}hadd.{n}", "u8 s8 u16 s16", "T,T->T", lambda T, a, b: (a + b) >> 1,
           _llvm("{s}hadd"), feature="neon", cycles=0.5, commutes=True),
    family("{s}abd.{n}", "u8 s8 u16 s16", "T,T->T", lambda T, a, b: wrap(T, absolute(a - b)),
           _llvm("{s}abd"), feature="neon", cycles=0.5, commutes=True),
    family("{s}min.{n}", "u8 s8 u16 s16 u32 s32", "T,T->T", lambda T, a, b: minimum(a, b),
           _at("T.min({0}, {1})"), feature="neon", cycles=0.5, commutes=True),
    family("{s}max.{n}", "u8 s8 u16 s16 u32 s32", "T,T->T", lambda T, a, b: maximum(a, b),
           _at("T.max({0}, {1})"), feature="neon", cycles=0.5, commutes=True),
    family("and", "u8 u16 u32", "T,T->T", lambda T, a, b: a & b,
           _at("T.bitwise_and({0}, {1})"), feature="neon", cycles=0.5, commutes=True),
    family("eor", "u8 u16 u32", "T,T->T", lambda T, a, b: a ^ b,
           _at("T.bitwise_xor({0}, {1})"), feature="neon", cycles=0.5, commutes=True),
    family("mul.{n}", "u8 u16 u32", "T,T->T", lambda T, a, b: wrap(T, a * b),
           _at("{0} * {1}"), feature="neon", cycles=0.5, commutes=True),
    # The manual doubles the product and then drops T.bits; 2 * a * b of 32 bits fits in no int64.
    family("sqrdmulh.{n}", "s16 s32", "T,T->T",
           lambda T, a, b: saturate(T, (a * b + (1 << (T.bits - 2))) >> (T.bits - 1)),
           _llvm("sqrdmulh"), feature="neon", cycles=0.5, commutes=True),
    family("sqdmulh.{n}", "s16 s32", "T,T->T", lambda T, a, b: saturate(T, (a * b) >> (T.bits - 1)),
           _llvm("sqdmulh"), feature="neon", cycles=0.5, commutes=True),
    family("abs.{n}", "s8 s16 s32", "T->T", lambda T, a: wrap(T, absolute(a)),
           _at("llvm.abs({0}, T.bool(False))"), feature="neon", cycles=0.5),
    family("{s}rshr.{n}", "u8 s8 u16 s16 u32 s32", "T,k->T", lambda T, a, k: (a + (1 << (k - 1))) >> k,
           _at("llvm.aarch64.neon.{s}rshl({0}, {less_k})"), feature="neon", cycles=0.5),
    family("{s}shr.{n}", "u8 s8 u16 s16 u32 s32", "T,k->T", lambda T, a, k: a >> k,
           _at("T.shift_right({0}, {k})"), feature="neon", cycles=0.5),
    family("shl.{n}", "u8 u16 u32", "T,k->T", lambda T, a, k: wrap(T, a << k),
           _at("T.shift_left({0}, {k})"), feature="neon", cycles=0.5),
    family("udot", "u32", "T,u8*4,u8*4->T", lambda T, c, a, b: wrap(T, c + sum(x * y for x, y in zip(a, b, strict=True))),
           _llvm("udot"), feature="dotprod", cycles=0.5),
    family("sdot", "s32", "T,s8*4,s8*4->T", lambda T, c, a, b: wrap(T, c + sum(x * y for x, y in zip(a, b, strict=True))),
           _llvm("sdot"), feature="dotprod", cycles=0.5),
    family("usdot", "s32", "T,u8*4,s8*4->T", lambda T, c, a, b: wrap(T, c + sum(x * y for x, y in zip(a, b, strict=True))),
           _llvm("usdot"), feature="i8mm", cycles=0.5),
    # pairs of neighbours added to an accumulator twice as wide
    family("{s}adalp.{n}", "u8 s8 u16 s16 u32 s32", "2T,T*2->2T",
           lambda T, c, a: wrap(type(T)(T.signed, 2 * T.bits), c + a[0] + a[1]),
           _at("{0} + llvm.aarch64.neon.{s}addlp({1})"), feature="neon", cycles=0.5),
    # results twice as wide, in two registers
    family("{s}addl.{n}", "u8 s8 u16 s16", "T,T->2T", lambda T, a, b: a + b,
           _at("{0} + {1}"), feature="neon", cycles=0.5, kind="long", commutes=True),
    family("{s}subl.{n}", "u8 s8 u16 s16", "T,T->2T", lambda T, a, b: wrap(type(T)(T.signed, 2 * T.bits), a - b),
           _at("{0} - {1}"), feature="neon", cycles=0.5, kind="long"),
    family("{s}mull.{n}", "u8 s8 u16 s16", "T,T->2T", lambda T, a, b: a * b,
           _at("{0} * {1}"), feature="neon", cycles=0.5, kind="long", commutes=True),
    # moves between widths
    family("sqrshrun", "u8", "s16,k->T", lambda T, a, k: saturate(T, (a + (1 << (k - 1))) >> k),
           _halves("sqrshrun"), feature="neon", cycles=0.5, kind="narrow"),
    family("sqrshrn", "s8", "s16,k->T", lambda T, a, k: saturate(T, (a + (1 << (k - 1))) >> k),
           _halves("sqrshrn"), feature="neon", cycles=0.5, kind="narrow"),
    family("sqrshrn.32", "s16", "s32,k->T", lambda T, a, k: saturate(T, (a + (1 << (k - 1))) >> k),
           _halves("sqrshrn"), feature="neon", cycles=0.5, kind="narrow"),
    family("rshrn", "u8", "u16,k->T", lambda T, a, k: wrap(T, (a + (1 << (k - 1))) >> k),
           _halves("rshrn"), feature="neon", cycles=0.5, kind="narrow"),
    family("rshrn.32", "u16", "u32,k->T", lambda T, a, k: wrap(T, (a + (1 << (k - 1))) >> k),
           _halves("rshrn"), feature="neon", cycles=0.5, kind="narrow"),
    family("sqxtun", "u8", "s16->T", lambda T, a: saturate(T, a),
           _halves("sqxtun"), feature="neon", cycles=0.5, kind="narrow"),
    family("uqxtn", "u8", "u16->T", lambda T, a: saturate(T, a),
           _halves("uqxtn"), feature="neon", cycles=0.5, kind="narrow"),
    family("sqxtn", "s8", "s16->T", lambda T, a: saturate(T, a),
           _halves("sqxtn"), feature="neon", cycles=0.5, kind="narrow"),
    family("sqxtn.32", "s16", "s32->T", lambda T, a: saturate(T, a),
           _halves("sqxtn"), feature="neon", cycles=0.5, kind="narrow"),
    family("sqxtun.32", "u16", "s32->T", lambda T, a: saturate(T, a),
           _halves("sqxtun"), feature="neon", cycles=0.5, kind="narrow"),
    family("uxtl", "u8 u16", "T->2T", lambda T, a: a,
           _at("extend"), feature="neon", cycles=0.5, kind="widen"),
    family("sxtl", "s8 s16", "T->2T", lambda T, a: a,
           _at("extend"), feature="neon", cycles=0.5, kind="widen"),
) for row in rows)
# fmt: on
