from __future__ import annotations

import json

import pytest

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import (
    S16,
    S32,
    U8,
    Formula,
    equals,
    minimum,
    saturate,
    var,
    variable,
    wrap,
)
from mlc_course.instruction_selection.prove import (
    METHODS,
    Certificate,
    Proved,
    Refuted,
    Unknown,
    prove_cell,
    prove_equal,
)
from mlc_course.instruction_selection.prove.classes import lane_classes
from tests.helpers.cell_programs import known

A, B = variable("a", U8), variable("b", U8)


def certificate_of(name: str) -> Certificate:
    verdict = prove_cell(known(name).cell, known(name).program)
    assert isinstance(verdict, Proved)
    return verdict.certificate


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "gauss3x3_u8",
            "no intermediate value leaves its type, so both sides are the same polynomial",
        ),
        ("mul_q15_sat", "32768 becomes -32768 in s16, and adding -1 takes that back to 32767"),
        (
            "rshift_s16",
            "no intermediate value leaves its type and the common factor 512 comes out of the"
            " shift, so both sides are the same polynomial",
        ),
        (
            "sobel_x_u8",
            "A[0] + 2 * E[0] + H[0] - D[0] - 2 * G[0] - J[0] and D[0] + 2 * G[0] + J[0] - A[0]"
            " - 2 * E[0] - H[0] are x and -x: 2,041 values of x",
        ),
        (
            "dot4_s8s8",
            "the difference has 4 parts that share no variable, and each was computed",
        ),
        ("dot4_u7s8", "both sides are the same polynomial modulo 2^32"),
        ("narrow_s32", "no intermediate value leaves its type, so both sides are linear between"
         " the same knots"),
        ("gauss_121_u8", None),
    ],
)  # fmt: skip
def test_a_certificate_says_why(name: str, reason: str | None) -> None:
    assert certificate_of(name).reason == reason


def test_verdicts_are_sentences() -> None:
    done = Certificate("all inputs", lanes=32, classes=1, inputs=65536, seconds=0.01)
    assert str(Proved(done)) == (
        "Proved: both sides, or the parts of their difference, were computed on all inputs"
        " (32 lanes of one kind, 65,536 inputs)."
    )
    one = Certificate("normal form", lanes=1, classes=1, inputs=0, seconds=0.01, reason="x is x")
    assert str(Proved(one)) == "Proved: both sides have the same normal form (one lane): x is x."
    two = Certificate("same formula", lanes=4, classes=2, inputs=0, seconds=0.01)
    assert str(two) == "both sides are the same formula (4 lanes of 2 kinds)"
    assert str(Refuted({"A": -32768, "B": -32768}, 0, 32767, -32768)) == (
        "Different at A = -32768, B = -32768: -32768 and not 32767."
    )
    assert str(Refuted({}, 3, 1, 2)) == "Different: 2 and not 1 in lane 3."
    assert str(Unknown("the time was short")) == "Not known: the time was short."


@pytest.mark.parametrize("method", METHODS)
def test_a_certificate_is_recorded_as_json(method: str) -> None:
    made = Certificate(method, 8, 2, 511, 0.25, "x and -x")  # type: ignore[arg-type]
    assert Certificate.from_json(json.loads(json.dumps(made.to_json()))) == made
    assert str(made)


@pytest.mark.parametrize(
    "change",
    [{"method": "belief"}, {"lanes": -1}, {"inputs": "many"}, {"seconds": None}, {"reason": 3}],
)
def test_what_is_no_certificate_is_refused(change: dict[str, object]) -> None:
    data = Certificate("tables", 1, 1, 5, 0.5).to_json() | change
    with pytest.raises(UsageError, match="no certificate"):
        Certificate.from_json(data)


def test_lanes_that_differ_in_names_alone_are_one_class() -> None:
    def lane(x: Formula, y: Formula) -> tuple[Formula, Formula]:
        return minimum(x + y, 255), x + minimum(y, 255 - x)

    names = [(variable(f"x{i}", U8), variable(f"y{i}", U8)) for i in range(6)]
    pairs = [lane(x, y) for x, y in names] + [lane(names[0][0], names[0][0])]
    pairs.append(lane(names[1][0], var("short", 0, 9)))
    found = lane_classes([x for x, _ in pairs], [y for _, y in pairs])
    assert [(each.lane, each.lanes) for each in found] == [(0, 6), (6, 1), (7, 1)]


def test_a_variable_on_the_wrong_side_makes_another_class() -> None:
    found = lane_classes([A - B, A - B, B - A], [A - B, B - A, A - B])
    assert [each.lanes for each in found] == [1, 2]


def test_a_certificate_counts_lanes_and_classes() -> None:
    c = variable("c", S16)
    verdict = prove_equal([A + B, B + A, c], [B + A, A + B, wrap(S16, c)])
    assert isinstance(verdict, Proved)
    assert (verdict.certificate.lanes, verdict.certificate.classes) == (3, 2)
    assert verdict.certificate.method == "normal form"
    assert prove_equal([], []) == Proved(
        Certificate("same formula", 0, 0, 0, pytest.approx(0, abs=9))
    )


def test_a_lane_that_differs_counts_before_one_that_is_not_known() -> None:
    x, y = variable("x", S32), variable("y", S32)
    mixed = wrap(S32, x * y + 12345 * x)
    rare = equals(mixed, 987654321) * equals(wrap(U8, y * y * x), 77)
    assert isinstance(prove_equal([mixed], [mixed + rare]), Unknown)
    verdict = prove_equal([mixed, A], [mixed + rare, minimum(A, 254)])
    assert verdict == Refuted({"a": 255}, 1, 255, 254)


def test_without_time_nothing_is_known() -> None:
    c, d = variable("c", S16), variable("d", S16)
    verdict = prove_equal([saturate(S16, c * d)], [saturate(S16, d * c)], seconds=0.0)
    assert verdict == Unknown("no method was done in 0 s")


def test_different_numbers_of_lanes_are_refused() -> None:
    with pytest.raises(UsageError, match="not as many"):
        prove_equal([A], [A, B])


def test_one_name_with_two_ranges_is_refused() -> None:
    with pytest.raises(UsageError, match="two ranges"):
        prove_equal([A], [var("a", 0, 127)])
