"""Lesson 11's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

import pytest
from answers import Complain, both_tests
from answers import no_races as no_races

ASSIGNMENT = "11_packing_and_the_micro_kernel"


pytestmark = pytest.mark.usefixtures("no_races")


def tiles(avx2: object, neon: object = (5, 20)) -> str:
    return f'my_tiles = {{"AVX2": {avx2}, "NEON": {neon}}}'


START = """def pack_a(sch):
    steps.tile(sch, "C", n=8, m=16)
    steps.reorder(sch, "C", "k", "m_1", "n_1")
    block = sch.get_sblock("C")
"""
PACK = """    sch.cache_read(block, 0, "global")
    sch.transform_layout(block, ("read", 0), lambda m, k: (m // 16, k, m % 16))
"""


def pack_a(*lines: str) -> str:
    return START + "".join(f"    {line}\n" for line in lines)


def kernel(
    rows: int, vectors: int, *, width: str = "lanes", order: str = "km", more: str = ""
) -> str:
    """A micro-kernel that cuts its rows into vectors of ``width``, or leaves them whole."""
    cut = width != "whole"
    columns = '"n_1_1"' if cut else '"n_1"'
    loops = {"km": '"k", "m_1"', "mk": '"m_1", "k"'}[order]
    return "\n    ".join(
        (
            "def without_spills(sch):",
            "lanes = describe().lanes",
            f'steps.tile(sch, "C", n={vectors} * lanes, m={rows})',
            f'steps.reorder(sch, "C", {loops}, "n_1")',
            f'data_steps.pack(sch, "C", "B", along="n", panel={vectors} * lanes)',
            'data_steps.accumulate_locally(sch, "C", at="m_0")',
            f'steps.split(sch, "C", "n_1", {width})' if cut else "",
            'steps.unroll(sch, "C", "m_1")',
            f'steps.vectorize(sch, "C", {columns})',
            more,
            'steps.hoist_init(sch, "C", "k")',
        )
    )


def shapes(fails: object, passes: object = (1, 128)) -> str:
    return f'my_shapes = {{"fails": {fails}, "passes": {passes}}}'


def columns(bad: object, good: object = 64) -> str:
    return f'my_columns = {{"bad": {bad}, "good": {good}}}'


WRONG = [
    # 1. Other machines, other tiles
    ("tiles-test", "my_tiles = (4, 24)", "not a tile for each machine"),
    ("tiles-test", tiles(24), "AVX2: not a tile"),
    ("tiles-test", tiles((4, 3)), "the columns do not fill whole vectors"),
    ("tiles-test", tiles((4, 32)), "4 x 4 sums, 4 of B and 1 of A: 21"),
    ("tiles-test", tiles((4, 24), (8, 16)), "NEON: the tile does not fit"),
    ("tiles-test", tiles((4, 16)), "AVX2: the tile fits, and another one that fits loads less"),
    ("tiles-test", tiles((2, 32)), "AVX2: the tile fits, and another one that fits loads less"),
    (
        "tiles-test",
        tiles((4, 24), (4, 16)),
        "NEON: the tile fits, and another one that fits loads less",
    ),
    # 2. Pack the other operand
    ("pack-test", pack_a("pass"), "C reads A in place"),
    (
        "pack-test",
        pack_a('sch.cache_read(block, 1, "global")'),
        "got       A [16, 1024], B_global [1024, 32]",
    ),
    (
        "pack-test",
        pack_a('sch.cache_read(block, 0, "global")'),
        "got       [16, 1024]",
    ),
    (
        "pack-test",
        START + PACK.replace("(m // 16, k, m % 16)", "(m // 4, k, m % 4)"),
        "got       [4, 1024, 4]",
    ),
    (
        "pack-test",
        START + PACK.replace("(m // 16, k, m % 16)", "(m // 16, m % 16, k)"),
        "got       [1, 16, 1024]",
    ),
    (
        "pack-test",
        pack_a('sch.transform_layout(block, ("read", 0), lambda m, k: (m // 16, k, m % 16))'),
        "the function has other parameters than the problem",
    ),
    ("pack-test", START + PACK.replace("block, 0", "block, 2"), "your code raises an error"),
    (
        "pack-test",
        START + PACK + '    steps.compute_per_iteration(sch, "A_global", of="C", at="n_0")\n',
        "too many cache misses",
    ),
    # 3. Bug hunt: sums that fit, and spill
    ("spills-test", kernel(4, 3, width="whole"), "sums do not fit into the registers"),
    ("spills-test", kernel(4, 3, width="whole"), "how wide is each vector"),
    ("spills-test", kernel(32, 3), "another tile is summed inside the loop k"),
    ("spills-test", kernel(4, 4), "another tile is summed inside the loop k"),
    ("spills-test", kernel(1, 3), "another tile is summed inside the loop k"),
    ("spills-test", kernel(4, 3, order="mk"), "another tile is summed inside the loop k"),
    ("spills-test", kernel(4, 3, width="2"), "    expected  "),
    ("spills-test", kernel(5, 3), "the factor does not divide the loop"),
    # 4. Bug hunt: one line of NumPy
    ("shapes-test", "my_shapes = (2, 128)", "not two shapes"),
    ("shapes-test", shapes((2, 100)), "fails: not a shape of this exercise"),
    ("shapes-test", shapes((2048, 64)), "right on [2048, 64]"),
    ("shapes-test", shapes((2, 128), (2, 64)), "[2, 64] is one panel"),
    ("shapes-test", shapes((2, 128), (2, 128)), "wrong on [2, 128]"),
    ("shapes-test", shapes((4096, 4096)), "K * N below a million"),
    (
        "repair-test",
        "def packed(b, columns):\n    return b.reshape(-1, b.shape[0], columns)",
        "which row of B does the second row of the first panel come from?",
    ),
    ("repair-test", "def packed(b, columns):\n    return b.reshape(b.shape[0], -1, columns)", "a wrong result"),
    ("repair-test", "def packed(b, columns):\n    return b.T", "shape (128, 2)"),
    ("repair-test", "def packed(b, columns):\n    b.swapaxes(0, 1)", "reaches no return"),
    # 5. Counter-examples: what is a bad row?
    ("sets-test", "my_columns = 3072", "not two row lengths"),
    ("sets-test", columns(3000), "bad: not a row length of this exercise"),
    ("sets-test", columns(2048), "2048 is a power of two"),
    ("sets-test", columns(1088), "1088 columns land in 64 sets, not in 4"),
    ("sets-test", columns(3072, 1088), "1088 is not a power of two"),
    ("sets-test", columns(3072, 128), "128 columns land in 32 sets, not in 64"),
]


RIGHT = [
    ("tiles-test", "my_tiles = dict(NEON=[5, 20], AVX2=[4, 24])"),
    ("pack-test", START + '    data_steps.pack(sch, "C", "A", along="m", panel=16)\n'),
    ("pack-test", START + PACK + '    steps.hoist_init(sch, "C", "k")\n'),
    ("pack-test", START + PACK + '    data_steps.stage(sch, "C", "B")\n'),
    ("spills-test", kernel(4, 3)),
    ("spills-test", kernel(4, 3, more='steps.parallel(sch, "C", "m_0")')),
    ("shapes-test", shapes([700, 640], [1, 6400])),
    (
        "repair-test",
        "def packed(b, columns):\n    return np.stack(np.split(b, b.shape[1] // columns, axis=1))",
    ),
    ("sets-test", columns(7168)),
]


_, test_other_right_answers_earn_the_points = both_tests(ASSIGNMENT, WRONG, RIGHT)


@pytest.mark.parametrize(("test", "answer", "words"), WRONG)
def test_the_visible_part_ticks_no_wrong_answer(
    complain: Complain, test: str, answer: str, words: str
) -> None:
    assert words in complain(ASSIGNMENT, test, answer, hidden=False)
