"""Lesson 9's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from textwrap import indent

import pytest
from answers import both_tests
from answers import no_races as no_races

ASSIGNMENT = "09_vectorization"
pytestmark = pytest.mark.usefixtures("no_races")


def schedule(name: str, *lines: str) -> str:
    return f"def {name}(sch):\n" + "".join(f"    {line}\n" for line in lines)


def in_lanes(*lines: str) -> str:
    return schedule("in_lanes", *lines)


def in_sums(*lines: str) -> str:
    return schedule("in_sums", *lines)


CUT = 'steps.split(sch, "S", "j", 16)'
BETWEEN = 'steps.reorder(sch, "S", "j_0", "k", "j_1")'
AS_LANES = 'steps.vectorize(sch, "S", "j_1")'
ZEROS_FIRST = 'steps.hoist_init(sch, "S", "k")'

SEVERAL = 'sums = steps.several_sums(sch, "S", "k", 4 * LANES)'
ROW_BY_ROW = 'steps.compute_per_iteration(sch, sums, of="S", at="m")'
LANES_INSIDE = (
    "lane, _, k = lookup.loops(sch, sums)[1:]",
    "steps.reorder(sch, sums, k, lane)",
    "steps.vectorize(sch, sums, lane)",
)
ZEROS = "steps.hoist_init(sch, sums, k)"

CHAINS = "import math\ndef chains(latency, per_cycle, registers):\n    return {}\n"
RIGHT_CHAINS = CHAINS.format("min(registers - 1, max(1, math.ceil(latency * per_cycle)))")
SUMS = "def sums(terms):\n    {}\n"
BY_TRYING = SUMS.format(
    "return min((2**e for e in range(30) if terms % 2**e == 0), key=lambda c: (terms // c + c, c))"
)

HEAD = """@T.prim_func(s_tir=True)
def repaired(X: T.Buffer((100, 64), "float32"), Y: T.Buffer((64,), "float32")):
    total = T.sblock_alloc_buffer((64,))
"""
ZERO = "for j in T.vectorized(64):\n    total[j] = T.float32(0)"
ADD = "for k in range(100):\n    for j in T.vectorized(64):\n        total[j] = total[j] + X[k, j]"
DIVIDE = "for j in T.vectorized(64):\n    Y[j] = total[j] / T.float32(100)"
ONE_LOOP = """for j in T.vectorized(64):
    total[j] = T.float32(0)
    for k in range(100):
        total[j] = total[j] + X[k, j]
    Y[j] = total[j] / T.float32(100)"""
ADD_AND_DIVIDE = """for k in range(100):
    for j in T.vectorized(64):
        total[j] = total[j] + X[k, j]
        Y[j] = total[j] / T.float32(100)"""


def repaired(*parts: str) -> str:
    return HEAD + "".join(indent(part, "    ") + "\n" for part in parts)


WRONG = [
    # 1. Columns in lanes
    ("columns-test", in_lanes("pass"), "the hot loop is not vector code"),
    ("columns-test", in_lanes('steps.vectorize(sch, "S", "k")'), "a sum runs along this loop"),
    (
        "columns-test",
        in_lanes('steps.reorder(sch, "S", "k", "j")', 'steps.vectorize(sch, "S", "j")'),
        "the sums leave their registers in the hot loop",
    ),
    (
        "columns-test",
        in_lanes(CUT.replace("16", "1"), BETWEEN, AS_LANES, ZEROS_FIRST),
        "the hot loop is not vector code",
    ),
    (
        "columns-test",
        in_lanes(CUT.replace("16", "64"), BETWEEN, AS_LANES),  # four of the widest registers
        "the factor does not divide the loop",
    ),
    ("columns-test", in_lanes('sch.vectorize("j")'), "your code raises an error"),
    # 2. A row times a vector
    ("dots-test", in_sums("pass"), "the hot loop is not vector code"),
    ("dots-test", in_sums('steps.vectorize(sch, "S", "k")'), "a sum runs along this loop"),
    (
        "dots-test",
        in_sums(SEVERAL.replace("4 * ", ""), ROW_BY_ROW, *LANES_INSIDE, ZEROS),
        "one chain: each multiply-add waits for the one before",
    ),
    (
        "dots-test",
        in_sums('steps.split(sch, "S", "k", 8)', 'steps.unroll(sch, "S", "k_1")'),
        "the hot loop is not vector code",
    ),
    # 3. How many sums?
    ("count-test", CHAINS.format("latency") + BY_TRYING, "eight are under way"),
    ("count-test", CHAINS.format("int(latency * per_cycle)") + BY_TRYING, "not enough with one"),
    (
        "count-test",
        CHAINS.format("math.ceil(latency * per_cycle)") + BY_TRYING,
        "the sums of the 16th chain",
    ),
    ("count-test", RIGHT_CHAINS + SUMS.format("return int(terms**0.5)"), "powers of two"),
    (
        "count-test",
        RIGHT_CHAINS + SUMS.format("return terms & -terms"),
        "a wrong result for (4096)",
    ),
    (
        "count-test",
        RIGHT_CHAINS + BY_TRYING.replace("+ c, c)", "+ c, -c)"),
        "of two that are as good, the smaller",
    ),
    # 4. Bug hunt: a sum for each lane
    ("hunt-test", "repaired = 3", "an answer of another kind"),
    ("hunt-test", repaired(ONE_LOOP), "63 columns of 64 do not have a mean of their own"),
    ("hunt-test", repaired(ONE_LOOP.replace("vectorized", "serial")), "got       k, serial"),
    ("hunt-test", repaired(ONE_LOOP.replace("vectorized", "parallel")), "X is not read in vectors"),
    ("hunt-test", repaired(ADD, DIVIDE), "total is read before anything is written to it"),
    ("hunt-test", repaired(ZERO, ADD, DIVIDE.replace("/ T.float32(100)", "")), "mean of their own"),
    (
        "hunt-test",  # zeros inside the loop over the rows: only the last row counts
        repaired(
            ADD.replace(
                "    for j",
                "    for j in T.vectorized(64):\n        total[j] = T.float32(0)\n    for j",
                1,
            ),
            DIVIDE,
        ),
        "do not have a mean of their own",
    ),
    (
        "hunt-test",  # X is copied in vectors, and summed one by one
        repaired(
            "rows = T.sblock_alloc_buffer((100, 64))",
            "for k in range(100):\n    for j in T.vectorized(64):\n        rows[k, j] = X[k, j]",
            ONE_LOOP.replace("vectorized", "serial").replace("X[k", "rows[k"),
        ),
        "total is not read in vectors",
    ),
]


RIGHT = [
    ("columns-test", in_lanes(CUT.replace("16", "LANES"), BETWEEN, AS_LANES, ZEROS_FIRST)),
    (
        "columns-test",
        in_lanes(CUT, BETWEEN, AS_LANES, 'steps.parallel(sch, "S", "j_0")', ZEROS_FIRST),
    ),
    (
        "columns-test",  # four times LANES at a time, where there are so many
        in_lanes(
            'steps.split(sch, "S", "j", 64, partial=True)',
            BETWEEN,
            'steps.split(sch, "S", "j_1", 16)',
            'steps.vectorize(sch, "S", "j_1_1")',
            ZEROS_FIRST,
        ),
    ),
    (
        "dots-test",
        in_sums(SEVERAL, ROW_BY_ROW, 'steps.parallel(sch, "S", "m")', *LANES_INSIDE, ZEROS),
    ),
    (
        "columns-test",
        in_lanes(
            'j, k = sch.get_loops(sch.get_sblock("S"))',
            "outer, inner = sch.split(j, [None, 16])",
            "sch.reorder(outer, k, inner)",
            "sch.vectorize(inner)",
            'sch.decompose_reduction(sch.get_sblock("S"), k)',
        ),
    ),
    (
        "dots-test",
        in_sums(SEVERAL.replace("4 * ", "2 * "), ROW_BY_ROW, *LANES_INSIDE, ZEROS),
    ),
    ("count-test", RIGHT_CHAINS + BY_TRYING),
    ("hunt-test", repaired(ZERO, ADD_AND_DIVIDE)),
    (
        "hunt-test",  # summed in Y
        repaired(
            ZERO.replace("total", "Y"),
            ADD.replace("total", "Y"),
            "for j in T.vectorized(64):\n    Y[j] = Y[j] / T.float32(100)",
        ),
    ),
    (
        "hunt-test",  # 16 columns at a time, each of which has the whole of k
        repaired(
            "for b in range(4):",
            indent("\n".join((ZERO, ADD, DIVIDE)), "    ")
            .replace("vectorized(64)", "vectorized(16)")
            .replace("X[k, j]", "X[k, b * 16 + j]")
            .replace("Y[j]", "Y[b * 16 + j]"),
        ),
    ),
    (
        "hunt-test",
        repaired(
            ADD.replace("range(100)", "range(1)").replace("total[j] + X[k", "X[k"),
            ADD.replace("range(100)", "range(99)").replace("X[k, j]", "X[k + 1, j]"),
            DIVIDE,
        ),
    ),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)
