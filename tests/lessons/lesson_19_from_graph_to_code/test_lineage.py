"""Where the lines of a kernel come from: in the course's form and in C, line by line."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mlc_course.lessons.lesson_19_from_graph_to_code import form, graph_lines, kernel_lines
from mlc_course.lessons.lesson_19_from_graph_to_code.lineage import GRID, LOOP, Line, words
from mlc_course.mugraph.gpu_text import CUDA, source_of
from mlc_course.mugraph.programs import published

RMS = published("rms_norm_matmul_fused")
KERNEL = form(RMS).kernel
TEXTS = {"course": str(KERNEL), "CUDA": source_of((KERNEL,), CUDA, "float16").text}


def of(lines: Sequence[Line], part: str) -> tuple[str, ...]:
    """Where the first line that has a part comes from."""
    return next(line.of for line in lines if part in line.text)


def test_every_equation_of_the_graph_has_a_line_that_defines_it() -> None:
    lines = graph_lines(RMS)
    named = [name for line in lines for name in line.of]
    assert named[:5] == [GRID, LOOP, "x", "g", "w"] and named[-1] == "Y"
    assert len(named) == len(set(named)) == 15


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_equation_of_the_graph_is_found_in_the_kernel(text: str) -> None:
    wanted = {name for line in graph_lines(RMS) for name in line.of}
    assert {name for line in kernel_lines(RMS, text) for name in line.of} == wanted


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_lines_are_those_of_the_text(text: str) -> None:
    assert [line.text for line in kernel_lines(RMS, text)] == text.splitlines()


def test_what_has_no_lines_of_its_own_is_in_those_of_another() -> None:
    lines = kernel_lines(RMS, TEXTS["course"])
    assert of(lines, "total_share[i] +=") == ("total", "sums", "squares")
    assert of(lines, "product[i, c] +=") == ("product", "part")
    assert of(lines, "Y[t") == ("Y", "y", "rms", "mean")
    assert of(lines, "xg[t") == ("xg",)


def test_copies_are_of_the_load_whose_tile_they_fill() -> None:
    lines = kernel_lines(RMS, TEXTS["course"])
    copied = [line.of for line in lines if line.text.lstrip().startswith("copy w")]
    assert copied == [("w",)] * 3


def test_barriers_and_waiting_come_from_no_equation() -> None:
    for line in kernel_lines(RMS, TEXTS["course"]):
        if line.text.strip() in ("barrier", "commit copies") or "await" in line.text:
            assert line.of == ()


def test_a_reason_for_a_layout_belongs_to_its_tile_and_ends_there() -> None:
    lines = kernel_lines(RMS, TEXTS["course"])
    assert of(lines, "# total: a gap") == ("total", "sums", "squares")
    assert of(lines, "registers product") == ("product", "part")
    assert of(lines, "threads t < 128") == ()


@pytest.mark.parametrize("name", ["attention_fused", "online_softmax_attention"])
def test_a_loop_whose_name_a_tensor_has_is_found_in_c_under_its_other_name(name: str) -> None:
    graph = published(name)
    text = source_of((form(graph).kernel,), CUDA, "float16").text
    (loop,) = (line.text for line in kernel_lines(graph, text) if LOOP in line.of)
    assert loop == "  for (int k_2 = 0; k_2 < 64; ++k_2) {"


def test_an_axis_in_a_map_is_not_taken_for_a_tensor_with_its_name() -> None:
    graph = published("n_trans_fused")  # h = load(H, imap={x: 0}) beside x = load(X, ...)
    lines = kernel_lines(graph, str(form(graph).kernel))
    assert of(lines, "h_total_share[0] +=") == ("h_total", "h_squares", "h")
    assert all(len(line.of) == len(set(line.of)) for line in lines)


def test_words_join_neighbouring_lines() -> None:
    lines = [Line("a", ("x",)), Line("b", ("x",)), Line("c", ()), Line("d", ("x",))]
    assert words(lines, "x") == "x: lines 1 to 2, 4 of the kernel."
    assert words(lines[2:], "x") == "x: line 2 of the kernel."
    assert words(lines, "y") == "y: no line of the kernel."
