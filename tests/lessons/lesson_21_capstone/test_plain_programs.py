"""Programs as plain data: dimensions, parts, counts, and one test modulo 31."""

from __future__ import annotations

import random

import pytest

from mlc_course.errors import CourseError
from mlc_course.lessons.lesson_21_capstone import (
    PRACTICE,
    Line,
    colleague,
    measured,
    passes,
    practice,
    read_program,
    written,
)
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.mutants import mutants
from mlc_course.mugraph.programs import MODELS, NAMES, PROGRAM_OF, published, workload
from mlc_course.mugraph.verify import verify


@pytest.mark.parametrize("name", NAMES)
def test_a_program_is_read_and_written_back(name: str) -> None:
    program = read_program(str(workload(name)))
    assert parse(str(program)) == workload(name)
    assert program.with_lines(program.lines) == program


@pytest.mark.parametrize("name", [*NAMES, *MODELS])
def test_dimensions_have_the_extents_of_the_values(name: str) -> None:
    graph = workload(name)
    try:
        program = read_program(str(graph))
    except CourseError:
        pytest.skip("not in plain operators")
    for value, shape in zip(graph.names, graph.shapes, strict=True):
        dims = program.dims[value]
        if len(dims) == len(shape) and {*dims} <= {*program.sizes, "1"}:
            found = tuple(1 if dim == "1" else program.sizes[dim] for dim in dims)
            assert found == shape or name in MODELS, value


def test_a_part_takes_what_it_reads_and_gives_what_is_needed() -> None:
    program = read_program(practice("norm_linear"))
    first, rest = program.part(program.lines[:2]), program.part(program.lines[2:])
    assert len(first.outputs) == 1 and first.lines == program.lines[:2]
    assert rest.outputs == program.outputs and rest.lines == program.lines[2:]
    assert first.outputs[0] in rest.head
    middle = program.part(program.lines[2:3])  # its size is named by a constant alone
    assert "size_" in middle.head and measured(str(middle)).launches == 1


def test_a_graph_is_written_from_kernels() -> None:
    program = read_program("p(X[b=8, d=4]):\n  Y = exp(X)\n  return Y")
    block = (
        "block grid(x=2):",
        ["x = load(X, imap={x: 0})", "y = exp(x)", "Y = store(y, omap={x: 0})"],
    )
    assert verify(parse(written(program, [block])), parse(str(program))).equal
    assert parse(written(program, [(str(program.lines[0]), [])])) == parse(str(program))
    assert str(Line("t", "sum", ("s",), "axis=1")) == "t = sum(s, axis=1)"


@pytest.mark.parametrize("name", ["rms_norm_matmul_fused", "attention_fused", "lora_looped"])
def test_right_graphs_always_pass_and_wrong_ones_seldom(name: str) -> None:
    program, graph = str(workload(PROGRAM_OF[name])), str(published(name))
    assert all(passes(program, graph, seed) for seed in range(10))
    wrong = str(published(name)).replace("accumulate(", "neg(", 1)
    try:
        parse(wrong)
    except CourseError:
        return
    assert sum(passes(program, wrong, seed) for seed in range(10)) < 5


@pytest.mark.slow
def test_mutants_fail_within_four_tests() -> None:
    graph = published("rms_norm_matmul_fused")
    told = 0
    for mutant in list(mutants(graph, random.Random(0)))[:12]:
        try:
            equal = verify(graph, mutant.graph).equal
            passed = all(passes(str(graph), str(mutant.graph), seed) for seed in range(4))
        except CourseError:
            continue
        told += not equal
        assert passed or not equal
        assert equal or not passed, mutant
    assert told


@pytest.mark.parametrize("family", PRACTICE)
def test_families_to_practise_on_can_be_drawn(family: str) -> None:
    assert len({practice(family, seed) for seed in range(30)}) == 30


def test_the_colleague_is_right_where_they_tried() -> None:
    for text in (
        "p(X[b=64, d=32], W[d, n=16]):\n  Y = matmul(X, W)\n  return Y",
        "p(X[b=64, d=32], W[d, n=16]):\n  Z = matmul(X, W)\n  Y = scale(Z, by=2)\n  return Y",
        "p(X[b=64, d=32], W[d, n=16], V[n, m=8]):\n"
        "  Z = matmul(X, W)\n  Y = matmul(Z, V)\n  return Y",
    ):
        assert verify(parse(text), parse(colleague(text))).equal


@pytest.mark.parametrize(("blocks", "fits"), [(128, False), (256, True)])
def test_a_block_has_room_for_four_rows_beside_the_whole_matrix(blocks: int, fits: bool) -> None:
    """Section 3 of the lesson says so, before the division moves."""
    unlooped = f"""
norm_linear(X[b=1024, d=512], W[d, n=64]):
  block grid(x={blocks}):
    x = load(X, imap={{x: 0}})
    w = load(W)
    squares = square(x)
    total = sum(squares, axis=1)
    mean = scale(total, by=1/d)
    rms = sqrt(mean)
    normed = div(x, rms)
    y = matmul(normed, w)
    Y = store(y, omap={{x: 0}})
  return Y
"""
    assert (measured(unlooped).shared <= 160 * 1024) is fits
