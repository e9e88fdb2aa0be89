"""Instructions of a program's hot loop, counted in LLVM's assembly, and the longest chain of them.

A count says what a clock cannot: whether the arithmetic is in vectors, how many loads feed one
multiply-add, and whether sums had to leave their registers. It is the same on every run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from mlc_course.errors import UsageError
from mlc_course.machine import FLOAT32_BITS
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

    The processor's time is in the loops that run most, and the text does not say how often a loop
    runs. So the hot loop is the deepest one with float32 arithmetic in it and none in a loop inside
    it; of equally deep ones, that with the most arithmetic. When LLVM has written all loops out,
    it is the body of the function.
    """

    cpu: str
    hot_loop: tuple[str, ...]
    kinds: tuple[frozenset[str], ...]  # of each instruction of the hot loop: some of KINDS, or none
    vector_bits: int  # of the widest arithmetic in the hot loop; 32 when it is scalar
    multiply_adds: int
    loads: int  # vectors, or single numbers, read from memory in the hot loop
    stores: int
    spills: int  # between a vector register and the stack, around calls too, in the whole function

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

    def bits(self, instruction: str) -> int:
        """Width of the float32 arithmetic of an instruction, 0 when it does none."""
        if not self.arithmetic.match(instruction):
            return 0
        return next((bits for width, bits in self.widths if re.search(width, instruction)), 0)

    def kinds(self, instruction: str) -> frozenset[str]:
        """The kinds of an instruction, from ``KINDS``; one that adds what it loads is of two."""
        if self.spill.search(instruction):
            return frozenset({"spill"})
        does = {"arithmetic": self.bits(instruction), "load": self.load.search(instruction)}
        does["store"] = self.store.search(instruction)
        return frozenset(kind for kind, found in does.items() if found)

    def count(self, pattern: re.Pattern[str], instructions: tuple[str, ...]) -> int:
        """Matching instructions; ARM's ldp and stp move two registers and count as two."""
        found = list(filter(pattern.search, instructions))
        return len(found) + sum(each.startswith(("ldp", "stp")) for each in found)


# AT&T order: the destination is the last operand, and memory is written 8(%rax,%rcx,4).
X86 = Syntax(
    arithmetic=re.compile(r"v?(add|sub|mul|div|min|max|sqrt|fn?m(add|sub)\d+)[ps]s\b"),
    multiply_add=re.compile(r"vfn?m(add|sub)\d+[ps]s\b"),
    widths=((r"^\w+ss\b", 32), (r"%zmm", 512), (r"%ymm", 256), (r"%xmm", 128)),
    load=re.compile(r"\(%[^)]*\).*, .*%[xyz]mm"),
    store=re.compile(r"%[xyz]mm\d+, .*\(%[^)]*\)(\s*\{%k\d\})?$"),
    spill=re.compile(r"%[xyz]mm.*\(%rsp\)|\(%rsp\).*%[xyz]mm"),
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
)

FUNCTION = re.compile(r"\.cfi_startproc(.*?)\.cfi_endproc", re.DOTALL)
LABEL = re.compile(r"^(\.?LBB\d+_\d+):")
JUMP = re.compile(r"^\w.*?(\.?LBB\d+_\d+)$")
NO_WAY_ON = re.compile(r"(jmpq?|b|br|retq?|ud2|brk)\b(?!\.)")  # what follows is not run next
Function = list[tuple[str, ...]]  # its basic blocks: only the last instruction of one jumps


def assembly(program: TensorProgram, *, cpu: str | None = None) -> Assembly:
    """Compile a program for this machine, or for another processor that LLVM knows, and count.

    Raises ``UsageError`` for a processor that LLVM does not know for this machine's instruction
    set, and for a program without float32 arithmetic.
    """
    if cpu is not None and not is_known_cpu(cpu):
        names = f"a name as in -mcpu, such as {host_cpu()}"
        raise UsageError(f"assembly: LLVM knows no {cpu!r} here", expected=names, got=cpu)
    return read_assembly(assembly_text(program, cpu_target(cpu=cpu)), cpu or host_cpu())


def read_assembly(text: str, cpu: str) -> Assembly:
    """The hot loop of LLVM's text for x86-64 or AArch64; raises ``UsageError`` as above."""
    syntax = X86 if "%" in text else ARM
    found = [
        ((depth, sum(map(syntax.bits, loop))), loop, blocks)
        for blocks, successors in map(_blocks, FUNCTION.findall(text))
        for depth, loop in _innermost(blocks, natural_loops(successors), syntax)
    ]
    if not found:
        raise UsageError(
            "assembly: the compiled program does not compute",
            expected="float32 arithmetic, such as multiply-adds",
            got="no such instruction: it moves data only",
        )
    _, hot, blocks = max(found, key=lambda each: each[0])
    return Assembly(
        cpu=cpu,
        hot_loop=hot,
        kinds=tuple(map(syntax.kinds, hot)),
        vector_bits=max(map(syntax.bits, hot)),
        multiply_adds=sum(bool(syntax.multiply_add.match(each)) for each in hot),
        loads=syntax.count(syntax.load, hot),
        stores=syntax.count(syntax.store, hot),
        spills=sum(bool(syntax.spill.search(each)) for block in blocks for each in block),
    )


def _blocks(text: str) -> tuple[Function, list[set[int]]]:
    """Basic blocks of a function, with one space for each tab, and the successors of each."""
    blocks: list[list[str]] = [[]]
    places: dict[str, int] = {}
    for line in text.splitlines():
        if label := LABEL.match(line):
            blocks.append([])
            places[label[1]] = len(blocks) - 1
        elif line[:1].isspace() and line.strip() and line.lstrip()[0] not in ".#;/":
            blocks[-1].append(" ".join(line.split()))
            if JUMP.match(blocks[-1][-1]):
                blocks.append([])
    successors = []
    for place, block in enumerate(blocks, start=1):
        last = block[-1] if block else ""
        follow = {place} if place < len(blocks) and not NO_WAY_ON.match(last) else set()
        successors.append(follow | ({places[jump[1]]} if (jump := JUMP.match(last)) else set()))
    return [tuple(block) for block in blocks], successors


def natural_loops(successors: Sequence[Set[int]]) -> list[set[int]]:
    """The blocks of each loop, where block 0 is the entry.

    The head of a loop dominates a block that jumps back to it: every path from the entry to that
    block goes through the head. Source: A. Aho et al., Compilers, 2nd edition, section 9.6.
    """
    nodes = range(len(successors))
    before = [[each for each in nodes if node in successors[each]] for node in nodes]
    dominators = [{0}, *({*nodes} for _ in nodes[1:])]
    changed = True
    while changed:
        changed = False
        for node in nodes[1:]:
            found = set(nodes).intersection(*(dominators[each] for each in before[node])) | {node}
            changed |= found != dominators[node]
            dominators[node] = found
    loops: dict[int, set[int]] = {}
    for tail in nodes:
        for head in successors[tail] & dominators[tail]:
            inside, waiting = loops.setdefault(head, {head}), [tail]
            while waiting:
                if (node := waiting.pop()) not in inside:
                    inside.add(node)
                    waiting += before[node]
    return list(loops.values())


def _innermost(
    blocks: Function, loops: list[set[int]], syntax: Syntax
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(depth, instructions) of the loops with arithmetic in them and none in a loop inside."""
    computing = {n for n, block in enumerate(blocks) if any(map(syntax.bits, block))}
    busy = [loop for loop in (set(range(len(blocks))), *loops) if loop & computing]
    for loop in busy:
        if not any(other < loop for other in busy):
            depth = sum(loop < other for other in busy)
            yield depth, tuple(each for n in sorted(loop) for each in blocks[n])


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
