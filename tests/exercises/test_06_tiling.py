"""Lesson 6's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from answers import both_tests

ASSIGNMENT = "06_tiling"


def function(name: str, *lines: str) -> str:
    return f"def {name}(sch):\n" + "".join(f"    {line}\n" for line in lines)


def tiled(*lines: str) -> str:
    return function("tiled", *lines)


def tiled_any(*lines: str) -> str:
    return function("tiled_any", *lines)


def largest(needed: str, *, step: str = "line_bytes // 4", start: str = "0") -> str:
    """Goes up in steps while ``needed`` for the next t is not above the cache."""
    return f"""
def largest_tile(cache_bytes, line_bytes):
    t, step = {start}, {step}
    while (lambda t: {needed})(t + step) <= cache_bytes:
        t += step
    return t
"""


def sizes(m: object, k: object, n: object) -> str:
    return f'my_sizes = {{"M": {m}, "K": {k}, "N": {n}}}'


TILE_16 = 'tile(sch, "C", m=16, k=16, n=16)'
LOOPS = 'm, n, k = sch.get_loops(sch.get_sblock("C"))'
GUARDED = (LOOPS, "k_0, k_1 = sch.split(k, [None, 16])", "n_0, n_1 = sch.split(n, [None, 16])")
DIVISORS = 'sizes = {a: divisor(size, at_most=16) for a, size in axes(sch, "C").items()}'

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
        "the inner loop k_1 strides by 80 elements in B\n    expected  1",
    ),
    (
        "tiled-test",
        tiled('tile(sch, "C", n=16, k=16, m=16)'),
        "the inner loop m_1 strides by 80 elements in C\n    expected  1",
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
    # 2. What the tile leaves over
    ("any-size-test", tiled_any(TILE_16), "hint      pad the block first"),
    ("any-size-test", tiled_any('reorder(sch, "C", "m", "k", "n")'), "got       20,201 of"),
    (
        "any-size-test",
        tiled_any(DIVISORS, 'tile(sch, "C", m=sizes["m"], k=sizes["k"], n=sizes["n"])'),
        "got       23,097 of",
    ),
    (
        "any-size-test",
        tiled_any('pad(sch, "C", m=16, n=16, k=16)', 'tile(sch, "C", m=16, n=16, k=16)'),
        "the inner loop k_1 strides by 96 elements in B_pad",
    ),
    (
        "any-size-test",
        tiled_any('pad(sch, "C", m=64, n=64, k=64)', 'tile(sch, "C", m=64, k=64, n=64)'),
        "too many cache misses",
    ),
    # 3. From the cache to the tile
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
    # 4. A tile that fits, and loses
    ("tile-loses-test", "my_sizes = (16, 64, 1024)", "not an answer to every part"),
    ("tile-loses-test", sizes(16, 64, 1000), "N: not a size for this tile"),
    ("tile-loses-test", sizes(1, 64, 1024), "M: not a size for this tile"),
    ("tile-loses-test", sizes(64, 64, 1024), "too much to count"),
    ("tile-loses-test", sizes(32, 32, 32), "192 misses with the tiles, 192 without"),
    ("tile-loses-test", sizes(16, 128, 128), "the claim stands"),
    ("tile-loses-test", sizes(16, 16, 1024), "the claim stands"),
]


RIGHT = [
    (
        "tiled-test",
        tiled('tile(sch, "C", n=16, k=16)', 'reorder(sch, "C", "n_0", "k_0", "m", "k_1", "n_1")'),
    ),
    ("tiled-test", tiled('tile(sch, "C", m=80, k=40, n=16)')),
    ("tiled-test", tiled(*GUARDED, "sch.reorder(n_0, k_0, m, k_1, n_1)", "return sch")),
    ("any-size-test", tiled_any('pad(sch, "C", m=16, n=16, k=16)', TILE_16)),
    ("any-size-test", tiled_any(*GUARDED, "sch.reorder(k_0, n_0, m, k_1, n_1)")),
    ("largest-tile-test", largest("4 * t * (t + 2)")),
    (
        "largest-tile-test",
        "import math\n\ndef largest_tile(cache_bytes, line_bytes):\n"
        "    step = line_bytes // 4\n"
        "    return (math.isqrt(cache_bytes // 4 + 1) - 1) // step * step\n",
    ),
    ("tile-loses-test", sizes(32, 32, 512)),
    ("tile-loses-test", sizes(16, 32, 2048)),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)
