"""The pictures of digits and of chains of functions."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from mlc_course.errors import SizeError, UsageError
from mlc_course.lessons.lesson_01_primitive_tensor_functions.functions_picture import (
    chain_svg,
    digits_svg,
)
from mlc_course.lessons.lesson_01_primitive_tensor_functions.tensor_functions import Chain, chains
from mlc_course.tensor_program.networks import digits, train


def picture(chain: Chain, selected: int = 0, image: int = 0) -> str:
    values = chain.run("NumPy", train(), digits().test_images[image : image + 1])
    return chain_svg(chain, values, selected, int(digits().test_labels[image]))


@pytest.mark.parametrize("chain", chains(), ids=lambda chain: chain.name)
def test_every_stage_is_one_well_formed_picture(chain: Chain) -> None:
    svg = picture(chain, len(chain.functions) - 1)
    ElementTree.fromstring(svg)
    assert re.findall(r'id="function-(\d)"', svg) == [str(n) for n in range(len(chain.functions))]
    for name in ("X", *chain.between, "Y"):
        assert f">{name} " in svg


def test_text_can_be_read_from_the_back_of_a_hall() -> None:
    sizes = re.findall(r'font-size="(\d+)"', picture(chains()[1]))
    assert min(map(int, sizes)) >= 12


def test_colours_are_the_pages_own() -> None:
    colours = set(re.findall(r"(?<!, )#[0-9a-f]{6}", picture(chains()[1])))
    assert colours == {"#e69f00"}


def test_the_selected_function_tells_what_it_does() -> None:
    svg = picture(chains()[1], 2)
    assert "relu, step 3" in svg
    assert "reads S1: 800 bytes" in svg
    assert picture(chains()[1], 1) != svg


def test_a_wrong_answer_is_called_wrong() -> None:
    answers = train().numpy(digits().test_images).argmax(axis=1)
    wrong = int(np.flatnonzero(answers != digits().test_labels)[0])
    assert ": wrong" in picture(chains()[0], image=wrong)
    assert ": right" in picture(chains()[0])


@pytest.mark.parametrize("selected", [-1, 2])
def test_a_function_that_is_not_there_is_refused(selected: int) -> None:
    with pytest.raises(UsageError, match="no such function"):
        picture(chains()[2], selected)


def test_one_image_is_drawn() -> None:
    chain = chains(2)[0]
    values = chain.run("NumPy", train(), digits().test_images[:2])
    with pytest.raises(SizeError, match="one image"):
        chain_svg(chain, values, 0, 0)


def test_digits_stand_side_by_side() -> None:
    svg = digits_svg(digits().images[:3], ["a", "b & c", "d"])
    ElementTree.fromstring(svg)
    assert "b &amp; c" in svg
    assert 'width="300"' in svg
    ElementTree.fromstring(digits_svg(np.zeros((1, 64))))
    with pytest.raises(SizeError, match="8 x 8"):
        digits_svg(digits().images[0])
    with pytest.raises(SizeError, match="captions"):
        digits_svg(digits().images[:3], ["a"])
