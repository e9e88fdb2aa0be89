"""Vector instructions of a compiled loop, counted in LLVM's assembly against what it stores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from mlc_course.tensor_program.processor import UNTOLD, Counters, functions

SHOWN = 32  # bytes of output: one AVX2 register
_X86_BYTES = {"x": 16, "y": 32, "z": 64}
_X86 = re.compile(r"%([xyz])mm\d+")
_X86_STORE = re.compile(r"(\w+)\s.*%([xyz])mm\d+(?:, [-\w]*\([^)]*\)|, [-\w]+\(%rip\))$")
_X86_STACK = re.compile(r"\(%rsp\b")
_X86_ZERO = re.compile(r"vp?xor\w*\s+(%[xyz]mm\d+), \1, ")
_X86_MOVE = re.compile(r"vmov(?!msk)|vzero|vbroadcast|vpbroadcast|mov[ad]")
# How much of its register a store with another mnemonic than vmov writes.
_X86_PART = (
    (re.compile(r"vextract\w*(64x4|32x8)"), lambda size: 32),
    (re.compile(r"vextract"), lambda size: 16),
    (re.compile(r"vpmovu?s?(wb|dw|qd)"), lambda size: size // 2),
    (re.compile(r"vpmovu?s?(db|qw)"), lambda size: size // 4),
    (re.compile(r"vpmovu?s?qb"), lambda size: size // 8),
    (re.compile(r"v?movq|v?movlp|v?movhp|v?pextrq"), lambda size: 8),
    (re.compile(r"v?movd\b|v?pextrd|v?movss"), lambda size: 4),
    (re.compile(r"v?pextrw"), lambda size: 2),
    (re.compile(r"v?pextrb"), lambda size: 1),
)
_ARM = re.compile(r"\bv\d+\.\d+[bhsd]\b|\b[qd]\d+\b")
_ARM_BYTES = {"q": 16, "d": 8, "16b": 16, "8h": 16, "4s": 16, "2d": 16, "8b": 8, "4h": 8, "2s": 8}
_ARM_MOVE = re.compile(r"(ld|st)[pru1-4]|mov|dup|movi|mvni|fmov|ins\b|umov")


@dataclass(frozen=True)
class VectorLoop:
    """The loop that executes most vector instructions.

    ``instructions`` counts them by name: without loads, stores and moves from register to register,
    but with permutations. ``stored_bytes`` is what one iteration stores from vector registers.
    """

    instructions: Counter[str]
    stored_bytes: int

    @property
    def per_32_bytes(self) -> float | None:
        """Vector instructions for 32 bytes of output; ``None`` where no vector is stored.

        A loop that adds up stores after its last iteration.
        """
        if not self.stored_bytes:
            return None
        return sum(self.instructions.values()) * SHOWN / self.stored_bytes

    def __str__(self) -> str:
        found = self.per_32_bytes
        counts = ", ".join(f"{count} {name}" for name, count in self.instructions.most_common())
        if not self.instructions:
            return "no vector instructions"
        if found is None:
            return f"vector instructions in a loop that stores nothing: {counts}"
        return f"{found:.1f} vector instructions for {SHOWN} bytes of output: {counts}"


def vector_instructions(assembly: str) -> VectorLoop:
    """Return the hot loop of assembly of x86-64 or AArch64.

    Where LLVM has written it out, it is what the function does outside of loops.
    """
    found = [(runs, _counted(body)) for runs, body in _bodies(assembly)]
    none = 0, VectorLoop(Counter(), 0)
    return max(found, key=_executed, default=none)[1]


def _executed(found: tuple[int, VectorLoop]) -> tuple[int, int]:
    """Return how many vector instructions, and bytes of vector stores, are executed."""
    runs, loop = found
    if runs == 1 and not loop.stored_bytes:  # outside of loops, for calls and errors
        return 0, 0
    return runs * sum(loop.instructions.values()), runs * loop.stored_bytes


def _bodies(assembly: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield how often each innermost loop runs, and its instructions; then those in no loop."""
    for function in functions(assembly):
        loops = function.loops
        counters = Counters(function)
        runs = {head: counters.iterations(head) or UNTOLD for head in loops}
        for loop in loops.values():
            if not any(other < loop for other in loops.values()):
                around = [runs[head] for head, other in loops.items() if loop <= other]
                yield prod(around), function.instructions(loop)
        outside = set(range(len(function.blocks))).difference(*loops.values())
        yield 1, function.instructions(outside)


def _counted(body: Iterable[str]) -> VectorLoop:
    work: Counter[str] = Counter()
    stored = 0
    for text in body:
        name = text.split()[0]
        if "%" in text:
            moved, is_work = _x86(text, name)
        else:
            moved, is_work = _arm(text, name)
        stored += moved
        work[name] += is_work
    return VectorLoop(+work, stored)


def _x86(text: str, name: str) -> tuple[int, bool]:
    """Return the bytes that an instruction stores, and whether it is one that counts."""
    if not _X86.search(text) or _X86_ZERO.match(text):
        return 0, False
    store = _X86_STORE.match(text)
    stored = 0
    if store is not None and not _X86_STACK.search(text):  # a register that is kept for later
        size = _X86_BYTES[store[2]]
        part = (of(size) for pattern, of in _X86_PART if pattern.match(name))
        stored = next(part, size)
    return stored, not _X86_MOVE.match(name) and not (store and name.startswith("vextract"))


def _arm(text: str, name: str) -> tuple[int, bool]:
    if not _ARM.search(text):
        return 0, False
    stored = 0
    if name.startswith("st"):
        registers = _ARM.findall(text.partition("[")[0])
        stored = sum(_ARM_BYTES[each.partition(".")[2] or each[0]] for each in registers)
    return stored, not _ARM_MOVE.match(name)
