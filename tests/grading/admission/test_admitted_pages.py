"""A page runs if it stays among plain values; what leads out of them is refused, by its text."""

from __future__ import annotations

import base64
import io
import tarfile
import zlib
from pathlib import Path

import pytest

import mlc_course.mugraph.search
from mlc_course.errors import CourseError, UnmetCheck, UnsafeProgram
from mlc_course.grading.admission import admitted_page, offered_as
from mlc_course.grading.admission.admitted_pages import LONGEST, OFFERED

HONEST = """
from functools import cache
from itertools import product as pairs
from mlc_course.lessons.lesson_21_capstone import Line, read_program

FACTORS = (2, 3)

@cache
def grown(n):
    return [a * b * n for a, b in pairs(FACTORS, FACTORS)]

def f(text, *, most=4):
    try:
        found = {f"{n:>3}" for n in grown(1) if n < 9}
    except ValueError as error:
        raise KeyError(error) from None
    for line in text.splitlines():
        while (many := len(found)) < most:
            found.add(line + str(many))
    return sorted(found, key=lambda each: (len(each), each))[0]
"""


def body(*lines: str) -> str:
    return "\n".join(["def f(text):", *(f"    {line}" for line in lines)])


def test_an_honest_page_runs() -> None:
    assert admitted_page(HONEST)("a\nb") == "a2"


@pytest.mark.parametrize(
    "page",
    [
        "import os\n" + body("return text"),
        "import mlc_course.mugraph.search as s\n" + body("return text"),
        "from mlc_course.mugraph.search import superoptimize\n" + body("return text"),
        "from mlc_course.mugraph import search\n" + body("return text"),
        "from mlc_course.lessons.lesson_21_capstone import museum\n" + body("return text"),
        "from mlc_course.lessons.lesson_21_capstone import checks\n" + body("return text"),
        "from mlc_course.mugraph.programs import published\n" + body("return text"),
        "from re import enum\n" + body("return enum.sys.modules"),
        "from random import _os\n" + body("return _os.listdir()"),
        "from .. import x\n" + body("return text"),
        "from itertools import *\n" + body("return text"),
        body("from itertools import product", "import os", "return text"),
        body("return open('/etc/passwd').read()"),
        body("return __import__('os').listdir()"),
        body("return eval('1')"),
        body("exec('x = 1')", "return text"),
        body("return getattr(text, '__class__')"),
        body("return vars()"),
        body("return globals()"),
        body("return type(text)"),
        body("return ().__class__.__base__.__subclasses__()"),
        body("return f.__globals__['__builtins__']"),
        body("return (n for n in text).gi_frame.f_back.f_globals"),
        body("try:", "    1 / 0", "except Exception as e:", "    return e.__traceback__.tb_frame"),
        body("return '{0.__class__}'.format(text)"),
        body("return '{x.__class__}'.format_map({'x': text})"),
        body("return text.join.__self__"),
        body("return text._replace.__globals__"),
        body("return text._make"),
        body("return text._replaced"),
        "from collections import namedtuple\n" + body("return namedtuple('A', 'x')"),
        "from mlc_course.lessons.lesson_21_capstone import Line\n"
        + body("return Line.__new__.__globals__"),
        "from mlc_course.lessons.lesson_21_capstone import Line\n"
        + body("return Line._make.__func__"),
        "from mlc_course.lessons.lesson_21_capstone import measured\n"
        + body("measured.seen = text", "return text"),
        "class A:\n    x = 1\n" + body("return A.x"),
        body("match text:", "    case str(__class__=c):", "        return c"),
        body("with text:", "    return text"),
        body("global x", "x = text", "return x"),
        "async " + body("return text"),
        body("__builtins__ = {}", "return text"),
        "def __f(x):\n    return x\n" + body("return __f(text)"),
        "from itertools import product as __loader__\n" + body("return text"),
        body("return __builtins__['open']"),
        body("return undefined"),
        body("del text.x", "return text"),
        body("import itertools", "return itertools"),
    ],
)
def test_what_leads_out_of_plain_values_is_refused(page: str) -> None:
    with pytest.raises(CourseError) as refused:
        admitted_page(page)
    assert isinstance(refused.value, UnsafeProgram | UnmetCheck)


@pytest.mark.parametrize(
    "page",
    [
        "",
        "f = 3",
        "def f(text):\n    return text\nf = 3",
        "def f(:",
        "(" * 5000,
        "x = 1\0",
        "not " * 4000,
    ],
)
def test_what_is_no_page_is_told(page: str) -> None:
    with pytest.raises(CourseError):
        admitted_page(page)


def test_the_last_function_is_the_page_s_and_named_tuples_keep_their_methods() -> None:
    helper = "def g(text):\n    return text\n\n"
    line = "from mlc_course.lessons.lesson_21_capstone import Line\n"
    for source in (
        helper + body("return g(text)"),
        line + body("return Line('a', 'b', ())._replace(name=text)._asdict()['name']"),
        body("return chr(ord(text[slice(0, 1)]))"),
    ):
        assert admitted_page(source)("x") == "x"


def test_format_is_told_of_f_strings() -> None:
    with pytest.raises(UnsafeProgram, match="f-string"):
        admitted_page(body("return '{}'.format(text)"))


def test_a_page_sees_no_more_than_what_is_on_the_list() -> None:
    function = admitted_page(body("return text"))
    builtins = function.__globals__["__builtins__"]
    assert not {"open", "eval", "exec", "getattr", "__import__", "type", "vars"} & builtins.keys()


def test_the_search_does_not_fit_on_a_page() -> None:
    folder = Path(mlc_course.mugraph.search.__file__).parent
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(folder, filter=lambda each: None if "__pycache__" in each.name else each)
    assert len(base64.b85encode(zlib.compress(packed.getvalue(), 9))) > 2.5 * LONGEST
    with pytest.raises(UnmetCheck, match="does not fit on a page"):
        admitted_page("#" * LONGEST + "\n" + body("return text"))


def test_what_is_offered_is_no_module_and_is_known_by_its_identity() -> None:
    for module, names in OFFERED.items():
        for name in names:
            value = getattr(__import__(module, fromlist=[name]), name)
            assert callable(value) or isinstance(value, float)
            assert offered_as(value) is not None
    assert offered_as(open) is None and offered_as(mlc_course) is None
