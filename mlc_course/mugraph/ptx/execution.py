"""Run the kernels of a PTX text: one block after the other, its threads side by side.

Where threads part, those at the earliest place of the text go on until they meet the others. With
an order of warps, each warp runs by itself from barrier to barrier, so that a race changes values.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mlc_course.errors import SizeError, UsageError, WrongResult, check_known
from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.ptx import accesses, arithmetic, matrices
from mlc_course.mugraph.ptx.arithmetic import Bind
from mlc_course.mugraph.ptx.memory import Copies, GlobalMemory, Landing, SharedMemory
from mlc_course.mugraph.ptx.ptx_text import (
    WIDTHS,
    Entry,
    Instruction,
    Symbol,
    Variable,
    parse_ptx,
    refused,
)
from mlc_course.mugraph.ptx.reports import FaultLog, Report, Site, counts_of
from mlc_course.mugraph.ptx.threads import Mask, Run, Threads
from mlc_course.mugraph.ptx.transactions import WARP

Argument = Array | int | float
Arguments = Mapping[str, Argument] | Sequence[Argument]
Order = Literal["together", "ascending", "descending"] | int
Index = tuple[int, int, int]

MOST_SHARED = 227 * 1024  # bytes that a block can have, on sm_90
MOST_THREADS = 1024
MOST_TURNS = 2_000_000  # runs of straight code in one block before it is given up
OPERATIONS: Mapping[str, tuple[Bind, frozenset[str]]] = {
    **arithmetic.OPERATIONS, **accesses.OPERATIONS, **matrices.OPERATIONS,
}  # fmt: skip
FLOW = {"bra": {"uni"}, "ret": {"uni"}, "exit": set(), "trap": set()}
BARRIERS = {"bar": {"sync", "warp"}, "barrier": {"sync", "aligned", "cta"}}


@dataclass
class Straight:
    """Code without a branch or barrier, and what comes after it."""

    steps: list[Run] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    end: Site | None = None
    target: int = 0  # where a branch leads


@dataclass(frozen=True)
class Module:
    """The kernels of a text."""

    entries: Mapping[str, Entry]

    def launch(
        self,
        name: str,
        grid: int | Sequence[int],
        threads: int | Sequence[int],
        shared_bytes: int,
        arguments: Arguments,
        *,
        blocks: Iterable[Index] | None = None,
        order: Order = "together",
        copies: Landing = "early",
    ) -> Report:
        """Run a kernel, all its blocks or some; arrays among the arguments are written in place.

        ``shared_bytes`` are those that are asked for at launch. The order is that of the warps
        between barriers: in step with each other, ascending, descending, or drawn from a seed.
        ``copies`` land when they are issued or only when they are awaited. Raises ``UsageError``
        or ``SizeError`` for a launch that could not be, ``RefusedText`` for an instruction that
        is not known, and ``WrongResult`` for a block that does not end.
        """
        check_known("no kernel", name, self.entries)
        check_known("no landing of copies", copies, ("early", "late"))
        if not isinstance(order, int):
            check_known("no order of warps", order, ("together", "ascending", "descending"))
        entry = self.entries[name]
        launch = _Launch(entry, _three(grid), _three(threads), shared_bytes, arguments, copies)
        every = itertools.product(*(range(extent) for extent in reversed(_three(grid))))
        for index in [(x, y, z) for z, y, x in every] if blocks is None else blocks:
            launch.run_block(index, order)
        return launch.report()


def load(text: str) -> Module:
    """Return the kernels of a PTX text.

    Raises ``RefusedText`` with the line for what is no PTX, and for instructions not known here.
    """
    module = Module(parse_ptx(text))
    for entry in module.entries.values():
        for instruction in entry.instructions:
            _check_known_instruction(instruction)
    return module


def _three(extents: int | Sequence[int]) -> Index:
    whole = (extents,) if isinstance(extents, int) else tuple(extents)
    if not 1 <= len(whole) <= 3 or any(each < 1 for each in whole):
        raise SizeError("a launch", expected="one to three positive extents", got=extents)
    x, y, z = (*whole, 1, 1)[:3]
    return x, y, z


def _check_known_instruction(instruction: Instruction) -> None:
    opcode, modifiers = instruction.opcode, set(instruction.modifiers)
    if opcode in FLOW or opcode in BARRIERS:
        known: Iterable[str] = FLOW.get(opcode) or BARRIERS.get(opcode) or ()
    elif opcode in OPERATIONS:
        known = OPERATIONS[opcode][1]
        if opcode in ("ld", "cp"):
            modifiers = {each for each in modifiers if not accesses.is_hint(each)}
    else:
        raise refused("this instruction is not known", instruction.line, instruction.text)
    if strange := modifiers - set(known):
        raise refused(
            f"{opcode} with {', '.join(sorted(strange))} is not known",
            instruction.line, instruction.text,
        )  # fmt: skip


class _Launch:
    def __init__(
        self, entry: Entry, grid: Index, threads: Index, shared_bytes: int, arguments: Arguments,
        copies: Landing,
    ) -> None:  # fmt: skip
        count = threads[0] * threads[1] * threads[2]
        most = min(MOST_THREADS, entry.most_threads or MOST_THREADS)
        if count > most:
            raise SizeError(f"{entry.name}: threads", expected=f"at most {most}", got=count)
        self.entry, self.grid, self.copies = entry, grid, copies
        self.sites = [Site(each, number) for number, each in enumerate(entry.instructions)]
        self.log = FaultLog()
        places, static = _places(entry, "shared")
        local_places, local_bytes = _places(entry, "local")
        self.shared_size = static + shared_bytes
        if self.shared_size > MOST_SHARED:
            raise SizeError(
                f"{entry.name}: bytes of shared memory", expected=f"at most {MOST_SHARED:,}",
                got=f"{self.shared_size:,}",
            )  # fmt: skip
        self.piece = _piece(entry.instructions)
        self.memory, parameters = _arguments(entry, arguments, count, self.log)
        shared = SharedMemory(self.shared_size, count, self.piece, self.log)
        shared.sites = self.sites
        self.threads = Threads(
            threads, grid, self.memory, shared, Copies(shared, self.memory, count, copies),
            {**local_places, **places}, local_bytes, parameters, self.log,
        )  # fmt: skip
        self.code = self._straight_code()

    # ---- code

    def _straight_code(self) -> list[Straight]:
        """Cut the instructions where branches and barriers end, and where labels are."""
        labels = self.entry.labels
        starts = {0, *labels.values()}
        for number, instruction in enumerate(self.entry.instructions):
            if instruction.opcode in FLOW or _is_block_barrier(instruction):
                starts.add(number + 1)
        order = sorted(starts)
        number_of = {start: number for number, start in enumerate(order)}
        found = []
        for start, end in zip(order, [*order[1:], len(self.sites)], strict=True):
            code = Straight()
            for site in self.sites[start:end]:
                instruction = site.instruction
                code.sites.append(site)
                if instruction.opcode in FLOW or _is_block_barrier(instruction):
                    code.end = site
                    if instruction.opcode == "bra":
                        label = instruction.operands[0]
                        if not isinstance(label, Symbol) or label.name not in labels:
                            raise refused("no such label", instruction.line, instruction.text)
                        code.target = number_of[labels[label.name]]
                else:
                    code.steps.append(self._step(site))
            found.append(code)
        return found

    def _step(self, site: Site) -> Run:
        instruction, threads = site.instruction, self.threads
        if instruction.opcode in BARRIERS:
            run = accesses.WARP_BARRIER(threads, site)
        else:
            run = OPERATIONS[instruction.opcode][0](threads, site)
        if instruction.guard is None:
            return run
        guard = threads.predicate(instruction.guard, site)

        def guarded(mask: Mask) -> None:
            here = _simple(guard() & mask)
            if here is True or here.any():
                run(here)

        return guarded

    # ---- blocks

    def run_block(self, index: Index, order: Order) -> None:
        """Run the threads of one block to their end."""
        if len(index) != 3 or any(not 0 <= i < n for i, n in zip(index, self.grid, strict=True)):
            raise UsageError("no such block", expected=f"in a grid {self.grid}", got=index)
        threads = self.threads
        self.log.block = index
        threads.renew(index)
        run = _Block(self.code, threads, self.log)
        with np.errstate(all="ignore"):
            run.to_the_end(order)
        self.memory.block += 1

    def report(self) -> Report:
        """Return what was found and counted."""
        return Report(self.entry.name, tuple(self.log.found.values()), counts_of(self.sites))


class _Block:
    """The threads of one block: who is where."""

    def __init__(self, code: Sequence[Straight], threads: Threads, log: FaultLog) -> None:
        self.code, self.threads, self.log = code, threads, log
        self.done = np.zeros(threads.count, bool)
        self.waiting: dict[int, Array] = {}  # by the barrier's place in the code
        self.turns = 0

    def to_the_end(self, order: Order) -> None:
        """Run from barrier to barrier until nobody is left."""
        groups: dict[int, Array] = {0: np.ones(self.threads.count, bool)}
        drawn = random.Random(order) if isinstance(order, int) else None
        while groups:
            for part in self._in_order(order, drawn):
                self._advance({at: mask & part for at, mask in groups.items()})
            groups = self._past_barrier()

    def _in_order(self, order: Order, drawn: random.Random | None) -> Iterator[Array]:
        """Yield the threads that run by themselves up to a barrier."""
        every = self.threads.all
        if order == "together":
            yield np.ones(len(every), bool)
            return
        warps = list(range(self.threads.warps))
        if drawn:
            drawn.shuffle(warps)
        elif order == "descending":
            warps.reverse()
        for warp in warps:
            yield every // WARP == warp

    def _advance(self, groups: dict[int, Array]) -> None:
        """Run groups of threads until each of them is at a barrier or at its end."""
        groups = {at: mask for at, mask in groups.items() if mask.any()}
        while groups:
            self.turns += 1
            if self.turns > MOST_TURNS:
                site = self.code[min(groups)].sites[0]
                raise WrongResult(
                    "a block does not end",
                    expected=f"at most {MOST_TURNS:,} runs of straight code",
                    got=f"a loop at PTX line {site.instruction.line}",
                )
            at = min(groups)
            mask = groups.pop(at)
            code = self.code[at]
            simple = _simple(mask)
            issued = self._warps(simple)
            for site in code.sites:
                site.issued += issued
            for step in code.steps:
                step(simple)
            for place, those in self._next(at, code, mask):
                groups[place] = groups[place] | those if place in groups else those

    def _warps(self, mask: Mask) -> int:
        if mask is True:
            return self.threads.warps
        return len(np.unique(np.flatnonzero(mask) // WARP))

    def _next(self, at: int, code: Straight, mask: Array) -> Iterator[tuple[int, Array]]:
        """Yield where threads go after a piece of code, other than to a barrier or an end."""
        site = code.end
        if site is None:
            if at + 1 < len(self.code):
                yield at + 1, mask
            else:
                self.done |= mask
            return
        guard = site.instruction.guard
        taken = mask & self.threads.predicate(guard, site)() if guard else mask
        stays = mask & ~taken
        opcode = site.instruction.opcode
        if opcode == "bra":
            if taken.any():
                yield code.target, taken
        elif opcode in FLOW:
            if opcode == "trap" and taken.any():
                first = int(np.flatnonzero(taken)[0])
                self.log.add("barrier", f"thread {first} ends in a trap", [first], site)
            self.done |= taken
        elif taken.any():
            self.waiting[at] = self.waiting[at] | taken if at in self.waiting else taken
        if stays.any():
            yield from [(at + 1, stays)] if at + 1 < len(self.code) else []

    def _past_barrier(self) -> dict[int, Array]:
        """Let the threads go on that wait; say so if some are missing."""
        if not self.waiting:
            return {}
        places = sorted(self.waiting)
        sites = [site for at in places if (site := self.code[at].end)]
        missing = np.flatnonzero(self.done)
        if len(missing):
            waits = int(np.flatnonzero(self.waiting[places[0]])[0])
            self.log.add(
                "barrier",
                f"thread {waits} waits at a barrier that thread {missing[0]} does not reach: "
                f"{len(missing)} threads have ended",
                [waits, int(missing[0])], sites[0],
            )  # fmt: skip
        for (first, one), (second, other) in itertools.combinations(
            zip(places, sites, strict=True), 2
        ):
            warps = [set(np.flatnonzero(self.waiting[at]) // WARP) for at in (first, second)]
            numbers = [site.instruction.operands[:1] for site in (one, other)]
            if warps[0] & warps[1] or numbers[0] != numbers[1]:
                pair = [int(np.flatnonzero(self.waiting[at])[0]) for at in (first, second)]
                self.log.add(
                    "barrier", f"threads {pair[0]} and {pair[1]} wait at different barriers",
                    pair, one, other,
                )  # fmt: skip
        self.threads.shared.barrier()
        groups = {at + 1: mask for at, mask in self.waiting.items()}
        self.waiting = {}
        return groups


def _is_block_barrier(instruction: Instruction) -> bool:
    """Return true for a barrier of all threads of a block."""
    if instruction.opcode not in BARRIERS or instruction.has("warp"):
        return False
    if len(instruction.operands) != 1:
        raise refused("a barrier of some threads", instruction.line, instruction.text)
    return True


def _simple(mask: Any) -> Mask:
    """Return true in place of a mask that has all threads."""
    return True if mask is True or mask.all() else mask


def _piece(instructions: Iterable[Instruction]) -> int:
    """Return how many bytes of shared memory are always accessed together."""
    found = 16
    for each in instructions:
        if each.opcode in ("ld", "st") and accesses.space_of(each) in ("shared", "generic"):
            found = min(found, accesses.access_bytes(each))
        elif size := accesses.copy_bytes(each):
            found = min(found, size)
    return found


def _places(entry: Entry, space: str) -> tuple[Mapping[str, int], int]:
    """Return where the variables of a space are, and how many bytes they take."""
    found: dict[str, int] = {}
    end = 0

    def put(variable: Variable) -> None:
        nonlocal end
        end = -(-end // variable.align) * variable.align
        found[variable.name] = end
        end += variable.size

    mine = [each for each in entry.variables if each.space == space]
    for variable in sorted(mine, key=lambda each: each.size == 0):
        put(variable)
    return found, end


def _arguments(
    entry: Entry, arguments: Arguments, threads: int, log: FaultLog
) -> tuple[GlobalMemory, Mapping[str, Array]]:
    """Return the arrays as global memory, and the bytes of every parameter."""
    named = (
        dict(arguments)
        if isinstance(arguments, Mapping)
        else {f"argument {number}": each for number, each in enumerate(arguments)}
    )
    if len(named) != len(entry.parameters):
        raise UsageError(f"{entry.name}: arguments", expected=len(entry.parameters), got=len(named))
    arrays = {name: each for name, each in named.items() if isinstance(each, np.ndarray)}
    memory = GlobalMemory(list(arrays), list(arrays.values()), threads, log)
    numbers = {name: number for number, name in enumerate(arrays)}
    found: dict[str, Array] = {}
    for parameter, (name, value) in zip(entry.parameters, named.items(), strict=True):
        if parameter.type not in WIDTHS:
            raise UsageError(f"{entry.name}: parameter {parameter.name}", got=parameter.type)
        bits = WIDTHS[parameter.type]
        if name in numbers:
            if bits != 64:
                raise UsageError(
                    f"{entry.name}: {name}", expected=f"a number, for .{parameter.type}",
                    got="an array",
                )  # fmt: skip
            found[parameter.name] = np.array([memory.address(numbers[name])], np.uint64)
        elif parameter.type in ("f32", "f64"):
            found[parameter.name] = np.array([value], f"f{bits // 8}")
        else:
            found[parameter.name] = np.array([int(value) % (1 << bits)], f"u{bits // 8}")
        found[parameter.name] = found[parameter.name].view(np.uint8)
    return memory, found
