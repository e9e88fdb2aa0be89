"""The network's four stages compute the same, in every form."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.errors import SizeError, UsageError
from mlc_course.lessons.lesson_01_primitive_tensor_functions.tensor_functions import (
    FORMS,
    Chain,
    chains,
)
from mlc_course.tensor_program.networks import digits, train
from mlc_course.tensor_program.processor import assembly

NAMES = ["one call", "five functions", "two functions", "library"]


def stage(name: str, batch: int = 1) -> Chain:
    return {chain.name: chain for chain in chains(batch)}[name]


def test_there_are_four_stages_and_each_has_fewer_functions_than_the_second() -> None:
    assert [chain.name for chain in chains()] == NAMES
    assert [len(chain.functions) for chain in chains()] == [1, 5, 2, 2]


def test_no_stage_computes_more_than_another() -> None:
    assert len({sum(f.flops for f in chain.functions) for chain in chains(3)}) == 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_a_stage_computes_what_the_network_does(name: str, form: str) -> None:
    chain = stage(name, batch=2)
    if name == "one call" and form != "NumPy":
        with pytest.raises(UsageError, match="no such form"):
            chain.run(form, train(), digits().test_images[:2])
        return
    x = digits().test_images[:2]
    values = chain.run(form, train(), x)
    np.testing.assert_allclose(values["Y"], train().numpy(x), rtol=1e-4, atol=1e-4)
    assert set(values) >= set(chain.between)


def test_what_is_between_functions_is_counted() -> None:
    five, two = stage("five functions"), stage("two functions")
    assert five.between == ("P1", "S1", "H", "P2")
    assert five.bytes(*five.between) == 4 * (200 + 200 + 200 + 10)
    assert two.bytes(*two.between) == 4 * 200
    assert stage("one call").bytes() == 0


def test_a_prepared_call_can_be_repeated() -> None:
    x = digits().test_images[:1]
    call = stage("library").prepared("machine code", train(), x)
    first = call().copy()
    assert np.array_equal(call(), first)


def test_a_chain_takes_the_batch_that_it_was_made_for() -> None:
    with pytest.raises(SizeError, match="another chain"):
        stage("library").run("NumPy", train(), digits().test_images[:2])


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_text_that_a_reader_can_read(form: str) -> None:
    for function in stage("five functions").functions:
        text = function.text(form)
        assert text == text.strip()
        assert "Array" not in text
    words = {"NumPy": "np.", "low-level NumPy": "for m in", "TensorIR": "T.sblock"}
    assert words.get(form, "# the innermost loop") in text


def test_a_form_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="no such form"):
        stage("library").functions[0].text("Fortran")


def test_low_level_text_is_loops_that_run() -> None:
    text = stage("five functions").functions[0].text("low-level NumPy")
    space: dict[str, object] = {}
    exec(text, {"np": np}, space)
    product = np.full((2, 2), np.nan)
    space["matmul"](np.eye(2), np.ones((2, 2)), product)  # type: ignore[operator]
    assert np.array_equal(product, np.ones((2, 2)))


def test_the_library_works_on_several_floats_where_the_naive_loop_has_one() -> None:
    lanes = [
        assembly(stage(name).functions[0].program).lanes for name in ("two functions", "library")
    ]
    assert lanes[0] == 1
    assert lanes[1] >= 4
