"""Lesson 6's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from answers import both_tests

ASSIGNMENT = "06_tiling"


def function(name: str, *lines: str) -> str:
    return f"def {name}(sch):\n" + "".join(f"    {line}\n" for line in lines)


def tiled(*lines: str) -> str:
    return function("tiled", *lines)


def repaired(*lines: str) -> str:
    return function("repaired", *lines)


def largest(needed: str, *, step: str = "line_bytes // 4", start: str = "0") -> str:
    """Goes up in steps while ``needed`` for the next t is not above the cache."""
    return f"""
def largest_tile(cache_bytes, line_bytes):
    t, step = {start}, {step}
    while (lambda t: {needed})(t + step) <= cache_bytes:
        t += step
    return t
"""


def tiles(smaller: tuple[int, int], larger: tuple[int, int]) -> str:
    return f'my_tiles = {{"smaller": {smaller}, "larger": {larger}}}'


LOOPS = 'm, n, k = sch.get_loops(sch.get_sblock("C"))'
GUARDED = (LOOPS, "k_0, k_1 = sch.split(k, [None, 16])", "n_0, n_1 = sch.split(n, [None, 16])")
COLLEAGUE = (
    LOOPS,
    "n_0, n_1 = sch.split(n, [16, None])",
    "k_0, k_1 = sch.split(k, [None, 16])",
    "sch.reorder(k_0, m, n_0, k_1, n_1)",
)
N_16, M_INSIDE = "n_0, n_1 = sch.split(n, [None, 16])", "sch.reorder(k_0, n_0, m, k_1, n_1)"

WRONG = [
    # 1. Use it while it is there
    ("tiled-test", tiled("pass"), "the inner loop k strides by 80 elements in B"),
    (  # a whole matrix that calls itself local is in memory all the same
        "tiled-test",
        tiled(
            'sch.cache_read(sch.get_sblock("C"), 1, "local")', 'reorder(sch, "C", "m", "k", "n")'
        ),
        "too many cache misses",
    ),
    (
        "tiled-test",
        tiled('tile(sch, "C", m=16, n=16, k=16)'),
        "the inner loop k_1 strides by 80 elements in B\n    expected  at most 1",
    ),
    (
        "tiled-test",
        tiled('tile(sch, "C", n=16, k=16, m=16)'),
        "the inner loop m_1 strides by 80 elements in C\n    expected  at most 1",
    ),
    ("tiled-test", tiled('reorder(sch, "C", "m", "k", "n")'), "got       32,800 of"),
    ("tiled-test", tiled('tile(sch, "C", m=8, k=8, n=8)'), "got       8,400 of"),
    ("tiled-test", tiled('tile(sch, "C", m=40, k=40, n=40)'), "got       40,320 of"),
    ("tiled-test", tiled('tile(sch, "C", m=20, k=20, n=20)'), "got       6,720 of"),
    ("tiled-test", tiled('tile(sch, "C", k=16, n=16)'), "got       34,400 of"),
    ("tiled-test", tiled('tile(sch, "C", m=32, k=32, n=32)'), "the factor does not divide"),
    (
        "tiled-test",
        tiled('split(sch, "C", "k", 16)', 'reorder(sch, "C", "k", "n")'),
        "did you mean k_0 or k_1?",
    ),
    # 2. From the cache to the tile
    ("largest-tile-test", largest("4 * t * t"), "A and C need room"),
    ("largest-tile-test", largest("t * t + 2 * t"), "A and C need room"),
    ("largest-tile-test", largest("12 * t * t"), "of A and C it is one row"),
    (
        "largest-tile-test",
        "def largest_tile(cache_bytes, line_bytes):\n"
        "    powers = [16 << n for n in range(20)]\n"
        "    return max([t for t in powers if 4 * t * (t + 2) <= cache_bytes], default=0)\n",
        "no power of two",
    ),
    ("largest-tile-test", largest("4 * t * (t + 2)", step="1"), "A and C need room"),
    ("largest-tile-test", largest("4 * t * (t + 2) + 1"), "exactly the size of the cache"),
    ("largest-tile-test", largest("4 * t * (t + 2)", step="16"), "a wrong result, in case"),
    ("largest-tile-test", largest("4 * t * (t + 2)", start="16"), "t = 16 needs 1152 bytes"),
    (
        "largest-tile-test",
        "def largest_tile(cache_bytes, line_bytes):\n    return (cache_bytes / 4) ** 0.5",
        "A and C need room",
    ),
    # 3. Bug hunt
    ("repaired-test", repaired(*COLLEAGUE), "too many cache misses"),
    ("repaired-test", repaired(COLLEAGUE[0], N_16, *COLLEAGUE[2:]), "got       34,400 of"),
    ("repaired-test", repaired(*COLLEAGUE[:3], M_INSIDE), "got       14,800 of"),
    (
        "repaired-test",
        repaired(COLLEAGUE[0], N_16, COLLEAGUE[2], "sch.reorder(k_0, n_0, m, n_1, k_1)"),
        "the inner loop k_1 strides by 80 elements in B",
    ),
    ("repaired-test", repaired("pass"), "the inner loop k strides by 80 elements in B"),
    # 4. Larger is better
    ("larger-test", "my_tiles = ((16, 16), (4, 96))", "not an answer to every part"),
    ("larger-test", tiles((8, 16), (8, 32)), "the claim stands"),
    ("larger-test", tiles((16, 16), (24, 16)), "4,032 misses with the larger tile, 4,032"),
    ("larger-test", tiles((4, 96), (16, 16)), "not the larger one"),
    ("larger-test", tiles((16, 16), (16, 48)), "more than half of the cache"),
    ("larger-test", tiles((16, 16), (5, 96)), "larger: not a tile of this exercise"),
    ("larger-test", tiles((16, 8), (4, 96)), "smaller: not a tile of this exercise"),
]


RIGHT = [
    (
        "tiled-test",
        tiled('tile(sch, "C", n=16, k=16)', 'reorder(sch, "C", "n_0", "k_0", "m", "k_1", "n_1")'),
    ),
    ("tiled-test", tiled('tile(sch, "C", m=80, k=40, n=16)')),
    ("tiled-test", tiled(*GUARDED, "sch.reorder(n_0, k_0, m, k_1, n_1)", "return sch")),
    ("repaired-test", repaired(COLLEAGUE[0], N_16, COLLEAGUE[2], M_INSIDE)),
    (
        "repaired-test",
        repaired('tile(sch, "C", k=16, n=16)', 'reorder(sch, "C", "n_0", "m", "k_1")'),
    ),
    ("largest-tile-test", largest("4 * t * (t + 2)")),
    (
        "largest-tile-test",
        "import math\n\ndef largest_tile(cache_bytes, line_bytes):\n"
        "    step = line_bytes // 4\n"
        "    return (math.isqrt(cache_bytes // 4 + 1) - 1) // step * step\n",
    ),
    ("larger-test", tiles((16, 16), (4, 96))),
    ("larger-test", tiles((8, 32), (4, 96))),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)
