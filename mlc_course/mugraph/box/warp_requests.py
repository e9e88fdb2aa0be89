"""Transactions of a warp's access: sectors of device memory, wavefronts of banks.

The accesses of a warp at one place of the source and in one occurrence are one *request*. Of device
memory it fetches whole sectors of 32 bytes, in lines of 128. Shared memory has 32 banks of 4 bytes:
``thread_kernels.wavefronts`` counts how many words a bank has to serve one after the other, an
access of 8 bytes a thread in two halves of the warp, and of 16 in four quarters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mlc_course.mugraph.box.access_log import Memory, Place, Table
from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.kernels import WARP
from mlc_course.mugraph.thread_kernels import BANKS, WORD, wavefronts
from mlc_course.units import plural

SECTOR, CACHE_LINE = 32, 128  # bytes
NOT_HERE = -1
Kind = Literal["global", "shared"]


@dataclass(frozen=True)
class Request:
    """One access of a warp: a byte address for each of its lanes, or -1 for a lane that has none.

    ``size`` is how many bytes each lane accesses, from a multiple of it on.
    """

    addresses: tuple[int, ...]
    size: int = WORD
    scope: Kind = "global"
    writes: bool = False
    name: str = ""
    place: Place = Place(0, "")
    block: int = 0
    warp: int = 0
    occurrence: int = 0

    @property
    def lanes(self) -> tuple[int, ...]:
        """The lanes that take part."""
        return tuple(lane for lane, at in enumerate(self.addresses) if at != NOT_HERE)

    @property
    def bytes_wanted(self) -> int:
        """The number of different bytes that the lanes access."""
        return self.size * len({at for at in self.addresses if at != NOT_HERE})

    @property
    def sectors(self) -> tuple[int, ...]:
        """The sectors that are moved, by their numbers."""
        return tuple(self._pieces(SECTOR))

    @property
    def cache_lines(self) -> tuple[int, ...]:
        """The lines that the sectors are in, by their numbers."""
        return tuple(self._pieces(CACHE_LINE))

    def _pieces(self, piece: int) -> list[int]:
        found = {
            number
            for at in self.addresses
            if at != NOT_HERE
            for number in range(at // piece, (at + self.size - 1) // piece + 1)
        }
        return sorted(found)

    @property
    def wavefronts(self) -> int:
        """The number of times that the banks have to serve this request."""
        return int(_waves(np.array([self.addresses]), self.size)[0][0])

    @property
    def least_wavefronts(self) -> int:
        """The fewest times that would do for as many words."""
        return int(_waves(np.array([self.addresses]), self.size)[1][0])

    def served(self) -> list[dict[int, tuple[int, list[int]]]]:
        """Return the wavefronts: for each bank that serves a word, its number and the lanes.

        The lanes of a part of the warp (half of it for 8 bytes a lane, a quarter for 16) come
        before those of the next, and within a part the words of a bank in the order of the lanes.
        """
        per_part = WARP // max(1, self.size // WORD)
        found: list[dict[int, tuple[int, list[int]]]] = []
        for start in range(0, WARP, per_part):
            queues: dict[int, dict[int, list[int]]] = {}
            for lane in range(start, min(start + per_part, len(self.addresses))):
                if self.addresses[lane] == NOT_HERE:
                    continue
                first = self.addresses[lane] // WORD
                for word in range(first, first + max(1, self.size // WORD)):
                    queues.setdefault(word % BANKS, {}).setdefault(word, []).append(lane)
            for turn in range(max(map(len, queues.values()), default=0)):
                found.append({
                    bank: list(words.items())[turn]
                    for bank, words in sorted(queues.items())
                    if turn < len(words)
                })  # fmt: skip
        return found


def lane_addresses(first: int, stride: int, size: int = WORD, lanes: int = WARP) -> tuple[int, ...]:
    """Return the addresses of lanes that are ``stride`` bytes apart, from ``first`` on."""
    return tuple(first + lane * stride for lane in range(lanes)) + (NOT_HERE,) * (WARP - lanes)


def _waves(addresses: Array, size: int) -> tuple[Array, Array]:
    """The wavefronts of requests, one a line, and the fewest for as many words."""
    return wavefronts(np.maximum(addresses, 0).T, (addresses != NOT_HERE).T, size)


# ---- of a whole run


@dataclass(frozen=True)
class Traffic:
    """Transactions of some requests.

    ``bytes_wanted`` are the different bytes that each request accesses, added up.
    """

    requests: int = 0
    bytes_wanted: int = 0
    sectors: int = 0
    cache_lines: int = 0
    wavefronts: int = 0
    least_wavefronts: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(*(getattr(self, f) + getattr(other, f) for f in vars(self)))

    @property
    def bytes_moved(self) -> int:
        """Bytes of the sectors."""
        return self.sectors * SECTOR

    @property
    def conflicts(self) -> int:
        """Wavefronts that would not be needed, were the words spread over the banks."""
        return self.wavefronts - self.least_wavefronts


@dataclass(frozen=True)
class Requests:
    """All requests that one place of the source makes to one array, counted."""

    memory: Memory
    place: Place
    writes: bool
    traffic: Traffic

    def __str__(self) -> str:
        n = self.traffic
        verb = "writes" if self.writes else "reads"
        head = f"{verb} {self.memory.name}: {plural(n.requests, 'request')}"
        if self.memory.scope == "shared":
            waves = plural(n.wavefronts, "wavefront")
            return f"{head}, {waves} (at least {n.least_wavefronts:,})"
        used = n.bytes_wanted / n.bytes_moved if n.bytes_moved else 1.0
        return f"{head}, {plural(n.sectors, 'sector')}, {used:.0%} of their bytes used"


def requests_of(table: Table) -> list[Request]:
    """Return every request of a run, in the order in which warps first made them."""
    found = []
    for rows, addresses, size in _grouped(table):
        for row, lanes in zip(rows, addresses, strict=True):
            memory = table.memories[int(table["memory"][row])]
            found.append(
                (
                    int(row),
                    Request(
                        tuple(int(each) for each in lanes),
                        size,
                        memory.scope,
                        bool(table["writes"][row]),
                        memory.name,
                        table.places[int(table["place"][row])],
                        int(table["block"][row]),
                        int(table["thread"][row]) // WARP,
                        int(table["occurrence"][row]),
                    ),
                )
            )
    return [request for _, request in sorted(found, key=lambda each: each[0])]


def counts(table: Table) -> list[Requests]:
    """Return the transactions of each place of the source, over all blocks and warps."""
    found: dict[tuple[int, int, int], Traffic] = {}
    for rows, addresses, size in _grouped(table):
        keys = np.stack([table[name][rows] for name in ("place", "memory", "writes")], axis=1)
        for key in np.unique(keys, axis=0):
            mine = addresses[(keys == key).all(axis=1)]
            shared = table.memories[int(key[1])].scope == "shared"
            traffic = _traffic(mine, size, shared)
            at = (int(key[0]), int(key[1]), int(key[2]))
            found[at] = found.get(at, Traffic()) + traffic
    return [
        Requests(table.memories[memory], table.places[place], bool(writes), traffic)
        for (place, memory, writes), traffic in sorted(found.items())
    ]


def _traffic(addresses: Array, size: int, shared: bool) -> Traffic:
    """Count requests to memory of one kind: a line of addresses each."""
    wanted = int(_distinct(addresses)) * size
    if shared:
        waves, least = _waves(addresses, size)
        return Traffic(
            len(addresses), wanted, wavefronts=int(waves.sum()), least_wavefronts=int(least.sum())
        )
    # An access is aligned to its size, which divides a sector's: it lies in one sector.
    here = addresses != NOT_HERE
    sectors, lines = (
        int(_distinct(np.where(here, addresses // piece, NOT_HERE)))
        for piece in (SECTOR, CACHE_LINE)
    )
    return Traffic(len(addresses), wanted, sectors, lines)


def _distinct(numbers: Array) -> int:
    """Count the different numbers of each line, without ``NOT_HERE``."""
    ordered = np.sort(numbers, axis=1)
    new = np.ones(ordered.shape, bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return int((new & (ordered != NOT_HERE)).sum())


def _grouped(table: Table) -> Iterator[tuple[Array, Array, int]]:
    """Yield requests of one size: the table's line of a lane of each, and their addresses."""
    table_lines = np.flatnonzero(table["lands"] == 0)
    sizes = table["size"][table_lines]
    for size in np.unique(sizes):
        lines = table_lines[sizes == size]
        warp, lane = np.divmod(table["thread"][lines], WARP)
        keys = [table[name][lines] for name in ("block", "memory", "place", "occurrence", "epoch")]
        keys += [warp, table["writes"][lines]]
        order = np.lexsort(keys)
        new = np.zeros(len(order), bool)
        new[:1] = True
        for key in keys:
            new[1:] |= key[order][1:] != key[order][:-1]
        group = np.cumsum(new) - 1
        addresses = np.full((int(group[-1]) + 1, WARP), NOT_HERE, np.int64)
        addresses[group, lane[order]] = table["address"][lines][order]
        yield lines[order][new], addresses, int(size)


def total(requests: Sequence[Requests], scope: Kind) -> Traffic:
    """Return the transactions of all places of the source, to memory of one kind."""
    of_kind = [each.traffic for each in requests if each.memory.scope == scope]
    return sum(of_kind, Traffic())
