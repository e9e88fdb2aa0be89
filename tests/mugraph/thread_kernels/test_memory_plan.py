"""A plan keeps apart what is alive together, and needs no more memory than any other."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlc_course.mugraph.kernels.index_expressions import const, var
from mlc_course.mugraph.kernels.kernel_program import (
    AwaitCopies,
    Barrier,
    Buffer,
    CommitCopies,
    Compute,
    Copy,
    Loop,
    Read,
    Threads,
)
from mlc_course.mugraph.thread_kernels.memory_plan import (
    ALIGNMENT,
    HEURISTICS,
    Need,
    Plan,
    least_memory,
    most_alive,
    needs,
)

INTERVALS = 5


@st.composite
def buffers(draw: st.DrawFn, most: int = 5) -> list[Need]:
    found = []
    for number in range(draw(st.integers(1, most))):
        size = ALIGNMENT * draw(st.integers(1, 6))
        begin = draw(st.integers(0, INTERVALS - 1))
        alive = frozenset(range(begin, draw(st.integers(begin, INTERVALS - 1)) + 1))
        if draw(st.booleans()):  # alive twice, as in a loop
            alive |= {draw(st.integers(0, INTERVALS - 1))}
        found.append(Need(f"b{number}", size, alive))
    return found


def overlaps(plan: Plan, wanted: list[Need]) -> list[tuple[str, str]]:
    at = dict(plan.offsets)
    return [
        (a.name, b.name)
        for a, b in itertools.combinations(wanted, 2)
        if a.alive & b.alive
        and at[a.name] < at[b.name] + b.size
        and at[b.name] < at[a.name] + a.size
    ]


def by_trial(wanted: list[Need]) -> int:
    """The least memory, every buffer tried at every place."""
    for units in itertools.count(most_alive(wanted) // ALIGNMENT):
        total = units * ALIGNMENT
        places = [range(0, total - each.size + 1, ALIGNMENT) for each in wanted]

        def fits(chosen: tuple[int, ...], places: list[range] = places) -> bool:
            plan = Plan(tuple((wanted[n].name, at) for n, at in enumerate(chosen)), 0)
            if overlaps(plan, wanted[: len(chosen)]):
                return False
            if len(chosen) == len(wanted):
                return True
            return any(fits((*chosen, at)) for at in places[len(chosen)])

        if fits(()):
            return total
    raise AssertionError


@pytest.mark.fuzz
@given(buffers(4))
def test_no_plan_needs_less(wanted: list[Need]) -> None:
    assert least_memory(wanted).total == by_trial(wanted)


@pytest.mark.fuzz
@given(buffers(9))
def test_what_is_alive_together_lies_apart(wanted: list[Need]) -> None:
    least = least_memory(wanted)
    for plan in (least, *(fit(wanted) for fit in HEURISTICS.values())):
        assert not overlaps(plan, wanted)
        assert all(at % ALIGNMENT == 0 for _, at in plan.offsets)
        assert plan.total == max(dict(plan.offsets)[e.name] + e.size for e in wanted)
        assert most_alive(wanted) <= least.total <= plan.total


def test_no_heuristic_is_always_best() -> None:
    def need(name: str, units: int, *alive: int) -> Need:
        return Need(name, units * ALIGNMENT, frozenset(alive))

    wanted = [need("a", 1, 0), need("b", 1, 0, 1, 2), need("c", 1, 1), need("d", 2, 2)]
    assert least_memory(wanted).total == 3 * ALIGNMENT
    assert {fit(wanted).total // ALIGNMENT for fit in HEURISTICS.values()} == {4}


# ---- lifetimes

T = var("t")
A, B, C = (Buffer(name, (4,)) for name in "abc")
OUT = Buffer("out", (4,), "global")
IN = Buffer("in", (4, 4), "global")


def alive(*body: object) -> dict[str, set[int]]:
    found = needs(tuple(body), (A, B, C), lambda buffer: 4 * buffer.size)  # type: ignore[arg-type]
    return {each.name: set(each.alive) for each in found}


def threads(*body: object) -> Threads:
    return Threads("t", 4, tuple(body))  # type: ignore[arg-type]


def moved(target: Buffer, source: Buffer) -> Compute:
    return Compute(target, (T,), Read(source, (T,)))


def first_row(target: Buffer) -> Compute:
    return Compute(target, (T,), Read(IN, (const(0), T)))


def test_a_buffer_is_alive_from_a_write_to_the_last_read() -> None:
    body = threads(first_row(A)), Barrier(), threads(moved(B, A)), Barrier(), threads(moved(OUT, B))
    assert alive(*body) == {"a": {0, 1}, "b": {1, 2}}


def test_a_loops_tile_is_dead_between_its_last_read_and_the_next_write() -> None:
    body = (
        threads(first_row(A)),
        Barrier(),
        threads(moved(B, A)),
        Barrier(),
        threads(moved(OUT, B)),
        Barrier(),
    )
    assert alive(Loop("k", 2, body)) == {"a": {0, 1, 3, 4}, "b": {1, 2, 4, 5}}


def test_what_follows_a_loop_without_a_barrier_meets_its_last_iteration() -> None:
    body = threads(first_row(A)), Barrier(), threads(moved(OUT, A))
    after = threads(first_row(B)), threads(moved(OUT, B))
    assert alive(Loop("k", 2, (*body, Barrier())), *after) == {"a": {0, 1, 2, 3}, "b": {4}}
    assert alive(*body, *after) == {"a": {0, 1}, "b": {1}}


def test_a_buffer_is_alive_while_a_copy_into_it_is_under_way() -> None:
    start = threads(Copy(A, (T,), IN, (const(0), T), 1), CommitCopies())
    body = (
        start,
        Barrier(),
        threads(first_row(B), moved(OUT, B)),
        Barrier(),
        threads(AwaitCopies(0), moved(OUT, A)),
    )
    assert alive(*body) == {"a": {0, 1, 2}, "b": {1}}
