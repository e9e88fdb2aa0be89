"""Lesson 7's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from answers import both_tests

ASSIGNMENT = "07_two_levels"


def function(name: str, *lines: str) -> str:
    return f"def {name}(sch):\n" + "".join(f"    {line}\n" for line in lines)


def tiled_any(*lines: str) -> str:
    return function("tiled_any", *lines)


def best(condition: str, order: str = "LOADS, r * v + v") -> str:
    """Look at every tile that meets a condition, and take the first in an order."""
    order = order.replace("LOADS", "(r + v) / (r * v)")
    return f"""
def best_tile(registers):
    sides = range(1, registers)
    fitting = [(r, v) for r in sides for v in sides if {condition}]
    return min(fitting, key=lambda t: (lambda r, v: ({order},))(*t))
"""


def in_registers(order: str = '"k_1", "m_1", "n_1"', *lines: str, tile: str = "m=4") -> str:
    return function(
        "in_registers",
        f'tile(sch, "C", n=2 * checks.lanes(), k=96, {tile})',
        f'reorder(sch, "C", {order})',
        *(lines or WRITTEN_OUT),
        'hoist_init(sch, "C", "k_0")',
    )


def sizes(m: object, k: object, n: object) -> str:
    return f'my_sizes = {{"M": {m}, "K": {k}, "N": {n}}}'


WRITTEN_OUT = (
    'split(sch, "C", "n_1", checks.lanes())',
    'vectorize(sch, "C", "n_1_1")',
    'steps.unroll(sch, "C", "n_1_0")',
    'steps.unroll(sch, "C", "m_1")',
)
TILE_16 = 'tile(sch, "C", m=16, k=16, n=16)'
LOOPS = 'm, n, k = sch.get_loops(sch.get_sblock("C"))'
GUARDED = (LOOPS, "k_0, k_1 = sch.split(k, [None, 16])", "n_0, n_1 = sch.split(n, [None, 16])")
DIVISORS = 'sizes = {a: divisor(size, at_most=16) for a, size in axes(sch, "C").items()}'

PARTIAL = (
    'split(sch, "C", "n", 16, partial=True)',
    'split(sch, "C", "k", 16, partial=True)',
    'reorder(sch, "C", "k_0", "n_0", "m", "k_1", "n_1")',
)

WRONG = [
    # 1. What the tile leaves over
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
    # 2. As many sums as fit
    ("register-test", best("r * v <= registers"), "one register is for the element of A"),
    ("register-test", best("r * v + r + v + 1 <= registers"), "one register is for the element"),
    ("register-test", best("r * v + v + 1 <= registers", "-r * v"), "a wrong result for (16)"),
    ("register-test", best("r * v + v + 1 < registers"), "expected  (4, 3)"),
    ("register-test", "def best_tile(registers):\n    return (4, 3)", "a wrong result for (4)"),
    ("register-test", best("r * v + v + 1 <= registers", "LOADS, -v"), "a wrong result"),
    # 3. Bug hunt
    ("in-registers-test", in_registers('"m_1", "k_1", "n_1"'), "too many loads"),
    ("in-registers-test", in_registers(tile="m=1"), "(1.50 loads each)"),
    ("in-registers-test", in_registers(tile="m=2"), "(1.00 loads each)"),
    ("in-registers-test", function("in_registers", "pass"), "expected  "),
    # 4. A tile that fits, and loses
    ("tile-loses-test", "my_sizes = (16, 64, 1024)", "not an answer to every part"),
    ("tile-loses-test", sizes(16, 64, 1000), "N: not a size for this tile"),
    ("tile-loses-test", sizes(1, 64, 1024), "M: not a size for this tile"),
    ("tile-loses-test", sizes(64, 64, 1024), "too much to count"),
    ("tile-loses-test", sizes(32, 32, 32), "192 misses with the tiles, 192 without"),
    ("tile-loses-test", sizes(16, 16, 1024), "without: less than 2 % more"),
    ("tile-loses-test", sizes(16, 128, 128), "the claim stands"),
    ("tile-loses-test", sizes(16, 16, 1024), "the claim stands"),
]


RIGHT = [
    ("any-size-test", tiled_any('pad(sch, "C", m=16, n=16, k=16)', TILE_16)),
    ("any-size-test", tiled_any(*GUARDED, "sch.reorder(k_0, n_0, m, k_1, n_1)")),
    ("any-size-test", tiled_any(*PARTIAL)),
    ("register-test", best("r * v + v + 1 <= registers")),
    ("in-registers-test", in_registers()),
    ("tile-loses-test", sizes(32, 32, 512)),
    ("tile-loses-test", sizes(16, 32, 2048)),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)
