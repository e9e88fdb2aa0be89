"""Rows of the table are held against this processor, an emulator and a symbolic model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mlc_course.errors import MachineError, UsageError
from mlc_course.instruction_selection.integers import wrap
from mlc_course.instruction_selection.isa import Instruction
from mlc_course.instruction_selection.semantics import (
    EVERY_ROW,
    RowCheck,
    check_rows,
    lacking,
    left_out,
    one_instruction,
    packages,
    processor,
)
from mlc_course.instruction_selection.semantics.lane_order import lane_order
from mlc_course.tensor_program.ladders import load

pytestmark = pytest.mark.spread

SAMPLE = (
    *("pavgb", "psignw", "pmaddubsw", "psadbw", "packuswb", "punpck0b", "punpckw", "pmovsxb"),
    *("psraw", "pcmpgtd", "vpdpbusd", "uhadd.8", "sqrdmulh.32", "sqrshrun", "uaddl.8"),
    *("uadalp.8", "sdot", "uxtl", "sqxtun.32", "urshr.16"),
)
GROUPS = 12
# What Triton does not model, and what Unicorn and Keystone do not know.
NO_SYMBOLS = {
    *("paddusb", "paddsb", "paddusw", "paddsw", "psubusb", "psubsb", "psubusw", "psubsw"),
    *("pabsb", "pabsw", "pabsd", "psignb", "psignw", "psignd", "pmulhuw", "pmulhrsw"),
    *("pmaddubsw", "psadbw", "packusdw", "vpdpbusd", "vpdpbusds", "vpdpwssd"),
}
NO_EMULATOR = {"vpdpbusd", "vpdpbusds", "vpdpwssd", "usdot"}
# Where LLVM 22 writes something else than a row's own instruction; the row's meaning holds there.
OTHERWISE = {
    ("psllw", 128): "immediate 1: computed by vpaddw, not by this instruction",
    ("psllw", 256): "immediate 1: computed by vpaddw, not by this instruction",
    ("pslld", 128): "immediate 1: computed by vpaddd, not by this instruction",
    ("pslld", 256): "immediate 1: computed by vpaddd, not by this instruction",
    ("punpck0b", 128): "with vpmovzxbw",
    ("punpck0w", 128): "with vpmovzxwd",
    **{(f"pcmp{how}{lane}", 512): f"with vpmovm2{lane}" for how in ("eq", "gt") for lane in "bwd"},
    ("sshr.8", 128): "immediate 7: computed by cmlt, not by this instruction",
    ("sshr.16", 128): "immediate 15: computed by cmlt, not by this instruction",
    ("sshr.32", 128): "immediate 31: computed by cmlt, not by this instruction",
    **{
        (f"shl.{bits}", 128): "immediate 1: computed by add, not by this instruction"
        for bits in (8, 16, 32)
    },
    ("rshrn", 128): "immediate 8: computed by raddhn, raddhn2, not by this instruction",
    ("rshrn.32", 128): "immediate 16: computed by raddhn, raddhn2, not by this instruction",
}


def named(name: str) -> Instruction:
    return next(row for row in EVERY_ROW if row.name == name)


def check(row: Instruction, *sources: str) -> RowCheck:
    (found,) = check_rows([row], sources=sources or None, progress=False)
    return found


def holds(found: RowCheck) -> None:
    """What a check of a row must have found, by the sources that there are here."""
    name = found.row.name
    asked = {each.source: each for each in found.findings}
    assert all(each.verdict != "differs" for each in found.findings), str(found)
    without = left_out()
    if "emulator" not in without:
        assert (asked["emulator"].verdict == "left out") == (name in NO_EMULATOR), str(found)
    if "symbols" not in without and found.row.feature == "avx2":
        assert (asked["symbols"].verdict == "left out") == (name in NO_SYMBOLS), str(found)
    for each in found.findings:
        if each.verdict == "agrees" and each.source in ("processor", "compiled, emulated"):
            assert each.note == OTHERWISE.get((name, each.width), "")
            bits = sum(read.type.bits * read.lanes for read in found.row.reads)
            assert each.complete == (bits <= 16)
            assert each.complete or each.inputs >= 65_536


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_rows_agrees_with_every_source(name: str) -> None:
    holds(check(named(name)))


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_row_agrees_with_every_source(group: int) -> None:
    for found in check_rows(EVERY_ROW[group::GROUPS], progress=False):
        holds(found)


def test_every_row_but_one_has_a_source_that_this_course_brings() -> None:
    """The processor's word for VNNI, and the emulator's for the rest; usdot waits for an Arm."""
    alone = {row.name for row in EVERY_ROW if row.name in NO_EMULATOR & NO_SYMBOLS}
    assert alone == {"vpdpbusd", "vpdpbusds", "vpdpwssd"}
    assert NO_EMULATOR - alone == {"usdot"}


WRONG = {
    "pavgb": lambda a, b: (a + b) >> 1,
    "uhadd.8": lambda a, b: (a + b + 1) >> 1,
    "pmulhw": lambda a, b: wrap(named("pmulhw").result, (a * b + 1) >> 16),
    "packuswb": lambda a: wrap(named("packuswb").result, a),
}


OF_X86, OF_ARM = ("processor", "emulator", "symbols"), ("compiled, emulated", "emulator")
ASKED = [(x, y) for x in WRONG for y in (OF_ARM if x == "uhadd.8" else OF_X86)]


@pytest.mark.parametrize(("name", "source"), ASKED)
def test_a_wrong_meaning_is_refused_by_each_source(name: str, source: str) -> None:
    found = check(replace(named(name), meaning=WRONG[name]), source)
    if found.verdict == "left out":
        pytest.skip(found.findings[0].note)
    assert found.verdict == "differs"
    (difference, *_) = (each for each in found.findings if each.verdict == "differs")
    assert "a = " in difference.note and difference.note in str(found)


@pytest.mark.parametrize("name", ["packuswb", "punpck0b", "punpckb"])
def test_lanes_in_the_order_of_memory_are_refused_where_x86_works_in_blocks(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        one_instruction, "lane_order", lambda row, width: list(range(len(lane_order(row, width))))
    )
    found = {each.width: each.verdict for each in check(named(name), "processor").findings}
    if "left out" in found.values():
        pytest.skip("this processor lacks a width")
    # two registers of one block are in the order of memory
    assert found == {128: "agrees", 256: "differs", 512: "differs"}


def test_the_order_of_lanes_within_blocks_is_data() -> None:
    by_blocks = [*range(0, 4), *range(8, 12), *range(4, 8), *range(12, 16)]
    assert lane_order(named("packssdw"), 256) == by_blocks
    assert lane_order(named("punpck0w"), 256) == by_blocks
    assert lane_order(named("pmovsxw"), 256) == list(range(16))
    assert lane_order(named("sqxtun"), 128) == list(range(16))


def test_a_width_that_this_processor_lacks_is_left_out_with_the_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processor, "host_features", lambda: frozenset({"avx2", "fma"}))
    findings = {each.width: each for each in check(named("pavgb"), "processor").findings}
    assert findings[512].verdict == "left out"
    assert findings[512].note.startswith("this processor lacks avx512f")


def test_a_source_without_its_package_is_left_out_and_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(packages.importlib, "import_module", gone)
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda _: None)
    found = check(named("pavgb"), "emulator", "symbols")
    assert found.verdict == "left out"
    assert "unicorn" in left_out()["emulator"]
    assert left_out()["symbols"].endswith("triton-library keystone-engine z3-solver")
    with pytest.raises(MachineError, match=r"pip install .* keystone-engine"):
        packages.package("keystone")


def test_an_unknown_source_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="did you mean emulator"):
        list(check_rows([], sources=["emulater"]))


def test_a_row_of_no_level_is_left_out_by_the_processor() -> None:
    mine = replace(named("pavgb"), name="mine")
    assert {each.note for each in check(mine, "processor").findings} == {"the row is of no level"}


def test_a_check_is_one_line_and_goes_into_a_record() -> None:
    found = check(named("pavgb"), "emulator")
    record = found.to_dict()
    assert record["row"] == "pavgb" and record["verdict"] == found.verdict
    assert "\n" not in str(found)
    assert lacking(one_instruction.LEVELS["avx2"]) is not None


def test_cycles_of_x86_are_those_of_the_record_to_quarters() -> None:
    """A product of 32 bits is two micro-operations on other processors, and counts as such."""
    record = load(Path(__file__).parents[3] / "benchmarks" / "results" / "instruction_rows.json")
    levels = {256: ("avx2",), 512: ("avx512", "vnni")}
    rows = {
        (row.name, row.signature, width): row
        for width, names in levels.items()
        for name in names
        for row in one_instruction.LEVELS[name].rows
    }
    timed = [each for each in record["throughput"] if each["row"] != "pmulld"]
    assert len(timed) > 140
    for each in timed:
        row = rows[each["row"], each["signature"], each["width"]]
        assert row.cycles == round(4 * each["cycles"]) / 4, str(row)
