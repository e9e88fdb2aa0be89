"""The pictures of tasks, speed-ups and lines: text of the right parts in the right places."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_10_parallelism.timeline_picture import (
    LEFT,
    WIDTH,
    gantt_svg,
    owners_svg,
    speedup_svg,
)
from mlc_course.tensor_program.processor import (
    NOBODY,
    SEVERAL,
    Interval,
    Timeline,
    amdahl,
    simulate,
)

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def titled(svg: str) -> dict[str, float]:
    """The width of each box that says what it is."""
    boxes = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    found = ((box, box.find(f"{SVG}title")) for box in boxes)
    return {str(t.text): float(box.attrib["width"]) for box, t in found if t is not None}


def test_every_worker_has_a_line_and_every_task_a_box_as_wide_as_it_is_long() -> None:
    svg = gantt_svg(simulate([1, 2, 3, 4], 2), "four tasks", unit="ms")
    assert {"four tasks", "worker 0", "worker 1", "time, ms"} <= set(texts(svg))
    widths = titled(svg)
    assert sorted(widths) == [f"task = {i}: {i + 1} ms" for i in range(4)]
    assert widths["task = 3: 4 ms"] == pytest.approx(4 * widths["task = 0: 1 ms"], rel=0.01)


def test_times_are_shown_in_the_unit_that_is_asked_for() -> None:
    svg = gantt_svg(Timeline(1, (Interval(0, 0, 0.0, 5e-6, "m"),), 5e-6), "x", unit="µs", scale=1e6)
    assert "m = 0: 5 µs" in titled(svg)
    assert "5" in texts(svg)


def test_serial_time_is_named_where_there_is_room() -> None:
    assert "serial" in texts(gantt_svg(simulate([4, 4], 2, serial=4), "x", unit="s"))
    assert "serial" not in texts(gantt_svg(simulate([4, 4], 2), "x", unit="s"))


def test_nothing_leaves_the_picture() -> None:
    for workers in (1, 7, 16):
        svg = gantt_svg(simulate(range(1, 129), workers, how="dynamic", serial=3), "x", unit="s")
        page, *boxes = ElementTree.fromstring(svg).iter(f"{SVG}rect")
        assert page.attrib["width"] == str(WIDTH)
        for box in boxes:
            left, width = float(box.attrib["x"]), float(box.attrib["width"])
            assert left >= LEFT - 1
            assert left + width <= WIDTH


def test_the_speed_up_of_the_choice_is_written_down() -> None:
    ours = [1.0, 1.8, 2.4, 2.9]
    bound = [amdahl(0.1, count) for count in range(1, 5)]
    svg = speedup_svg(ours, bound, chosen=3)
    assert "2.40 x" in texts(svg)
    assert "1.80 x" not in texts(svg)
    assert "measured" not in svg
    assert "orange diamond" in speedup_svg(ours, bound, chosen=3, measured={1: 1.0, 2: 1.7})


def test_each_element_says_who_writes_it() -> None:
    owners = np.array([0, 1] * 14 + [NOBODY, SEVERAL, 11, 0])
    svg = owners_svg(owners, 16, "who writes S")
    assert texts(svg).count("0") == 15
    assert texts(svg).count("1") == 14
    assert {"!", "", "11", "line 0", "line 1"} <= set(texts(svg))
    assert "line 2" not in texts(svg)


def test_lines_keep_their_numbers_where_the_first_ones_are_left_out() -> None:
    owners = np.array([0] * 64 + [1] * 16)
    assert {"line 4", "1"} <= set(texts(owners_svg(owners, 16, "x", first=4)))
    assert "0" not in texts(owners_svg(owners, 16, "x", first=4))


def test_pictures_follow_the_theme_stand_on_paper_and_are_readable_at_the_back() -> None:
    pictures = (
        gantt_svg(simulate([1, 2], 2), "x", unit="s"),
        speedup_svg([1, 2], [1, 2], chosen=1),
        owners_svg(np.zeros(16, int), 16, "x"),
    )
    for svg in pictures:
        assert "var(--mlc-ink" in svg
        page = next(ElementTree.fromstring(svg).iter(f"{SVG}rect"))
        assert page.attrib["fill"].startswith("var(--mlc-paper"), "ink on a dark page is not seen"
        assert 'role="img"' in svg
        assert all(int(size) >= 12 for size in re.findall(r'font-size="(\d+)"', svg))


def test_words_of_others_are_escaped() -> None:
    svg = gantt_svg(simulate([1], 1), "<b> & co", unit="s")
    assert "<b> & co" in texts(svg)


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(UsageError):
        gantt_svg(Timeline(1, (), 0.0), "x", unit="s")
    for chosen in (0, 3):
        with pytest.raises(UsageError):
            speedup_svg([1, 2], [1, 2], chosen=chosen)
    with pytest.raises(UsageError):
        speedup_svg([1, 2], [1], chosen=1)
