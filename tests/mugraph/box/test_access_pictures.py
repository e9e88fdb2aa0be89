"""Pictures of accesses: one of each as it was found good, and what others have to show."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from golden import Golden

from mlc_course.errors import UsageError
from mlc_course.mugraph.box import (
    Request,
    banks_svg,
    banks_words,
    lane_addresses,
    launch,
    lines_svg,
    lines_words,
    steps_svg,
    steps_words,
)

GOLDEN = Path(__file__).parent / "pictures"


def shared(stride: int, size: int = 4) -> Request:
    return Request(lane_addresses(0, 4 * stride, size), size, "shared")


def device(first: int, stride: int) -> Request:
    return Request(lane_addresses(first, 4 * stride), 4)


def shift(t, out, a):
    tile = t.shared("tile", 33)
    tile[t.thread.x] = a[t.thread.x]
    yield t.barrier()
    if t.thread.x:
        out[t.thread.x] = tile[t.thread.x - 1]


def test_the_pictures_are_those_that_were_looked_at(golden: Golden) -> None:
    run = launch(shift, np.zeros(32, np.float32), np.zeros(32, np.float32))
    golden(GOLDEN / "banks.svg", banks_svg(shared(2)))
    golden(GOLDEN / "lines.svg", lines_svg(device(4, 1)))
    golden(GOLDEN / "steps.svg", steps_svg(run, "tile"))


def served_cells(svg: str) -> int:
    return svg.count('fill="var(--mlc-ours, #0072b2)"')


@pytest.mark.parametrize(("stride", "rows"), [(1, 1), (2, 2), (32, 32), (33, 1)])
def test_each_wavefront_is_a_row_and_each_lane_is_served_once(stride: int, rows: int) -> None:
    svg = banks_svg(shared(stride))
    assert svg.count(">wavefront ") == rows
    assert served_cells(svg) == 32


def test_a_word_that_all_want_is_one_cell() -> None:
    svg = banks_svg(Request((12,) * 32, 4, "shared"))
    assert served_cells(svg) == 1 and ">0-31<" in svg


def test_what_is_moved_for_nobody_is_hatched() -> None:
    assert 'fill="url(#mlc-unused)"' not in lines_svg(device(0, 1))
    svg = lines_svg(device(0, 32))
    assert svg.count('fill="url(#mlc-unused)"') == 32 * 7 and svg.count(">byte ") == 32


def test_words_say_what_the_pictures_show() -> None:
    assert banks_words(shared(1)) == (
        "32 lanes, 4 bytes each: 1 wavefront, as few as 32 banks can do it in."
    )
    assert "32 wavefronts, where 1 would do. Bank 0 has 32 words to serve, and 31 banks" in (
        banks_words(shared(32))
    )
    assert lines_words(device(0, 2)).endswith("Of 256 bytes moved, 128 are wanted: 50%.")


def test_steps_name_elements_and_leave_threads_out_that_do_nothing() -> None:
    run = launch(shift, np.zeros(32, np.float32), np.zeros(32, np.float32))
    assert steps_words(run, "tile") == [
        "thread 0 writes tile[0], thread 31 tile[31]",
        "thread 1 reads tile[0], thread 31 tile[30]",
    ]
    with pytest.raises(UsageError, match="no access"):
        steps_svg(run, "tile", block=1)


@pytest.mark.parametrize("svg", [banks_svg(shared(32, 16)), lines_svg(device(0, 40))])
def test_a_picture_is_xml_with_words_for_who_cannot_see_it(svg: str) -> None:
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img" and len(str(root.get("aria-label"))) > 20
    assert not re.search(r"nan|inf\b", svg)
