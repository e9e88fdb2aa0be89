"""Reports of runs: faults, and how often each instruction was issued."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from mlc_course.errors import WrongResult
from mlc_course.mugraph.ptx.ptx_text import Instruction
from mlc_course.units import plural

FaultKind = Literal["race", "bounds", "alignment", "unwritten", "copy", "barrier", "warp"]
Space = Literal["shared", "loaded", "stored"]


@dataclass(frozen=True)
class Fault:
    """Something that a kernel does wrong, at one instruction or between two.

    ``threads`` of block ``block`` are those of the first time; ``lines`` are lines of the text
    that PTX was compiled from, 0 where it is not known, and ``ptx_lines`` those of PTX.
    """

    kind: FaultKind
    says: str
    block: tuple[int, int, int]
    threads: tuple[int, ...]
    lines: tuple[int, ...]
    ptx_lines: tuple[int, ...]
    times: int = 1

    def __str__(self) -> str:
        where = " and ".join(
            f"line {line or '?'} (PTX {ptx})"
            for line, ptx in zip(self.lines, self.ptx_lines, strict=True)
        )
        more = f", {self.times:,} times" if self.times > 1 else ""
        return f"{self.kind}: {self.says}; block {self.block}, {where}{more}"


@dataclass(frozen=True)
class Traffic:
    """Requests of warps, and what they took: wavefronts of shared memory or sectors of global.

    ``least`` are how few transactions could hold the same bytes.
    """

    requests: int = 0
    transactions: int = 0
    least: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(*(getattr(self, name) + getattr(other, name) for name in vars(self)))

    @property
    def excess(self) -> int:
        """Transactions more than are needed for as many bytes."""
        return self.transactions - self.least


@dataclass
class Site:
    """An instruction of a kernel by its number, and what was counted at it."""

    instruction: Instruction
    number: int
    issued: int = 0
    traffic: dict[Space, Traffic] = field(default_factory=dict)

    def count(self, space: Space, requests: int, transactions: int, least: int) -> None:
        """Add requests of warps, and the transactions that they took."""
        before = self.traffic.get(space, Traffic())
        self.traffic[space] = before + Traffic(requests, transactions, least)


@dataclass(frozen=True)
class Counts:
    """The instructions that the warps of a launch issued.

    ``instructions`` counts by opcode with its modifiers, a warp once; ``shared`` has wavefronts
    (of which more than ``least`` are bank conflicts), ``loaded`` and ``stored`` sectors of 32
    bytes of global memory. ``traffic_of_lines`` has both for each line of the source, by space.
    """

    instructions: Mapping[str, int]
    shared: Traffic
    loaded: Traffic
    stored: Traffic
    traffic_of_lines: Mapping[tuple[Space, int], Traffic]

    @property
    def total(self) -> int:
        """All instructions."""
        return sum(self.instructions.values())


@dataclass(frozen=True)
class Report:
    """The faults of a launch, and the instructions that it issued."""

    kernel: str
    faults: tuple[Fault, ...]
    counts: Counts

    def checked(self) -> Report:
        """Return this report; raise ``WrongResult`` if the kernel did something wrong."""
        if self.faults:
            more = len(self.faults) - 1
            raise WrongResult(
                f"{self.kernel}: {self.faults[0]}",
                hint=f"and {plural(more, 'fault')} more" if more else None,
            )
        return self


@dataclass
class FaultLog:
    """Faults by kind and place: the first one in full, the others counted."""

    block: tuple[int, int, int] = (0, 0, 0)
    found: dict[tuple[FaultKind, tuple[int, ...]], Fault] = field(default_factory=dict)

    def add(
        self, kind: FaultKind, says: str, threads: Iterable[int], *sites: Site, times: int = 1
    ) -> None:
        """Remember a fault of some threads at one instruction, or between several."""
        key = (kind, tuple(site.number for site in sites))
        known = self.found.get(key)
        if known:
            times += known.times
        self.found[key] = Fault(
            kind,
            known.says if known else says,
            known.block if known else self.block,
            known.threads if known else tuple(int(each) for each in threads),
            tuple(site.instruction.source_line for site in sites),
            tuple(site.instruction.line for site in sites),
            times,
        )


def counts_of(sites: Iterable[Site]) -> Counts:
    """Return what was counted at the instructions of a kernel."""
    instructions: dict[str, int] = {}
    spaces: dict[Space, Traffic] = {}
    lines: dict[tuple[Space, int], Traffic] = {}
    for site in sites:
        kind = site.instruction.kind
        if site.issued:
            instructions[kind] = instructions.get(kind, 0) + site.issued
        for space, found in site.traffic.items():
            spaces[space] = spaces.get(space, Traffic()) + found
            key = (space, site.instruction.source_line)
            lines[key] = lines.get(key, Traffic()) + found
    shared, loaded, stored = (
        spaces.get(space, Traffic()) for space in ("shared", "loaded", "stored")
    )
    return Counts(instructions, shared, loaded, stored, lines)
