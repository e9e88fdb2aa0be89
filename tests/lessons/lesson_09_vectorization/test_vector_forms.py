from __future__ import annotations

import pytest

from mlc_course.errors import SizeError, UsageError
from mlc_course.lessons.lesson_09_vectorization.vector_forms import (
    in_a_row,
    in_sums,
    problems,
    register_tile,
)
from mlc_course.machine import VECTOR_REGISTERS, describe
from mlc_course.tensor_program.ladders import Rung, contest
from mlc_course.tensor_program.processor import Assembly, assembly, longest_chain, read_assembly
from mlc_course.tensor_program.tir import Schedule, Target, assembly_text

LANES, REGISTERS = describe().lanes, describe().vector_registers
HERE = problems(LANES, REGISTERS)


def code(problem: str, form: str) -> Assembly:
    sch = Schedule(HERE[problem].workload.program())
    HERE[problem].form(form).apply(sch)
    return assembly(sch)


@pytest.mark.parametrize("problem", HERE)
def test_every_form_computes_its_problem(problem: str) -> None:
    for form in HERE[problem].forms:
        contest(HERE[problem].workload, rung=Rung(form.name, form.why, form.apply))


@pytest.mark.parametrize(("bits", "registers"), sorted(set(VECTOR_REGISTERS.values())))
def test_every_machine_has_forms(bits: int, registers: int) -> None:
    for problem in problems(bits // 32, registers).values():
        assert len({form.name for form in problem.forms}) == len(problem.forms)
        for form in problem.forms:
            form.apply(Schedule(problem.workload.program()))


def test_one_sum_is_one_scalar_chain_however_far_it_is_written_out() -> None:
    for form in ("1 sum", "1 sum, unrolled"):
        found = code("row sums", form)
        assert found.lanes == 1
        assert longest_chain(found) == found.histogram()["arithmetic"]


def test_each_register_of_sums_is_a_chain() -> None:
    for registers in (1, 2, 4):
        found = code("row sums", f"{registers * LANES} sums")
        assert found.lanes == LANES
        assert found.histogram()["arithmetic"] == registers * longest_chain(found)
        assert found.histogram()["store"] == 0


def test_code_for_arm_has_the_same_chains() -> None:
    apple = Target({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": "apple-m1"})
    row_sums = problems(4, 32)["row sums"]
    found = {}
    for form in ("1 sum", "4 sums", "16 sums"):
        sch = Schedule(row_sums.workload.program())
        row_sums.form(form).apply(sch)
        code = read_assembly(assembly_text(sch, apple), "apple-m1")
        found[form] = code.lanes, code.histogram()["arithmetic"] // longest_chain(code)
    assert found == {"1 sum": (1, 1), "4 sums": (4, 1), "16 sums": (4, 4)}


def test_llvm_makes_vectors_where_no_sum_runs_along_the_lanes() -> None:
    # 8 of 16 for Intel's AVX-512, where LLVM prefers narrow vectors.
    assert code("add one", "as written").lanes in (LANES, 8)
    assert code("column sums", "rows inside").lanes in (LANES, 8)
    assert code("column sums", "as written").lanes == 1


def test_lanes_down_a_column_are_stored_one_by_one() -> None:
    counts = code("add one", f"{LANES} in a column").histogram()
    assert counts["store"] >= LANES * counts["arithmetic"] / 2


def test_a_tile_that_does_not_fit_spills() -> None:
    forms = [form.name for form in HERE["matmul tile"].forms]
    spills = [code("matmul tile", form).histogram()["spill"] for form in forms]
    assert spills[0] == spills[1] == 0 < spills[-1]


def test_how_many_additions_wait_for_each_other() -> None:
    assert in_a_row(4096, 64) == 128
    assert in_a_row(64, 64) == 65
    assert in_a_row(64, 1) == 65
    assert min((in_a_row(256, 2**e), 2**e) for e in range(9)) == (32, 16)


@pytest.mark.parametrize(("terms", "sums"), [(100, 16), (0, 1), (16, 0), (16, -4)])
def test_sums_that_do_not_share_the_terms_evenly_are_refused(terms: int, sums: int) -> None:
    with pytest.raises(SizeError, match="evenly") as caught:
        in_a_row(terms, sums)
    assert caught.value.expected and caught.value.got == sums


def test_a_number_of_sums_that_does_not_divide_the_row_is_refused() -> None:
    sch = Schedule(HERE["row sums"].workload.program())
    with pytest.raises(SizeError, match="does not divide"):
        in_sums(48)(sch)


def test_a_tile_left_as_a_loop_computes_the_same() -> None:
    work = HERE["matmul tile"].workload
    for unroll in (True, False):
        contest(work, rung=Rung("tile", "", register_tile(4, LANES, unroll=unroll)))


@pytest.mark.parametrize("count", [0, -16])
def test_no_sums_at_all_are_refused(count: int) -> None:
    with pytest.raises(SizeError):
        in_sums(count)(Schedule(HERE["row sums"].workload.program()))


@pytest.mark.parametrize(("lanes", "registers"), [(2, 16), (16, 8), (0, 0), (32, 32)])
def test_registers_that_no_machine_has_are_refused(lanes: int, registers: int) -> None:
    with pytest.raises(UsageError, match="no such registers"):
        problems(lanes, registers)


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(UsageError, match="no such form") as caught:
        HERE["row sums"].form("2 x 2")
    assert "1 sum" in str(caught.value.expected)
