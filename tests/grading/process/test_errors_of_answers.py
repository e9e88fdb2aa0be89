"""What a student reads whose own code fails: their line, and one sentence, never a library's."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from mlc_course.errors import UnmetCheck, UsageError
from mlc_course.grading.process.answers import own_error, produce
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.tir import IRModule, dump_program

PROGRAM = dump_program(IRModule({"main": matmul(4, 4, 4).program()}))


@pytest.fixture(scope="module")
def answer() -> Callable[[str], object]:
    """``answer(body)``: a schedule function as a cell defines it."""
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config)
    shell.user_ns["__name__"] = "__main__"

    def define(body: str) -> object:
        shell.run_cell(f"def schedule(sch):\n    {body}", store_history=False).raise_error()
        return shell.user_ns["schedule"]

    return define


@pytest.mark.parametrize(
    ("body", "got", "hint"),
    [
        ('sch.reorder("i", "j")', 'Expected "LoopRV", but gets: "str"', "take loops and blocks"),
        ('sch.split("i", [2, 2])', 'Expected "LoopRV"', "the course's own steps take their names"),
        ('sch.get_sblock("D")', "Cannot find a block with the name: D", "in a cell of its own"),
        ("sch.tile()", "has no attribute 'tile'", "steps are functions"),
        (
            "sch.vectorize(sch.get_loops(sch.get_sblock('C'))[2])",
            'The "vectorize" cannot be fulfilled',
            "in a cell of its own",
        ),
        ("raise ValueError", "ValueError: ValueError", "in a cell of its own"),
        ("schedule(sch)", "RecursionError: maximum recursion", "a case in which it does not"),
        ("len(None)", "TypeError: object of type 'NoneType'", "a value there is None"),
        ("reorderr(sch)", "NameError: name 'reorderr'", "is it misspelt"),
        ("sum(1 / 0 for _ in [1])", "ZeroDivisionError", "in a cell of its own"),
        (
            "sch.split(sch.get_loops(sch.get_sblock('C'))[2], [3])",
            "the extent of loop (a loop)",
            "in a cell of its own",
        ),
    ],
)
def test_an_error_is_one_sentence_and_the_line_is_the_students(
    answer: Callable[[str], object], body: str, got: str, hint: str
) -> None:
    with pytest.raises(UnmetCheck) as error:
        produce("schedule", answer(body), PROGRAM)
    assert error.value.what == "your code raises an error"
    assert got in str(error.value.got) and "\n" not in str(error.value.got)
    assert str(error.value.got).endswith("(line 2 of schedule)")
    assert hint in str(error.value.hint)


def test_an_error_of_the_course_is_told_whole() -> None:
    error = own_error(UsageError("a size", expected="1 or more", got=0, hint="count again"))
    assert all(part in str(error.got) for part in ("a size", "1 or more", "0", "count again"))


def test_other_arguments_than_the_exercise_gives_are_told(answer: Callable[[str], object]) -> None:
    assert answer("pass")
    with pytest.raises(UnmetCheck) as error:
        produce("schedule", lambda: None, PROGRAM)
    assert error.value.what == "your function takes other arguments than the exercise gives it"
    assert "takes 0 positional arguments but 1 was given" in str(error.value.got)
