"""Arrays as a thread of the box sees them: every access is noted, and checked before it is done."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FrameType
from typing import Any

import numpy as np

from mlc_course.errors import UsageError
from mlc_course.mugraph.box.access_log import AccessLog, Memory, Place
from mlc_course.mugraph.box.faults import Fault, misaligned, out_of_bounds, unwritten
from mlc_course.mugraph.box.schedule import Clock
from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.thread_kernels import WIDEST

WIDTHS = (2, 4, 8)  # of neighbours in one access, of at most WIDEST bytes
DEEPEST = 20  # calls of functions in a kernel
Spot = tuple[object, ...]
Columns = tuple[int | None, int | None, int | None, int | None]


@cache
def positions(code: CodeType) -> list[Columns]:
    """Return the part of the source that each instruction of a function comes from."""
    return list(code.co_positions())


@dataclass
class Session:
    """The log, the clock and the faults so far, which all arrays of a run share."""

    log: AccessLog
    clock: Clock
    kernel: CodeType
    faults: list[Fault] = field(default_factory=list)
    spots: dict[Spot, int] = field(default_factory=dict)
    places: dict[Spot, int] = field(default_factory=dict)
    visits: dict[Any, int] = field(default_factory=dict)
    waits_for_yield: Callable[[], bool] = field(default=lambda: False)

    def new_block(self) -> None:
        """Forget how often threads have been where."""
        self.visits.clear()

    def here(self, frame: FrameType, *, writes: bool) -> tuple[int, int]:
        """Return the numbers of the place in a kernel's source, and of the thread's visit to it."""
        spot: list[object] = [writes]
        at: FrameType | None = frame
        for _ in range(DEEPEST):
            if at is None:
                break
            spot += (at.f_code, at.f_lasti)
            if at.f_code is self.kernel:
                break
            at = at.f_back
        key = tuple(spot)
        place = self.spots.get(key)
        if place is None:
            place = self.spots[key] = self._place(key, frame)
        visit = (self.clock.thread, place)
        occurrence = self.visits.get(visit, 0)
        self.visits[visit] = occurrence + 1
        return place, occurrence

    def _place(self, spot: Spot, frame: FrameType) -> int:
        """Return the number of a place; instructions may move within it while Python runs them."""
        writes, *calls = spot
        parts: list[object] = [writes]
        for code, last in zip(calls[::2], calls[1::2], strict=True):
            assert isinstance(code, CodeType) and isinstance(last, int)
            parts += (code, positions(code)[last // 2])
        key = tuple(parts)
        if key not in self.places:
            self.places[key] = self.log.place(place_of(frame))
        return self.places[key]


def place_of(frame: FrameType) -> Place:
    """Return the line of the source that a frame is at."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return Place(frame.f_lineno, line)


def nothing(shape: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    """Return what is read where nothing is: nan, or 0 of whole numbers."""
    return np.full(shape, np.nan if kind.kind == "f" else 0, kind)


def _span(index: tuple[int, ...], width: int) -> Any:
    """Return what NumPy takes for an element, or for neighbours."""
    return index if width == 1 else (*index[:-1], slice(index[-1], index[-1] + width))


class DeviceArray:
    """An array in device or shared memory: ``a[i]``, ``a[i, j]``, or a few neighbours at once.

    ``a[4 * i : 4 * i + 4]`` is one wide access, as of a ``float4``: it has to begin at a multiple
    of its size.
    """

    def __init__(
        self, session: Session, memory: Memory, data: Array, written: Array | None = None
    ) -> None:
        self._session, self._memory, self._data, self._written = session, memory, data, written
        self._number = session.log.memory(memory)
        self._steps = tuple(
            int(np.prod(memory.shape[axis + 1 :])) for axis in range(len(memory.shape))
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self._memory.shape

    def __len__(self) -> int:
        return self._memory.shape[0]

    def __iter__(self) -> Any:
        raise UsageError(
            f"{self._memory.name} as a whole",
            expected="one element, or 2 or 4 neighbours, a thread",
            hint="use an index",
        )

    def __getitem__(self, key: Any) -> Any:
        index, width = self._entered(key, sys._getframe(1), writes=False)
        if index is None:
            missing = nothing((width,), self._data.dtype)
            return missing if width > 1 else missing[0]
        found = self._data[_span(index, width)]
        return found if width == 1 else found.copy()

    def __setitem__(self, key: Any, value: Any) -> None:
        index, width = self._entered(key, sys._getframe(1), writes=True)
        if width == 1 and np.ndim(value) or np.shape(value) not in ((), (width,)):
            raise UsageError(
                f"{self._memory.name}: what is written",
                expected=f"{width} number{'s' * (width > 1)}",
                got=f"an array of shape {np.shape(value)}",
            )
        if index is None:
            return
        self._data[_span(index, width)] = value

    # ---- what every access goes through

    def _entered(
        self, key: Any, frame: FrameType, *, writes: bool
    ) -> tuple[tuple[int, ...] | None, int]:
        """Note an access; return its first element, None if it is not in the array; and width."""
        session, memory = self._session, self._memory
        if session.waits_for_yield():
            raise UsageError(
                f"line {frame.f_lineno}: after barrier() without yield",
                expected="yield t.barrier()",
                hint="the thread waits where it yields",
            )
        index, width = self._index(key)
        place, occurrence = session.here(frame, writes=writes)
        last = (*index[:-1], index[-1] + width - 1)
        for each in (index, last):
            if not all(0 <= i < extent for i, extent in zip(each, memory.shape, strict=True)):
                spot = session.log.places[place]
                session.faults.append(out_of_bounds(memory, each, writes, session.clock.who, spot))
                return None, width
        element = sum(i * step for i, step in zip(index, self._steps, strict=True))
        address, size = memory.start + element * memory.itemsize, width * memory.itemsize
        clock = session.clock
        if address % size:
            spot = session.log.places[place]
            session.faults.append(misaligned(memory, index, size, clock.who, spot))
            return (index, width) if not writes else (None, width)
        session.log.add(
            clock.block, clock.thread, self._number, address, size, int(writes), place,
            occurrence, clock.epoch, 0,
        )  # fmt: skip
        if self._written is not None:
            touched = self._written[element : element + width]
            if writes:
                touched[:] = True
            elif not touched.all():
                spot = session.log.places[place]
                session.faults.append(unwritten(memory, index, clock.who, spot))
        return index, width

    def _index(self, key: Any) -> tuple[tuple[int, ...], int]:
        """Return the first element of an access, and how many neighbours it is wide."""
        parts = key if isinstance(key, tuple) else (key,)
        name, shape = self._memory.name, self._memory.shape
        if len(parts) != len(shape):
            indices = ", ".join("ijk"[: len(shape)])
            raise UsageError(
                f"{name}: indices",
                expected=f"{len(shape)}, as in {name}[{indices}]",
                got=len(parts),
            )
        width = 1
        *outer, last = parts
        if isinstance(last, slice):
            if last.start is None or last.stop is None or last.step not in (None, 1):
                raise UsageError(f"{name}: neighbours", expected=f"as in {name}[4 * i : 4 * i + 4]")
            width, last = int(last.stop) - int(last.start), last.start
            widths = [w for w in WIDTHS if w * self._memory.itemsize <= WIDEST]
            if width not in widths:
                raise UsageError(
                    f"{name}: neighbours in one access",
                    expected=" or ".join(map(str, widths)) or "one",
                    got=width,
                )
        return tuple(self._whole(each) for each in (*outer, last)), width

    def _whole(self, index: Any) -> int:
        if isinstance(index, bool) or not isinstance(index, int | np.integer):
            raise UsageError(
                f"{self._memory.name}: an index",
                expected="a whole number",
                got=f"{index!r}",
                hint="a // b divides whole numbers" if isinstance(index, float) else None,
            )
        return int(index)
