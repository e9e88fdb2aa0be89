"""The code explorer without a browser: rows, what lights up, counts, and its static form."""

from __future__ import annotations

import html
import re

import pytest

from mlc_course.errors import CourseError
from mlc_course.lessons.lesson_19_from_graph_to_code import (
    KNOBS,
    CodeExplorer,
    form,
    recorded_times,
)
from mlc_course.lessons.lesson_19_from_graph_to_code.code_explorer import (
    LANGUAGES,
    ON_A_CPU,
    barrier_faults,
    changes,
)
from mlc_course.lessons.lesson_19_from_graph_to_code.knobs import LOWERED, ONE_MORE


@pytest.fixture(scope="module")
def explorer() -> CodeExplorer:
    return CodeExplorer()


def test_every_form_is_there_in_every_language(explorer: CodeExplorer) -> None:
    assert list(explorer.code_rows) == list(explorer.counts) == list(KNOBS)
    for knob in KNOBS:
        assert list(explorer.code_rows[knob]) == list(LANGUAGES)
        assert html.escape(ON_A_CPU[knob]) in explorer.counts[knob]
        assert html.escape(recorded_times("rms_norm_matmul_fused")) in explorer.counts[knob]


def test_each_equation_says_its_lines_and_each_line_its_equation(explorer: CodeExplorer) -> None:
    for languages in explorer.code_rows.values():
        for code in languages.values():
            for name, says in code["says"].items():
                assert says.startswith(f"{name}: line")
            assert all(row["says"] for row in code["rows"])
            assert {n for row in code["rows"] for n in row["of"]} == set(code["says"])
    rows = explorer.code_rows[LOWERED]["kernel program"]["rows"]
    (line,) = (row for row in rows if row["text"].lstrip().startswith("Y["))
    assert line["says"] == "From Y; y and rms and mean are computed within."


def test_a_barrier_says_what_crosses_there(explorer: CodeExplorer) -> None:
    for language, word in zip(LANGUAGES, ("barrier", "__syncthreads();"), strict=True):
        rows = explorer.code_rows[LOWERED][language]["rows"]
        said = [row for row in rows if row["text"].strip() == word]
        assert [row["of"] for row in said] == [["x"], ["xg"], ["total"]]
        assert all(row["says"].startswith("Without this barrier: ") for row in said)


def test_a_barrier_too_many_is_told_from_the_others(explorer: CodeExplorer) -> None:
    names = [name for name, _ in barrier_faults(form(explorer.graph, ONE_MORE))]
    assert names == ["x", "xg", "", "total"]


def test_the_counts_say_what_changed(explorer: CodeExplorer) -> None:
    before, now = (form(explorer.graph, knob).counts for knob in (LOWERED, ONE_MORE))
    assert changes(before, now) == "A block waits 97 times, not 65."
    assert changes(before, before) == ""


def test_where_no_widgets_run_every_line_names_its_equation(explorer: CodeExplorer) -> None:
    data, _ = explorer._repr_mimebundle_()
    page = data["text/html"]
    assert "&larr; total, sums, squares" in page and "block grid(x=256)" in page
    assert re.search(r'<tr class="mlc-chosen"><td>as lowered', page)


def test_what_is_not_there_is_refused(explorer: CodeExplorer) -> None:
    with pytest.raises(CourseError):
        explorer.knob = "no such knob"
    with pytest.raises(CourseError):
        CodeExplorer("no such graph")


def test_the_page_asks_no_other_machine_for_anything() -> None:
    for text in (CodeExplorer._esm, CodeExplorer._css):
        assert "http" not in text and "import " not in text


@pytest.mark.slow
def test_the_forms_race_on_this_cpu() -> None:
    explorer = CodeExplorer()
    found = explorer.measure()
    assert len(found) == 4 and not explorer.busy
    assert "fusion alone" in explorer.status and "the wider one" in explorer.status
    assert all(f'id="rung-{place}"' in explorer.svg for place in range(4))
    assert explorer.svg in explorer.static_html()
