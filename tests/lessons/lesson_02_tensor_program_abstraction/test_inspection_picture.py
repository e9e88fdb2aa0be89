"""The picture of a block: marks where elements are touched, and the lines that say so."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from mlc_course.errors import AxisError
from mlc_course.lessons.lesson_02_tensor_program_abstraction.inspection_picture import (
    inspector_svg,
    listing_html,
)
from mlc_course.lessons.lesson_02_tensor_program_abstraction.remarks import ONE
from mlc_course.lessons.lesson_02_tensor_program_abstraction.small_programs import SMALL
from mlc_course.tensor_program.legality import ALL, Inspection, blocks, inspected
from mlc_course.tensor_program.tir import T

LEGEND = {"read": 1, "write": 1, "cross": 1, "missed": 1}


def seen(name: str) -> Inspection:
    return inspected(SMALL[name].program)


def marks(svg: str) -> dict[str, int]:
    """How many elements have each mark, without the legend's."""
    found = {mark: len(re.findall(rf'class="{mark}( now)?"', svg)) for mark in LEGEND}
    return {mark: count - LEGEND[mark] for mark, count in found.items() if count > LEGEND[mark]}


@pytest.mark.parametrize(
    ("name", "moved", "expected"),
    [
        ("matmul", ONE, {"read": 2, "write": 1}),
        ("matmul", "m", {"read": 4, "write": 3}),
        ("matmul", "k", {"read": 10, "write": 1}),
        ("matmul", ALL, {"read": 35, "write": 12}),
        ("collision", ALL, {"read": 12, "write": 10, "cross": 2, "missed": 2}),
        ("overlap", ALL, {"read": 10, "write": 10, "cross": 2}),
        ("hole", ALL, {"read": 8, "write": 8, "missed": 2}),
    ],
)
def test_each_element_that_is_touched_has_its_mark(
    name: str, moved: str, expected: dict[str, int]
) -> None:
    block = seen(name)
    assert marks(inspector_svg(block, moved, block.moments[0].at)) == expected


def test_the_chosen_iteration_stands_out() -> None:
    svg = inspector_svg(seen("matmul"), "k", {"m": 1, "n": 2, "k": 3})
    assert svg.count('class="read now"') == 2
    assert svg.count('class="write now"') == 1
    assert ">5x</text>" in svg
    assert svg.count('class="zero index"') == 1


def test_every_block_of_every_program_fits_into_the_picture() -> None:
    for small in SMALL.values():
        for name in blocks(small.program):
            block = inspected(small.program, name)
            svg = inspector_svg(block, ALL, block.moments[0].at)
            root = ElementTree.fromstring(svg)
            width, height = map(float, root.attrib["viewBox"].split()[2:])
            for cell in root.iter("{http://www.w3.org/2000/svg}rect"):
                x, y = float(cell.get("x", 0)), float(cell.get("y", 0))
                assert x + float(cell.get("width", 0)) <= width
                assert y + float(cell.get("height", 0)) <= height


@T.prim_func(s_tir=True)
def total(x: T.Buffer((4,)), y: T.Buffer(())):  # type: ignore[no-untyped-def,valid-type]
    for i in range(4):
        with T.sblock("Y"):
            v = T.axis.reduce(4, i)
            with T.init():
                y[()] = T.float32(0)
            y[()] = y[()] + x[v]


def test_a_buffer_of_one_element_is_one_square() -> None:
    svg = inspector_svg(inspected(total), ALL, {"i": 0})
    assert marks(svg) == {"read": 4, "write": 1}


def test_the_same_picture_every_time() -> None:
    first, second = (inspector_svg(seen("convolution"), ALL, START) for _ in range(2))
    assert first == second


START = {"o": 0, "i": 0, "c": 0, "r": 0}


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(AxisError):
        inspector_svg(seen("matmul"), "q", {"m": 0, "n": 0, "k": 0})
    with pytest.raises(AxisError):
        inspector_svg(seen("matmul"), ALL, {"m": 9, "n": 0, "k": 0})


def marked(html: str) -> list[str]:
    lines = re.findall(r'<div class="mlc-marked"[^>]*><span>&gt;&gt;</span>(.*?)</div>', html)
    return [line.replace("&quot;", '"') for line in lines]


def test_the_lines_that_matter_are_marked() -> None:
    at = {"m": 0, "n": 0, "k": 0}
    product = seen("matmul")
    assert marked(listing_html(product, "k", at)) == [
        "for m, n, k in T.grid(3, 4, 5):",
        'v_m, v_n, v_k = T.axis.remap("SSR", [m, n, k])',
        "T.writes(P[v_m, v_n])",
    ]
    sum_of = "P[v_m, v_n] = P[v_m, v_n] + X[v_m, v_k] * W[v_k, v_n]"
    assert marked(listing_html(product, ONE, {**at, "k": 1})) == [sum_of]
    assert marked(listing_html(product, ONE, at)) == [
        "with T.init():",
        "P[v_m, v_n] = T.float32(0.0)",
        sum_of,
    ]


def test_only_lines_of_the_chosen_block_are_marked() -> None:
    block = inspected(SMALL["linear_relu"].program, "S")
    assert marked(listing_html(block, "m", {"m": 0, "n": 0})) == [
        "for m, n in T.grid(2, 5):",
        'v_m, v_n = T.axis.remap("SS", [m, n])',
        "T.writes(S[v_m, v_n])",
    ]
