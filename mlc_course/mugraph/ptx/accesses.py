"""Instructions that access memory: loads, stores, asynchronous copies, order among a warp."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.ptx.arithmetic import Bind, kind_of
from mlc_course.mugraph.ptx.memory import LOCAL_WINDOW, SHARED_WINDOW
from mlc_course.mugraph.ptx.ptx_text import (
    WIDTHS,
    Address,
    Immediate,
    Instruction,
    Operand,
    Symbol,
    Vector,
    halves_of,
    refused,
)
from mlc_course.mugraph.ptx.reports import Site
from mlc_course.mugraph.ptx.threads import SIGNED, UNSIGNED, Mask, Run, Threads, written
from mlc_course.mugraph.ptx.transactions import WARP

SPACES = ("param", "global", "shared", "local")
HINTS = frozenset({
    "nc", "weak", "volatile", "relaxed", "cta", "gpu", "sys", "ca", "cg", "cs", "lu", "cv", "wb",
    "wt",
})  # fmt: skip
ACCESSED = frozenset(WIDTHS) | set(SPACES) | HINTS | {"v2", "v4", "shared::cta", "param::entry"}


def is_hint(modifier: str) -> bool:
    """Return true for a hint to a cache."""
    return modifier.split("::")[0] in ("L1", "L2")


def space_of(instruction: Instruction) -> str:
    """Return the address space of an access, ``generic`` if it has none."""
    named = {modifier.split("::")[0] for modifier in instruction.modifiers}
    return next((each for each in SPACES if each in named), "generic")


def access_bytes(instruction: Instruction) -> int:
    """Return how many bytes a load or store accesses for each thread."""
    parts = next((int(each[1]) for each in instruction.modifiers if each in ("v2", "v4")), 1)
    return WIDTHS[instruction.modifiers[-1]] // 8 * parts


def _parts(operand: Operand) -> tuple[Operand, ...]:
    return operand.parts if isinstance(operand, Vector) else (operand,)


def _by_space(addresses: Array) -> list[tuple[str, Array]]:
    """Split generic addresses: the space of each part, and where it is."""
    local = addresses >= np.uint64(LOCAL_WINDOW)
    shared = ~local & (addresses >= np.uint64(SHARED_WINDOW))
    masks = {"local": local, "shared": shared, "global": ~(local | shared)}
    return [(space, here) for space, here in masks.items() if here.any()]


def _without_window(space: str, addresses: Array) -> Array:
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space, 0)
    return np.where(addresses >= np.uint64(window), addresses - np.uint64(window), addresses)


def _local_rows(threads: Threads, site: Site, lanes: Array, at: Array, size: int) -> Array:
    """Which lanes access their own local memory inside of its bounds."""
    places = at.astype(np.int64)
    inside = (places >= 0) & (places + size <= threads.local.shape[1]) & (places % size == 0)
    if not inside.all():
        first = int(np.flatnonzero(~inside)[0])
        threads.log.add(
            "bounds",
            f"thread {lanes[first]} accesses bytes {places[first]} to {places[first] + size - 1} "
            f"of its local memory, which has {threads.local.shape[1]}",
            [lanes[first]], site, times=int((~inside).sum()),
        )  # fmt: skip
    return np.flatnonzero(inside)


def _load(threads: Threads, site: Site) -> Run:
    ins = site.instruction
    kind, space = kind_of(site), space_of(ins)
    width, targets = WIDTHS[kind] // 8, _parts(ins.operands[0])
    outputs = [threads.wide_target(each, kind, site) for each in targets]
    if space == "param":
        return _load_parameter(threads, site, outputs)
    held: Any = (SIGNED if kind[0] == "s" else UNSIGNED)[WIDTHS[kind]]
    outputs = [
        each.view(UNSIGNED[8 * each.dtype.itemsize]) if each.dtype.kind == "f" else each
        for each in outputs
    ]
    address = threads.address(ins, ins.operands[1], site)
    size = width * len(outputs)

    def read(where: str, lanes: Array, at: Array) -> tuple[Array, list[Array]]:
        if where == "global":
            return threads.memory.read(site, lanes, at, width, len(outputs))
        if where == "local":
            rows = _local_rows(threads, site, lanes, at, size)
            cells = at[rows].astype(np.int64)[:, None] + np.arange(size)
            found = np.ascontiguousarray(threads.local[lanes[rows][:, None], cells])
            return lanes[rows], list(found.view(UNSIGNED[8 * width]).T)
        lanes, places = threads.shared.checked(site, lanes, at.astype(np.int64), size)
        if len(lanes):
            threads.shared.note_read(site, lanes, places, size)
        return lanes, threads.shared.loaded(places, width, len(outputs))

    def run(mask: Mask) -> None:
        lanes = threads.lanes(mask)
        if not len(lanes):
            return
        at = address()[lanes]
        pieces = [(space, slice(None))] if space != "generic" else _by_space(at)
        for where, here in pieces:
            those = at[here] if space != "generic" else _without_window(where, at[here])
            sound, values = read(where, lanes[here], those)
            for output, value in zip(outputs, values, strict=True):
                output[sound] = value.view(held)

    return run


def _load_parameter(threads: Threads, site: Site, outputs: list[Array]) -> Run:
    ins = site.instruction
    where = ins.operands[1]
    if not isinstance(where, Address) or not isinstance(where.base, Symbol):
        raise refused("a parameter is loaded by its name", ins.line, ins.text)
    if where.base.name not in threads.parameters:
        raise refused(f"no parameter {where.base.name}", ins.line, ins.text)
    held, width = threads.parameters[where.base.name], WIDTHS[kind_of(site)] // 8
    values = []
    for number, output in enumerate(outputs):
        start = where.offset + number * width
        piece = np.ascontiguousarray(held[start : start + width])
        values.append(piece.view(output.dtype if output.dtype.itemsize == width else
                                 UNSIGNED[8 * width]))  # fmt: skip

    def run(mask: Mask) -> None:
        for output, value in zip(outputs, values, strict=True):
            written(output, value, mask)

    return run


def _store(threads: Threads, site: Site) -> Run:
    ins = site.instruction
    kind, space = kind_of(site), space_of(ins)
    bits = WIDTHS[kind]
    values = [threads.low(each, f"b{bits}", site) for each in _parts(ins.operands[1])]
    address = threads.address(ins, ins.operands[0], site)
    size = bits // 8 * len(values)

    def write(where: str, lanes: Array, at: Array) -> None:
        if where == "global":
            threads.memory.write(site, lanes, at, held(lanes))
        elif where == "local":
            rows = _local_rows(threads, site, lanes, at, size)
            cells = at[rows].astype(np.int64)[:, None] + np.arange(size)
            put = np.ascontiguousarray(np.stack(held(lanes[rows]), axis=1)).view(np.uint8)
            threads.local[lanes[rows][:, None], cells] = put
        else:
            lanes, places = threads.shared.checked(site, lanes, at.astype(np.int64), size)
            if len(lanes):
                threads.shared.note_write(site, lanes, places, size)
                threads.shared.store(places, held(lanes))

    def held(lanes: Array) -> list[Array]:
        return [np.broadcast_to(each(), threads.count)[lanes] for each in values]

    def run(mask: Mask) -> None:
        lanes = threads.lanes(mask)
        if not len(lanes):
            return
        at = address()[lanes]
        if space != "generic":
            write(space, lanes, at)
            return
        for where, here in _by_space(at):
            write(where, lanes[here], _without_window(where, at[here]))

    return run


# ---- asynchronous copies


def copy_bytes(instruction: Instruction) -> int:
    """Return how many bytes an asynchronous copy writes, 0 if it is not one."""
    if instruction.opcode != "cp" or not instruction.has("shared"):
        return 0
    size = instruction.operands[2]
    return size.value if isinstance(size, Immediate) else 0


def _copy(threads: Threads, site: Site) -> Run:
    ins = site.instruction
    copies = threads.copies
    if ins.has("commit_group"):
        return lambda mask: copies.commit(threads.lanes(mask))
    if ins.has("wait_all"):
        return lambda mask: copies.wait(threads.lanes(mask), 0, uncommitted=True)
    if ins.has("wait_group"):
        pending = ins.operands[0]
        if not isinstance(pending, Immediate):
            raise refused("expected a number of groups", ins.line, ins.text)
        return lambda mask: copies.wait(threads.lanes(mask), pending.value)
    size = copy_bytes(ins)
    if not ins.has("global") or size not in ((16,) if ins.has("cg") else (4, 8, 16)):
        raise refused("no such copy", ins.line, ins.text)
    to, source = (threads.address(ins, each, site) for each in ins.operands[:2])
    given = ins.operands[3] if len(ins.operands) > 3 else Immediate(size)
    moved = threads.source(given, "u32", site)

    def run(mask: Mask) -> None:
        lanes = threads.lanes(mask)
        if not len(lanes):
            return
        places = _without_window("shared", to()[lanes]).astype(np.int64)
        sources = source()[lanes]
        amounts = np.broadcast_to(moved, threads.count)[lanes]
        for amount in np.unique(amounts):
            here = amounts == amount
            copies.issue(
                site, lanes[here], places[here], sources[here], size, min(size, int(amount))
            )

    return run


# ---- within a warp


def _warp_order(threads: Threads, site: Site) -> Run:
    """A barrier for the threads of a warp."""

    def run(mask: Mask) -> None:
        threads.shared.warp_barrier(threads.whole_warps(mask, site))

    return run


def _nothing(threads: Threads, site: Site) -> Run:
    """Fences: accesses of a block are in order here already, and races do not go by them."""
    return lambda mask: None


def _shuffle(threads: Threads, site: Site) -> Run:
    """``shfl.sync``: a word of another lane of the warp."""
    ins = site.instruction
    mode = ins.modifiers[1]
    first, second = halves_of(ins.operands[0])
    target = threads.target(first, "b32", site)
    was_inside = threads.target(second, "pred", site) if second else None
    value, by, clamp = (threads.source(each, "u32", site) for each in ins.operands[1:4])

    def run(mask: Mask) -> None:
        lane = threads.all % WARP
        step, limit = by.astype(np.int64) & 31, clamp.astype(np.int64)
        segment, bound = limit >> 8 & 31, limit & 31
        last = (lane & segment) | (bound & ~segment & 31)
        places: Mapping[str, Callable[[], Array]] = {
            "up": lambda: lane - step,
            "down": lambda: lane + step,
            "bfly": lambda: lane ^ step,
            "idx": lambda: (lane & segment) | (step & ~segment & 31),
        }
        other = places[mode]()
        inside = other >= last if mode == "up" else other <= last
        thread = threads.all - lane + np.where(inside, other, lane)
        active = np.zeros(threads.warps * WARP, bool)
        active[: threads.count] = mask
        absent = ~active[thread] & active[: threads.count]
        if absent.any():
            one = int(np.flatnonzero(absent)[0])
            threads.log.add(
                "warp",
                f"thread {one} takes a value of thread {thread[one]}, which does not take part",
                [one, int(thread[one])], site, times=int(absent.sum()),
            )  # fmt: skip
        found = np.broadcast_to(value, threads.count)[np.minimum(thread, threads.count - 1)]
        written(target, found, mask)
        if was_inside is not None:
            written(was_inside, inside, mask)

    return run


OPERATIONS: Mapping[str, tuple[Bind, frozenset[str]]] = {
    "ld": (_load, ACCESSED),
    "st": (_store, ACCESSED),
    "cp": (
        _copy,
        frozenset({
            "async", "ca", "cg", "shared", "shared::cta", "global", "commit_group", "wait_group",
            "wait_all",
        }),
    ),
    "shfl": (_shuffle, frozenset({"sync", "up", "down", "bfly", "idx", "b32"})),
    "membar": (_nothing, frozenset({"cta", "gl", "sys"})),
    "fence": (_nothing, frozenset({"sc", "acq_rel", "cta", "gpu", "sys"})),
}  # fmt: skip
WARP_BARRIER: Bind = _warp_order
