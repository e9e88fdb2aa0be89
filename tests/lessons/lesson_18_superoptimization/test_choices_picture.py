"""The picture of a graph's grids: a dot for each, the marked ones with their names."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_18_superoptimization.choices_picture import choices_svg

CHOICES = [(4, 2e-3), (96, 6.2e-5), (256, 8.3e-5)]


def test_it_is_svg_with_names_the_machine_and_units() -> None:
    text = choices_svg(CHOICES, {"by hand": CHOICES[2], "cheapest": CHOICES[1]}, 108)
    ET.fromstring(text)
    for words in ("by hand", "cheapest", "108 multiprocessors", "microseconds in the model"):
        assert words in text
    assert "var(--mlc-ours" in text and "var(--mlc-ink" in text


def test_the_same_choices_make_the_same_text() -> None:
    assert choices_svg(CHOICES, {}, 108) == choices_svg(CHOICES, {}, 108)


@pytest.mark.parametrize(
    ("choices", "named"), [([], {}), (CHOICES, dict.fromkeys("abcde", CHOICES[0]))]
)
def test_nothing_to_draw_and_too_much_to_mark_are_refused(
    choices: list[tuple[int, float]], named: dict[str, tuple[int, float]]
) -> None:
    with pytest.raises(UsageError, match="nothing to draw, or too much to mark"):
        choices_svg(choices, named, 108)
