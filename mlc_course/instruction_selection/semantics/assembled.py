"""One instruction as an assembler's text, in a loop over arrays, without LLVM or TVM.

The text is written from the manual's form of the instruction; Keystone assembles it. On x86 it is
the SSE form with registers of 128 bits, which the emulator knows; it has no AVX.
"""

from __future__ import annotations

from functools import lru_cache

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.isa import Instruction, registers_of_result
from mlc_course.instruction_selection.semantics.emulator import Architecture
from mlc_course.instruction_selection.semantics.one_instruction import mnemonics
from mlc_course.instruction_selection.semantics.packages import package

BYTES = 16  # of a register
ON_ARM = ("neon", "dotprod", "i8mm")
# Instructions that are newer than the assembler, of registers v0, v1 and v2: each adds to v0.
ENCODED = {"udot": 0x6E829420, "sdot": 0x4E829420, "usdot": 0x4E829C20}
POINTERS = ("rdi", "rsi", "rdx", "rcx", "r8")
LANES = {8: "b", 16: "h", 32: "s", 64: "d"}


def architecture_of(row: Instruction) -> Architecture:
    """Return the architecture that has the row."""
    return "aarch64" if row.feature in ON_ARM else "x86-64"


def assembled(row: Instruction) -> bytes:
    """Return a function: pointers to the operands' arrays and the result's, and how many steps.

    Raises:
        MachineError: the assembler is not installed.
        UsageError: it does not know the instruction.
    """
    return _bytes_of(architecture_of(row), loop_text(row))


def one_instruction(row: Instruction) -> list[bytes]:
    """Return the code on xmm0 and xmm1 of what fills xmm0 with the result's first register.

    Raises:
        MachineError: the assembler is not installed.
        UsageError: it does not know the instruction.
    """
    lines = _x86_body(row)
    return [_bytes_of("x86-64", line) for line in lines if "xmm2" not in line]


def loop_text(row: Instruction) -> str:
    """Return the function as text, one instruction a line."""
    return "\n".join(_arm(row) if architecture_of(row) == "aarch64" else _x86(row))


def _x86(row: Instruction) -> list[str]:
    count, parts = len(row.reads), registers_of_result(row)
    used = POINTERS[: count + 2]
    result, steps = used[-2:]
    lines = ["again:"]
    if row.kind == "narrow":
        lines += [f"movdqu xmm{i}, [{used[0]} + {BYTES * i}]" for i in (0, 1)]
    else:
        lines += [f"movdqu xmm{i}, [{used[i]}]" for i in range(count)]
    lines += _x86_body(row)
    lines += [f"movdqu [{result} + {BYTES * i}], xmm{2 * i}" for i in range(parts)]
    for x in used[:count]:
        lines.append(f"add {x}, {BYTES * (1 + (row.kind == 'narrow'))}")
    return [*lines, f"add {result}, {BYTES * parts}", f"dec {steps}", "jnz again", "ret"]


def _x86_body(row: Instruction) -> list[str]:
    name = mnemonics(row)[0]
    if registers_of_result(row) == 2:
        return _twice(row)
    if row.immediate is not None:
        return [f"{name} xmm0, {row.immediate}"]
    return [f"{name} xmm0, xmm{0 if len(row.reads) == 1 and row.kind == 'lane' else 1}"]


def _twice(row: Instruction) -> list[str]:
    """Return the two instructions of a result that fills two registers, xmm0 and xmm2."""
    names = mnemonics(row)
    if len(names) == 1:
        return [
            "movdqa xmm2, xmm0",
            "psrldq xmm2, 8",
            *(f"{names[0]} {r}, {r}" for r in ("xmm0", "xmm2")),
        ]
    zeros = ["pxor xmm1, xmm1"] if row.kind == "widen" else []
    return [*zeros, "movdqa xmm2, xmm0", f"{names[0]} xmm0, xmm1", f"{names[1]} xmm2, xmm1"]


def _arm(row: Instruction) -> list[str]:
    count, parts = len(row.reads), registers_of_result(row)
    loaded = 2 if row.kind == "narrow" else count
    lines = ["again:"]
    for i in range(loaded):
        lines.append(f"ldr q{i}, [x{0 if row.kind == 'narrow' else i}], #{BYTES}")
    lines += _arm_body(row)
    first = 0 if row.kind == "lane" else 2
    lines += [f"str q{first + i}, [x{count}], #{BYTES}" for i in range(parts)]
    return [*lines, f"subs x{count + 1}, x{count + 1}, #1", "b.ne again", "ret"]


def _arm_body(row: Instruction) -> list[str]:
    """Return the instruction, or the one of the low half and that of the high half."""
    of, to = row.reads[-1].type.bits, row.result.bits
    whole = {bits: f"{8 * BYTES // bits}{each}" for bits, each in LANES.items()}
    half = {bits: f"{4 * BYTES // bits}{each}" for bits, each in LANES.items()}
    shift = "" if row.immediate is None else f", #{row.immediate}"
    name = row.name.partition(".")[0]
    if name in ENCODED:
        return [f".word {ENCODED[name]:#x}"]
    match row.kind:
        case "narrow":
            return [
                f"{name} v2.{half[to]}, v0.{whole[of]}{shift}",
                f"{name}2 v2.{whole[to]}, v1.{whole[of]}{shift}",
            ]
        case "long":
            return [
                f"{name} v2.{whole[to]}, v0.{half[of]}, v1.{half[of]}",
                f"{name}2 v3.{whole[to]}, v0.{whole[of]}, v1.{whole[of]}",
            ]
        case "widen":
            return [
                f"{name} v2.{whole[to]}, v0.{half[of]}",
                f"{name}2 v3.{whole[to]}, v0.{whole[of]}",
            ]
        case _:
            pass
    if row.reads[0].lanes != row.reads[-1].lanes:  # added to the accumulator in v0
        return [f"{name} v0.{whole[to]}, v1.{whole[of]}"]
    lanes = "16b" if name in ("and", "eor") else whole[of]
    second = f", v1.{lanes}" if len(row.reads) == 2 else ""
    return [f"{name} v0.{lanes}, v0.{lanes}{second}{shift}"]


@lru_cache(maxsize=4096)
def _bytes_of(architecture: Architecture, text: str) -> bytes:
    keystone = package("keystone")
    arm = architecture == "aarch64"
    mode = (keystone.KS_ARCH_ARM64, 0) if arm else (keystone.KS_ARCH_X86, keystone.KS_MODE_64)
    try:
        code, _ = keystone.Ks(*mode).asm(text, as_bytes=True)
    except keystone.KsError as error:
        raise UsageError(
            "the assembler does not know this instruction",
            expected=f"{architecture} instructions of {keystone.__version__} of Keystone",
            got=f"{error} in {text.splitlines()}",
        ) from None
    return bytes(code)
