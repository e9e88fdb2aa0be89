from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest

from mlc_course.instruction_selection.integers import U8, Formula, evaluate, variables, wrap
from mlc_course.instruction_selection.isa import AVX2, CellProgram, Equation, Input, Instruction
from mlc_course.instruction_selection.prove import Proved, Verdict, prove_cell
from mlc_course.instruction_selection.search import Covered, Event, Found, Limits, Refuted, Tried
from mlc_course.instruction_selection.search.direct import DirectSearch
from mlc_course.instruction_selection.search.rewriting import absorbed, folded
from mlc_course.instruction_selection.spec import CATALOGUE, Cell, CellOperand, specification

BYTES = [row for row in AVX2 if row.kind == "lane" and {r.type for r in row.reads} == {U8}]
A, B = (Equation(Input(name), (), U8, 1) for name in "AB")


def cell_of(name_or_line: str) -> Cell:
    return specification(name_or_line).cell


def searched(cell: Cell, **kind: object) -> list[Event]:
    return list(DirectSearch(cell, AVX2, prove_cell, **kind).run())  # type: ignore[arg-type]


def found_in(events: Sequence[Event]) -> Found:
    return [each for each in events if isinstance(each, Found)][-1]


def cell_of_program(program: CellProgram) -> Cell:
    """The cell whose goal is what a program computes."""
    operands = (CellOperand("A", U8), CellOperand("B", U8))
    inputs = {each.name: each.variables() for each in operands}
    return Cell("drawn", operands, U8, program.lanes(inputs, U8)[0])


# --- what is found --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("sat_add_u8", "paddusb(A, B)"),
        ("avg_round_u8", "pavgb(A, B)"),
        ("rshift_s16", "pmulhrsw(A, {512})"),
        ("requant_u8", "packuswb(pmulhrsw(A, {512}))"),
        ("narrow_s32", "packuswb(packssdw(A))"),
        ("dot2_s16", "paddd(C, pmaddwd(A, B))"),
        ("sad8_u8", "paddq(C, psadbw(A, B))"),
        ("dot4_u7s8", "paddd(C, pmaddwd({1}, pmaddubsw(A, B)))"),
    ],
)
def test_the_instruction_that_does_it_is_found(name: str, program: str) -> None:
    assert str(found_in(searched(cell_of(name))).program) == program


def test_three_instructions_that_no_pattern_has_are_found() -> None:
    found = found_in(searched(cell_of("avg_floor_u8")))
    assert (found.weight, len(found.program.instructions)) == (3, 3)
    assert isinstance(prove_cell(found.cell, found.program), Proved)


@pytest.mark.parametrize("seed", range(6))
def test_what_two_drawn_instructions_compute_is_found_in_at_most_two(seed: int) -> None:
    drawn = random.Random(seed)
    first, second = drawn.choice(BYTES), drawn.choice(BYTES)
    program = CellProgram(
        (A, B, Equation(first, (0, 1), U8, 1), Equation(second, (2, drawn.randint(0, 1)), U8, 1))
    )
    cell = cell_of_program(program)
    if not variables(cell.goal):
        pytest.skip("the drawn program computes a constant")
    found = found_in(searched(cell, narrow=True, limits=Limits(instructions=2)))
    assert len(found.program.instructions) <= 2


# --- what is said of what is not there ------------------------------------------------------------


def values_of_all_programs(rows: Sequence[Instruction], leaves: Sequence[Formula]) -> set[bytes]:
    """The bytes on all 65,536 inputs of every program of at most two instructions."""
    a, b = variables(*leaves)
    grid = {a: np.arange(65536) >> 8, b: np.arange(65536) & 255}

    def as_bytes(made: Formula) -> bytes:
        return np.broadcast_to(evaluate(made, grid), 65536).astype(np.uint8).tobytes()

    once = [row.lane(x, y) for row in rows for x, y in itertools.product(leaves, repeat=2)]
    twice = [
        row.lane(x, y)
        for row in rows
        for one, leaf in itertools.product(once, leaves)
        for x, y in ((one, leaf), (leaf, one))
    ]
    return {as_bytes(made) for made in (*leaves, *once, *twice)}


def test_where_nothing_is_found_an_enumeration_of_all_programs_finds_nothing_either() -> None:
    names = ("paddb", "psubb", "pavgb")
    rows = [row for row in AVX2 if row.name in names]
    operands = (CellOperand("A", U8), CellOperand("B", U8))
    a, b = (each.variables()[0] for each in operands)
    known = values_of_all_programs(rows, (a, b))
    goals = {
        "floor of the average": (a + b) >> 1,
        "three quarters": (3 * a + b + 2) >> 2,
        "sum less one": wrap(U8, a + b - 1),
        "twice": wrap(U8, 2 * a + b),
    }
    for name, goal in goals.items():
        cell = Cell(name, operands, U8, goal)
        search = DirectSearch(cell, rows, prove_cell, Limits(instructions=2), narrow=True)
        search.constants = {}  # type: ignore[misc]  # the enumeration has none
        events = list(search.run())
        covered = [each for each in events if isinstance(each, Covered)][-1]
        grid = {a: np.arange(65536) >> 8, b: np.arange(65536) & 255}
        bytes_of_goal = evaluate(goal, grid).astype(np.uint8).tobytes()
        assert covered.instructions == 2
        small = [
            each
            for each in events
            if isinstance(each, Found) and len(each.program.instructions) <= 2
        ]
        assert bool(small) == (bytes_of_goal in known), name


def test_coverage_ends_where_a_level_is_too_large() -> None:
    events = searched(cell_of("mul_norm_u8"), limits=Limits(kept=1000, compared=100_000))
    covered = next(each for each in events if isinstance(each, Covered))
    assert covered.instructions < 3
    assert "was tried over" in str(covered) or "not all programs of one" in str(covered)


def test_a_search_that_is_late_claims_nothing() -> None:
    events = searched(cell_of("mul_norm_u8"), deadline=0.0)
    covered = next(each for each in events if isinstance(each, Covered))
    assert covered.instructions == 0
    assert str(covered).startswith("not all programs of one instruction were tried over")


# --- counter-examples -----------------------------------------------------------------------------


def test_each_counter_example_is_one() -> None:
    events = searched(cell_of("gauss_121_u8"), narrow=True)
    refuted = [each for each in events if isinstance(each, Refuted)]
    assert refuted
    goal = cell_of("gauss_121_u8").goal
    for each in refuted:
        inputs = {x: np.array(each.model[str(x)]) for x in variables(goal)}
        assert int(evaluate(goal, inputs)) == each.wanted != each.found


def test_a_program_that_is_not_proved_is_not_found() -> None:
    def doubtful(cell: Cell, program: CellProgram) -> Verdict:
        from mlc_course.instruction_selection.prove import Unknown

        return Unknown("nobody knows")

    search = DirectSearch(cell_of("sat_add_u8"), AVX2, doubtful, Limits(instructions=1))
    events = list(search.run())
    assert not [each for each in events if isinstance(each, Found)]
    assert "nobody knows" in str(events)


def test_the_events_add_up() -> None:
    events = searched(cell_of("requant_u8"))
    tried = [each for each in events if isinstance(each, Tried)]
    assert sum(each.tried for each in tried) > 1000
    assert [each.kept for each in tried] == sorted(each.kept for each in tried)


# --- programs made simpler ------------------------------------------------------------------------


def row_named(name: str, level: Sequence[Instruction] = AVX2) -> Instruction:
    return next(row for row in level if row.name == name)


def test_what_is_computed_from_constants_is_a_constant() -> None:
    found = found_in(
        searched(cell_of("u16 A -> u16 O: (A * 257) >> 16"), limits=Limits(instructions=3))
    )
    assert str(found.program) == "pmulhuw(A, {257})"
    from mlc_course.instruction_selection.integers import U16
    from mlc_course.instruction_selection.isa import Constant

    one, high = (Equation(Constant((x,)), (), U16, 1) for x in (1, 256))
    leaf = Equation(Input("A"), (), U16, 1)
    added = Equation(row_named("paddw"), (0, 1), U16, 1)
    made = folded(
        CellProgram((one, high, added, leaf, Equation(row_named("pmullw"), (3, 2), U16, 1)))
    )
    assert str(made) == "pmullw(A, {257})"


def test_an_accumulator_goes_into_the_instruction_that_accumulates() -> None:
    from mlc_course.instruction_selection.isa import VNNI

    cell = CATALOGUE["dot4_u8s8"].specification.cell
    events = list(DirectSearch(cell, [*AVX2, *VNNI], prove_cell, Limits(instructions=2)).run())
    assert str(found_in(events).program) == "vpdpbusd(C, A, B)"


def test_where_nothing_accumulates_the_program_is_unchanged() -> None:
    equations = [A, B, Equation(row_named("paddb"), (0, 1), U8, 1)]
    before = list(equations)
    absorbed(equations, 0)
    assert equations == before
