"""A block under the glass: what its iterations touch, what is free, and who notices a lie."""

# mypy: ignore-errors
from __future__ import annotations

import pytest

from mlc_course.errors import AxisError, BlockError, UsageError
from mlc_course.lessons.lesson_02_tensor_program_abstraction import (
    ONE,
    SMALL,
    Freedom,
    by_iterations,
    by_kinds,
    judged,
    remark,
)
from mlc_course.tensor_program.legality.inspection import ALL, blocks, inspected, touched
from mlc_course.tensor_program.legality.verdicts import Illegal, Legal
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule, T

HONEST = ("matmul", "row sums", "broadcast add", "convolution")
KINDS = {
    "matmul": "SSR",
    "row sums": "SR",
    "broadcast add": "SS",
    "convolution": "SSRR",
    "wrong kind": "SS",
    "collision": "SS",
    "overlap": "S",
    "hole": "S",
}


def seen(name: str, block: str | None = None):
    return inspected(SMALL[name].program, block)


@pytest.mark.parametrize("name", KINDS)
def test_the_kinds_are_those_that_the_program_declares(name: str) -> None:
    assert seen(name).kinds == KINDS[name]


def test_an_iteration_knows_its_elements() -> None:
    moment = seen("matmul").moment({"m": 1, "n": 2, "k": 3})
    assert moment.axes == {"v_m": 1, "v_n": 2, "v_k": 3}
    assert moment.reads == (("P", (1, 2)), ("X", (1, 3)), ("W", (3, 2)))
    assert (moment.place, moment.init, str(moment)) == ("P[1, 2]", False, "m=1, n=2, k=3")


def test_init_runs_where_the_reduction_is_at_zero_or_everywhere_without_one() -> None:
    assert [m.at["k"] for m in seen("row sums").moments if m.init] == [0, 0, 0, 0]
    assert sum(m.init for m in seen("wrong kind").moments) == 24
    assert not any(m.init for m in seen("broadcast add").moments)


def test_along_a_spatial_axis_elements_differ_and_along_a_reduction_they_do_not() -> None:
    product, at = seen("matmul"), {"m": 0, "n": 1, "k": 2}
    for loop, written in (("m", 3), ("n", 4), ("k", 1)):
        found = product.along(loop, at)
        assert len(touched(found)[1]) == written
        assert all(m.at[other] == at[other] for m in found for other in at if other != loop)
    assert len(product.along(ALL, at)) == 60


def test_every_block_of_a_program_can_be_looked_at() -> None:
    program = SMALL["linear_relu"].program
    assert blocks(program) == ("P", "S", "Y")
    assert [a.text for a in inspected(program, "S").accesses] == [
        "P[v_m, v_n]",
        "b[v_n]",
        "S[v_m, v_n]",
    ]


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_program_has_no_collision_and_no_hole(name: str) -> None:
    block = seen(name)
    assert (block.collision, block.missed, block.collisions) == (None, (), frozenset())


@pytest.mark.parametrize(
    ("name", "pair", "place"),
    [
        ("wrong kind", ({"m": 0, "k": 0}, {"m": 0, "k": 1}), "Y[0]"),
        ("collision", ({"m": 0, "n": 3}, {"m": 1, "n": 0}), "Y[3]"),
        ("overlap", ({"i": 0, "j": 3}, {"i": 1, "j": 0}), "Y[3]"),
    ],
)
def test_a_collision_names_two_iterations(name: str, pair: tuple, place: str) -> None:
    first, second = seen(name).collision
    assert (first.at, second.at) == pair
    assert first.place == second.place == place


def test_what_is_left_out_is_named() -> None:
    assert seen("hole").missed == (("Y", (8,)), ("Y", (9,)))
    assert seen("collision").missed == (("Y", (10,)), ("Y", (11,)))


def test_a_schedule_can_be_looked_at_with_the_loops_that_it_has() -> None:
    sch = Schedule(matmul(4, 3, 6).program())
    steps.tile(sch, "C", n=2)
    block = inspected(sch, "C")
    assert {a.name for a in block.moving("n_0")} == {a.name for a in block.moving("n_1")} == {"v_n"}
    assert block.collision is None


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda: seen("matmul", "Q"), BlockError, "no block 'Q'"),
        (lambda: seen("matmul", "P_init"), BlockError, "no block"),
        (lambda: seen("matmul").moment({"m": 3, "n": 0, "k": 0}), AxisError, "m in 0..2"),
        (lambda: seen("matmul").moment({"m": 0}), AxisError, "no such iteration"),
        (lambda: seen("matmul").along("q", {"m": 0, "n": 0, "k": 0}), AxisError, "no loop 'q'"),
        (lambda: inspected(matmul(20, 20, 20).program()), UsageError, "make the program smaller"),
        (lambda: by_iterations(matmul(20, 20, 20).program()), UsageError, "compare in pairs"),
        (lambda: inspected(bare_loops), BlockError, "a program without blocks"),
        (lambda: inspected(leaves), UsageError, "an index leaves its buffer"),
        (lambda: inspected(starts_at_one), UsageError, "counting from 0"),
        (lambda: judged(SMALL["linear_relu"].program), AxisError, "3 such loops"),
    ],
)
def test_what_cannot_be_looked_at_is_refused(act, error, words: str) -> None:
    with pytest.raises(error, match=words.replace("(", r"\(")):
        act()


@T.prim_func(s_tir=True)
def bare_loops(X: T.Buffer((8,)), Y: T.Buffer((8,))):
    for i in range(8):
        Y[i] = X[i]


@T.prim_func(s_tir=True)
def leaves(X: T.Buffer((8,)), Y: T.Buffer((8,))):
    for i in range(8):
        with T.sblock("Y"):
            v = T.axis.spatial(8, i)
            Y[v + 1] = X[v]


@T.prim_func(s_tir=True)
def starts_at_one(X: T.Buffer((8,)), Y: T.Buffer((8,))):
    for i in range(1, 8):
        with T.sblock("Y"):
            v = T.axis.spatial(8, i)
            Y[v] = X[v]


def test_a_loop_with_a_remainder_leaves_iterations_out() -> None:
    sch = Schedule(matmul(5, 3, 4).program())
    sch.split(sch.get_loops(sch.get_sblock("C"))[0], [None, 2])
    block = inspected(sch)
    assert (len(block.moments), block.missed, block.collision) == (60, (), None)
    with pytest.raises(AxisError, match="left out"):
        block.moment({"m_0": 2, "m_1": 1, "n": 0, "k": 0})


# --- in words ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "moved", "words"),
    [
        ("matmul", ONE, "the block reads X[0, 0], W[0, 0] and adds to P[0, 0], which init sets"),
        ("broadcast add", ONE, "the block reads P[0, 0], b[0] and writes S[0, 0]."),
        ("matmul", "m", "3 iterations write 3 different elements. Spatial:"),
        ("matmul", "k", "5 iterations write 1 element. A reduction:"),
        ("wrong kind", "k", "Declared spatial, but m=0, k=0 and m=0, k=1 both write Y[0]."),
        ("matmul", ALL, "12 different elements, 5 times each. No collision"),
        ("broadcast add", ALL, "once each"),
        ("overlap", ALL, "1 to 2 times each. Collision: i=0, j=3 and i=1, j=0 both write Y[3]."),
        ("collision", "n", "But look at all iterations."),
        ("hole", ALL, "Never written: Y[8], Y[9]."),
    ],
)
def test_what_is_seen_in_words(name: str, moved: str, words: str) -> None:
    block = seen(name)
    assert words in remark(block, moved, block.moments[0].at)


def test_a_reduction_that_sums_nothing_is_told_so() -> None:
    @T.prim_func(s_tir=True)
    def careful(X: T.Buffer((4,)), Y: T.Buffer((4,))):
        for i in range(4):
            with T.sblock("Y"):
                v = T.axis.reduce(4, i)
                Y[v] = X[v]

    assert "nothing is summed" in remark(inspected(careful), "i", {"i": 0})


# --- freedom ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HONEST)
def test_for_an_honest_program_the_kinds_say_what_the_iterations_say(name: str) -> None:
    assert by_kinds(seen(name)) == by_iterations(SMALL[name].program)


@pytest.mark.parametrize("name", ["wrong kind", "collision", "overlap", "hole"])
def test_for_a_lie_they_differ(name: str) -> None:
    assert by_kinds(seen(name)) != by_iterations(SMALL[name].program)


def test_the_pairs_of_a_product() -> None:
    found = by_iterations(SMALL["matmul"].program)
    assert found == Freedom(instances=72, kept=60, sums=120)
    assert (found.pairs, found.free) == (2556, 2376)
    assert str(found).startswith("2,556 pairs of 72: 60 keep their order")


# --- who notices ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_tvm_believes_the_kinds(name: str) -> None:
    for judgement in judged(SMALL[name].program):
        assert judgement.tvm == judgement.kinds
        assert bool(judgement.reason) != judgement.tvm


@pytest.mark.parametrize("name", HONEST)
def test_of_an_honest_program_the_iterations_say_the_same(name: str) -> None:
    for judgement in judged(SMALL[name].program):
        assert isinstance(judgement.iterations, Legal) == judgement.kinds


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("wrong kind", "k at the same time"),
        ("collision", "m at the same time"),
        ("collision", "all loops inside out"),
        ("overlap", "i at the same time"),
    ],
)
def test_of_a_lie_the_iterations_say_otherwise(name: str, change: str) -> None:
    (found,) = (each for each in judged(SMALL[name].program) if each.change == change)
    assert found.kinds and found.tvm
    assert isinstance(found.iterations, Illegal)
    assert "kinds: yes        TVM: yes          iterations: illegal" in str(found)
