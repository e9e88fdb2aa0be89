"""One instruction as a TIR expression, at the width of a register.

``Instruction.reach`` says in a few words how TVM reaches an instruction; here these words become
the text of an expression that TVM reads. LLVM turns it into the instruction: ``semantics`` looks.

Instructions wrap. TVM tells LLVM that sums, differences and products of 32 and 64 bits do not
(``sub nuw``), so that 0 - x is 0 after LLVM's passes. Those are written as LLVM's vector-predicated
operations with all lanes on, which make no such promise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import IntType
from mlc_course.instruction_selection.isa.instruction import Instruction

BLOCK = 128  # bits within which x86 packs and unpacks lanes

_NAME = re.compile(r"llvm\.[\w.]+")
_CALL = re.compile(r"(llvm\.[\w.]+)\(")
_ARITHMETIC = re.compile(r"\{0\} ([-+*]) (.+)")
_WRAPPING = {"+": "llvm.vp.add", "-": "llvm.vp.sub", "*": "llvm.vp.mul"}
_FORM = re.compile(r"(halves|mask)\((.*)\)")


def register_types(row: Instruction) -> tuple[IntType, ...]:
    """Return the type of the lanes of each register that the instruction takes.

    A ``narrow`` row takes two registers of one type.
    """
    if row.kind == "narrow":
        return (row.reads[0].type,) * 2
    return tuple(read.type for read in row.reads)


def registers_of_result(row: Instruction) -> int:
    """Return how many registers the result of the row fills: two where lanes become twice as wide.

    Each is an instruction of its own: the one of the low half, and the one of the high half.
    """
    return 2 if row.kind in ("long", "widen", "interleave") else 1


def register_dtype(of: IntType, width: int) -> str:
    """Return TVM's name of a register of ``width`` bits: ``uint8x32``."""
    return f"{of.dtype}x{width // of.bits}"


def tir_text(row: Instruction, width: int, operands: Sequence[str], part: int = 0) -> str:
    """Return the expression of an instruction on registers of ``width`` bits.

    ``operands`` are the texts of whole registers, of the types that ``register_types`` names, as
    many as it names. Where the result fills two registers, ``part`` says which of them is meant.

    Raises:
        UsageError: the row is not reached at this width, or its immediate is missing.
    """
    if width not in row.reach or (row.has_immediate and row.immediate is None):
        raise UsageError(
            f"{row} is not reached",
            expected=f"one of the widths {sorted(row.reach)}"
            + (", and an immediate" if row.has_immediate else ""),
            got=f"{width} bits, immediate {row.immediate}",
        )
    reach, kind = row.reach[width], register_dtype(row.result, width)
    first = register_types(row)[0]
    lanes = width // first.bits
    fields = {
        "k": _splat(row.immediate, first, lanes),
        "less_k": _splat(row.immediate, first, lanes, -1),
    }
    scalar = [] if row.immediate is None else [f"T.int32({row.immediate})"]
    if row.kind in ("long", "widen") and reach != "unpack":
        operands = [_extended(x, row, width, part) for x in operands]
    form = _FORM.fullmatch(reach)
    if reach == "extend":
        return operands[0]
    if reach == "unpack":
        zero = f"T.broadcast(T.{first.dtype}(0), {lanes})"
        turns = in_turns(width, first.bits, part)
        joined = f"T.Shuffle([{operands[0]}, {[*operands, zero][1]}], {turns})"
        return joined if row.result == first else f'T.reinterpret({joined}, dtype="{kind}")'
    if _NAME.fullmatch(reach):
        return _call(reach, kind, [*operands, *scalar])
    if form and form[1] == "halves":
        half = register_dtype(row.result, width // 2)
        parts = ", ".join(_call(form[2], half, [x, *scalar]) for x in operands)
        return f"T.Shuffle([{parts}], {list(range(width // row.result.bits))})"
    sum_of = _ARITHMETIC.fullmatch(reach) if row.result.bits >= 32 else None
    text = (sum_of[2] if sum_of else form[2] if form else reach).format(*operands, **fields)
    text = _CALL.sub(rf'T.call_llvm_pure_intrin("{kind}", "\1", ', text)
    if sum_of:
        count = width // row.result.bits
        all_lanes = [f"T.broadcast(T.bool(True), {count})", f"T.uint32({count})"]
        return _call(_WRAPPING[sum_of[1]], kind, [operands[0], text, *all_lanes])
    if form:
        ones, zeros = (_splat(x, row.result, lanes) for x in (-1, 0))
        return f"T.Select({text}, {ones}, {zeros})"
    return text


def in_turns(width: int, bits: int, part: int, block: int = BLOCK) -> list[int]:
    """Return which lanes of two registers x86 puts side by side, the second's numbered after.

    Within each block it takes the low half of the lanes of both (``part`` 0), or the high half.
    """
    lanes, count = block // bits, width // bits
    first = part * lanes // 2
    return [
        at + start + i
        for start in range(0, count, lanes)
        for i in range(first, first + lanes // 2)
        for at in (0, count)
    ]


def _call(name: str, kind: str, operands: Sequence[str]) -> str:
    return f'T.call_llvm_pure_intrin("{kind}", "{name}", {", ".join(operands)})'


def _splat(value: int | None, of: IntType, lanes: int, factor: int = 1) -> str:
    if value is None:
        return ""
    return f"T.broadcast(T.{of.dtype}({of.wrapped(factor * value)}), {lanes})"


def _extended(operand: str, row: Instruction, width: int, part: int) -> str:
    """Return one half of a register with each lane extended to twice its width."""
    lanes = width // row.result.bits
    which = list(range(part * lanes, (part + 1) * lanes))
    return f'T.Cast("{row.result.dtype}x{lanes}", T.Shuffle([{operand}], {which}))'
