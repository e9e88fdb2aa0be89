"""Intel's pseudocode is read as formulas, and what is not of the language is refused."""

from __future__ import annotations

import pytest

from mlc_course.errors import TextError
from mlc_course.instruction_selection.integers import S8, S16, U8, Formula, IntType, const, variable
from mlc_course.instruction_selection.intel_guide import Bits, of_lanes, parsed, result_of
from mlc_course.instruction_selection.prove import Proved, prove_equal

A = [variable(f"a{i}", S8) for i in range(4)]
B = [variable(f"b{i}", U8) for i in range(4)]


def result(text: str, bits: int = 32, **more: int) -> Bits:
    numbers = {name: of_lanes([const(value)], IntType(False, 32)) for name, value in more.items()}
    operands = {"a": of_lanes(A, S8), "b": of_lanes(B, U8)} | numbers
    return result_of(text, operands, "dst", bits)


def lane(text: str, bits: int = 8, *, signed: bool = False) -> Formula:
    return result(text, bits).read(signed=signed)


def equal(found: Formula, wanted: Formula | int) -> bool:
    lanes = [wanted if isinstance(wanted, Formula) else const(wanted)]
    return isinstance(prove_equal(lanes, [found]), Proved)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("7 - 2 - 1", 4),
        ("1 << 2 + 1", 8),  # as in C
        ("0x10 >> 3 >> 1", 1),
        ("6 AND 3 OR 8", 10),
        ("6 XOR 3", 5),
        ("6 & 3 | 8 ^ 1", 11),
        ("-1", 255),
        ("NOT 1", 254),
        ("NOT (1 == 2)", 1),
        ("1 == 1 ? 5 : 6", 5),
        ("0 ? 5 : 1 ? 7 : 8", 7),
        ("(3 > 2) + (2 >= 2) + (1 < 2) + (2 <= 1) + (2 != 2)", 3),
        ("ABS(-5)", 5),
        ("MIN(3, -4) + MAX(3, 4) + 4", 4),
        ("Saturate8(200)", 127),
        ("SaturateU8(-3)", 0),
        ("SignExtend16(-3) + 5", 2),
        ("ZeroExtend16(-3) >> 8", 255),
        ("Truncate8(511)", 255),
    ],
)
def test_constants_are_computed(expression: str, wanted: int) -> None:
    assert lane(f"dst[7:0] := {expression}").value == wanted


def test_lanes_have_the_sign_of_their_type_and_other_bits_have_none() -> None:
    assert equal(lane("dst[15:0] := a[7:0] + 1000", 16), A[0] + 1000)
    assert equal(lane("dst[15:0] := b[7:0] + 0", 16), B[0])
    assert equal(lane("dst[15:0] := a[7] + 0", 16), (A[0] >> 7) & 1)
    assert equal(lane("dst[15:0] := a[6:3] + 0", 16), (A[0] >> 3) & 15)
    assert equal(lane("dst[15:0] := Signed(b[7:0]) + 0", 16, signed=True), (B[0] ^ 128) - 128)
    assert equal(lane("dst[15:0] := Unsigned(a[7:0]) + 0", 16), A[0] & 255)


def test_a_shift_is_arithmetic_or_logical_as_the_extension_around_it_says() -> None:
    assert equal(lane("dst[15:0] := SignExtend16(a[7:0] >> 2)", 16, signed=True), A[0] >> 2)
    assert equal(lane("dst[15:0] := ZeroExtend16(a[7:0] >> 2)", 16), (A[0] & 255) >> 2)
    assert equal(lane("dst[7:0] := b[7:0] << 2"), (B[0] << 2) & 255)


def test_a_name_keeps_the_number_that_its_bits_hold() -> None:
    assert equal(lane("t[15:0] := a[7:0] * 3\ndst[31:0] := t[15:0] + 0", 32, signed=True), A[0] * 3)
    wrapped = lane("t[7:0] := a[7:0] * 3\ndst[31:0] := t[7:0] + 0", 32)
    assert equal(wrapped, (A[0] * 3) & 255)
    assert equal(lane("t.word := Signed(a[7:0])\ndst[31:0] := t", 32, signed=True), A[0])


def test_bits_are_cut_and_put_anywhere() -> None:
    text = "t[31:0] := a[31:0]\nt[11:4] := b[7:0]\ndst[7:0] := t[11:4]\ndst[15:8] := t[7:0]"
    assert equal(lane(text), B[0])
    assert equal(lane(text + "\ndst[7:0] := dst[15:8]"), (A[0] & 15) + ((B[0] & 15) << 4))
    assert [x.formula for x in result("dst[31:0] := a[31:0]").parts] == A  # moved, no more


def test_a_register_is_combined_lane_by_lane() -> None:
    found = result("dst[31:0] := (a[31:0] AND b[31:0]) XOR (NOT a[31:0])")
    assert [x.bits for x in found.parts] == [8] * 4
    for i in range(4):
        wanted = ((A[i] & B[i]) ^ (-1 - A[i])) & 255
        assert equal(found.cut(8 * i, 8).read(signed=False), wanted)


BRANCHES = """
FOR j := 0 to 3
    i := j*8
    IF a[i+7:i] < 0
        dst[i+7:i] := 1
    ELSE IF a[i+7:i] == 0
        dst[i+7:i] := 2
    ELSE
        IF j > 2
            dst[i+7:i] := 3
        ELSE
            dst[i+7:i] := 4; // another lane
        FI
    FI
ENDFOR
dst[MAX:32] := 0
"""


def test_a_branch_on_data_is_a_choice() -> None:
    register = result_of(
        BRANCHES, {"a": of_lanes([const(x) for x in (-5, 0, 5, 5)], S8)}, "dst", 32
    )
    assert register.number.value == 0x03040201
    by_data = result(BRANCHES).cut(16, 8).read(signed=False)
    assert (by_data.lo, by_data.hi) == (1, 4)


def test_a_name_that_one_branch_alone_gives_has_no_value_later() -> None:
    with pytest.raises(TextError, match="no value"):
        result("IF a[7:0] < 0\nt := 1\nFI\ndst[31:0] := t")
    with pytest.raises(TextError, match="nothing was written"):
        result("IF a[7:0] < 0\ndst[31:0] := 1\nELSE\ndst[15:0] := 1\nFI")


def test_a_function_of_the_text_sees_its_parameters_alone() -> None:
    define = "DEFINE PAIR(x[7:0], y) {\n\tz[7:0] := x[7:0]\n\tz[15:8] := y\n\tRETURN z[15:0]\n}\n"
    found = result(define + "dst[15:0] := PAIR(a[31:0], b[7:0])", 16)
    assert [x.formula for x in found.parts] == [A[0], B[0]]
    with pytest.raises(TextError, match="no value"):
        result(define.replace("y\n", "w\n") + "w := 3\ndst[15:0] := PAIR(a[7:0], 1)")
    with pytest.raises(TextError, match="otherwise than it is defined"):
        result(define + "dst[15:0] := PAIR(a[7:0])")


def test_lanes_have_names() -> None:
    text = "FOR j := 0 to 1\n\tdst.word[j] := ZeroExtend16(b.byte[2*j + 1]) + a.byte[j]\nENDFOR"
    second = result(text).cut(16, 16).read(signed=True)
    assert equal(second, B[3] + A[1])
    assert S16.holds(second.lo, second.hi)


CHAIN = " + ".join(["1"] * 3000)
NOT_READ = {
    "no text": "",
    "not a text": "\x00\x01",
    "not ASCII": "dst[7:0] := \u00e4",
    "a half assignment": "dst[7:0] :=",
    "no result": "a[7:0] := 1",
    "unwritten bits": "dst[15:0] := 1",
    "a name without a value": "dst[31:0] := k",
    "an unknown function": "dst[31:0] := SHUFFLE4(a, 1)",
    "a lane of an unknown name": "dst.fp32[0] := 1",
    "bits of a number": "t := 5\ndst[31:0] := t[2:0]",
    "no such bits": "dst[0:31] := 1",
    "negative bits": "dst[31:-1] := 1",
    "too many bits": "dst[1000000000:0] := 1",
    "an index of data": "dst[31:0] := a[b[2:0]]",
    "a shift by data": "dst[31:0] := a[7:0] << b[7:0]",
    "a shift by much": "dst[31:0] := 1 << 999999999",
    "a loop over data": "FOR j := 0 to a[7:0]\ndst[31:0] := 1\nENDFOR",
    "a long loop": "FOR j := 0 to 1000000000\ndst[31:0] := 1\nENDFOR",
    "long loops in loops": "FOR i := 0 to 500\nFOR j := 0 to 500\ndst[31:0] := 1\nENDFOR\nENDFOR",
    "a loop without an end": "FOR j := 0 to 3\ndst[31:0] := 1",
    "an end without a loop": "dst[31:0] := 1\nENDFOR",
    "a loop by conditions": "WHILE 1\ndst[31:0] := 1\nOD",
    "a case": "CASE a[1:0] OF\n0: dst[31:0] := 1\nESAC",
    "a function that calls itself": "DEFINE F(x) {\nRETURN F(x)\n}\ndst[31:0] := F(1)",
    "a function in a loop": "FOR j := 0 to 1\nDEFINE F(x) {\nRETURN 1\n}\nENDFOR",
    "a number without bounds": "t := 3\nFOR j := 0 to 99\nt := t * t\nENDFOR\ndst[31:0] := t",
    "a long number": f"dst[31:0] := {'9' * 5000}",
    "a long text": "dst[31:0] := 1\n" * 10_000,
    "a long sum": f"dst[31:0] := {CHAIN}",
    "deep parentheses": f"dst[31:0] := {'(' * 5000}1{')' * 5000}",
    "deep brackets": f"dst[31:0] := {'a[' * 5000}1{']' * 5000}",
    "many signs": f"dst[31:0] := {'-' * 5000}1",
    "many branches": "IF 1\ndst[31:0] := 1\n" + "ELSE IF 1\ndst[31:0] := 1\n" * 500 + "FI",
    "deep branches": "IF 1\n" * 2000 + "dst[31:0] := 1\n" + "FI\n" * 2000,
    "Python": "dst[31:0] := __import__('os').getpid()",
}


@pytest.mark.parametrize("what", NOT_READ)
def test_what_is_not_of_the_language_is_refused(what: str) -> None:
    with pytest.raises(TextError) as caught:
        result(NOT_READ[what])
    assert caught.value.expected is not None or caught.value.got is not None


def test_an_error_names_the_line() -> None:
    with pytest.raises(TextError, match=r"'\)' in line 2"):
        parsed("dst[7:0] := 1\ndst[15:8] := (1 + )")
    with pytest.raises(TextError) as caught:
        result("dst[7:0] := 1\ndst[31:8] := unknown")
    assert caught.value.__notes__ == ["in line 2 of the operation"]
