from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlc_course.errors import CourseError, SizeError, TextError, UsageError
from mlc_course.instruction_selection.integers import S32, S64
from mlc_course.instruction_selection.spec import (
    check_inputs,
    check_ranges,
    file_specification,
    named_specification,
    specification,
)
from mlc_course.instruction_selection.spec.line import read_line

BYTES = {
    "-A": lambda a, b: -a,
    "~A": lambda a, b: ~a,
    "A << 3": lambda a, b: a << 3,
    "-A >> 1": lambda a, b: -a >> 1,
    "(A & B) | (A ^ 15)": lambda a, b: (a & b) | (a ^ 15),
    "abs(A - B)": lambda a, b: abs(a - b),
    "clamp(A - B, -3, 9)": lambda a, b: min(max(a - b, -3), 9),
    "min(A, B, 7)": lambda a, b: min(a, b, 7),
    "max(A, B, 7, 9)": lambda a, b: max(a, b, 7, 9),
    "select(A < B, 1, 2)": lambda a, b: 1 if a < b else 2,
    "select(A <= B, 1, 2)": lambda a, b: 1 if a <= b else 2,
    "select(A != B, A, 0)": lambda a, b: a if a != b else 0,
    "select(A - B, 1, 0)": lambda a, b: 1 if a - b else 0,
    "(A >= B) + (A == B) + (A > 3)": lambda a, b: (a >= b) + (a == b) + (a > 3),
    "s8(A) + 1": lambda a, b: (a ^ 128) - 128 + 1,
    "u8(A + B) >> 1": lambda a, b: ((a + b) & 255) >> 1,
    "u16(A - B) >> 8": lambda a, b: ((a - b) & 65535) >> 8,
    "u32(A - B) >> 40": lambda a, b: 0,
    "select(u32(A - B) > 1000, -1, 1)": lambda a, b: -1 if a < b else 1,
}


@pytest.mark.parametrize("text", BYTES)
def test_an_expression_means_what_it_means_in_c(text: str) -> None:
    used = [name for name in "AB" if name in text]
    spec = specification(f"{', '.join(f'u8 {name}' for name in used)} -> s32 O: {text}")
    a, b = (x.reshape(-1) for x in np.meshgrid(np.arange(256), np.arange(256)))
    arrays = {"A": a.astype(np.uint8), "B": b.astype(np.uint8)}
    got = spec.evaluate({name: arrays[name] for name in used})
    want = [int(BYTES[text](x, y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert np.array_equal(got, want)


def test_arithmetic_is_in_int32_unless_a_value_does_not_fit() -> None:
    assert read_line("u8 A -> u8 O: A").arithmetic == S32
    assert read_line("s64 C, u8 A -> s64 C: C + A").arithmetic == S64
    assert read_line("u32 A -> u32 O: A >> 1").arithmetic == S64
    wide = specification("s32 A, s32 B -> s32 O: (s64(A) * B + 5) >> 31")
    arrays = wide.sample(99)
    want = (arrays["A"].astype(np.int64) * arrays["B"] + 5) >> 31
    assert np.array_equal(wide.evaluate(arrays), want.astype(np.int32))
    with pytest.raises(UsageError, match="u64 fits in neither"):
        read_line("u64 A -> u64 O: A")


def test_a_result_wraps_to_its_type() -> None:
    spec = specification("u8 A, u8 B -> u8 O: A + B")
    arrays = {"A": np.array([200], np.uint8), "B": np.array([100], np.uint8)}
    assert spec.evaluate(arrays).tolist() == [44]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("u8 A, u8 B -> u8 O: min(A + , 255)", 29),
        ("u8 A, u8 B -> u8 O: foo(A, B)", 21),
        ("u8 A, u8 B -> u8 O: A / B", 21),
        ("u8 A, u8 B -> u8 O: A // B", 21),
        ("u8 A, u8 B -> u8 O: 1 + A % B", 25),
        ("u8 A, u8 B -> u8 O: A + 1.5 * B", 25),
        ("u8 A, u8 B -> u8 O: A >> B", 26),
        ("u8 A, u8 B -> u8 O: A >> 32 + B", 26),
        ("u8 A, u8 B -> u8 O: A if B else 0", 21),
        ("u8 A, u8 B -> u8 O: A < B < 3", 21),
        ("u8 A, u8 B -> u8 O: A[B]", 21),
        ("u8 A, u8 B -> u8 O: min(A)", 21),
        ("u8 A, u8 B -> u8 O: A.real + B", 21),
        ("u8 A, u8 B -> u8 O: (lambda: A)() + B", 21),
        ("u8 A, u8 B -> u8 O: 'A' + B", 21),
        ("u8 A, u8 B -> u8 O: True + A + B", 21),
        ("u8 A, u8 B u8 O: A + B", 23),
        ("u8 A, u8 B -> u8 O A + B", 25),
        ("u8 A, B -> u8 O: A + B", 7),
        ("u8 A, u8 A -> u8 O: A", 6),
        ("u8 A, u8 min -> u8 O: A + min", 7),
        ("u8*3 A, s32 C -> s32 C: C + A", 1),
        ("u8 A -> u8*2 O: A", 8),
        ("u8 A in 0..x -> u8 O: A", 1),
    ],
)
def test_a_line_that_cannot_be_read_is_refused_with_the_column(line: str, column: int) -> None:
    with pytest.raises(TextError, match=rf"column {column} ") as caught:
        specification(line)
    assert caught.value.expected and caught.value.got


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("f32 A -> u8 O: A", "no type of an integer lane"),
        ("u8 A -> float O: A", "no type of an integer lane"),
        ("u8 A -> u8 O: A + 5000000000", "the constant is outside its type"),
        ("u8 A -> u8 O: A + -2147483649", "the constant is outside its type"),
        ("u8 A in 0..256 -> u8 O: A", "outside the type u8"),
        ("u8 A in -1..5 -> u8 O: A", "outside the type u8"),
        ("u8 A in 9..5 -> u8 O: A", "range is empty"),
        ("u8 A, u8 B -> u8 O: A", "named and not used"),
        ("u8 A -> u8 O: A + B", "B is used and not named"),
        ("u8 A -> u8 O: A + O", "O is used and not named"),
        ("s32 C, u8*4 A, s8*2 B -> s32 C: C + A * B", "together"),
        ("u8*4 A, s8*4 B -> s32 O: A * B", "needs an accumulator"),
        ("s16 C, u8*2 A -> s32 C: C + A", "accumulator, of one type"),
        ("s32*2 C, u8*2 A -> s32 C: C + A", "accumulator, of one type"),
        ("s32 A, s32 B -> s32 O: A * B", "can overflow"),
        ("s32 A -> s32 O: -A", "can overflow"),
        ("s32 A -> s32 O: abs(A)", "can overflow"),
    ],
)
def test_what_does_not_fit_together_is_refused_with_a_way_out(line: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        specification(line)
    assert caught.value.expected and caught.value.got is not None


def test_an_overflow_names_the_expression_its_interval_and_two_ways_out() -> None:
    with pytest.raises(UsageError) as caught:
        specification("s32 A, s16 B -> s32 O: A * B + 1")
    assert "A[vi] * " in str(caught.value.got)
    assert f"in {-(2**15) * (2**31 - 1)}..{2**46}" in str(caught.value.got)
    assert "promise a range" in str(caught.value.hint)
    assert "int64" in str(caught.value.hint)


def test_a_range_makes_arithmetic_safe() -> None:
    spec = specification("s32 A in -1000..1000, s32 B in 0..1000 -> s32 O: A * B")
    assert spec.promise == "A in -1000..1000, B in 0..1000"
    assert (spec.cell.goal.lo, spec.cell.goal.hi) == (-1_000_000, 1_000_000)


def test_a_value_outside_its_promised_range_is_refused_with_its_place() -> None:
    spec = specification("s32 C, u8*4 A in 0..127, s8*4 B -> s32 C: C + A * B")
    arrays = spec.sample(9)
    assert check_inputs(spec, arrays) == 9
    arrays["A"][5, 2] = 128
    with pytest.raises(UsageError, match="outside the promised range") as caught:
        spec.evaluate(arrays)
    assert caught.value.expected == "A in 0..127"
    assert "A[5, 2] = 128" in str(caught.value.got)
    whole = {"A": np.array([[[0, 200]]], np.uint8), "other": np.array([1.5])}
    with pytest.raises(UsageError, match=r"A\[0, 0, 1\] = 200"):
        check_ranges(spec, whole)


def test_arrays_of_another_type_shape_or_length_are_refused() -> None:
    spec = specification("s32 C, u8*4 A!, s8*4 B -> s32 C: C + A * B")
    good = spec.sample(9)
    for name, wrong, error, said in (
        ("A", good["A"].astype(np.int8), UsageError, "type of A"),
        ("B", good["B"].astype(float), UsageError, "type of B"),
        ("A", good["A"][:3], SizeError, "shape of A"),
        ("B", good["B"][:, :3], SizeError, "shape of B"),
        ("C", good["C"][:, None], SizeError, "shape of C"),
        ("C", np.int32(3), SizeError, "shape of C"),
        ("C", good["C"][:5], SizeError, "different lengths"),
    ):
        with pytest.raises(error, match=said):
            check_inputs(spec, {**good, name: wrong})
    with pytest.raises(UsageError, match="arrays for its inputs"):
        check_inputs(spec, {"A": good["A"]})
    with pytest.raises(SizeError, match="outputs of a loop"):
        spec.prim_func(0)


def test_too_long_and_too_deep_lines_are_refused() -> None:
    for line in (
        "u8 A -> u8 O: " + "A + " * 2000 + "A",
        "u8 A -> u8 O: " + "A + " * 500 + "A",
        "u8 A -> u8 O: " + "(" * 900 + "A" + ")" * 900,
        "u8 A -> u8 O: " + "-" * 3000 + "A",
        "u8 Ä -> u8 O: Ä",
        "",
        "-> :",
    ):
        with pytest.raises(CourseError):
            read_line(line)


@given(st.text(st.sampled_from(list("u8s163 AB->O:+*(),!.<>&|^~-=[]{}'in")), max_size=60))
def test_a_line_is_read_or_refused_and_nothing_else(text: str) -> None:
    for line in (text, "u8 A, u8 B -> u8 O: " + text, text + "-> u8 O: A"):
        try:
            read_line(line)
        except CourseError as error:
            assert error.expected is not None


def test_a_file_holds_a_line_with_its_sentence(tmp_path: Path) -> None:
    path = tmp_path / "my-sum.txt"
    path.write_text("# Adds two bytes.\nu8 A, u8 B\n  -> u8 O: min(A + B, 255)\n")
    spec = named_specification(str(path))
    assert (spec.name, spec.sentence) == ("my_sum", "Adds two bytes.")
    assert spec.cell.goal is specification("sat_add_u8").cell.goal
    assert named_specification("sat_add_u8").cell == specification("sat_add_u8").cell
    path.write_text("u8 A, u8 B -> u8 O: min(A + , 255)")
    with pytest.raises(TextError, match="column 29") as caught:
        file_specification(path)
    assert "my-sum.txt" in caught.value.__notes__[0]


SCRIPT = """# from tvm.script import tirx as T
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((64,), "uint8"), O: T.Buffer((64,), "uint8")):
    for i in T.grid(64):
        with T.sblock("half"):
            vi = T.axis.spatial(64, i)
            T.reads(A[vi])
            T.writes(O[vi])
            O[vi] = T.Cast("uint8", T.Cast("int32", A[vi]) + 1 >> 1)
"""


def test_a_file_of_tvmscript_is_a_program(tmp_path: Path) -> None:
    path = tmp_path / "half.py"
    path.write_text(SCRIPT)
    spec = file_specification(path)
    assert spec.name == "half"
    assert spec.cell.goal is specification("u8 A -> u8 O: (A + 1) >> 1").cell.goal
    path.write_text(spec.prim_func(64).script())  # what TVM prints can be read again
    assert file_specification(path).cell == spec.cell


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from tvm", "import os\nfrom tvm"),
        ("A[vi])", "A[vi]) + __import__('os').system('touch pwned')"),
        ("i in T.grid(64)", "i in T.grid(open('pwned', 'w').write('1'))"),
        ("T.reads(A[vi])", "T.evaluate(T.call_extern('int32', 'system', 'ls'))"),
        ("T.reads(A[vi])", "T.__class__"),
        ("T.reads(A[vi])", "vi.__class__.__mro__"),
        ("T.reads(A[vi])", "T.axis.__globals__"),
        ("T.reads(A[vi])", "[x for x in ()]"),
        ("T.reads(A[vi])", "T.min = 3"),
        ("vi = T.axis", "T = T.axis"),
        ('(64,), "uint8")):', "(64,), \"uint8\"), x=print('pwned')):"),
        ("@T.prim_func", "@print\n@T.prim_func"),
        ("+ 1", "+ (1 << 9999999999)"),
        ("+ 1", "+ f'{A}'"),
        ("+ 1", "+ 1.5"),
        ("+ 1", "+ T.exp(1)"),
        ("def main", "async def main"),
        ("def main", "def main[X: 1]"),
        ("for i in", "while i in"),
    ],
)
def test_a_file_that_holds_more_than_a_program_is_refused_unread(
    tmp_path: Path, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert old in SCRIPT
    path = tmp_path / "bad.py"
    path.write_text(SCRIPT.replace(old, new))
    with pytest.raises(TextError):
        file_specification(path)
    assert not (tmp_path / "pwned").exists()


def test_other_files_are_refused(tmp_path: Path) -> None:
    for name, content in (("a.bin", b""), ("b.txt", b"\xff\xfe"), ("c.py", b""), ("d.py", b"x(")):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(CourseError):
            file_specification(path)
    with pytest.raises(UsageError, match="cannot be read"):
        named_specification(str(tmp_path / "none.txt"))
    with pytest.raises(UsageError, match="made from something else"):
        specification(3)  # type: ignore[arg-type]
