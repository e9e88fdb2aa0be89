"""What goes back to a student says nothing of what hidden checks asked, whatever the notebook does.

The same notebook is graded with two exams that differ in a hidden value only. All that is handed
back has to be the same, byte for byte: then no channel, known or not, carried the value out.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlc_course.commands.grade import _record, _rows
from mlc_course.grading.checks import Demand
from mlc_course.grading.course import grader
from mlc_course.grading.course.exam import Exam, read_exam
from mlc_course.grading.course.feedback import page
from mlc_course.grading.course.grader import Marks, Race, grade, run_races
from mlc_course.grading.course.result import Result
from mlc_course.grading.course.submission import Submission
from mlc_course.grading.process import BUBBLEWRAP, RLIMITS, Limits, Verdict, has_bubblewrap, met
from mlc_course.grading.process.remote import Interpreter
from mlc_course.grading.reports import marks_table

pytestmark = pytest.mark.slow

SANDBOX = BUBBLEWRAP if has_bubblewrap() else RLIMITS
LIMITS = Limits(seconds=300, request_seconds=120)  # for a busy machine
SECRETS = (777123, 31415)

# Each keeps every argument that it was ever given, and says it in another way.
KEEPS = "seen = globals().setdefault('seen', [])\ndef {name}(x):\n    seen.append(x)\n    {says}\n"
CHANNELS = {
    "a value": "return -max(seen)",
    "an error's text": "raise ValueError(repr(seen))",
    "an error's name": "raise type('E' + str(max(seen)), (Exception,), {})()",
    "an error's line": "exec(compile(chr(10) * (max(seen) % 99991) + '1/0', 'cell', 'exec'))",
    "a list's length": "return [0] * (max(seen) % 1000)",
    "a type": "return type('T' + str(max(seen)), (), {})()",
    "what is printed": "print(seen); return 0",
    "files": "open('seen.txt', 'a').write(str(seen)); return 0",
}
LATER = {
    "text": "raise ValueError(str(seen))",
    "name": "raise type('E' + str(max(seen, default=0)), (Exception,), {})()",
    "line": "exec(chr(10) * (max(seen, default=0) % 997) + '1/0')",
    "whether": "if max(seen, default=0) % 2: raise ValueError",
    "kind": "raise [KeyError, OSError, NameError][max(seen, default=0) % 3]",
    "output": "print('x' * (max(seen, default=0) % 997))",
    "notebook": "get_ipython().run_line_magic('notebook', 'seen.ipynb')",
    "end": "import os\nif seen: os._exit(max(seen) % 100)",
}


def code(source: str, name: str, **about: object) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": name,
        "source": source,
        "outputs": [],
        "execution_count": None,
        "metadata": {"nbgrader": about | {"grade_id": name}},
    }


def notebook(cells: list[dict[str, Any]]) -> str:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def exam(folder: Path, secret: int) -> Exam:
    """Two exercises: what the first asks secretly could come back through what the second shows."""

    def test(name: str) -> str:
        return (
            f"check(called({name}), returns(1, result=2))\n### BEGIN HIDDEN TESTS\n"
            f"check(called({name}), returns({secret}, result={2 * secret}))\n"
            f"check(called({name}), agrees(lambda x: 2 * x, lambda rng: (int(rng.integers(1e9)),)))"
            "\n### END HIDDEN TESTS"
        )

    cells = [
        code("from mlc_course.exercise import *", "setup", locked=True),
        code("def first(x):\n    return 2 * x", "first", solution=True),
        code(test("first"), "first-test", grade=True, locked=True, points=2),
        code("def second(x):\n    return 2 * x", "second", solution=True),
        code(test("second"), "second-test", grade=True, locked=True, points=2),
    ]
    path = folder / str(secret) / "07_twice.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(notebook(cells))
    return read_exam(path)


def handed_back(marks: Marks) -> str:
    """Everything that is made of marks for others than the instructor."""
    same = replace(marks, seconds=0.0, assignment="07_twice")
    results = [Result(same)]
    told = json.dumps(_record(results, []))
    return "\n".join((page(same), marks_table(results), _rows(results), told))


@pytest.mark.parametrize("channel", CHANNELS)
def test_no_channel_carries_a_hidden_value_out(tmp_path: Path, channel: str) -> None:
    said = CHANNELS[channel]
    cells = [
        code(KEEPS.format(name="first", says=said), "first"),
        code("", "first-test", grade=True),
        *(code(source, f"between {name}") for name, source in LATER.items()),
        code(KEEPS.format(name="second", says=said), "second"),
        code("", "second-test", grade=True),
        *(code(source, f"after {name}") for name, source in LATER.items()),
    ]
    submission = Submission("ann", "07_twice", notebook(cells).encode())
    found = []
    for secret in SECRETS:
        asked = exam(tmp_path, secret)
        marks = grade(asked, submission, seed=1, limits=LIMITS, sandbox=SANDBOX)
        found.append(handed_back(marks))
        assert str(secret) not in found[-1]
        assert len(marks.tests[0].hidden) == 2
        assert not [each for each in marks.remarks if "after" in each]
        assert "ended" not in str(marks.tests[0].visible)  # it ran, and could have told
    assert found[0] == found[1]


def test_the_channels_are_real_ones(tmp_path: Path) -> None:
    """Asked in the process that is shown, the same notebooks say what they were asked."""
    student = Interpreter(LIMITS, SANDBOX)
    try:
        student.run("first", KEEPS.format(name="first", says=CHANNELS["a value"]))
        assert student.function("first")(SECRETS[0]) == -SECRETS[0]
        assert student.function("first")(1) == -SECRETS[0]
    finally:
        student.stop()


@pytest.mark.parametrize(
    ("source", "remark"),
    [
        ("x = 1\nraise KeyError('a value')", "cell c: KeyError in line 2"),
        ("def", "cell c: SyntaxError in line 1"),
        ("raise type('E' + 'a value', (Exception,), {})()", "cell c: an error of its own kind"),
        ("a.b", "cell c: NameError in line 1"),
    ],
)
def test_a_remark_is_the_kind_of_an_error_and_its_line(source: str, remark: str) -> None:
    student = Interpreter(LIMITS, SANDBOX)
    try:
        student.run("c", source)
    finally:
        student.stop()
    (said,) = student.remarks
    assert said.startswith(remark)
    assert "a value" not in said


def test_a_forged_reply_is_no_remark(monkeypatch: pytest.MonkeyPatch) -> None:
    replies = [
        {"failed": "a value", "line": 1},
        {"failed": "KeyError", "line": 777123},
        {"failed": ["a value"]},
        {"error": {"what": "a value", "got": "a value"}},
    ]
    student = Interpreter(LIMITS, SANDBOX)
    for each in replies:
        monkeypatch.setattr(student, "_started", lambda each=each: _Says(json.dumps(each).encode()))
        student.run("c", "pass")
    assert student.remarks == [
        "cell c: an error of its own kind in line 1",
        "cell c: KeyError",
        "cell c: an error of its own kind",
        "cell c: a reply that cannot be read",
    ]


class _Says:
    def __init__(self, reply: bytes) -> None:
        self.reply = reply

    def ask(self, message: bytes) -> bytes:
        return self.reply


def test_cells_after_the_last_graded_one_are_not_run(tmp_path: Path) -> None:
    cells = [
        code("def first(x):\n    return 2 * x\nsecond = first", "first"),
        code("", "first-test", grade=True),
        code("", "second-test", grade=True),
        code("while True: pass", "endless"),
    ]
    submission = Submission("ann", "07_twice", notebook(cells).encode())
    marks = grade(exam(tmp_path, 5), submission, seed=1, limits=LIMITS, sandbox=SANDBOX)
    assert marks.points == marks.out_of
    assert marks.remarks == ()


def test_what_a_visible_check_draws_is_not_what_a_hidden_one_draws() -> None:
    assert grader._mixed(1, "first-test 0") != grader._mixed(1, "first-test 1")


def test_a_hidden_race_tells_only_whether_it_was_won(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = exam(tmp_path, 5)
    raced = met("ratio", "1.77 times as fast")
    monkeypatch.setattr(grader, "_race", lambda *_: [raced])
    monkeypatch.setattr(grader, "_raced", _all_demands)
    tests = tuple(grader.TestMarks(each.grade_id, each.points, ()) for each in asked.tests)
    races = (Race("first-test", 0, ""), Race("first-test", 1, ""))
    before = Marks("ann", "07_twice", "digest", grader.GRADED, tests, races=races)
    after = run_races(asked, before, {}, limits=LIMITS, sandbox=SANDBOX)
    assert after.tests[0].visible == (raced,)
    assert after.tests[0].hidden == (raced,)
    assert page(after).count("1.77") == 1


def _all_demands(asked: Exam, races: tuple[Race, ...]) -> list[tuple[Race, Demand]]:
    tests = {each.grade_id: each for each in asked.tests}
    return [(each, tests[each.grade_id].demands[each.demand]) for each in races]


def test_the_table_has_the_same_columns_for_everybody(tmp_path: Path) -> None:
    marks = Marks("ann", "07_twice", "digest", grader.GRADED, ())
    (row,) = csv.DictReader(io.StringIO(marks_table([Result(marks)])))
    assert "seconds" not in row
    assert Verdict.MET not in row.values()
