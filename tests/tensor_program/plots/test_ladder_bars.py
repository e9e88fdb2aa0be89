from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from PIL import Image

from mlc_course import units
from mlc_course.drawing import theme
from mlc_course.errors import UsageError
from mlc_course.tensor_program.ladders.record import Record, recorded
from mlc_course.tensor_program.plots import ladder_bars as draw


@pytest.fixture
def record() -> Record:
    return recorded("matmul_exp_matmul_1_thread")


@pytest.fixture
def both() -> list[Record]:
    return [recorded("matmul_exp_matmul_1_thread", isa) for isa in ("AVX-512", "AVX2")]


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


@pytest.mark.parametrize("count", [1, 2, 12])
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


def test_two_machines_are_drawn_on_one_scale_each_with_its_lines(both: list[Record]) -> None:
    figure = draw.machines_figure(both)
    panels = figure.axes
    assert len({axes.get_xlim() for axes in panels}) == 1
    for axes, record in zip(panels, both, strict=True):
        said = [text.get_text() for text in axes.texts]
        assert record["machine"]["isa"] in axes.get_title(loc="left")
        assert record["machine"]["cpu"] in said
        assert f"NumPy\n{units.milliseconds(record['baseline']['median_s'])}" in said
        assert any(text.startswith("measured roof") for text in said)
        assert any(units.milliseconds(record["rungs"][-1]["median_s"]) in text for text in said)


def test_no_words_of_the_two_panels_overlap(both: list[Record]) -> None:
    figure = draw.machines_figure(both)
    FigureCanvasAgg(figure).draw()
    width, height = figure.bbox.max
    words = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in words]
    for place, (one, box) in enumerate(boxes):
        assert box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height, one
        for other, there in boxes[:place]:
            assert not box.overlaps(there), (one, other)


def test_the_picture_of_two_machines_is_told_from_one_of_others(
    both: list[Record], tmp_path: Path
) -> None:
    path = tmp_path / "both.png"
    draw.save_machines(both, path)
    first = path.read_bytes()
    draw.save_machines(both, path)
    assert path.read_bytes() == first
    with Image.open(path) as image:
        assert image.info["Source"] == draw.machines_drawing(both)
    assert draw.machines_drawing(both) != draw.machines_drawing(both[::-1])


@pytest.mark.parametrize("other", [{"threads": 7}, {"rungs": []}])
def test_climbs_of_different_ladders_are_not_drawn_side_by_side(
    both: list[Record], other: dict[str, object]
) -> None:
    with pytest.raises(UsageError, match="one ladder"):
        draw.machines_figure([both[0], both[1] | other])
