"""Pairs of programs drawn at random: one, and what a transformation makes of it, right or wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from odd_programs import KINDS
from random_steps import NAMES, random_step

from mlc_course.errors import CourseError
from mlc_course.tensor_program.schedule import unchecked
from mlc_course.tensor_program.tir import (
    PrimFunc,
    SBlockRealize,
    Schedule,
    main_function,
    tirx,
    with_body,
)

Draw = Callable[..., Any]
SIDE = 6
LOOP_KINDS = ("PARALLEL", "VECTORIZED", "UNROLLED")


# --- realistic: a workload, and steps that nobody checks ------------------------------------------


def workload_pair(draw: Draw) -> tuple[PrimFunc, PrimFunc]:
    """A workload of a kind that steps may meet, and the same after some unchecked changes."""
    sizes = draw(st.sampled_from([(4, 4, 2), (3, 4, 5), (4, 2, 3), (5, 6, 1)]))
    kind = draw(st.sampled_from([k for k in KINDS if KINDS[k].sizes(*sizes)]))
    before = KINDS[kind].program(*sizes)
    sch = Schedule(before)
    with unchecked():
        for _ in range(draw(st.integers(0, 4))):
            name, args, named = random_step(draw, sch)
            try:
                NAMES[name](sch, *args, **named)
            except CourseError:
                continue
    after = main_function(sch)
    for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3]))):
        after = turned(draw, after)
    return before, after


def turned(draw: Draw, program: PrimFunc) -> PrimFunc:
    """The program with a loop of another kind, or exchanged with the loop directly inside it."""
    loops = list(_loops(program.body))
    if not loops:
        return program
    chosen = draw(st.sampled_from(loops))
    if isinstance(chosen.body, tirx.For) and draw(st.booleans()):
        inner = chosen.body
        new = with_body(inner, with_body(chosen, inner.body))
    else:
        kind = tirx.ForKind[draw(st.sampled_from(LOOP_KINDS))]
        new = tirx.For(chosen.loop_var, chosen.min, chosen.extent, kind, chosen.body)
    return program.with_body(_replaced(program.body, chosen, new))


def _loops(stmt: Any) -> Iterator[Any]:
    match stmt:
        case tirx.SeqStmt():
            for each in stmt.seq:
                yield from _loops(each)
        case tirx.For():
            yield stmt
            yield from _loops(stmt.body)
        case SBlockRealize():
            yield from _loops(stmt.block.body)


def _replaced(stmt: Any, old: Any, new: Any) -> Any:
    if stmt.same_as(old):
        return new
    match stmt:
        case tirx.SeqStmt():
            return tirx.SeqStmt([_replaced(each, old, new) for each in stmt.seq])
        case tirx.For():
            return with_body(stmt, _replaced(stmt.body, old, new))
        case SBlockRealize():
            return with_body(stmt, _replaced(stmt.block.body, old, new))
    return stmt


# --- hostile: statements over the same small arrays -----------------------------------------------


@dataclass(frozen=True)
class Line:
    """``target[place] = operand[at] + 1``, or with the old value, or with half of it.

    A place is a loop and what is added to it, for both axes.
    """

    target: str
    place: tuple[tuple[int, int], tuple[int, int]]
    operand: str
    at: tuple[tuple[int, int], tuple[int, int]]
    old: float | None

    def store(self, loops: list[Any], buffers: dict[str, Any]) -> Any:
        target, operand = buffers[self.target], buffers[self.operand]
        place, at = ([loops[i] + by for i, by in each] for each in (self.place, self.at))
        value = operand[tuple(at)] + tirx.const(1.0, "float32")
        if self.old is not None:
            old = target[tuple(place)]
            value += old if self.old == 1 else old * tirx.const(self.old, "float32")
        return tirx.BufferStore(target, value, place)


def lines() -> st.SearchStrategy[Line]:
    index = st.tuples(st.integers(0, 1), st.integers(-1, 1))
    place = st.tuples(index, index)
    old = st.sampled_from([None, None, 1.0, 0.5])
    names = st.sampled_from("XYZ")
    return st.builds(Line, names, place, names, place, old)


def statement_pair(draw: Draw) -> tuple[PrimFunc, PrimFunc]:
    """Statements in a nest of loops of their own each, or in one, and then the other way round."""
    some = draw(st.lists(lines(), min_size=1, max_size=3))
    extents = draw(st.tuples(st.integers(2, 4), st.integers(2, 4)))
    apart, together = [[each] for each in some], [some]
    before, after = (apart, together) if draw(st.booleans()) else (together, apart)
    if draw(st.booleans()):
        after = before
    program, changed = (nests(each, extents) for each in (before, after))
    for _ in range(draw(st.integers(0, 2))):
        changed = turned(draw, changed)
    return program, changed


def nests(groups: list[list[Line]], extents: tuple[int, int]) -> PrimFunc:
    """One nest of two loops from 1 on for each group of lines."""
    buffers = {name: tirx.decl_buffer((SIDE, SIDE), name=name) for name in "XYZ"}
    parts = []
    for number, group in enumerate(groups):
        loops = [tirx.Var(f"{name}{number}", "int32") for name in "ij"]
        stores = [each.store(loops, buffers) for each in group]
        stmt = stores[0] if len(stores) == 1 else tirx.SeqStmt(stores)
        for loop, extent in zip(loops[::-1], extents[::-1], strict=True):
            stmt = tirx.For(loop, 1, extent, tirx.ForKind.SERIAL, stmt)
        parts.append(stmt)
    body = parts[0] if len(parts) == 1 else tirx.SeqStmt(parts)
    return PrimFunc(list(buffers.values()), body).with_attr("global_symbol", "main")
