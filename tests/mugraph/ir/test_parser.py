from __future__ import annotations

import pytest
from hypothesis import given, settings
from small_graphs import every_graph, graphs

from mlc_course.errors import CourseError
from mlc_course.mugraph.ir.graph import KernelGraph
from mlc_course.mugraph.ir.parser import parse
from mlc_course.mugraph.programs import published


@pytest.mark.parametrize("graph", every_graph(), ids=lambda graph: graph.name)
def test_a_graph_is_read_back_from_its_text(graph: KernelGraph) -> None:
    assert parse(str(graph)) == graph
    assert str(parse(str(graph))) == str(graph)


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_a_random_graph_is_read_back_from_its_text(graph: KernelGraph) -> None:
    assert parse(str(graph)) == graph
    assert str(parse(str(graph))) == str(graph)


def test_resized_sizes_are_read_back() -> None:
    graph = parse("p(X[8, d=64]):\n  Y = scale(X, by=1/sqrt(d))\n  return Y")
    small = graph.resized({"8": 2, "d": 4})
    assert str(small).startswith("p(X[8=2, d=4])")
    assert parse(str(small)) == small


def test_a_text_may_have_comments_and_empty_lines() -> None:
    text = "\np(X[4]):  # a program\n\n  # doubles\n  Y = add(X, X)\n  return Y\n\n"
    assert str(parse(text)) == "p(X[4]):\n  Y = add(X, X)\n  return Y"


FUSED = str(published("rms_norm_matmul_fused"))


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("rms_norm_matmul_fused(X[", "rms_norm_matmul_fused X[", 1, "NAME(INPUT[SIZES], ...)"),
        ("X[b=16, d=4096]", "X[b=16, d]", 1, "d=SIZE"),
        ("X[b=16, d=4096]", "X b=16", 1, "NAME[SIZE, SIZE=16, ...]"),
        ("X[b=16, d=4096]", "X[b=16, d=many]", 1, "a whole number"),
        ("W[d, n=6144]", "W[d=64, n=6144]", 1, "4096"),
        ("W[d, n=6144]", "X[d, n=6144]", 1, "X is made twice"),
        ("grid(x=256)", "grid(x=many)", 2, "NAME=EXTENT"),
        ("grid(x=256)", "grid(x=2, x=2)", 2, "each name once"),
        ("grid(x=256)", "(x=256)", 2, "block grid(x=8) loop(k=32):"),
        ("grid(x=256)", "grid(w=256)", 2, "x | y | z"),
        ("load(X, fmap={k: 1})", "load(X, fmap={k: one})", 3, "{AXIS: DIMENSION, ...}"),
        ("load(X, fmap={k: 1})", "load(X, Y, fmap={k: 1})", 3, "load: operands"),
        ("load(X, fmap={k: 1})", "load(X, omap={k: 1})", 3, "imap={}, fmap={}"),
        ("load(X, fmap={k: 1})", "load(Z, fmap={k: 1})", 3, "nothing is called 'Z'"),
        ("load(X, fmap={k: 1})", "load(X, fmap={k: 2})", 3, "0 to 1"),
        ("xg = mul(x, g)", "xg = mull(x, g)", 6, "no operator 'mull'"),
        ("xg = mul(x, g)", "xg = mul(x)", 6, "mul: operands"),
        ("xg = mul(x, g)", "xg = mul(x, g, by=2)", 6, "no attribute 'by'"),
        ("xg = mul(x, g)", "mul(x, g)", 6, "NAME = OPERATOR(VALUE, ...)"),
        ("xg = mul(x, g)", "x = mul(x, g)", 6, "x is made twice"),
        ("xg = mul(x, g)", "xg = mul(X, g)", 6, "nothing is called 'X'"),
        ("part = matmul(xg, w)", "part = matmul(w, xg)", 7, "matmul(A, B): inner dimensions"),
        ("by=1/d", "by=1/0", 13, "not a constant"),
        ("by=1/d", "by=1/e", 12, "no size 'e'"),
        ("by=1/d", "by=1-d", 13, "factors joined by * and /"),
        ("axis=1", "axis=2", 10, "no such axis"),
        ("X[b=16", "X[b=²", 1, "a whole number"),
        (
            "sum(squares, axis=1)",
            f"reshape(squares, shape={'[' * 4000})",
            10,
            "not such an attribute",
        ),
        ("axis=1", "axis=rows", 10, "a whole number"),
        ("Y = store(y, omap={x: 1})", "Y = store(y)", 2, "write the same place"),
        ("Y = store(y, omap={x: 1})", "X = store(y, omap={x: 1})", 16, "X is made twice"),
        ("return Y", "return", 17, "NAME = OPERATOR(VALUE, ...)"),
        ("return Y", "return Z", 17, "nothing is called 'Z'"),
        ("  return Y", "", 16, "no return"),
        ("return Y", "return Y\n  Z = exp(Y)", 18, "text after return"),
    ],
)
def test_an_error_names_the_line(old: str, new: str, line: int, words: str) -> None:
    assert old in FUSED
    with pytest.raises(CourseError) as caught:
        parse(FUSED.replace(old, new, 1))
    said = str(caught.value) + "\n".join(caught.value.__notes__)
    assert words in said
    assert f"in line {line}: " in said


@pytest.mark.parametrize("text", ["", "   \n\n", "# only a comment"])
def test_an_empty_text_is_refused(text: str) -> None:
    with pytest.raises(CourseError, match="an empty text"):
        parse(text)
