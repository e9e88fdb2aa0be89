"""Lesson 9's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from answers import Complain, both_tests

ASSIGNMENT = "09_vectorization"


def schedule(name: str, *lines: str) -> str:
    return f"def {name}(sch):\n" + "".join(f"    {line}\n" for line in lines)


def in_lanes(*lines: str) -> str:
    return schedule("in_lanes", *lines)


def in_sums(*lines: str) -> str:
    return schedule("in_sums", *lines)


CUT = 'steps.split(sch, "S", "j", 4 * LANES)'
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

PROGRAM = """@T.prim_func(s_tir=True)
def repaired(X: T.Buffer((24, 100), "float32"), S: T.Buffer((24,), "float32")):
    sums = T.sblock_alloc_buffer((16,))
{before}    for m in range(24):
{inside}        for k in range({vectors}):
            for lane in T.{kind}(16):
                {add}
        S[m] = T.float32(0)
        for lane in range(16):
            S[m] = S[m] + sums[lane]
{rest}"""
ADD = "sums[lane] = sums[lane] + X[m, k * 16 + lane]"
REST = "        for k in range(4):\n            S[m] = S[m] + X[m, 96 + k]\n"


def zeros(indent: int) -> str:
    lines = ("for lane in T.vectorized(16):", "    sums[lane] = T.float32(0)")
    return "".join(f"{' ' * indent}{line}\n" for line in lines)


def repaired(
    *,
    before: str = "",
    inside: str = zeros(8),
    vectors: int = 6,
    kind: str = "vectorized",
    add: str = ADD,
    rest: str = REST,
) -> str:
    return PROGRAM.format(
        before=before, inside=inside, vectors=vectors, kind=kind, add=add, rest=rest
    )


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
        in_lanes(CUT.replace("4 * LANES", "1"), BETWEEN, AS_LANES, ZEROS_FIRST),
        "the hot loop is not vector code",
    ),
    (
        "columns-test",
        in_lanes(CUT.replace("4 * LANES", "3"), BETWEEN, AS_LANES),
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
    # 4. Bug hunt: the last few terms
    ("hunt-test", "repaired = 3", "an answer of another kind"),
    (
        "hunt-test",
        repaired(before=zeros(4), inside="", rest=""),
        "a row's sum has terms of the row above in it",
    ),
    ("hunt-test", repaired(before=zeros(4), inside=""), "terms of the row above"),
    ("hunt-test", repaired(rest=""), "4 terms of a row are not counted once"),
    (
        "hunt-test",
        repaired(rest=REST.replace("96", "95")),
        "X[m, 95] counts 2 times",
    ),
    ("hunt-test", repaired(kind="serial"), "X is not read in vectors"),
]


def test_a_seventh_vector_is_refused_before_it_runs(complain: Complain) -> None:
    answer = repaired(vectors=7, rest="")
    said = complain(ASSIGNMENT, "hunt-test", answer, hidden=False)
    assert "block root reads X, axis 1" in said or "reads X" in said


RIGHT = [
    ("columns-test", in_lanes(CUT.replace("4 * ", ""), BETWEEN, AS_LANES, ZEROS_FIRST)),
    (
        "columns-test",
        in_lanes(
            'j, k = sch.get_loops(sch.get_sblock("S"))',
            "outer, inner = sch.split(j, [None, 2 * LANES])",
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
    (
        "hunt-test",
        repaired(
            add="if k * 16 + lane < 100:\n                    " + ADD,
            vectors=7,
            rest="",
        ),
    ),
    (
        "hunt-test",
        repaired(
            rest="        for k in T.vectorized(4):\n"
            "            sums[k] = X[m, 96 + k]\n"
            "        for k in range(4):\n            S[m] = S[m] + sums[k]\n"
        ),
    ),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)
