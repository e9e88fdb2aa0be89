"""The vector instructions of x86: AVX2, AVX-512BW and VNNI.

A meaning is that of one lane. Packs and unpacks also permute lanes within blocks of 128 bits; that
is a matter of ``lower``. Names and meanings follow Intel's manual (volume 2);
``semantics`` compares each row with the processor and with an emulator.

``cycles`` are those of a 2-core Zen 5 (2026-11-28, ``benchmarks/instruction_rows.py``), to quarters
of a cycle. Intel's processors have fewer ports for packs, unpacks and ``psadbw``, and make two
micro-operations of ``pmulld``, for which it counts twice here.
"""

from __future__ import annotations

from dataclasses import replace

from mlc_course.instruction_selection.integers import (
    absolute,
    equals,
    greater,
    maximum,
    minimum,
    saturate,
    where,
    wrap,
)
from mlc_course.instruction_selection.isa.instruction import Instruction, family


def _all(text: str) -> dict[int, str]:
    return dict.fromkeys((128, 256, 512), text)


def _x86(name: str, *, sse: str, wide: str | None) -> dict[int, str]:
    reach = {128: f"llvm.x86.{sse}", 256: f"llvm.x86.avx2.{name}"}
    return reach | ({512: f"llvm.x86.avx512.{wide}.512"} if wide else {})


# fmt: off
AVX2: tuple[Instruction, ...] = tuple(row for rows in (
    family("padd{w}", "u8 u16 u32", "T,T->T", lambda T, a, b: wrap(T, a + b),
           _all("{0} + {1}"), feature="avx2", cycles=0.25, commutes=True),
    family("psub{w}", "u8 u16 u32", "T,T->T", lambda T, a, b: wrap(T, a - b),
           _all("{0} - {1}"), feature="avx2", cycles=0.25),
    family("padd{us}{w}", "u8 s8 u16 s16", "T,T->T", lambda T, a, b: saturate(T, a + b),
           _all("llvm.{s}add.sat"), feature="avx2", cycles=0.5, commutes=True),
    family("psub{us}{w}", "u8 s8 u16 s16", "T,T->T", lambda T, a, b: saturate(T, a - b),
           _all("llvm.{s}sub.sat"), feature="avx2", cycles=0.5),
    family("pavg{w}", "u8 u16", "T,T->T", lambda T, a, b: (a + b + 1) >> 1,
           _x86("pavg.{w}", sse="sse2.pavg.{w}", wide="pavg.{w}"), feature="avx2", cycles=0.25, commutes=True),
    family("pmin{s}{w}", "u8 s8 u16 s16 u32 s32", "T,T->T", lambda T, a, b: minimum(a, b),
           _all("T.min({0}, {1})"), feature="avx2", cycles=0.25, commutes=True),
    family("pmax{s}{w}", "u8 s8 u16 s16 u32 s32", "T,T->T", lambda T, a, b: maximum(a, b),
           _all("T.max({0}, {1})"), feature="avx2", cycles=0.25, commutes=True),
    family("pabs{w}", "s8 s16 s32", "T->T", lambda T, a: wrap(T, absolute(a)),
           _all("llvm.abs({0}, T.bool(False))"), feature="avx2", cycles=0.5),
    family("psign{w}", "s8 s16 s32", "T,T->T",
           lambda T, a, b: where(greater(b, 0), a, where(equals(b, 0), 0, wrap(T, 0 - a))),
           _x86("psign.{w}", sse="ssse3.psign.{w}.128", wide=None), feature="avx2", cycles=0.5),
    family("pmullw", "u16", "T,T->T", lambda T, a, b: wrap(T, a * b),
           _all("{0} * {1}"), feature="avx2", cycles=0.5, commutes=True),
    family("pmulld", "u32", "T,T->T", lambda T, a, b: wrap(T, a * b),
           _all("{0} * {1}"), feature="avx2", cycles=1.0, commutes=True, weight=2),
    family("pmulhw", "s16", "T,T->T", lambda T, a, b: (a * b) >> 16,
           _x86("pmulh.w", sse="sse2.pmulh.w", wide="pmulh.w"), feature="avx2", cycles=0.5, commutes=True),
    family("pmulhuw", "u16", "T,T->T", lambda T, a, b: (a * b) >> 16,
           _x86("pmulhu.w", sse="sse2.pmulhu.w", wide="pmulhu.w"), feature="avx2", cycles=0.5, commutes=True),
    family("pmulhrsw", "s16", "T,T->T", lambda T, a, b: wrap(T, (a * b + 0x4000) >> 15),
           _x86("pmul.hr.sw", sse="ssse3.pmul.hr.sw.128", wide="pmul.hr.sw"), feature="avx2", cycles=0.5, commutes=True),
    family("pand", "u8 u16 u32", "T,T->T", lambda T, a, b: a & b,
           _all("T.bitwise_and({0}, {1})"), feature="avx2", cycles=0.25, commutes=True),
    family("por", "u8 u16 u32", "T,T->T", lambda T, a, b: a | b,
           _all("T.bitwise_or({0}, {1})"), feature="avx2", cycles=0.25, commutes=True),
    family("pxor", "u8 u16 u32", "T,T->T", lambda T, a, b: a ^ b,
           _all("T.bitwise_xor({0}, {1})"), feature="avx2", cycles=0.25, commutes=True),
    family("pcmpeq{w}", "s8 s16 s32", "T,T->T", lambda T, a, b: where(equals(a, b), -1, 0),
           _all("mask({0} == {1})"), feature="avx2", cycles=0.25, commutes=True),
    family("pcmpgt{w}", "s8 s16 s32", "T,T->T", lambda T, a, b: where(greater(a, b), -1, 0),
           _all("mask({0} > {1})"), feature="avx2", cycles=0.25),
    family("psll{w}", "u16 u32", "T,k->T", lambda T, a, k: wrap(T, a << k),
           _all("T.shift_left({0}, {k})"), feature="avx2", cycles=0.5),
    family("psrl{w}", "u16 u32", "T,k->T", lambda T, a, k: a >> k,
           _all("T.shift_right({0}, {k})"), feature="avx2", cycles=0.5),
    family("psra{w}", "s16 s32", "T,k->T", lambda T, a, k: a >> k,
           _all("T.shift_right({0}, {k})"), feature="avx2", cycles=0.5),
    family("pmaddubsw", "s16", "u8*2,s8*2->T", lambda T, a, b: saturate(T, a[0] * b[0] + a[1] * b[1]),
           _x86("pmadd.ub.sw", sse="ssse3.pmadd.ub.sw.128", wide="pmaddubs.w"), feature="avx2", cycles=0.5),
    family("pmaddwd", "s32", "s16*2,s16*2->T", lambda T, a, b: wrap(T, a[0] * b[0] + a[1] * b[1]),
           _x86("pmadd.wd", sse="sse2.pmadd.wd", wide="pmaddw.d"), feature="avx2", cycles=0.5, commutes=True),
    family("psadbw", "u64", "u8*8,u8*8->T", lambda T, a, b: sum(absolute(x - y) for x, y in zip(a, b, strict=True)),
           _x86("psad.bw", sse="sse2.psad.bw", wide="psad.bw"), feature="avx2", cycles=0.5, commutes=True),
    family("paddq", "u64", "T,T->T", lambda T, a, b: wrap(T, a + b),
           _all("{0} + {1}"), feature="avx2", cycles=0.25, commutes=True),
    # moves between widths
    family("packuswb", "u8", "s16->T", lambda T, a: saturate(T, a),
           _x86("packuswb", sse="sse2.packuswb.128", wide="packuswb"), feature="avx2", cycles=0.5, kind="narrow"),
    family("packsswb", "s8", "s16->T", lambda T, a: saturate(T, a),
           _x86("packsswb", sse="sse2.packsswb.128", wide="packsswb"), feature="avx2", cycles=0.5, kind="narrow"),
    family("packssdw", "s16", "s32->T", lambda T, a: saturate(T, a),
           _x86("packssdw", sse="sse2.packssdw.128", wide="packssdw"), feature="avx2", cycles=0.5, kind="narrow"),
    family("packusdw", "u16", "s32->T", lambda T, a: saturate(T, a),
           _x86("packusdw", sse="sse41.packusdw", wide="packusdw"), feature="avx2", cycles=0.5, kind="narrow"),
    family("punpck0{w}", "u8 u16", "T->2T", lambda T, a: a,
           _all("unpack"), feature="avx2", cycles=0.25, kind="widen"),
    family("pmovsx{w}", "s8 s16", "T->2T", lambda T, a: a,
           _all("extend"), feature="avx2", cycles=0.5, kind="widen"),
    family("punpck{w}", "u8 u16", "T,T->T", lambda T, a, b: a,
           _all("unpack"), feature="avx2", cycles=0.25, kind="interleave"),
) for row in rows)

VNNI: tuple[Instruction, ...] = tuple(row for rows in (
    family("vpdpbusd", "s32", "T,u8*4,s8*4->T",
           lambda T, c, a, b: wrap(T, c + sum(x * y for x, y in zip(a, b, strict=True))),
           {w: f"llvm.x86.avx512.vpdpbusd.{w}" for w in (128, 256, 512)}, feature="avx512vnni", cycles=0.5),
    family("vpdpbusds", "s32", "T,u8*4,s8*4->T",
           lambda T, c, a, b: saturate(T, c + sum(x * y for x, y in zip(a, b, strict=True))),
           {w: f"llvm.x86.avx512.vpdpbusds.{w}" for w in (128, 256, 512)}, feature="avx512vnni", cycles=0.5),
    family("vpdpwssd", "s32", "T,s16*2,s16*2->T",
           lambda T, c, a, b: wrap(T, c + sum(x * y for x, y in zip(a, b, strict=True))),
           {w: f"llvm.x86.avx512.vpdpwssd.{w}" for w in (128, 256, 512)}, feature="avx512vnni", cycles=0.5),
) for row in rows)
# fmt: on

# AVX-512BW has every row of AVX2 at 512 bits but psign. There a comparison leaves its bits in a mask
# register, and a second instruction (vpmovm2b, ...) makes lanes of them.
AVX512: tuple[Instruction, ...] = tuple(
    replace(row, weight=2, cycles=0.75) if row.reach[512].startswith("mask") else row
    for row in AVX2
    if 512 in row.reach
)
