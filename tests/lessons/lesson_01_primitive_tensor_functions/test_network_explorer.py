"""The explorer of tensor functions without a browser: set a trait, read the picture."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_01_primitive_tensor_functions.network_explorer import (
    FunctionExplorer,
)
from mlc_course.tensor_program.networks import train


@pytest.fixture
def widget() -> FunctionExplorer:
    return FunctionExplorer(train())


def test_it_begins_with_the_five_functions_in_numpy(widget: FunctionExplorer) -> None:
    assert (widget.stage, widget.form, widget.selected, widget.digit) == (
        "five functions",
        "NumPy",
        0,
        0,
    )
    assert widget.names == ["matmul", "add", "relu", "matmul", "add"]
    assert "np.matmul" in widget.code
    assert "the same scores" in widget.status


@pytest.mark.parametrize(
    ("trait", "value"),
    [("stage", "library"), ("selected", 2), ("digit", 7)],
)
def test_each_choice_changes_the_picture(
    widget: FunctionExplorer, trait: str, value: object
) -> None:
    before = widget.svg
    setattr(widget, trait, value)
    assert widget.svg != before


def test_a_form_changes_the_text_and_runs_the_stage(widget: FunctionExplorer) -> None:
    texts = set()
    for form in widget.forms:
        widget.form = form
        texts.add(widget.code)
        assert f"as {form}" in widget.status
    assert len(texts) == 4
    assert "within" in widget.status


def test_a_shorter_stage_keeps_a_function_that_it_has(widget: FunctionExplorer) -> None:
    widget.selected = 4
    widget.stage = "two functions"
    assert (widget.selected, widget.names) == (1, ["linear_relu", "linear"])


def test_a_frameworks_call_has_one_form(widget: FunctionExplorer) -> None:
    widget.form = "TensorIR"
    widget.stage = "one call"
    assert widget.code == ""
    assert "no TensorIR to look at" in widget.status
    assert "<svg" in widget.svg


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("stage", "bakery"),
        ("form", "Fortran"),
        ("selected", 5),
        ("selected", -1),
        ("digit", -1),
        ("digit", 360),
    ],
)
def test_what_cannot_be_shown_is_refused(
    widget: FunctionExplorer, trait: str, value: object
) -> None:
    before, picture = getattr(widget, trait), widget.svg
    with pytest.raises(UsageError):
        setattr(widget, trait, value)
    assert (getattr(widget, trait), widget.svg) == (before, picture)


def test_a_stage_can_be_named_at_the_start() -> None:
    assert FunctionExplorer(stage="library").names == ["linear_relu", "linear"]
    with pytest.raises(UsageError, match="stage"):
        FunctionExplorer(stage="bakery")


def test_where_no_widgets_run_every_stage_is_drawn(widget: FunctionExplorer) -> None:
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"].count("<svg") == 4
    for stage in widget.stages:
        assert f"<b>{stage}.</b>" in data["text/html"]


def test_the_page_asks_no_other_machine_for_anything() -> None:
    assert "http" not in FunctionExplorer._esm
    assert "import " not in FunctionExplorer._esm
