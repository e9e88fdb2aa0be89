"""Rows are held against pseudocode in Intel's form: agreement is proved, and faults are refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from helpers.own_guide import guide_text

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.intel_guide import Guide, read_guide
from mlc_course.instruction_selection.isa import AVX2, VNNI
from mlc_course.instruction_selection.semantics import EVERY_ROW, RowCheck, check_rows

ROWS = AVX2 + VNNI
# A comparison of AVX-512 leaves its bits in a mask register.
OF_MASKS = {f"pcmp{how}{lane}" for how in ("eq", "gt") for lane in "bwd"}


def guide_in(folder: Path, changes: Mapping[str, tuple[str, str]] | None = None) -> Guide:
    path = folder / "guide.xml"
    path.write_text(guide_text(changes))
    return read_guide(path)


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Guide:
    return guide_in(tmp_path_factory.mktemp("guide"))


def check(name: str, guide: Guide) -> RowCheck:
    rows = [row for row in EVERY_ROW if row.name == name][:1]
    (found,) = check_rows(rows, sources=["intel"], guide=guide, progress=False)
    return found


def notes(found: RowCheck) -> dict[int, str]:
    return {each.width: each.note for each in found.findings if each.verdict != "agrees"}


def test_every_row_of_x86_is_proved_equal_at_every_width(right: Guide) -> None:
    for found in check_rows(ROWS, sources=["intel"], guide=right, progress=False):
        assert found.verdict == "agrees" and found.extent == "proved for all", str(found)
        masks = {512} if found.row.name in OF_MASKS else set()
        assert set(notes(found)) == masks, notes(found)
        assert found.agreeing() == {"intel": sorted(set(found.row.reach) - masks)}


# What is changed in the text of one instruction, where that shows, and the width that it is for.
FAULTS = {
    "pavgb": ("+ 1) &gt;&gt; 1", "+ 0) &gt;&gt; 1"),
    "pmulhrsw": ("&gt;&gt; 14) + 1", "&gt;&gt; 14) + 2"),
    "packuswb": ("SaturateU8", "Truncate8"),
    "packssdw": ("dst[79:64]", "dst[79:64] := 0\ndst[15:0]"),
    "paddusb": ("SaturateU8", ""),
    "vpdpbusds": ("Saturate32", ""),
    "pmaddubsw": ('varname="a" etype="UI8"', 'varname="a" etype="SI8"'),
    "psadbw": ('varname="b" etype="UI8"', 'varname="b" etype="SI8"'),
    "pminuw": ('etype="UI16"', 'etype="SI16"'),
    "pcmpgtb": ("0xff", "0x7f"),
    "punpcklbw": ("x[15:8]", "x[23:16]"),
    "psrlw": ("ZeroExtend16(a[p+15:p] &gt;&gt;", "SignExtend16(a[p+15:p] &gt;&gt;"),
    "psraw": ("SignExtend16(a[p+15:p]", "ZeroExtend16(a[p+15:p]"),
    "psignw": ("== 0", "== 1"),
    "pmovsxbw": ("SignExtend16", "ZeroExtend16"),
    "vpdpbusd": ("b.byte[4*j+3]", "b.byte[4*j+2]"),
    "pmulhw": ("t[31:16]", "t[30:15]"),
    "pxor": (" XOR ", " OR "),
    "psubsw": ("a[p+15:p] - b[p+15:p]", "b[p+15:p] - a[p+15:p]"),
    "pabsd": ("ABS(", "Saturate32("),
}
ROW_OF = {"punpcklbw": "punpckb", "pmovsxbw": "pmovsxb"}
# One instruction alone, and the operand of an input that must be named; none where all differ.
SEEN = {
    "pavgb": ("lane 0 of _mm_pavgb: a0 = ", "gives"),
    "packssdw": ("lane 0 of _mm_packssdw: a0 = ", "b0 = "),
    "punpcklbw": ("lane 2 of _mm_punpcklbw: a1 = ", "a2 = "),
    "vpdpbusds": ("lane 0 of _mm_vpdpbusds: a0 = ", "c3 = "),
    "psrlw": ("psrlw #1, lane 0 of _mm_psrlw: a0 = ", "the row says"),
}


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Guide:
    return guide_in(tmp_path_factory.mktemp("guide"), FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_refused_with_the_lane_and_the_input(name: str, wrong: Guide) -> None:
    found = check(ROW_OF.get(name, name), wrong)
    assert found.verdict == "differs"
    (note, *_) = (each.note for each in found.findings if each.verdict == "differs")
    for text in SEEN.get(name, (" gives ", "lane ", "0 = ")):
        assert text in note


def test_a_fault_of_one_width_is_a_fault_of_that_width(tmp_path: Path) -> None:
    """Whole lanes are exchanged as a wider register would do without blocks."""
    changes = {"vpacksswb": ("", "")}
    with pytest.raises(AssertionError, match="a change of nothing"):
        guide_text(changes)
    text = guide_text()
    first, middle, rest = text.partition('name="_mm256_packsswb"')
    middle += rest.replace(
        "dst[71:64] := Saturate8(b[15:0])", "dst[71:64] := Saturate8(a[143:128])", 1
    )
    path = tmp_path / "guide.xml"
    path.write_text(first + middle)
    assert list(notes(check("packsswb", read_guide(path)))) == [256]


NOT_READ = {
    "no operation": ("<operation>", "<nothing>"),
    "an empty one": ("FOR j", "WHILE j"),
    "no result": ("dst[", "out["),
    "no name of an operand": ('varname="a"', 'varname=""'),
    "no type of the result": ('<return type="__m', '<return type="'),
    "a mask": ('<parameter type="__m128i" varname="a"', '<parameter type="__mmask8" varname="a"'),
    "a call": ("MIN(", "EVAL("),
    "a loop too long": ("j := 0 to 15", "j := 0 to 1000000000"),
}


@pytest.mark.parametrize("what", NOT_READ)
def test_what_cannot_be_read_is_never_agreement(what: str, tmp_path: Path) -> None:
    old, new = NOT_READ[what]
    if what == "no operation":
        old, new = "operation>", "nothing>"
    found = check("pminub", guide_in(tmp_path, {"pminub": (old, new)}))
    note = notes(found)[128]
    assert note.startswith("not read: ")
    assert all(each.verdict == "left out" for each in found.findings if each.width in notes(found))


def test_a_row_that_the_guide_lacks_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "guide.xml"
    path.write_text('<a><intrinsic name="x"><instruction name="PADDB"/></intrinsic></a>')
    found = check("pavgb", read_guide(path))
    assert found.verdict == "left out"
    assert notes(found)[256] == "not read: pavgb of 256 bits is not in the guide"


def test_rows_of_arm_are_not_asked(right: Guide) -> None:
    assert not check("uhadd.8", right).findings


def test_the_source_is_asked_with_a_guide_alone() -> None:
    with pytest.raises(UsageError, match="no source of meanings 'intel'"):
        next(check_rows(ROWS[:1], sources=["intel"], progress=False))
