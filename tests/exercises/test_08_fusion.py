"""Lesson 8's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from answers import both_tests

ASSIGNMENT = "08_fusion"


def schedule(name: str, *lines: str) -> str:
    return f"def {name}(sch):\n" + "".join(f"    {line}\n" for line in lines)


def behind(*lines: str) -> str:
    return schedule("behind", *lines)


def one_pass(*lines: str) -> str:
    return schedule("one_pass", *lines)


def repaired(*lines: str, why: str = "B") -> str:
    return schedule("repaired", *lines) + f"\n\nwhy = {why!r}\n"


ROWS = 'steps.reorder(sch, "R_matmul", "m", "k", "n")'
PRODUCTS = ('steps.reorder(sch, "C", "m", "k", "l")', 'steps.reorder(sch, "F", "m", "l", "n")')
MERGE = 'steps.merge(sch, "C", "F", at="m")'
EXP = 'steps.fuse_consumer(sch, "D", into="C", at="m")'


def moved(stage: str, at: str) -> str:
    return f'steps.compute_per_iteration(sch, "{stage}", of="Y", at="{at}")'


SOFTMAX = """@T.prim_func(s_tir=True)
def repaired(X: T.Buffer((6, 2048), "float32"), P: T.Buffer((6, 2048), "float32")):
    Max = T.sblock_alloc_buffer((1,))
    Sum = T.sblock_alloc_buffer((1,))
    old = T.sblock_alloc_buffer((1,))
    for m in range(6):
        Max[0] = {first}
        Sum[0] = T.float32(0)
        for k in range(2048):
            {turn}
        {between}
        for n in range(2048):
            P[m, n] = T.exp(X[m, n] - Max[0]) / Sum[0]
"""
LARGER = "Max[0] = T.max(Max[0], X[m, k])"
TERM = "T.exp(X[m, k] - Max[0])"
SELECT = "Max[0] = T.Select(X[m, k] > Max[0], X[m, k], Max[0])"
MEND = f"Sum[0] = Sum[0] * T.exp(old[0] - Max[0]) + {TERM}"
SECOND_PASS = f"for k in range(2048):\n            Sum[0] = Sum[0] + {TERM}"


def online(*turn: str, first: str = "X[m, 0]", between: str = "") -> str:
    lines = ("\n" + 12 * " ").join(turn)
    return SOFTMAX.format(first=first, turn=lines, between=between)


WRONG = [
    # 1. Behind the product
    ("behind-test", behind("pass"), "the inner loop k strides by 32 elements in W"),
    ("behind-test", behind(ROWS), "850 of"),
    (
        "behind-test",
        behind('steps.fuse_consumer(sch, "R_matmul", into="R", at="m")'),
        "nobody reads R, which is a result: is it the other way round?",
    ),
    (
        "behind-test",
        behind('steps.fuse_consumer(sch, "R", into="R_matmul", at="n")'),
        "the inner loop k strides by 32 elements in W",
    ),
    (
        "behind-test",
        behind(ROWS, 'steps.fuse_consumer(sch, "R", into="R_matmul", at="k")'),
        "the sum is not complete at loop 'k'",
    ),
    (
        "behind-test",
        behind(
            ROWS,
            'loops = sch.get_loops(sch.get_sblock("R_matmul"))',
            'sch.reverse_compute_at(sch.get_sblock("R"), loops[1])',
        ),
        "R computes each element 8 times",
    ),
    ("behind-test", behind('steps.inline(sch, "R_matmul")'), "TVM refuses this step here"),
    ("behind-test", behind('steps.fuse_consumer(sch, "R", at="m")'), "missing a required argument"),
    ("behind-test", 'behind = "m-k-n"', "an answer of another kind"),
    # 2. One pass over the rows
    ("one-pass-test", one_pass("pass"), "too many cache misses"),
    ("one-pass-test", one_pass(moved("Sum", "m")), "Scale still reads it outside loop m"),
    ("one-pass-test", one_pass(moved("Scale", "m")), "too many cache misses"),
    (
        "one-pass-test",
        one_pass(moved("Scale", "n"), moved("Sum", "n")),
        "Sum computes each element 240 times",
    ),
    (
        "one-pass-test",
        one_pass(moved("Scale", "n"), moved("Sum", "m")),
        "Scale computes each element 240 times",
    ),
    ("one-pass-test", one_pass('steps.inline(sch, "Sum")'), "TVM refuses this step here"),
    # 3. Bug hunt: right, and much too busy
    ("repair-test", repaired("pass"), "the inner loop k strides by 16 elements in B"),
    (
        "repair-test",
        repaired(
            *PRODUCTS,
            'around = sch.get_loops(sch.get_sblock("C"))',
            'sch.reverse_compute_at(sch.get_sblock("D"), around[1])',
            MERGE,
        ),
        "which C at m=0, k=1, l=0 updates later",
    ),
    ("repair-test", repaired(*PRODUCTS, 'steps.inline(sch, "D")', MERGE), "computed 16 times"),
    ("repair-test", repaired(*PRODUCTS, EXP), "too many cache misses"),
    ("repair-test", repaired(*PRODUCTS, MERGE), "F would run before what it reads is written"),
    ("repair-test", repaired(EXP, MERGE), "the inner loop k strides by 16 elements in B"),
    ("repair-test", repaired(*PRODUCTS, EXP, MERGE, why="A"), "another answer is right"),
    ("repair-test", repaired(*PRODUCTS, EXP, MERGE, why="E"), "not one of the choices"),
    # 4. Counter-example: fused, and more bytes
    ("merge-loses-test", "my_sizes = [64, 40, 32, 40]", "not an answer to every part"),
    (
        "merge-loses-test",
        'my_sizes = {"M": 64, "K": 40, "L": 32, "N": 80}',
        "N: not a size",
    ),
    (
        "merge-loses-test",
        'my_sizes = {"M": 64, "K": 24, "L": 24, "N": 24}',
        "340 misses merged, 458 before",
    ),
    ("merge-loses-test", 'my_sizes = {"M": 1, "K": 40, "L": 32, "N": 40}', "the claim stands"),
    (
        "merge-loses-test",
        'my_sizes = {"M": 2, "K": 40, "L": 32, "N": 40}',
        "332 misses merged, 177 before: more, but not twice as many",
    ),
    # 5. Bug hunt: a sum that does not wait
    ("online-test", online(LARGER, f"Sum[0] = Sum[0] + {TERM}"), "the softmax of a rising row"),
    ("online-test", online(LARGER, between=SECOND_PASS), "too many cache misses"),
    (
        "online-test",  # no maximum at all
        online(f"Sum[0] = Sum[0] + {TERM}", first="T.float32(0)"),
        "the softmax of a constant row do not add up to 1",
    ),
    (
        "online-test",  # measured from the first element of the row
        online(f"Sum[0] = Sum[0] + {TERM}"),
        "the softmax of a rising row do not add up to 1",
    ),
    (
        "online-test",  # the factor upside down
        online("old[0] = Max[0]", LARGER, MEND.replace("old[0] - Max[0]", "Max[0] - old[0]")),
        "the softmax of a rising row do not add up to 1",
    ),
    (
        "online-test",  # the old maximum is overwritten before it is used
        online(LARGER, "old[0] = Max[0]", MEND),
        "the softmax of a rising row do not add up to 1",
    ),
    (
        "online-test",  # the term is mended, and the sum is not
        online("old[0] = Max[0]", LARGER, f"Sum[0] = Sum[0] + {TERM} * T.exp(old[0] - Max[0])"),
        "do not add up to 1",
    ),
    (
        "online-test",
        online(
            f"if X[m, k] > Max[0]:\n{16 * ' '}Sum[0] = Sum[0] * T.exp(Max[0] - X[m, k])",
            f"    Max[0] = X[m, k]\n{12 * ' '}Sum[0] = Sum[0] + {TERM}",
        ),
        "the addresses of this program depend on its data",
    ),
    (
        "online-test",
        online("old[0] = Max[0]", LARGER, MEND).replace("        Sum[0] = T.float32(0)\n", ""),
        "Sum is read before anything is written to it",
    ),
    (
        "online-test",  # the maximum of some elements only, which costs few misses
        online(
            f"Sum[0] = Sum[0] + {TERM}",
            first="T.max(X[m, 1024], T.max(X[m, 0], X[m, 2047]))",
        ),
        "the softmax of a row with one large number",
    ),
]


RIGHT = [
    (
        "behind-test",
        behind(
            ROWS,
            'm, _, _ = sch.get_loops(sch.get_sblock("R_matmul"))',
            'sch.reverse_compute_at(sch.get_sblock("R"), m)',
        ),
    ),
    (
        "behind-test",
        behind(
            'steps.compute_per_iteration(sch, "R_matmul", of="R", at="m")',
            '*_, n, k = sch.get_loops(sch.get_sblock("R_matmul"))',
            "sch.reorder(k, n)",
        ),
    ),
    ("one-pass-test", one_pass('steps.inline(sch, "Scale")', moved("Sum", "m"))),
    (
        "one-pass-test",
        one_pass(
            'steps.compute_per_iteration(sch, "Sum", of="Scale", at="m")',
            'steps.fuse_consumer(sch, "Y", into="Scale", at="m")',
        ),
    ),
    (
        "repair-test",
        repaired(
            *PRODUCTS,
            'rows = [sch.get_loops(sch.get_sblock(block))[0] for block in "CF"]',
            'sch.reverse_compute_at(sch.get_sblock("D"), rows[0])',
            "sch.merge(*rows)",
        ),
    ),
    ("merge-loses-test", 'my_sizes = {"M": 64, "K": 64, "L": 16, "N": 64}'),
    ("merge-loses-test", 'my_sizes = {"M": 32, "K": 32, "L": 32, "N": 32}'),
    ("online-test", online("old[0] = Max[0]", LARGER, MEND)),
    ("online-test", online("old[0] = Max[0]", LARGER, MEND, first="T.float32(-3e38)")),
    ("online-test", online("old[0] = Max[0]", SELECT, MEND)),
    (
        "online-test",  # 64 elements at a time, which are still in the cache for their sum
        online(
            "pass",
            between="""for b in range(32):
            old[0] = Max[0]
            for k in range(64):
                Max[0] = T.max(Max[0], X[m, b * 64 + k])
            Sum[0] = Sum[0] * T.exp(old[0] - Max[0])
            for k in range(64):
                Sum[0] = Sum[0] + T.exp(X[m, b * 64 + k] - Max[0])""",
        ).replace("        for k in range(2048):\n            pass\n", ""),
    ),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)
