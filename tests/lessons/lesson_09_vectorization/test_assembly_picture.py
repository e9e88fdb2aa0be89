from __future__ import annotations

import re

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_09_vectorization.assembly_picture import (
    hot_loop_html,
    lens_svg,
    program_html,
)
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.processor import Assembly, read_assembly

OUTLINE = """for m in 64:
    for lane in 16 vectorized:
        S_rf[m, lane] = 0.0
    for k in 256, lane in 16 vectorized:
        S_rf[m, lane] += X[m * 16 + k] * w[k]
    for lane in 16:
        S[m] += S_rf[m, lane]"""
LOOP = (
    ".LBB0_1:\n\tvaddps\t(%rdi,%rax), %ymm0, %ymm0\n\tvmovaps\t%ymm0, (%rsi,%rax)\n"
    "\tvmovaps\t%ymm1, 8(%rsp)\n\taddq\t$64, %rax\n\tjne\t.LBB0_1\n\tretq"
)


@pytest.fixture
def found() -> Assembly:
    return read_assembly(f"\t.cfi_startproc\n{LOOP}\n\t.cfi_endproc\n", "any")


def text(html: str) -> list[str]:
    """The lines of the listing, without marks."""
    body = html.split("</style>")[1].replace("&nbsp;", " ")
    return [
        re.sub("<[^>]*>", "", line)
        for line in re.findall(r"<div class=.(?:hot|cold).+?</div>", body)
    ]


def test_a_program_s_statements_are_marked_and_the_one_that_runs_most_stands_out() -> None:
    html = program_html(OUTLINE)
    assert html.count('class="hot"') == 1
    (hot,) = re.findall(r'<div class="hot">.*?</div>', html)
    assert "X[m * 16 + k]" in hot
    assert '<i class="store">S_rf[m, lane]</i> <i class="arithmetic">+=</i>' in hot
    assert hot.count('class="load"') == 3  # the letter, X and w
    assert '<i class="arithmetic">*</i>' in hot


def test_a_line_begins_with_the_letters_of_what_it_does() -> None:
    lines = text(program_html(OUTLINE))
    letters = [re.match(r"\s*([LAS]*)", line.split("  ")[0])[1] for line in lines]  # type: ignore[index]
    assert letters == ["", "", "S", "", "LAS", "", "LAS"]


def test_an_element_wise_statement_is_arithmetic_and_a_copy_is_not() -> None:
    assert "LAS" in text(program_html("for m in 4:\n    Y[m] = X[m] + 1.0"))[1]
    assert "LS" in text(program_html("for m in 4:\n    Y[m] = X[m]"))[1]


def test_an_empty_program_is_an_empty_listing() -> None:
    assert "<div class=" not in program_html("").split('<div class="mlc-code">')[1]


def test_each_instruction_has_the_letters_of_what_it_does(found: Assembly) -> None:
    html = hot_loop_html(found)
    body = html.split("</style>")[1]
    letters = re.findall(r"<b>(.*?)</b>", body)
    shown = [re.sub("<[^>]*>", "", each) for each in letters]
    assert shown == ["LA", "S", "P", "&nbsp;", "&nbsp;"]
    assert "vaddps (%rdi,%rax), %ymm0, %ymm0" in body


def test_arm_s_instructions_are_marked_by_the_same_letters() -> None:
    loop = "\tldr\tq0, [x1, x8]\n\tfadd\tv1.4s, v1.4s, v0.4s\n\tstr\tq1, [x0]\n\tstr\tq2, [sp, #16]"
    html = hot_loop_html(read_assembly(f"\t.cfi_startproc\n{loop}\n\t.cfi_endproc\n", "apple-m1"))
    letters = re.findall(r"<b>(.*?)</b>", html.split("</style>")[1])
    assert [re.sub("<[^>]*>", "", each) for each in letters] == ["L", "A", "S", "P"]


def test_the_first_few_instructions(found: Assembly) -> None:
    assert hot_loop_html(found, first=2).count("<div>") == 2
    with pytest.raises(UsageError, match="too few"):
        hot_loop_html(found, first=0)


def comparison(ours: float, numpy: float = 2e-6) -> Comparison:
    return Comparison(Timing("ours", (ours,) * 3), Timing("NumPy", (numpy,) * 3))


def test_the_picture_counts_kinds_and_lanes(found: Assembly) -> None:
    svg = lens_svg(found, 512)
    for words in ("hot loop: 5 instructions", "lanes: 8 of 16", "longest chain: 1 of 1"):
        assert words in svg
    assert "NumPy" not in svg
    assert svg == lens_svg(found, 512)


def test_times_are_shown_for_one_operation_with_numpy_as_a_line(found: Assembly) -> None:
    raced = {"1 sum": comparison(4e-6), "16 sums": comparison(1e-6)}
    svg = lens_svg(found, 256, unit="addition", operations=1000, raced=raced, selected="16 sums")
    assert "NumPy 2 ns" in svg
    assert "4 ns, 0.50 x NumPy" in svg and "1 ns, 2.00 x NumPy" in svg
    assert "ns for one addition" in svg
    assert "var(--mlc-ink" in svg


def test_what_cannot_be_shown_is_refused(found: Assembly) -> None:
    with pytest.raises(UsageError, match="wider registers"):
        lens_svg(found, 128)
    with pytest.raises(UsageError, match="no such form"):
        lens_svg(found, 256, raced={"1 sum": comparison(1e-6)}, selected="2 sums")
