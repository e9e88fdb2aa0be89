"""Global and shared memory, which know who wrote what and when, and asynchronous copies.

For each piece of shared memory the last write and the first and last reader since then are known
with their times. A time counts barriers: two threads race at a piece if one of them writes it and
no barrier is between them. Copies write from when they are issued until their thread awaits them.

Of global memory bounds are checked, and reads of what another block has written before; races
within a block, and what is written after another block's read, are not looked for. A warp's
barrier is taken to be for all of its threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mlc_course.errors import UsageError
from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.ptx.reports import FaultLog, Site
from mlc_course.mugraph.ptx.transactions import WARP, Counter

Landing = Literal["early", "late"]
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.uint64}
NO_VALUE = 0xFF  # all bytes of it: not a number, and no place to read from
BUFFER_BITS = 40  # of an address of global memory: the place in a buffer
SHARED_WINDOW, LOCAL_WINDOW = 1 << 60, 1 << 61  # where generic addresses have these
NOBODY, NO_READER = -1, np.iinfo(np.int32).max


class GlobalMemory:
    """The arrays that a kernel is launched with, each at an address of its own."""

    def __init__(
        self, names: Sequence[str], arrays: Sequence[Array], threads: int, log: FaultLog
    ) -> None:
        self.names, self.log = names, log
        self.counter = Counter(threads)
        self.block = 0  # of those that are run, by its number
        self.written_by: dict[int, Array] = {}  # the block that wrote each byte of a buffer
        self.bytes: list[Array] = []
        for name, array in zip(names, arrays, strict=True):
            if not array.flags.c_contiguous or not array.flags.writeable:
                raise UsageError(
                    f"argument {name}",
                    expected="an array that is contiguous and can be written",
                    got=f"strides {array.strides} for shape {array.shape}",
                    hint="numpy.array(argument, order='C')",
                )
            self.bytes.append(array.reshape(-1).view(np.uint8))

    def address(self, number: int) -> int:
        """Return where an array starts."""
        return (number + 1) << BUFFER_BITS

    def checked(
        self, site: Site, lanes: Array, addresses: Array, size: int, align: int
    ) -> tuple[Array, Array, Array, Array]:
        """Lanes whose access is sound, and the addresses, buffers and places of these."""
        buffer = (addresses >> np.uint64(BUFFER_BITS)).astype(np.int64) - 1
        place = (addresses & np.uint64((1 << BUFFER_BITS) - 1)).astype(np.int64)
        sizes = np.array([0, *map(len, self.bytes)], np.int64)
        known = (buffer >= 0) & (buffer < len(self.bytes))
        limit = sizes[np.where(known, buffer + 1, 0)]
        out = place + size > limit
        if out.any():
            first = int(np.flatnonzero(out)[0])
            self.log.add("bounds", self._outside(addresses[first], size, lanes[first]),
                         [lanes[first]], site, times=int(out.sum()))  # fmt: skip
        askew = ~out & (place % align != 0)
        if askew.any():
            first = int(np.flatnonzero(askew)[0])
            self.log.add(
                "alignment",
                f"thread {lanes[first]} accesses {align} bytes of {self.names[buffer[first]]} "
                f"at byte {place[first]}",
                [lanes[first]], site, times=int(askew.sum()),
            )  # fmt: skip
        sound = ~(out | askew)
        if sound.all():
            return lanes, addresses, buffer, place
        return lanes[sound], addresses[sound], buffer[sound], place[sound]

    def _outside(self, address: int, size: int, thread: int) -> str:
        """Words for an address outside of all arrays: the nearest is meant."""
        at = int(address)
        near = min(max(round(at / (1 << BUFFER_BITS)) - 1, 0), len(self.bytes) - 1)
        if not self.bytes:
            return f"thread {thread} accesses global memory, of which there is none"
        place = at - self.address(near)
        return (
            f"thread {thread} accesses bytes {place} to {place + size - 1} of {self.names[near]}, "
            f"which has {len(self.bytes[near])}"
        )

    def _view(self, buffer: int, width: int) -> Array:
        held = self.bytes[buffer]
        whole: Array = held[: len(held) // width * width].view(UNSIGNED[width])
        return whole

    def read(
        self, site: Site, lanes: Array, addresses: Array, width: int, parts: int
    ) -> tuple[Array, list[Array]]:
        """Return the lanes that read, and a value of ``width`` bytes of each for each part."""
        size = width * parts
        lanes, addresses, buffer, place = self.checked(site, lanes, addresses, size, size)
        if not len(lanes):
            return lanes, [np.zeros(0, UNSIGNED[width]) for _ in range(parts)]
        site.count("loaded", *self.counter.of_global(lanes, addresses, size))
        return lanes, self.loaded(site, lanes, buffer, place, width, parts)

    def loaded(
        self, site: Site, lanes: Array, buffer: Array, place: Array, width: int, parts: int
    ) -> list[Array]:
        """Return a value of ``width`` bytes of each lane for each part, at places in buffers."""
        self._not_of_others(site, lanes, buffer, place, width * parts, "reads")
        place = place // width
        if (buffer == buffer[0]).all():
            view = self._view(int(buffer[0]), width)
            return [view[place + part] for part in range(parts)]
        found = [np.zeros(len(lanes), UNSIGNED[width]) for _ in range(parts)]
        for each in np.unique(buffer):
            here = buffer == each
            for part in range(parts):
                found[part][here] = self._view(int(each), width)[place[here] + part]
        return found

    def _not_of_others(
        self, site: Site, lanes: Array, buffer: Array, place: Array, size: int, verb: str
    ) -> None:
        """Report accesses to what another block wrote: nothing orders the blocks of a launch."""
        for each in np.unique(buffer):
            if int(each) not in self.written_by:
                continue
            here = np.flatnonzero(buffer == each)
            owner = self.written_by[int(each)][place[here][:, None] + np.arange(size)]
            others = (owner != NOBODY) & (owner != self.block)
            if others.any():
                row, column = (int(found[0]) for found in np.nonzero(others))
                thread, at = int(lanes[here[row]]), int(place[here[row]]) + column
                self.log.add(
                    "race",
                    f"thread {thread} {verb} byte {at} of {self.names[int(each)]}, "
                    f"which block {owner[row, column]} of those run wrote",
                    [thread], site, times=int(others.any(axis=1).sum()),
                )  # fmt: skip

    def write(self, site: Site, lanes: Array, addresses: Array, values: Sequence[Array]) -> None:
        """Write values, one of each lane for each part."""
        width = values[0].dtype.itemsize
        size = width * len(values)
        sound, at, buffer, place = self.checked(site, lanes, addresses, size, size)
        if not len(sound):
            return
        site.count("stored", *self.counter.of_global(sound, at, size))
        self._not_of_others(site, sound, buffer, place, size, "writes")
        kept = np.isin(lanes, sound) if len(sound) < len(lanes) else slice(None)
        for each in np.unique(buffer):
            here = buffer == each
            view = self._view(int(each), width)
            if int(each) not in self.written_by:
                self.written_by[int(each)] = np.full(len(self.bytes[each]), NOBODY, np.int32)
            self.written_by[int(each)][place[here][:, None] + np.arange(size)] = self.block
            for part, value in enumerate(values):
                view[place[here] // width + part] = value[kept][here]


class SharedMemory:
    """Shared memory of one block, in pieces of ``piece`` bytes."""

    def __init__(self, size: int, threads: int, piece: int, log: FaultLog) -> None:
        self.size, self.threads, self.piece, self.log = size, threads, piece, log
        self.sites: Sequence[Site] = ()
        self.counter = Counter(threads)
        self.renew()

    def renew(self) -> None:
        """Begin anew, for another block."""
        padded = -(-self.size // 16) * 16
        self.bytes = np.full(padded, NO_VALUE, np.uint8)
        self.views = {
            width: self.bytes.view(kind) for width, kind in UNSIGNED.items() if width < 16
        }
        pieces = padded // self.piece + 1
        self.write_time, self.writer, self.write_site, self.read_time = (
            np.full(pieces, NOBODY, np.int32) for _ in range(4)
        )
        self.first_reader, self.last_reader, self.read_site, self.copier, self.copy_site = (
            np.full(pieces, NOBODY, np.int32) for _ in range(5)
        )
        self.first_reader[:] = NO_READER
        self.now = self.barrier_time = 0
        self.warp_time = np.zeros(-(-self.threads // WARP), np.int32)

    # ---- time

    def barrier(self) -> None:
        """Order everything before with everything after, for all threads."""
        self.now += 1
        self.barrier_time = self.now
        self.warp_time[:] = self.now
        self.first_reader[:] = NO_READER
        self.last_reader[:] = NOBODY

    def warp_barrier(self, warps: Array) -> None:
        """Order everything before with everything after, for the threads of some warps."""
        self.now += 1
        self.warp_time[warps] = self.now

    # ---- checks

    def checked(self, site: Site, lanes: Array, places: Array, size: int) -> tuple[Array, Array]:
        """Return the lanes whose access is sound, and their places."""
        inside = int(places.min()) >= 0 and int(places.max()) + size <= self.size
        if inside and not (places & (size - 1)).any():
            return lanes, places
        out = (places < 0) | (places + size > self.size)
        if out.any():
            first = int(np.flatnonzero(out)[0])
            at = int(places[first])
            self.log.add(
                "bounds",
                f"thread {lanes[first]} accesses bytes {at} to {at + size - 1} of shared memory, "
                f"which has {self.size}",
                [lanes[first]], site, times=int(out.sum()),
            )  # fmt: skip
        askew = ~out & (places % size != 0)
        if askew.any():
            first = int(np.flatnonzero(askew)[0])
            self.log.add(
                "alignment",
                f"thread {lanes[first]} accesses {size} bytes of shared memory "
                f"at byte {places[first]}",
                [lanes[first]], site, times=int(askew.sum()),
            )  # fmt: skip
        sound = ~(out | askew)
        return (lanes, places) if sound.all() else (lanes[sound], places[sound])

    def _pieces(self, places: Array, size: int) -> Array:
        return (places // self.piece)[:, None] + np.arange(max(1, size // self.piece))

    def _bytes(self, piece: int) -> str:
        start = piece * self.piece
        return f"shared bytes {start} to {start + self.piece - 1}"

    def _not_copied(self, site: Site, lanes: Array, pieces: Array, verb: str) -> None:
        copier = self.copier[pieces]
        if copier.max() != NOBODY:
            held = copier != NOBODY
            row, column = (int(each[0]) for each in np.nonzero(held))
            piece = int(pieces[row, column])
            self.log.add(
                "copy",
                f"thread {lanes[row]} {verb} {self._bytes(piece)}, to which a copy of thread "
                f"{copier[row, column]} is under way",
                [lanes[row], copier[row, column]],
                site, self.sites[self.copy_site[piece]], times=int(held.any(axis=1).sum()),
            )  # fmt: skip

    def _race(
        self, site: Site, lanes: Array, pieces: Array, verbs: str,
        time: Array, other: Array, sites: Array,
    ) -> None:  # fmt: skip
        """Report accesses by others, at a time since the last barrier, to the same pieces."""
        when = time[pieces]
        if int(when.max(initial=NOBODY)) < self.barrier_time:
            return
        me, who = lanes[:, None], other[pieces]
        raced = (when >= self.barrier_time) & (who != me) & (who != NOBODY)
        same = who // WARP == me // WARP
        raced &= ~same | (when >= self.warp_time[me // WARP])
        if raced.any():
            row, column = (int(each[0]) for each in np.nonzero(raced))
            piece, found = int(pieces[row, column]), int(who[row, column])
            now, before = verbs.split("/")
            self.log.add(
                "race",
                f"thread {lanes[row]} {now} {self._bytes(piece)}, which thread {found} {before}, "
                f"and no barrier is between them",
                [lanes[row], found],
                site, self.sites[sites[piece]], times=int(raced.any(axis=1).sum()),
            )  # fmt: skip

    # ---- accesses

    def note_read(self, site: Site, lanes: Array, places: Array, size: int) -> None:
        """Check that lanes may read these places, and remember that they did."""
        site.count("shared", *self.counter.shared(lanes, places, size))
        pieces = self._pieces(places, size)
        self._not_copied(site, lanes, pieces, "reads")
        when = self.write_time[pieces]
        if (
            when.min() == NOBODY
            and (nothing := (when == NOBODY) & (self.copier[pieces] == NOBODY)).any()
        ):
            row, column = (int(each[0]) for each in np.nonzero(nothing))
            self.log.add(
                "unwritten",
                f"thread {lanes[row]} reads {self._bytes(int(pieces[row, column]))}, "
                "which nobody wrote",
                [lanes[row]], site, times=int(nothing.any(axis=1).sum()),
            )  # fmt: skip
        verbs = "reads/wrote"
        self._race(site, lanes, pieces, verbs, self.write_time, self.writer, self.write_site)
        me = lanes[:, None].astype(np.int32)
        first, last = self.first_reader[pieces], self.last_reader[pieces]
        if self.now > self.barrier_time:
            # Readers of one warp are forgotten that a barrier of it orders with all that come.
            warp = me // WARP
            old = (first // WARP == warp) & (last // WARP == warp)
            old &= self.read_time[pieces] < self.warp_time[warp]
            first, last = np.where(old, NO_READER, first), np.where(old, NOBODY, last)
        first, last = np.minimum(first, me), np.maximum(last, me)
        # Where lanes of one access share a piece, the last assignment counts.
        self.first_reader[pieces[::-1]] = first[::-1]
        self.last_reader[pieces] = last
        self.read_time[pieces] = self.now
        self.read_site[pieces] = site.number

    def note_write(self, site: Site, lanes: Array, places: Array, size: int) -> None:
        """Check that lanes may write these places, and remember that they did."""
        site.count("shared", *self.counter.shared(lanes, places, size))
        pieces = self._pieces(places, size)
        self._check_write(site, lanes, pieces)
        self._written(site.number, lanes, pieces)

    def _check_write(self, site: Site, lanes: Array, pieces: Array) -> None:
        self._not_copied(site, lanes, pieces, "writes")
        verbs = "writes/wrote"
        self._race(site, lanes, pieces, verbs, self.write_time, self.writer, self.write_site)
        for reader in (self.first_reader, self.last_reader):
            self._race(site, lanes, pieces, "writes/read", self.read_time, reader, self.read_site)
        self.writer[pieces] = lanes[:, None]
        twice = self.writer[pieces] != lanes[:, None]
        if twice.any():
            row, column = (int(each[0]) for each in np.nonzero(twice))
            piece = int(pieces[row, column])
            self.log.add(
                "race",
                f"threads {lanes[row]} and {self.writer[piece]} write {self._bytes(piece)}, "
                "and no barrier is between them",
                [lanes[row], self.writer[piece]], site, site,
                times=int(twice.any(axis=1).sum()),
            )  # fmt: skip

    def _written(self, site: int | Array, lanes: Array, pieces: Array) -> None:
        self.write_time[pieces] = self.now
        self.writer[pieces] = lanes[:, None]
        self.write_site[pieces] = site

    def note_copy(self, site: Site, lanes: Array, places: Array, size: int) -> None:
        """Check that lanes may write these places from now on until they await it."""
        site.count("shared", *self.counter.shared(lanes, places, size))
        pieces = self._pieces(places, size)
        self._check_write(site, lanes, pieces)
        self.copier[pieces] = lanes[:, None]
        self.copy_site[pieces] = site.number

    def note_landing(self, site: Site, lanes: Array, places: Array, size: int) -> None:
        """Remember that copies of these lanes have landed, and that their threads know."""
        pieces = self._pieces(places, size)
        self.copier[pieces] = NOBODY
        self._written(site.number, lanes, pieces)

    def loaded(self, places: Array, width: int, parts: int) -> list[Array]:
        """Return what is stored, a value of ``width`` bytes for each part."""
        view, first = self.views[width], places // width
        return [view[first + part] for part in range(parts)]

    def store(self, places: Array, values: Sequence[Array]) -> None:
        """Store values, one of each lane for each part."""
        width = values[0].dtype.itemsize
        view, first = self.views[width], places // width
        for part, value in enumerate(values):
            view[first + part] = value


@dataclass
class _Copy:
    """Copies of some threads that one instruction issued and that have not landed."""

    site: Site
    lanes: Array
    places: Array
    sources: Array
    size: int
    moved: int  # bytes that are read: the others are zero
    group: Array  # of its thread, counted from the first


class Copies:
    """Asynchronous copies of a block's threads, in groups that each thread commits."""

    def __init__(
        self, shared: SharedMemory, memory: GlobalMemory, threads: int, landing: Landing
    ) -> None:
        self.shared, self.memory, self.threads, self.landing = shared, memory, threads, landing
        self.renew()

    def renew(self) -> None:
        """Begin anew, for another block."""
        self.committed = np.zeros(self.threads, np.int64)
        self.under_way: list[_Copy] = []

    def issue(
        self, site: Site, lanes: Array, places: Array, sources: Array, size: int, moved: int
    ) -> None:
        """Start copies of ``size`` bytes a lane, the last of them zero after ``moved``."""
        before = lanes
        lanes, places = self.shared.checked(site, lanes, places, size)
        if len(lanes) < len(before):
            sources = sources[np.isin(before, lanes)]
        if moved:
            sound, at, *_ = self.memory.checked(site, lanes, sources, moved, size)
            if len(sound):
                site.count("loaded", *self.memory.counter.of_global(sound, at, moved))
            if len(sound) < len(lanes):
                kept = np.isin(lanes, sound)
                lanes, places, sources = lanes[kept], places[kept], sources[kept]
        if not len(lanes):
            return
        self.shared.note_copy(site, lanes, places, size)
        started = _Copy(site, lanes, places, sources, size, moved, self.committed[lanes])
        if self.landing == "early":
            self._move(started)
        self.under_way.append(started)

    def _move(self, copy: _Copy) -> None:
        held = np.zeros((len(copy.lanes), copy.size), np.uint8)
        if copy.moved:
            width = math.gcd(copy.moved, 4)
            buffer = (copy.sources >> np.uint64(BUFFER_BITS)).astype(np.int64) - 1
            place = (copy.sources & np.uint64((1 << BUFFER_BITS) - 1)).astype(np.int64)
            found = self.memory.loaded(
                copy.site, copy.lanes, buffer, place, width, copy.moved // width
            )
            held[:, : copy.moved] = np.stack(found, axis=1).view(np.uint8)
        self.shared.store(copy.places, list(held.view(np.uint32).T))

    def commit(self, lanes: Array) -> None:
        """Close the group of copies that these threads have open."""
        self.committed[lanes] += 1

    def wait(self, lanes: Array, pending: int, uncommitted: bool = False) -> None:
        """Let the copies of these threads land, but those of their last ``pending`` groups."""
        waits = np.zeros(self.threads, bool)
        waits[lanes] = True
        left = []
        for copy in self.under_way:
            limit = self.committed[copy.lanes] - pending + uncommitted
            done = waits[copy.lanes] & (copy.group < limit)
            if not done.any():
                left.append(copy)
                continue
            landed = copy if done.all() else _part(copy, done)
            if not done.all():
                left.append(_part(copy, ~done))
            if self.landing == "late":
                self._move(landed)
            self.shared.note_landing(landed.site, landed.lanes, landed.places, landed.size)
        self.under_way = left


def _part(copy: _Copy, kept: Array) -> _Copy:
    return _Copy(
        copy.site, copy.lanes[kept], copy.places[kept], copy.sources[kept], copy.size, copy.moved,
        copy.group[kept],
    )  # fmt: skip
