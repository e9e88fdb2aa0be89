"""The access meter without a browser: what its controls make of an access."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_15_gpu_in_a_box.access_meter import (
    AccessMeter,
    meter_svg,
)
from mlc_course.mugraph.box import Request, lane_addresses


def test_it_begins_with_a_row_in_device_memory() -> None:
    meter = AccessMeter()
    assert "4 sectors of 32 bytes in 1 line of 128" in meter.status
    assert "Device memory: 4 sectors" in meter.chart and "4 would do" in meter.meter


@pytest.mark.parametrize(
    ("stride", "sectors"), [(0, 1), (1, 4), (2, 8), (7, 28), (8, 32), (33, 32)]
)
def test_a_stride_moves_more_until_each_lane_has_a_sector(stride: int, sectors: int) -> None:
    assert f"{sectors} sector" in AccessMeter(stride=stride).status


def test_another_first_element_is_one_sector_more_unless_it_is_a_multiple_of_eight() -> None:
    counts = {first: AccessMeter(first=first).status for first in range(32)}
    assert {n for n, said in counts.items() if "4 sectors" in said} == {0, 8, 16, 24}
    assert all("5 sectors" in said for n, said in counts.items() if n % 8)


@pytest.mark.parametrize(
    ("padding", "wavefronts"), [(0, 32), (1, 1), (2, 2), (3, 1), (4, 4), (8, 8)]
)
def test_padding_spreads_a_column_over_the_banks(padding: int, wavefronts: int) -> None:
    meter = AccessMeter(memory="shared", pattern="column", padding=padding)
    assert f": {wavefronts} wavefront" in meter.status
    assert meter.chart.count(">wavefront ") == wavefronts


def test_odd_strides_of_a_row_have_no_conflict() -> None:
    free = {
        stride
        for stride in range(1, 34)
        if "as few as" in AccessMeter(memory="shared", stride=stride).status
    }
    assert free == set(range(1, 34, 2))


def test_a_wide_access_that_is_not_aligned_is_refused_in_words() -> None:
    meter = AccessMeter(memory="shared", pattern="column", width=4, padding=1)
    assert meter.request is None and not meter.chart
    assert meter.status.startswith("A GPU refuses this access: 16 bytes")
    meter.padding = 4
    assert "4 wavefronts, as few as" in meter.status
    meter.first = 2
    assert meter.request is None


@pytest.mark.parametrize(
    ("trait", "value"),
    [("stride", 34), ("stride", -1), ("padding", 9), ("first", 32), ("width", 3),
     ("memory", "disk"), ("pattern", "diagonal")],
)  # fmt: skip
def test_what_is_not_there_is_refused(trait: str, value: object) -> None:
    meter = AccessMeter()
    with pytest.raises(UsageError):
        setattr(meter, trait, value)


def test_the_bar_ends_at_what_is_used_and_the_dashed_line_at_the_least() -> None:
    svg = meter_svg(Request(lane_addresses(0, 128), 4, "shared"))
    assert 'width="600.0" height="26.0"' in svg and "M208.8 6V50" in svg


def test_where_no_widgets_run_there_are_rows_and_columns() -> None:
    data, _ = AccessMeter()._repr_mimebundle_()
    html = data["text/html"]
    assert html.count("<svg") == 8
    assert "32 wavefronts, where 1 would do" in html


def test_the_page_asks_no_other_machine_for_anything() -> None:
    for text in (AccessMeter._esm, AccessMeter._css):
        assert "http" not in text and "import " not in text
