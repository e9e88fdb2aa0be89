"""The block inspector without a browser: set a trait, read the picture."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_02_tensor_program_abstraction.block_inspector import BlockInspector
from mlc_course.lessons.lesson_02_tensor_program_abstraction.remarks import ONE
from mlc_course.lessons.lesson_02_tensor_program_abstraction.small_programs import SMALL
from mlc_course.tensor_program.legality import ALL
from mlc_course.tensor_program.problems import matmul


@pytest.fixture
def inspector() -> BlockInspector:
    return BlockInspector()


def test_the_first_iteration_of_a_product_is_shown_at_first(inspector: BlockInspector) -> None:
    assert (inspector.program, inspector.block, inspector.moved) == ("matmul", "P", ONE)
    assert inspector.at == {"m": 0, "n": 0, "k": 0}
    assert inspector.loops == [["m", 3], ["n", 4], ["k", 5]]
    assert "adds to P[0, 0]" in inspector.status
    assert "<svg" in inspector.svg
    assert "T.sblock" in inspector.listing


def test_an_iteration_and_a_loop_change_the_picture(inspector: BlockInspector) -> None:
    before = inspector.svg, inspector.listing, inspector.status
    inspector.at = {"m": 1, "n": 2, "k": 3}
    assert "adds to P[1, 2]." in inspector.status
    inspector.moved = "k"
    assert "Loop k moves v_k" in inspector.status
    after = inspector.svg, inspector.listing, inspector.status
    assert all(a != b for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("name", SMALL)
def test_every_program_can_be_chosen_with_each_of_its_blocks(
    inspector: BlockInspector, name: str
) -> None:
    inspector.moved = ALL
    inspector.program = name
    for block in list(inspector.blocks):
        inspector.block = block
        assert inspector.inspection.block == block
        assert inspector.moved == ALL
        assert inspector.status.startswith("All ")
        assert set(inspector.at) == {loop for loop, _ in inspector.loops}


def test_a_loop_that_the_next_program_does_not_have_is_let_go(inspector: BlockInspector) -> None:
    inspector.moved = "k"
    inspector.program = "row sums"
    assert inspector.moved == "k"
    inspector.program = "hole"
    assert inspector.moved == ONE


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("program", "softmax"),
        ("block", "S"),
        ("moved", "q"),
        ("moved", ""),
        ("at", {"m": 3, "n": 0, "k": 0}),
        ("at", {"m": 0}),
        ("at", {"m": "0", "n": 0, "k": 0}),
        ("at", {}),
    ],
)
def test_what_cannot_be_shown_is_refused(inspector: BlockInspector, trait: str, value: Any) -> None:
    before = getattr(inspector, trait), inspector.svg
    with pytest.raises(UsageError, match=trait):
        setattr(inspector, trait, value)
    assert (getattr(inspector, trait), inspector.svg) == before


def test_a_program_of_yours_can_be_looked_at() -> None:
    program = matmul(2, 3, 4).program()
    inspector = BlockInspector("mine", more={"mine": program})
    assert (inspector.block, inspector.loops) == ("C", [["m", 2], ["n", 4], ["k", 3]])


def test_a_program_of_yours_that_is_too_large_is_refused_and_changes_nothing() -> None:
    inspector = BlockInspector(more={"large": matmul(20, 20, 20).program()})
    with pytest.raises(UsageError, match="smaller"):
        inspector.program = "large"
    assert (inspector.program, inspector.block) == ("matmul", "P")
    with pytest.raises(UsageError, match="program"):
        BlockInspector("none")


def test_where_no_widgets_run_each_loop_has_its_picture(inspector: BlockInspector) -> None:
    data, _ = inspector._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"].count("<svg") == 4
    assert "A reduction:" in data["text/html"]


def test_the_page_asks_no_other_machine_for_anything() -> None:
    for text in (BlockInspector._esm, BlockInspector._css):
        assert "http" not in text
        assert "import " not in text
