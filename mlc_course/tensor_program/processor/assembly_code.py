"""Instructions of a program's hot loop, counted in LLVM's assembly, and the longest chain of them.

A count says what a clock cannot: whether the arithmetic is in vectors, how many loads feed one
multiply-add, and whether sums had to leave their registers. It is the same on every run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from mlc_course.errors import UsageError
from mlc_course.machine import FLOAT32_BITS
from mlc_course.tensor_program.processor.control_flow import Function, functions
from mlc_course.tensor_program.processor.iterations import Counters
from mlc_course.tensor_program.tir import (
    TensorProgram,
    assembly_text,
    cpu_target,
    host_cpu,
    is_known_cpu,
)

KINDS = ("arithmetic", "load", "store", "spill")


@dataclass(frozen=True)
class Assembly:
    """Counts of the instructions in the hot loop of a compiled program.

    The processor's time is in the loops that run most. So the hot loop is the one that does the
    most float32 arithmetic in a call of its function, with none in a loop inside it. How often it
    runs follows from the numbers that it and the loops around it count between; a loop whose text
    does not tell is taken to run ``UNTOLD`` times. When LLVM has written all loops out, it is the
    body of the function.
    """

    cpu: str
    hot_loop: tuple[str, ...]
    kinds: tuple[frozenset[str], ...]  # of each instruction of the hot loop: some of KINDS, or none
    vector_bits: int  # of the widest arithmetic in the hot loop; 32 when it is scalar
    multiply_adds: int
    loads: int  # vectors, or single numbers, read from memory in the hot loop
    stores: int
    spills: int  # of vector registers to the stack and back, around calls too, wherever it computes
    flops: int  # of the loop in a call of its function, as far as the text tells
    vector_share: float  # of all float32 that arithmetic works on: those in vectors of vector_bits

    @property
    def lanes(self) -> int:
        """The number of float32 that one arithmetic instruction works on."""
        return self.vector_bits // FLOAT32_BITS

    @property
    def instructions(self) -> int:
        return len(self.hot_loop)

    def histogram(self) -> dict[str, int]:
        """The number of instructions of each kind in the hot loop; one may be of two kinds."""
        named = {kind: sum(kind in each for each in self.kinds) for kind in KINDS}
        return {**named, "other": sum(not each for each in self.kinds)}

    def lane_utilisation(self, vector_bits: int) -> float:
        """The share of a register of ``vector_bits`` that the hot loop's widest arithmetic uses.

        Raises ``UsageError`` for registers narrower than that arithmetic.
        """
        if vector_bits < self.vector_bits:
            raise UsageError(
                "the program uses wider registers than that",
                expected=f"{self.vector_bits} bits or more",
                got=vector_bits,
            )
        return self.vector_bits / vector_bits

    def __str__(self) -> str:
        return (
            f"{self.cpu}, {self.lanes} float32 at a time: {self.multiply_adds} multiply-adds, "
            f"{self.loads} loads, {self.stores} stores, {self.spills} spills"
        )


@dataclass(frozen=True)
class Syntax:
    """The patterns with which an instruction set writes what is counted, one instruction each."""

    arithmetic: re.Pattern[str]
    multiply_add: re.Pattern[str]
    widths: tuple[tuple[str, int], ...]  # the first pattern that is found tells the bits
    load: re.Pattern[str]
    store: re.Pattern[str]
    spill: re.Pattern[str]
    float64: re.Pattern[str]

    def bits(self, instruction: str) -> int:
        """Width of the float32 arithmetic of an instruction, 0 when it does none."""
        if not self.arithmetic.match(instruction):
            return 0
        return next((bits for width, bits in self.widths if re.search(width, instruction)), 0)

    def kinds(self, instruction: str) -> frozenset[str]:
        """The kinds of an instruction, from ``KINDS``; one that adds what it loads is of two."""
        spills = bool(self.spill.search(instruction))
        does = {
            "arithmetic": self.bits(instruction) > 0,
            "load": not spills and bool(self.load.search(instruction)),
            "store": not spills and bool(self.store.search(instruction)),
            "spill": spills,
        }
        return frozenset(kind for kind, found in does.items() if found)

    def count(self, pattern: re.Pattern[str], instructions: Iterable[str]) -> int:
        """Vectors that matching instructions move: ARM's ldp, stp, ld2, st4 move two to four."""
        found = filter(pattern.search, instructions)
        return sum(max(1, len(ARM_VECTOR.findall(each.partition("[")[0]))) for each in found)


# AT&T order: the destination is the last operand, and memory is written 8(%rax,%rcx,4).
X86 = Syntax(
    arithmetic=re.compile(r"v?(add|sub|mul|div|min|max|sqrt|fn?m(add|sub)\d+)[ps]s\b"),
    multiply_add=re.compile(r"vfn?m(add|sub)\d+[ps]s\b"),
    widths=((r"^\w+ss\b", 32), (r"%zmm", 512), (r"%ymm", 256), (r"%xmm", 128)),
    load=re.compile(r"\([^)]*%[^)]*\).*, .*%[xyz]mm"),
    store=re.compile(r"%[xyz]mm\d+, .*\([^)]*%[^)]*\)(\s*\{%k\d\})?$"),
    spill=re.compile(r"%[xyz]mm.*\(%rsp\)|\(%rsp\).*%[xyz]mm"),
    float64=re.compile(r"\sv?(add|sub|mul|div|min|max|sqrt|fn?m(add|sub)\d+)[ps]d\s"),
)
# The number of bits in an SVE register (z) is not in the text: counted as the 128 that all have.
# A function keeps d8 to d15 for its caller, so the stack sees those without any spill.
ARM = Syntax(
    arithmetic=re.compile(r"f(add|sub|n?mul|div|(min|max)(nm)?|sqrt|n?m(l[as]|ad|sb|add|sub))\b"),
    multiply_add=re.compile(r"fn?m(l[as]|ad|sb|add|sub)\b"),
    widths=((r"\bz\d+\.s|\.4s", 128), (r"\.2s", 64), (r"\bs\d", 32)),
    load=re.compile(r"^ld\w+ .*\b[qdsvz]\d.*\["),
    store=re.compile(r"^st\w+ .*\b[qdsvz]\d.*\["),
    spill=re.compile(r"^(ld|st)\w+ .*\b[qsz]\d+, .*\[sp\b"),
    float64=re.compile(r"\sf(add|sub|mul|div|sqrt|madd|mla)(\.2d)?\s+(d\d|v\d+\.2d)"),
)
ARM_VECTOR = re.compile(r"(?<![\w%])[bhsdqvz]\d+\b")
UNTOLD = 16
CALL = re.compile(r"^\s+(?:callq?|bl)\s+(?!_*tvm|main|mem)(\w+)", re.MULTILINE | re.IGNORECASE)


def assembly(program: TensorProgram, *, cpu: str | None = None) -> Assembly:
    """Compile a program for this machine, or for another processor that LLVM knows, and count.

    Raises ``UsageError`` for a processor that LLVM does not know for this machine's instruction
    set, and for a program without float32 arithmetic.
    """
    return read_assembly(*_compiled(program, cpu))


def arithmetic_loops(program: TensorProgram, *, cpu: str | None = None) -> tuple[Assembly, ...]:
    """All loops of a program with float32 arithmetic in them and none in a loop inside.

    The hot loop comes first, then the others by what they do. Raises what ``assembly`` raises.
    """
    return tuple(_loops(*_compiled(program, cpu)))


def _compiled(program: TensorProgram, cpu: str | None) -> tuple[str, str]:
    """The assembly of a program, and the processor that it is for."""
    if cpu is not None and not is_known_cpu(cpu):
        names = f"a name as in -mcpu, such as {host_cpu()}"
        raise UsageError(f"assembly: LLVM knows no {cpu!r} here", expected=names, got=cpu)
    cpu = cpu or host_cpu()
    return assembly_text(program, cpu_target(cpu=cpu)), cpu


def read_assembly(text: str, cpu: str) -> Assembly:
    """The hot loop of LLVM's text for x86-64 or AArch64; raises ``UsageError`` as above."""
    return _loops(text, cpu)[0]


def _loops(text: str, cpu: str) -> list[Assembly]:
    """All loops with arithmetic in them and none in a loop inside, those that do most first."""
    syntax = X86 if "%" in text else ARM
    computing = [each for each in functions(text) if any(map(syntax.bits, each.listing))]
    found = [(runs, loop) for function in computing for runs, loop in _innermost(function, syntax)]
    if not found:
        raise UsageError(
            "assembly: the compiled program has no float32 arithmetic",
            expected="additions, multiplications, divisions, roots, minima or maxima of float32",
            got=_got_instead(text, syntax),
        )
    everything = [each for function in computing for each in function.listing]
    spills = syntax.count(syntax.spill, everything)
    found.sort(key=lambda each: -each[0] * sum(map(syntax.bits, each[1])))
    return [_counts(loop, runs, spills, syntax, cpu) for runs, loop in found]


def _counts(loop: tuple[str, ...], runs: int, spills: int, syntax: Syntax, cpu: str) -> Assembly:
    fused = [bool(syntax.multiply_add.match(each)) for each in loop]
    bits = [*map(syntax.bits, loop)]
    return Assembly(
        cpu=cpu,
        hot_loop=loop,
        kinds=tuple(map(syntax.kinds, loop)),
        vector_bits=max(bits),
        multiply_adds=sum(fused),
        loads=syntax.count(syntax.load, loop),
        stores=syntax.count(syntax.store, loop),
        spills=spills,
        vector_share=sum(n for n in bits if n == max(bits)) / sum(bits),
        flops=runs * sum(n * (1 + two) for n, two in zip(bits, fused, strict=True)) // FLOAT32_BITS,
    )


def _innermost(function: Function, syntax: Syntax) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(runs, instructions) of the loops with arithmetic in them and none in a loop inside."""
    loops = function.loops
    computing = {n for n, block in enumerate(function.blocks) if any(map(syntax.bits, block))}
    busy = [
        loop for loop in (set(range(len(function.blocks))), *loops.values()) if loop & computing
    ]
    counters = Counters(function)
    runs = {head: counters.iterations(head) or UNTOLD for head in loops}
    for loop in busy:
        if not any(other < loop for other in busy):
            yield (
                prod(runs[head] for head, around in loops.items() if loop <= around),
                function.instructions(loop),
            )


def _got_instead(text: str, syntax: Syntax) -> str:
    """What a program without float32 arithmetic does, as far as its instructions tell."""
    if calls := sorted(set(CALL.findall(text))):
        return f"calls of {', '.join(calls)}, whose instructions are not the program's"
    if syntax.float64.search(text):
        return "float64 arithmetic"
    return "none: it moves, compares or selects"


# --- the chain behind a sum -----------------------------------------------------------------------

OPERANDS = re.compile(r", (?![^(\[]*[)\]])")  # not the commas inside an address
REGISTER = re.compile(r"%[xyz]mm(\d+)|\b[vqdsz](\d+)\b")
# Multiply-adds that add to their destination: all of x86's; of ARM's, those without a fourth name.
ADDS_TO = re.compile(r"vfn?m|fn?m(l[as]|ad|sb)\b")
PAIR = re.compile(r"ldp\b")


def longest_chain(found: Assembly) -> int:
    """The most arithmetic instructions of one iteration of the hot loop that wait for each other.

    A processor starts several additions in a cycle, but the result of one takes some cycles, and
    whatever adds to it waits. So the longest chain is a lower bound on the time of an iteration.
    """
    waits: dict[str, int] = {}  # register -> how many instructions its value has behind it
    for text, does in zip(found.hot_loop, found.kinds, strict=True):
        arithmetic = "arithmetic" in does
        written, read = _registers(text, arithmetic=arithmetic)
        behind = max((waits.get(each, 0) for each in read), default=0) + arithmetic
        waits.update(dict.fromkeys(written, behind))
    return max(waits.values(), default=0)


def _registers(instruction: str, *, arithmetic: bool) -> tuple[list[str], list[str]]:
    """The vector registers that an instruction writes, and those that it reads."""
    name, _, rest = instruction.partition(" ")
    operands = OPERANDS.split(rest)
    if "%" in instruction:  # x86: the destination is the last one, if that is a register
        *sources, target = operands
        targets = [] if "(" in target else [target]
        if arithmetic and (ADDS_TO.match(name) or len(operands) == 2):
            sources = operands
        return _numbers(targets), _numbers(sources if targets else operands)
    if name.startswith("st"):
        return [], _numbers(operands)
    count = 2 if PAIR.match(name) else 1
    sources = operands if ADDS_TO.match(name) else operands[count:]
    return _numbers(operands[:count]), _numbers(sources)


def _numbers(operands: list[str]) -> list[str]:
    return [found[1] or found[2] for each in operands for found in REGISTER.finditer(each)]
