"""The assembly lens without a browser: set a trait, read the picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mlc_course.errors import UsageError, WrongResult
from mlc_course.lessons.lesson_09_vectorization.assembly_lens import UNMEASURED, AssemblyLens
from mlc_course.machine import describe
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.problems import Workload

L = describe().lanes


def race(
    workload: Workload, programs: Mapping[str, Any], *, budget_s: float
) -> dict[str, Comparison]:
    """A race that takes no time; every program is twice as fast as NumPy."""
    ours, numpy = Timing("ours", (0.5e-3,) * 6), Timing("NumPy", (1e-3,) * 6)
    return {name: Comparison(ours, numpy) for name in programs}


@pytest.fixture
def lens() -> AssemblyLens:
    return AssemblyLens(race=race)


def test_it_begins_with_one_sum(lens: AssemblyLens) -> None:
    assert (lens.problem, lens.form) == ("row sums", "1 sum")
    assert f"lanes: 1 of {L}" in lens.svg
    assert "S[m]" in lens.program and "for m in 64, k in 4096:" in lens.program
    assert lens.reason.startswith("Every addition waits")
    assert "1 float32 at a time" in lens.said
    assert lens.status == UNMEASURED


def test_a_program_and_a_form_can_be_named_at_the_start() -> None:
    lens = AssemblyLens("matmul tile", f"4 x {L}")
    assert (lens.problem, lens.form) == ("matmul tile", f"4 x {L}")
    assert lens.forms == [form.name for form in lens.chosen.forms]
    with pytest.raises(UsageError, match="problem"):
        AssemblyLens("attention")
    with pytest.raises(UsageError, match="form"):
        AssemblyLens("row sums", "merged")


def test_choosing_a_form_changes_program_code_picture_and_reason(lens: AssemblyLens) -> None:
    before = lens.program, lens.code, lens.svg, lens.reason, lens.said
    lens.form = f"{4 * L} sums"
    after = lens.program, lens.code, lens.svg, lens.reason, lens.said
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert f"lanes: {L} of {L}" in lens.svg
    assert 'class="store"' in lens.program
    assert 'class="store"' not in lens.code.split("</style>")[1]


def test_another_program_has_other_forms(lens: AssemblyLens) -> None:
    lens.problem = "add one"
    assert lens.form == "as written"
    lens.form = f"{L} in a column"
    assert lens.code.split("</style>")[1].count('class="store"') >= L // 2
    lens.problem = "column sums"
    assert lens.form == "as written"
    lens.problem = "matmul tile"
    lens.form = f"16 x {4 * L}"
    assert 'class="spill"' in lens.code.split("</style>")[1]


@pytest.mark.parametrize(
    ("trait", "value"),
    [("problem", "attention"), ("problem", ""), ("form", "merged"), ("form", "")],
)
def test_what_cannot_be_shown_is_refused(lens: AssemblyLens, trait: str, value: str) -> None:
    before = lens.problem, lens.form, lens.svg
    with pytest.raises(UsageError):
        setattr(lens, trait, value)
    assert (lens.problem, lens.form, lens.svg) == before


def test_measuring_times_every_form(lens: AssemblyLens) -> None:
    statuses: list[str] = []
    lens.observe(lambda change: statuses.append(change.new), "status")
    lens.measure()
    assert statuses[0].startswith(f"Measuring {len(lens.forms)} forms of row sums")
    assert "2.00 x NumPy's speed" in lens.status
    said = lens.svg.partition(">")[0]  # in words, and drawn
    assert said.count("2.00 x NumPy") == lens.svg.count("2.00 x NumPy") - len(lens.forms)
    assert not lens.busy
    lens.problem = "add one"
    assert "2.00 x" not in lens.svg
    lens.problem = "row sums"
    assert "2.00 x" in lens.svg


def test_times_are_for_one_multiply_add_where_that_is_the_unit(lens: AssemblyLens) -> None:
    lens.problem = "matmul tile"
    lens.measure()
    assert "ns for one multiply-add" in lens.svg
    assert f"{0.5e6 / 64**3:.3g} ns" in lens.svg


def test_an_interrupt_keeps_what_was_measured(lens: AssemblyLens) -> None:
    lens.measure()
    measured = lens.svg

    def interrupted(*args: object, **kwargs: object) -> dict[str, Comparison]:
        raise KeyboardInterrupt

    lens._race = interrupted
    with pytest.raises(KeyboardInterrupt):
        lens.measure()
    assert lens.status == "Stopped before the first round was measured."
    assert lens.svg == measured
    assert not lens.busy


def test_a_message_of_the_page_measures_and_an_error_is_told(lens: AssemblyLens) -> None:
    lens._handle_custom_msg({"task": "measure"}, [])
    assert "row sums" in lens.found

    def wrong(*args: object, **kwargs: object) -> dict[str, Comparison]:
        raise WrongResult("it computes something else")

    lens = AssemblyLens(race=wrong)
    lens._handle_custom_msg({"task": "measure"}, [])
    assert lens.status == "WrongResult: it computes something else"
    assert not lens.busy


def test_where_no_widgets_run_every_form_says_what_it_consists_of(lens: AssemblyLens) -> None:
    data, _ = lens._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    page = data["text/html"]
    assert lens.svg in page and lens.code in page
    for form in lens.forms:
        assert f"<b>{form}</b>" in page
    assert page.count("float32 at a time") == len(lens.forms)


def test_the_page_asks_no_other_machine_for_anything() -> None:
    for text in (AssemblyLens._esm, AssemblyLens._css):
        assert "http" not in text
        assert "import " not in text
