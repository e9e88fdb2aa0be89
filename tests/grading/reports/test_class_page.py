"""The page on a class counts what it has, names what is the same, and runs nothing."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from sample_class import NAME, STUB, TWICE, WHY, make_class_course, notebook

from mlc_course.grading.course import (
    GRADED,
    ByPerson,
    Late,
    Marks,
    Result,
    Submission,
    exams_in,
    grader,
)
from mlc_course.grading.process import Finding, Verdict
from mlc_course.grading.reports import Same, page_of_class, same_answers
from mlc_course.grading.reports.similarity import Pair, code_form, pairs, text_form

MET = Finding("correctness", Verdict.MET, "it is right")
WRONG = Finding("correctness", Verdict.UNMET, "a wrong result", "4", "5")
HIDDEN = Finding("correctness", Verdict.UNMET, "wrong for negative numbers", "-4", "4")
OWN = """def twice(x):
    result = 0
    for step in range(2):
        result = result + x  # once more
    return result"""


def result(student: str, *findings: Finding, hidden: tuple[Finding, ...] = ()) -> Result:
    test = grader.TestMarks("twice-test", 2, findings, hidden)
    marks = Marks(student, NAME, "digest", GRADED, (test,), seconds=len(student))
    points = {"ada": 4.0, "bob": 1.5}.get(student)
    return Result(marks, (ByPerson("why", 4, points),))


# --- the page -------------------------------------------------------------------------------------


def plain(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_the_page_counts_points_diagnoses_and_time() -> None:
    page = page_of_class(
        [
            result("ada", MET),
            result("bob", WRONG),
            result("cyrus", WRONG, hidden=(HIDDEN, HIDDEN)),
        ],
        [],
    )
    text = plain(page)
    assert (
        "3 submissions; the median is 25 %. 1 answer waits for points, and counts 0 until then."
        in text
    )
    assert "2 × a wrong result one of them got: 5" in text
    assert "1 × wrong for negative numbers (hidden) one of them got: 4" in text
    assert 'aria-label="1 all, 0 some, 0 waiting, 2 none"' in page
    assert 'aria-label="1 all, 1 some, 1 waiting, 0 none"' in page
    assert "took 3 s (median), at most 5 s (cyrus)" in text
    assert "The same answers" in text and text.endswith("None.")


def test_findings_that_differ_in_drawn_inputs_only_are_one_diagnosis() -> None:
    def wrong(inputs: str) -> Finding:
        return Finding(
            "correctness", Verdict.UNMET, f"a wrong result, in case 1 of 20, for {inputs}"
        )

    texts = ("(16)", "(-3.5e-07)", "([[1, 2], [3, (4)]], 7)")
    class_of = [result(f"s{i}", MET, hidden=(wrong(text),)) for i, text in enumerate(texts)]
    text = plain(page_of_class(class_of, []))
    assert "3 × a wrong result, in case \u2026 of \u2026, for \u2026 (hidden)" in text


@pytest.mark.parametrize(
    ("points", "out_of", "ten"),
    [(5.1, 17, 3), (10.2, 17, 6), (18.9, 21, 9), (0, 3, 0), (3, 3, 9), (4, 3, 9), (-4, 3, 0)],
)
def test_each_submission_is_counted_where_its_percent_is(
    points: float, out_of: float, ten: int
) -> None:
    marks = Marks("ada", NAME, "", GRADED, ())
    page = page_of_class([Result(marks, (ByPerson("why", out_of, points),))], [])
    bins = ["1" if i == ten else "0" for i in range(10)]
    assert f"in tens: {', '.join(bins)}" in page


@pytest.mark.parametrize(("points", "mean"), [(100, "100.00"), (99.7, "99.70"), (0.004, "0.00")])
def test_means_are_written_out(points: float, mean: str) -> None:
    marks = Marks("ada", NAME, "", GRADED, ())
    page = page_of_class([Result(marks, (ByPerson("why", 100, points),))], [])
    assert f'<td class="n">{mean}</td>' in page


def test_late_and_refused_submissions_are_counted() -> None:
    late = Result(result("ada", MET).marks, late=Late(1, 0.9, "1 day late"))
    refused = Result(Marks("bob", NAME, "", "refused", ()))
    text = plain(page_of_class([late, refused], []))
    assert "2 submissions, 1 of them refused, 1 late" in text


def test_nothing_that_students_wrote_is_run_or_loaded() -> None:
    bad = "</td><script>alert(1)</script><img src=http://example.com/x>"
    finding = Finding(bad, Verdict.UNMET, bad, bad, bad, bad)
    page = page_of_class(
        [result(bad, finding), result("ada", finding)], [Same(NAME, bad, (bad, "b"))]
    )
    assert "<script" not in page and "<img" not in page
    assert "default-src 'none'" in page


def test_large_groups_are_named_once_and_not_as_pairs() -> None:
    page = page_of_class(
        [result("ada", MET)],
        [Same(NAME, "pack", ("ada", "bob")), Same(NAME, "tile", tuple(f"s{i}" for i in range(9)))],
    )
    text = plain(page)
    assert f"1 ada bob {NAME}: pack" in text
    assert f"9 students have the same answer to {NAME}: tile: s0, s1" in text


# --- what is the same -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        OWN.replace("  # once more", ""),
        OWN.replace("result", "total").replace("step", "i").replace("(x)", "(number)")
        .replace("+ x", "+ number"),
        OWN.replace("):\n    res", "):\n    '''It doubles.'''\n    # so\n\n    res", 1),
        OWN.replace("result + x", "(result+x)"),
        f"%matplotlib inline\n{OWN}\n!ls",
    ],
)  # fmt: skip
def test_comments_layout_and_chosen_names_make_no_difference(other: str) -> None:
    assert code_form(other) == code_form(OWN)


@pytest.mark.parametrize(
    "other",
    [
        OWN.replace("range(2)", "range(3)"),
        OWN.replace("range", "reversed"),  # not a name that the answer chose
        OWN.replace("result + x", "x + result"),
        OWN.replace("result = 0", "result = x"),
        OWN.replace("+ x", "+ v2"),  # a name from elsewhere, and not the second that is chosen
        OWN.replace("+ x", "+ _2"),
    ],
)
def test_other_programs_are_different(other: str) -> None:
    assert code_form(other) != code_form(OWN)


def test_what_is_not_python_is_compared_word_by_word() -> None:
    assert code_form("total = = X") == code_form("total  =\n= X")
    assert code_form("total = = X") != code_form("total = = x")


def test_every_kind_of_chosen_name_is_renamed() -> None:
    text = (
        "import numpy as {a}\n"
        "async def {b}(*{c}, **{d}):\n"
        "    global {e}\n"
        "    try:\n        {e} = [{f} for {f} in {c}]\n"
        "    except ValueError as {g}:\n        del {e}\n"
        "    match {d}:\n        case [{h}, *_]:\n            return lambda {i}: {i} + {h}\n"
        "        case [1, *{k}]:\n            return {k}\n"
        "        case {{1: 2, **{l}}}:\n            return {l}\n"
        "class {j}:\n    'a text'\n"
    )
    first = text.format(**dict(zip("abcdefghijkl", "abcdefghijkl", strict=True)))
    other = text.format(**{name: f"n_{name}" for name in "abcdefghijkl"})
    assert code_form(first) == code_form(other)
    assert "numpy" in code_form(first) and "ValueError" in code_form(first)


@pytest.mark.parametrize(
    "text",
    ["-" * 40_000 + "1", "(" * 5_000, "1" + "+1" * 20_000, "a" + ".a" * 20_000, "\0", "\ud800",
     "not " * 9_000 + "x", "9" * 5_000, "'\\d'", "f'{" * 300, "%matplotlib inline", "x" * 60_000,
     "if x:\n" * 200],
)  # fmt: skip
def test_hostile_texts_are_only_text(text: str) -> None:
    assert isinstance(code_form(text), str)


def test_texts_are_compared_word_by_word() -> None:
    assert text_form("It  is\nFast, because") == text_form("it is fast, because")


def test_only_long_answers_that_are_not_the_course_s_own_are_told(tmp_path: Path) -> None:
    course = make_class_course(tmp_path)
    exams = exams_in(course / "solutions")
    long = "Because each row is read once, and the next rows are in the cache when they are needed."
    answers = {
        "ada": {"twice": OWN, "why": long},
        "bob": {"twice": OWN.replace("result", "r"), "why": long.upper()},
        "cyrus": {"twice": OWN, "why": WHY},  # the solution
        "dee": {"twice": TWICE, "why": WHY},  # the solution, and very short
        "eve": {"twice": STUB, "why": long + " So."},
    }
    handed_in = [Submission(name, NAME, notebook(**own).encode()) for name, own in answers.items()]
    found = same_answers(
        [*handed_in, Submission("fay", NAME, b"no notebook")], exams, course / "solutions"
    )
    assert found == [
        Same(NAME, "why", ("ada", "bob")),
        Same(NAME, "twice", ("ada", "bob", "cyrus")),
    ]
    assert pairs(found)[0] == Pair(("ada", "bob"), (f"{NAME}: twice", f"{NAME}: why"))
    assert len(pairs(found)) == 3


def test_what_was_given_is_not_the_same_answer(tmp_path: Path) -> None:
    course = make_class_course(tmp_path)
    path = course / "exercises" / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(notebook(twice=OWN))
    handed_in = [Submission(name, NAME, notebook(twice=OWN).encode()) for name in ("ada", "bob")]
    assert same_answers(handed_in, exams_in(course / "solutions"), course / "solutions") == []
