"""Right answers in a wrong form: every function of every lesson is told what is wrong with it.

Each wrong form is made from the reference solution, so that its values are right. What a student
reads is held to ``conftest.unreadable`` by ``diagnose``, as in the other files of this folder.
"""

from __future__ import annotations

import json
from functools import cache

import pytest
from answers import Complain
from conftest import SOLUTIONS, Diagnose, exam  # type: ignore[import-not-found]

from mlc_course.grading.course import source_of
from mlc_course.grading.process import Boxed, Called, Given, Scheduled, Verdict, Written

ASSIGNMENTS = sorted(each.name for each in SOLUTIONS.iterdir())


@cache
def solution(assignment: str, name: str) -> str:
    """The source of the answer cell that defines this function."""
    path = SOLUTIONS / assignment / f"{assignment}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return next(text for text in map(source_of, cells) if f"def {name}(" in text)


def answers(*kinds: type) -> list[tuple[str, str, str]]:
    """Assignment, graded cell and name of every answer of these kinds."""
    return [
        (assignment, test.grade_id, name)
        for assignment in ASSIGNMENTS
        for test in exam(assignment).tests
        for name in dict.fromkeys(
            each.subject.answer.name for each in test.demands if isinstance(each.subject, kinds)
        )
    ]


FORMS = [
    ("def {0}(*given): print(right(*given))", "reaches no return gives None"),
    ("def {0}(*given): yield right(*given)", "list(...) makes a list of it"),
    ("def {0}(*given): return right", "call it, with (...) behind its name"),
    ("def {0}(): return 1", "your function takes other arguments than the exercise gives it"),
    ("def {0}(*given): return {0}(*given)", "a function that calls itself"),
    ("def {0}(*given): return rihgt(*given)", "is it misspelt"),
    ("{0} = 3", "an answer of another kind"),
]
"""A form of a function, and what is told: ``right`` is the reference solution."""


@pytest.mark.parametrize("asked", answers(Called), ids="-".join)
def test_a_function_in_a_wrong_form_is_told_so(
    complain: Complain, asked: tuple[str, str, str]
) -> None:
    assignment, test, name = asked
    for form, words in FORMS:
        if name in ("may_be_part", "choose") and "reaches" in words:
            words = "got       None"  # where another value would be as wrong
        wrong = f"right = {name}\n{form.format(name)}"
        said = complain(assignment, test, solution(assignment, name), wrong, hidden=False)
        assert words in said, (form, said)


@pytest.mark.parametrize(
    ("assignment", "test", "returned", "words"),
    [
        ("01_primitive_tensor_functions", "softmax-test", "x.astype(float)", "in float64"),
        ("01_primitive_tensor_functions", "softmax-test", "x.tolist()", "in a list"),
        ("01_primitive_tensor_functions", "softmax-test", "x[..., None]", "in shape (2, 2, 1)"),
        ("01_primitive_tensor_functions", "memory-test", "float(x)", "as a float: 20.0"),
        ("01_primitive_tensor_functions", "memory-test", "str(x)", "as a string: '20'"),
        ("00_measuring_honestly", "fair-ratio-test", "[x]", "in a list"),
        ("00_measuring_honestly", "floor-test", "np.array([x])", "in an array of shape (1,)"),
        ("03_memory_hierarchy", "ring-test", "np.array(x)", "in an array"),
        ("03_memory_hierarchy", "ring-test", "[float(n) for n in x]", "at [0]: the right value"),
        ("03_memory_hierarchy", "ring-test", "dict(enumerate(x))", "are strings, in quotes"),
        ("04_reuse_distance_and_roofline", "distances-test", "set(x)", "sorted(...)"),
        ("04_reuse_distance_and_roofline", "attainable-test", "x[0]", "several values"),
        ("07_two_levels", "register-test", "np.array(x)", "array.tolist()"),
        ("11_packing_and_the_micro_kernel", "repair-test", "list(x)", "in a list"),
        ("13_computational_graphs", "fuser-test", "x[::-1]", "in another order"),
        ("17_finite_field_verification", "needed-test", "x and float(x)", "as a float: 28.0"),
        ("18_superoptimization", "pruner-test", "int(x)", "expected  True or False"),
    ],
)
def test_right_values_in_another_form_are_told_so(
    complain: Complain, assignment: str, test: str, returned: str, words: str
) -> None:
    (name,) = (each[2] for each in answers(Called) if each[:2] == (assignment, test))
    wrong = f"import numpy as np\nright = {name}\n"
    wrong += f"def {name}(*given):\n    x = right(*given)\n    return {returned}"
    said = complain(assignment, test, solution(assignment, name), wrong, hidden=False)
    assert words in said, said


SCHEDULES = [
    ("def {0}(): pass", "your function takes other arguments than the exercise gives it"),
    ("def {0}(sch): sch.reorder('m', 'n')", "methods of TVM's schedule take loops and blocks"),
    ("def {0}(sch): sch.tile('C', 16)", "the course's own steps are functions"),
    ("def {0}(sch): sch.get_sblock('Nope')", "Cannot find a block with the name: Nope"),
    ("def {0}(sch): reorderr(sch)", "is it misspelt"),
    ("{0} = 'reorder'", "a function that takes a schedule"),
    (
        "@T.prim_func(s_tir=True)\ndef {0}(A: T.Buffer((4,), 'float32')):\n"
        "    for i in range(4):\n        A[i] = T.float32(0)",
        "got       a TensorIR function",
    ),
]


@pytest.mark.parametrize("asked", answers(Scheduled), ids="-".join)
def test_a_schedule_in_a_wrong_form_is_told_so(
    complain: Complain, asked: tuple[str, str, str]
) -> None:
    assignment, test, name = asked
    for form, words in SCHEDULES:
        wrong = "from tvm.script import tirx as T\n" + form.format(name)
        said = complain(assignment, test, wrong, hidden=False)
        assert words in said, (form, said)


PROGRAMS = [
    ("def {0}(*buffers): pass", "got       a Python function"),
    ("{0} = 'for i in range(3)'", "got       str"),
    (
        "@T.prim_func(s_tir=True)\ndef {0}(A: T.Buffer((4,), 'float32')):\n"
        "    for i in range(4):\n        A[i] = T.float32(0)",
        "other parameters than the problem",
    ),
    (
        "@T.prim_func\ndef {0}(A: T.Buffer((4,), 'float32')):\n"
        "    for i in range(4):\n        A[i] = T.float32(0)",
        "a TensorIR function of another kind",
    ),
]


@pytest.mark.parametrize("asked", answers(Written), ids="-".join)
def test_a_program_in_a_wrong_form_is_told_so(
    complain: Complain, asked: tuple[str, str, str]
) -> None:
    assignment, test, name = asked
    for form, words in PROGRAMS:
        wrong = "from tvm.script import tirx as T\n" + form.format(name)
        said = complain(assignment, test, wrong, hidden=False)
        assert words in said, (form, said)


KERNELS = [
    ("{0} = 3", "expected  a function"),
    ("{0} = lambda t, out, a: None", "not a function"),
    ("def {0}(*given): pass", "a function with plain arguments"),
    ("def {0}(t, out, a):\n    import numpy", "the functions of this exercise have no such thing"),
    ("def {0}(t, out, a):\n    out[0] = nothing", "which is not one of them"),
]


@pytest.mark.parametrize(
    "asked", [each for each in answers(Boxed) if each[0].startswith("15")], ids="-".join
)
def test_a_kernel_in_a_wrong_form_is_told_so(
    complain: Complain, asked: tuple[str, str, str]
) -> None:
    assignment, test, name = asked
    for form, words in KERNELS:
        said = complain(assignment, test, form.format(name), hidden=False)
        assert words in said, (form, said)


VALUES = [
    ("print", "call it, with (...) behind its name"),
    ("{1, 2}", "sorted(...) makes a list of it"),
    ("(n for n in range(3))", "list(...) makes a list of it"),
    ("np.array(['a'])", "array.tolist() makes a list of it"),
    ("{1: 2}", "are strings, in quotes"),
    ("...", "there is no answer yet"),
    ("-1", ""),
    ("'three'", ""),
    ("''", ""),
    ("[]", ""),
    ("[None]", ""),
    ("{'a': None}", ""),
    ("float('nan')", ""),
    ("10**400", ""),
    ("'x' * 5000", ""),
    ("[[1, 2], [3]]", ""),
    ("np.zeros((30, 30))", ""),
]


@pytest.mark.parametrize("asked", answers(Given), ids="-".join)
def test_a_value_in_a_wrong_form_is_told_so(
    diagnose: Diagnose, asked: tuple[str, str, str]
) -> None:
    assignment, test, name = asked
    for value, words in VALUES:
        wrong = f"import numpy as np\n{name} = {value}"
        found = diagnose(assignment, test, wrong, hidden=False)
        said = [str(each) for each in found if each.verdict is Verdict.UNMET]
        assert any(words in each for each in said), (value, said)
        assert not any("cannot judge" in each for each in said), (value, said)
