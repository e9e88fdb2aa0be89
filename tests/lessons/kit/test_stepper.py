"""The pass stepper without a browser: set a trait, read the picture."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.kit.stepper import Stepper
from mlc_course.tensor_program.schedule import Stage

LOOPS = "\n".join(f"for i_{n} in range(8):" for n in range(20))
STAGES = (
    Stage("as written", "The graph as it was built.", f"{LOOPS}\nmatmul", "<svg>one</svg>"),
    Stage("lower <ops>", "Every operator becomes loops.", f"{LOOPS}\ncall_tir", "<svg>two</svg>"),
    Stage("fuse", "Two kernels become one.", f"{LOOPS}\nfused"),
)


@pytest.fixture
def stepper() -> Stepper:
    return Stepper(STAGES)


def test_the_first_stage_stands_alone(stepper: Stepper) -> None:
    assert (stepper.selected, stepper.name, stepper.svg) == (0, "as written", "<svg>one</svg>")
    assert stepper.status == "Stage 1 of 3"
    assert "<th>as written</th>" in stepper.program
    assert stepper.program.count("<th>") == 1
    assert 'class="new"' not in stepper.program


def test_selecting_a_stage_shows_it_beside_the_one_before(stepper: Stepper) -> None:
    stepper.selected = 1
    assert stepper.svg == "<svg>two</svg>"
    assert stepper.reason == "Every operator becomes loops."
    assert "<th>as written</th><th>lower &lt;ops&gt;</th>" in stepper.program
    assert stepper.status == "Stage 2 of 3"


def test_a_stage_without_a_picture_clears_the_one_before(stepper: Stepper) -> None:
    stepper.selected = 2
    assert stepper.svg == ""
    assert "fused" in stepper.program


def test_whole_programs_show_every_line(stepper: Stepper) -> None:
    stepper.selected = 1
    assert "15 equal lines" in stepper.program
    stepper.whole = True
    assert "equal line" not in stepper.program


def test_a_stage_can_be_named_at_the_start() -> None:
    assert Stepper(STAGES, stage="fuse").selected == 2
    with pytest.raises(UsageError, match="stage: no such choice"):
        Stepper(STAGES, stage="inline")
    with pytest.raises(UsageError, match="stage: no such choice"):
        Stepper(STAGES, stage="")


@pytest.mark.parametrize("value", [3, -1])
def test_a_stage_that_is_not_there_is_refused(stepper: Stepper, value: int) -> None:
    with pytest.raises(UsageError, match="no such stage"):
        stepper.selected = value
    assert (stepper.selected, stepper.name) == (0, "as written")


def test_no_stages_and_two_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="no stages"):
        Stepper([])
    with pytest.raises(UsageError, match="told apart"):
        Stepper([STAGES[0], STAGES[0]])


def test_a_stage_needs_a_name() -> None:
    with pytest.raises(UsageError, match="needs a name"):
        Stage(" ", "", "pass")


def test_where_no_widgets_run_every_stage_can_be_opened() -> None:
    data, _ = Stepper(STAGES, stage="fuse")._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    page = data["text/html"]
    assert page.count("<details") == 3
    assert page.count("<details open>") == 1
    assert "<b>2. lower &lt;ops&gt;</b> Every operator becomes loops." in page
    assert "<svg>one</svg>" in page


def test_the_page_asks_no_other_machine_for_anything() -> None:
    assert "http" not in Stepper._esm
    assert "import " not in Stepper._esm
