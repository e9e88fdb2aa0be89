"""Slides are read from the cells of a notebook, and metadata without sense is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from mlc_course.errors import UsageError
from mlc_course.lecture import lesson_notebook, read_deck

NOTEBOOKS = Path(__file__).parent.parent.parent / "notebooks"


def notebook(tmp_path: Path, *cells: Any) -> Path:
    path = tmp_path / "05_sample.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=list(cells)), path)
    return path


def words(name: str, kind: str | None = None, **own: Any) -> Any:
    return dressed(nbformat.v4.new_markdown_cell("# 5. Sample\n\nA paragraph.", id=name), kind, own)


def code(name: str, kind: str | None = None, **own: Any) -> Any:
    return dressed(nbformat.v4.new_code_cell("print(1)", id=name), kind, own)


def dressed(cell: Any, kind: str | None, own: dict[str, Any]) -> Any:
    if kind is not None:
        cell.metadata["slideshow"] = {"slide_type": kind}
    if own:
        cell.metadata["lecture"] = own
    return cell


def test_cells_without_slide_type_are_run_and_not_shown(tmp_path: Path) -> None:
    deck = read_deck(
        notebook(
            tmp_path,
            words("title", "slide", wall=["# 5"], minutes=2, notes=["Say hello."]),
            code("imports"),
            words("one", "slide", wall=["## One"], minutes=3),
            code("two", "-", notes=["Run it."]),
        )
    )
    assert deck.title == "5. Sample"
    assert [[place.cell for place in slide.places] for slide in deck.slides] == [
        ["title"],
        ["one", "two"],
    ]
    assert [slide.starts for slide in deck.slides] == [0, 2]
    assert deck.slides[1].notes == "Run it."
    assert [cell.name for cell in deck.code] == ["imports", "two"]


def test_a_large_widget_goes_on_over_several_slides_and_shares_the_minutes(tmp_path: Path) -> None:
    parts = [["chart"], ["stage", "slider"]]
    deck = read_deck(
        notebook(tmp_path, code("dial", "slide", wall=["## Dial"], minutes=4, parts=parts))
    )
    first, second = deck.slides
    assert first.places[0].hidden == ("chart",) and not first.places[0].is_continued
    assert second.places[0].hidden == ("stage", "slider") and second.places[0].is_continued
    assert first.minutes == second.minutes == second.starts == 2


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([words("title")], "no slides"),
        ([words("title", "slide")], "nothing for the wall"),
        ([words("title", "slid", wall=["# 5"])], "slide_type"),
        ([words("title", "slide", wal=["# 5"], wall=["# 5"])], "wal"),
        ([words("title", "-", wall=["# 5"]), code("one", "slide", wall=["x"])], "no slide has"),
        ([words("title", "slide", wall=["# 5"]), code("one", notes=["x"])], "not shown"),
        ([words("title", "slide", wall=["# 5"]), code("one", "-", poll="none")], "no such cell"),
    ],
)
def test_metadata_that_makes_no_sense_is_refused(
    tmp_path: Path, cells: list[Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        read_deck(notebook(tmp_path, *cells))


@pytest.mark.parametrize("number", ["5", "05", "05_loop_reorder", "05_loop_reorder.ipynb"])
def test_a_lesson_is_named_by_its_number_or_its_file(number: str) -> None:
    assert lesson_notebook(NOTEBOOKS, number).name == "05_loop_reorder.ipynb"


@pytest.mark.parametrize("number", ["", "22", "99", "x", "../05", "5x"])
def test_a_lesson_that_does_not_exist_is_refused(number: str) -> None:
    with pytest.raises(UsageError, match="no such lesson"):
        lesson_notebook(NOTEBOOKS, number)
