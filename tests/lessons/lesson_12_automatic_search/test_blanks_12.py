"""The blanks of lesson 12: the answer is right, and typical wrong lines are told what is wrong."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from mlc_course.lessons.lesson_12_automatic_search import blanks
from mlc_course.tensor_program.search import mutated

EVOLVE = """
def evolve(trials, draw, measure, dice):
    population = [measure(draw()) for _ in range(8)]
    while len(population) < trials:
{lines}
        population.append(measure(child))
    return population
"""
FASTEST = "parents = sorted(population, key=lambda each: each.ratio)[-4:]"
CHILD = "child = mutated(dice.choice(parents).trace, dice)"


def evolve(*lines: str) -> Any:
    scope: dict[str, Any] = {"mutated": mutated}
    exec(EVOLVE.format(lines=textwrap.indent("\n".join(lines), " " * 8)), scope)
    return scope["evolve"]


def six(line: str) -> Any:
    scope: dict[str, Any] = {}
    exec(f"def six_to_measure(guesses):\n    {line}", scope)
    return scope["six_to_measure"]


def test_the_answers_are_right_and_an_empty_blank_says_so() -> None:
    assert blanks.evolve(evolve(*blanks.evolve.answer.splitlines())).right
    assert blanks.evolve(blanks.course_evolve).right
    assert blanks.evolve(evolve("parents = ...", "child = ...")).empty
    assert blanks.six_to_measure(six(blanks.six_to_measure.answer)).right
    assert blanks.six_to_measure(six("...")).empty


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((FASTEST.replace("[-4:]", "[:4]"), CHILD), "has a slow parent"),
        ((FASTEST, "child = dice.choice(parents).trace"), "is no child"),
        ((FASTEST, "child = draw()"), "is no child"),
        ((FASTEST, "child = mutated(parents[-1].trace, dice)"), "only one parent"),
        (("parents = population", CHILD), "has a slow parent"),
        ((FASTEST, "child = mutated(dice.choice(parents), dice)"), "it stops with an error"),
    ],
)
def test_a_wrong_evolve_is_told_what_is_wrong(lines: tuple[str, str], words: str) -> None:
    judged = blanks.evolve(evolve(*lines))
    assert not judged.right and not judged.empty
    assert words in str(judged), str(judged)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("return sorted(guesses, reverse=True)[:6]", "places, not guesses"),
        ("return sorted(range(len(guesses)), key=guesses.__getitem__)[:6]", "expected"),
        ("return sorted(range(len(guesses)), key=guesses.__getitem__)[-6:]", "expected"),
        (
            "return sorted(range(len(guesses)), key=lambda i: -abs(guesses[i]))[:6]",
            "logarithms and may be negative",
        ),
    ],
)
def test_a_wrong_choice_is_told_what_is_wrong(line: str, words: str) -> None:
    judged = blanks.six_to_measure(six(line))
    assert not judged.right and words in str(judged), str(judged)
