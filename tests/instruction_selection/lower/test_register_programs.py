"""Programs on a cell fill registers, and each lane of those is the program on its cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hand_written_cells import CASES, Case, cell, program, widths_of

from mlc_course.errors import SizeError, UsageError, WrongResult
from mlc_course.instruction_selection.integers import evaluate, variables
from mlc_course.instruction_selection.isa import LEVELS, Constant, Instruction
from mlc_course.instruction_selection.lower import (
    Load,
    OnHalf,
    RegisterProgram,
    Shuffle,
    Step,
    check_layout,
    lower,
    simulate,
)

AT_WIDTHS = [(case, width) for case in CASES for width in widths_of(case)]


def lowered(case: Case, width: int) -> RegisterProgram:
    return lower(case.cell, case.program, width)


def case_of(name: str, level: str = "avx2") -> Case:
    return next(each for each in CASES if each.cell.name == name and each.level == level)


@pytest.mark.parametrize(("case", "width"), AT_WIDTHS, ids=str)
def test_every_lane_is_the_cell_program_on_its_cell(case: Case, width: int) -> None:
    check_layout(case.cell, case.program, lowered(case, width))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_hand_written_programs_compute_their_bodies(case: Case) -> None:
    rng = np.random.default_rng(0)
    (found,) = case.program.lanes(case.cell.inputs, case.cell.result)
    values = {}
    for each in variables(found, case.cell.goal):
        ends = rng.choice([each.lo, each.hi], 2000)
        anywhere = rng.integers(each.lo, each.hi, 2000, endpoint=True, dtype=np.int64)
        values[each] = np.where(rng.random(2000) < 0.3, ends, anywhere)
    assert np.array_equal(evaluate(found, values), evaluate(case.cell.goal, values))


@pytest.mark.parametrize("width", [128, 256, 512])
def test_a_tile_has_as_many_outputs_as_the_narrowest_value_has_in_a_register(width: int) -> None:
    assert lowered(case_of("requant_u8"), width).outputs == width // 8  # reads 16 bits, writes 8
    assert lowered(case_of("dot4_u7s8"), width).outputs == width // 32
    assert lowered(case_of("sad8_u8"), width).outputs == width // 64


@pytest.mark.parametrize(
    ("name", "width", "instructions"),
    [
        ("mul_norm_u8", 256, 15),  # unpacked and packed again: in order without a permutation
        ("mul_norm_u8", 512, 15),
        ("blend_u8", 256, 7),
        ("requant_u8", 128, 3),
        ("requant_u8", 256, 4),  # packed only: one permutation
        ("requant_u8", 512, 4),
        ("narrow_s32", 256, 4),  # packed twice: still one permutation
        ("widened_u8", 256, 4),  # stored wide: extended, for unpacking would need permutations
        ("widened_sum", 256, 4),  # and where the other operand is in memory's order
        ("scaled_s8", 256, 10),
    ],
)
def test_the_cheapest_layout_is_taken(name: str, width: int, instructions: int) -> None:
    assert lowered(case_of(name), width).instructions == instructions


def test_a_program_has_at_most_one_permutation_for_a_register_of_the_result() -> None:
    for case, width in AT_WIDTHS:
        found = lowered(case, width)
        moves = [s for s in found.steps if isinstance(s.op, Shuffle) and len(s.operands) == 1]
        assert len(moves) <= len(found.results), case


def test_neon_takes_two_instructions_to_narrow_and_none_to_permute() -> None:
    found = lowered(case_of("narrow_s32", "neon"), 128)
    assert found.instructions == 6
    assert not any(isinstance(each.op, Shuffle) for each in found.steps)


def test_a_long_instruction_takes_both_halves() -> None:
    found = lowered(case_of("blend_u8", "neon"), 128)
    halves = [str(each.op) for each in found.steps if isinstance(each.op, OnHalf)]
    assert halves == ["umull.8", "umull2.8", "umull.8", "umull2.8"]


def test_loads_and_constants_are_made_once_and_only_if_used() -> None:
    found = lowered(case_of("mul_norm_u8"), 256)
    assert len(set(found.steps)) == len(found.steps)
    used = {x for each in found.steps for x in each.operands} | set(found.results)
    assert used == set(range(len(found.steps)))


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("paddw(punpck0b(A), B)", "u8 A!, s16 B -> s16 O"),
        ("pmaddubsw(punpckb(A, B), {1, 2})", "u8 A, u8 B! -> s16 O"),
        ("packuswb(paddw(A, B))", "s16 A!, s16 B -> u8 O"),
        ("paddb(packuswb(A), B)", "s16 A!, u8 B -> u8 O"),
        ("paddd(pmaddwd(A, pmovsxb(B)), C)", "s16*2 A, s8*2 B!, s32 C -> s32 C"),
        ("paddw(punpck0b({3}), B)", "s16 B -> s16 O"),
        ("paddd(punpck0w(punpck0b(A)), B)", "u8 A, s32 B -> s32 O"),
        ("packuswb(packssdw(paddd(punpck0w(punpck0b(A)), B)))", "u8 A, s32 B -> u8 O"),
        ("packuswb(packssdw(pmaddwd(punpck0b(A), pmovsxb(B))))", "u8*4 A, s8*4 B -> u8*2 O"),
        ("psadbw(paddb(A, packuswb(B)), {0})", "u8*8 A, s16*8 B -> u64 O"),
        ("paddw(pmovsxb(A), B)", "s8 A, s16 B -> s16 O"),
        ("packuswb(pmovsxb(packsswb(A)))", "s16 A -> u8 O"),
    ],
)
@pytest.mark.parametrize("width", [128, 256, 512])
def test_shared_operands_and_operands_in_different_orders(
    text: str, signature: str, width: int
) -> None:
    several = "*2 O" in signature
    of = cell("odd", signature.replace("*2 O", " O"), "0")
    found = program(text, of, LEVELS["avx2"].rows)
    if several:  # a cell has one output: two lanes of bytes are one of 16 bits
        of = replace(of, result=replace(of.result, bits=16))
    check_layout(of, found, lower(of, found, width))


def test_a_nonnegative_operand_is_unpacked_although_it_is_signed() -> None:
    of = cell("small", "s8 A -> u8 O", "A", A=(0, 127))
    found = program("packuswb(pmovsxb(A))", of, LEVELS["avx2"].rows)
    made = lower(of, found, 256)
    check_layout(of, found, made)
    assert made.instructions == 3
    signed = cell("small", "s8 A -> u8 O", "A")
    made = lower(signed, found, 256)
    check_layout(signed, found, made)
    assert made.instructions == 4


# --- mutants ----------------------------------------------------------------------------------


def mutants(found: RegisterProgram) -> Iterator[tuple[str, RegisterProgram]]:
    """Yield register programs that are wrong in one place."""

    def with_step(number: int, step: Step) -> RegisterProgram:
        steps = (*found.steps[:number], step, *found.steps[number + 1 :])
        return replace(found, steps=steps)

    for number, step in enumerate(found.steps):
        match step.op:
            case Shuffle(indices):
                moved = (indices[1], indices[0], *indices[2:])
                yield "lane moved", with_step(number, replace(step, op=Shuffle(moved)))
                lost = tuple(range(len(indices)))
                yield "no move", with_step(number, replace(step, op=Shuffle(lost)))
                if len(step.operands) == 2:
                    turned = step.operands[::-1]
                    yield "exchanged", with_step(number, replace(step, operands=turned))
            case Instruction() as instruction if instruction.kind == "narrow":
                turned = step.operands[::-1]
                yield "exchanged", with_step(number, replace(step, operands=turned))
            case OnHalf(instruction, upper):
                other = OnHalf(instruction, 1 - upper)
                yield "other half", with_step(number, replace(step, op=other))
            case Load(operand, register):
                other_load = Load(operand, register + 1 if register == 0 else 0)
                yield "other load", with_step(number, replace(step, op=other_load))
            case Constant(values) if len(set(values)) > 1:
                turned_values = Constant(values[::-1])
                yield "constant", with_step(number, replace(step, op=turned_values))
    if len(found.results) > 1:
        yield "results", replace(found, results=found.results[::-1])
    for number in found.results:
        step = found.steps[number]
        if isinstance(step.op, Shuffle) and len(step.operands) == 1:
            lost_results = tuple(x if x != number else step.operands[0] for x in found.results)
            yield "no permutation", replace(found, results=lost_results)


@pytest.mark.parametrize(("case", "width"), AT_WIDTHS, ids=str)
def test_mutants_are_refused(case: Case, width: int) -> None:
    found = lowered(case, width)
    for what, mutant in mutants(found):
        if what == "other load" and _reads_past(case, mutant):
            continue
        with pytest.raises(WrongResult):
            check_layout(case.cell, case.program, mutant)
            pytest.fail(f"{what} of {case} at {width} bits")


def _reads_past(case: Case, found: RegisterProgram) -> bool:
    lanes = {each.name: each.lanes * found.outputs for each in case.cell.operands}
    bytes_of = {each.name: each.type.bytes for each in case.cell.operands}
    return any(
        isinstance(step.op, Load)
        and (step.op.register + 1) * found.register_bytes
        > lanes[step.op.operand] * bytes_of[step.op.operand]
        for step in found.steps
    )


def test_mutants_cover_every_kind() -> None:
    kinds = {what for case, width in AT_WIDTHS for what, _ in mutants(lowered(case, width))}
    assert kinds >= {
        "lane moved",
        "no move",
        "exchanged",
        "other half",
        "other load",
        "constant",
        "results",
        "no permutation",
    }


# --- texts and errors -------------------------------------------------------------------------


def test_the_listing_has_a_numbered_line_for_each_step() -> None:
    found = lowered(case_of("requant_u8"), 256)
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["1", "2", "3", "4", "5", "6", "7"]
    assert "packuswb v3, v4" in str(found)
    assert "vpermq v5" in str(found)
    assert lines[-1].strip() == "store v6: 32 outputs of u8"


def test_explanations_name_outputs_and_meanings() -> None:
    text = lowered(case_of("requant_u8"), 256).listing(explain=True)
    assert "Load 16 lanes of A: outputs 16-31." in text
    assert "outputs 0-7, 16-23, 8-15, 24-31." in text
    assert "wrap((((a * b) + 16384) >> 15), s16)" in text
    for case, width in AT_WIDTHS:
        found = lowered(case, width)
        assert all(found.sentence_of(i).endswith(".") for i in range(len(found.steps)))


def test_features_are_those_of_the_instructions_and_of_the_width() -> None:
    assert lowered(case_of("dot4_u7s8"), 256).features == ("avx2",)
    assert set(lowered(case_of("dot4_u7s8", "vnni"), 512).features) == {
        "avx512vnni",
        "avx512f",
        "avx512bw",
    }
    assert lowered(case_of("dot4_u7s8", "neon"), 128).features == ("i8mm",)


def test_an_instruction_without_a_form_of_that_width_is_refused() -> None:
    with pytest.raises(UsageError, match="psignb has no form of 512 bits"):
        lowered(case_of("dot4_s8s8"), 512)


def test_an_unknown_width_is_refused() -> None:
    with pytest.raises(UsageError, match="no width"):
        lowered(case_of("sat_add_u8"), 64)


def test_a_program_for_another_cell_is_refused() -> None:
    found = case_of("dot4_u7s8").program
    for signature, match in (
        ("s32 C, u8*2 A, s8*2 B -> s32 C", "another cell"),
        ("s32 C, u16*4 A, s8*4 B -> s32 C", "another cell"),
        ("s32 C, u8*4 A, s8*4 D -> s32 C", "no operand 'B'"),
        ("s32 C, u8*4 A, s8*4 B -> s16 O", "another result"),
    ):
        with pytest.raises(UsageError, match=match):
            lower(cell("other", signature, "0"), found, 256)


def test_cells_that_do_not_fill_a_register_are_refused() -> None:
    of = cell("three", "u8*3 A -> u8 O", "A")
    of = replace(of, result=replace(of.result, bits=24))
    found = program("paddb(A, {1})", of, LEVELS["avx2"].rows)
    with pytest.raises(SizeError, match="whole cells"):
        lower(of, found, 256)


def test_simulation_reads_what_memory_holds() -> None:
    case = case_of("requant_u8")
    found = lowered(case, 256)
    operand = case.cell.operands[0]
    inputs = [x for i in range(found.outputs) for x in operand.variables(i)]
    lanes = simulate(found, {"A": inputs})
    assert [variables(lane) for lane in lanes] == [[each] for each in inputs]
