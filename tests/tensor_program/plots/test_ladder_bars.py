from __future__ import annotations

from pathlib import Path

import pytest

from mlc_course import units
from mlc_course.drawing import theme
from mlc_course.errors import UsageError
from mlc_course.tensor_program.ladders.record import Record, recorded
from mlc_course.tensor_program.plots import ladder_bars as draw


@pytest.fixture
def record() -> Record:
    return recorded("matmul_exp_matmul_1_thread")


def test_every_rung_has_a_name_a_bar_and_a_row_to_click(record: Record) -> None:
    svg = draw.ladder_svg(record)
    for place, rung in enumerate(record["rungs"]):
        assert rung["name"] in svg
        for part in ("name", "rung", "row"):
            assert f'id="{part}-{place}"' in svg


def test_the_same_record_gives_the_same_text(record: Record) -> None:
    assert draw.ladder_svg(record, 3) == draw.ladder_svg(record, 3)


def test_the_selected_rung_is_marked(record: Record) -> None:
    assert draw.ladder_svg(record, 3) != draw.ladder_svg(record, 4)


def test_the_picture_says_machine_date_threads_and_sizes(record: Record) -> None:
    svg = draw.ladder_svg(record)
    assert record["date"] in svg
    assert record["machine"]["cpu"] in svg
    assert "1 thread" in svg
    assert "N = 3072" in svg


def test_a_noisy_rung_says_so(record: Record) -> None:
    quiet = [rung | {"warning": None} for rung in record["rungs"]]
    noisy = [quiet[0] | {"warning": "noisy: half of the ratios lie apart"}, *quiet[1:]]
    assert "(noisy)" not in draw.ladder_svg(record | {"rungs": quiet})
    assert "(noisy)" in draw.ladder_svg(record | {"rungs": noisy})


@pytest.mark.parametrize("count", [1, 2, 16])
def test_a_ladder_may_have_any_number_of_rungs(record: Record, count: int) -> None:
    svg = draw.ladder_svg(record | {"rungs": record["rungs"][:count]})
    assert f'id="rung-{count - 1}"' in svg
    assert f'id="rung-{count}"' not in svg


def test_a_climb_that_has_just_begun_keeps_places_for_its_rungs(record: Record) -> None:
    begun = record | {"rungs": [], "baseline": {"name": "NumPy", "median_s": None}}
    svg = draw.ladder_svg(begun, planned=["naive", "reorder"])
    assert "reorder" in svg
    assert 'id="rung-0"' not in svg


@pytest.mark.parametrize("selected", [-1, 16])
def test_a_rung_that_is_not_there_is_refused(record: Record, selected: int) -> None:
    with pytest.raises(UsageError, match="no such rung"):
        draw.ladder_svg(record, selected)


@pytest.mark.parametrize(("ending", "head"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_a_plot_is_written_in_the_format_of_its_name(
    record: Record, tmp_path: Path, ending: str, head: bytes
) -> None:
    path = tmp_path / f"ladder{ending}"
    draw.save_plot(record, path)
    assert path.read_bytes().startswith(head)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(26.37, "26,400 ms"), (0.1049, "105 ms"), (0.00999, "9.99 ms"), (6.829e-4, "0.683 ms")],
)
def test_times_have_three_digits(seconds: float, text: str) -> None:
    assert units.milliseconds(seconds) == text


@pytest.mark.parametrize(("low", "high"), [(80, 200), (0.3, 40), (50, 30000), (1, 1.6)])
def test_an_axis_has_a_handful_of_round_numbers(low: float, high: float) -> None:
    ticks = theme.round_numbers(low, high)
    assert 3 <= len(ticks) <= 10
    assert all(low <= tick <= high for tick in ticks)
