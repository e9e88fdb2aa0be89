"""Lesson 15's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from answers import both_tests

ASSIGNMENT = "15_gpu_in_a_box"


def kernel(name: str, body: str) -> str:
    return "\n".join([f"def {name}(t, out, a):", *(f"    {line}" for line in body.split("\n"))])


def rows(body: str) -> str:
    return kernel("row_sums", body)


def five(body: str) -> str:
    return kernel("five", body)


def repaired(body: str) -> str:
    return kernel("repaired", body)


def witness(element: object, writer: object, reader: object) -> str:
    return f'my_witness = {{"element": {element}, "writer": {writer}, "reader": {reader}}}'


SHARE = "tile, x, row = t.shared('tile', 32), t.thread.x, t.block.x\nmine = 0.0\n"
STRIDED = "for k in range(x, a.shape[1], 32):\n    mine += a[row, k]\ntile[x] = mine\n"
STRETCH = (
    "n = a.shape[1] // 32\nfor k in range(x * n, x * n + n):\n    mine += a[row, k]\n"
    "tile[x] = mine\n"
)
BY_ONE = "yield t.barrier()\nif x == 0:\n    s = 0.0\n    for k in range(32):\n        s += tile[k]\n"
HALVES = (
    "stride = 16\nwhile stride > 0:\n    yield t.barrier()\n    if x < stride:\n"
    "        tile[x] += tile[x + stride]\n    stride = stride // 2\n"
)

LOAD = (
    "tile, x = t.shared('tile', 68), t.thread.x\nfirst = t.block.x * 64\n"
    "for place in range(x, 68, 64):\n    k = first + place - 2\n"
    "    tile[place] = a[k] if 0 <= k < len(a) else 0.0\n"
)
SUM = (
    "if first + x < len(a):\n    total = 0.0\n    for place in range(x, x + 5):\n"
    "        total += tile[place]\n    out[first + x] = total"
)
WAIT = "yield t.barrier()\n"

TWICE = "tile, x = t.shared('tile', 64), t.thread.x\ntile[x] = a[x]\nyield t.barrier()\n"

WRONG = [
    # 1. Sums of rows
    ("rows-test", "row_sums = 3", "another kind"),
    ("rows-test", rows("raise NotImplementedError"), "no answer yet"),
    ("rows-test", rows(SHARE + STRETCH + BY_ONE + "    out[row] = s"), "too many sectors"),
    (
        "rows-test",
        rows(SHARE + STRIDED + BY_ONE.replace("yield t.barrier()\n", "") + "    out[row] = s"),
        "race",
    ),
    (
        "rows-test",
        rows(SHARE + STRIDED + "if x == 0:\n    " + BY_ONE.split("\n")[0] + "\n    out[row] = 0"),
        "thread 0 waits at a barrier",
    ),
    (
        "rows-test",
        rows("if t.thread.x == 0:\n    s = 0.0\n    for k in range(a.shape[1]):\n"
             "        s += a[t.block.x, k]\n    out[t.block.x] = s"),
        "too many sectors",
    ),  # fmt: skip
    (
        "rows-test",
        rows(SHARE + STRIDED.replace("a.shape[1]", "256") + HALVES + "if x == 0:\n    out[row] = tile[0]"),
        "and a[3, 96] ends at 95 along dimension 1",
    ),
    ("rows-test", rows(SHARE + STRIDED + HALVES + "out[row] = tile[0]"), "thread 1 reads it"),
    ("rows-test", rows("yield t.barrier\nout[t.block.x] = 0"), "got       a function, without"),
    ("rows-test", "def row_sums(out, a):\n    out[0] = 1", "expected  the thread, out, a"),
    ("rows-test", rows("import numpy\nout[0] = numpy.sum(a)"), "no such thing"),
    # 2. Neighbours from a tile
    (
        "five-test",
        five("i = t.block.x * 64 + t.thread.x\ntotal = 0.0\n"
             "for k in range(max(i - 2, 0), min(i + 3, len(a))):\n    total += a[k]\n"
             "out[i] = total"),
        "too many accesses",
    ),  # fmt: skip
    ("five-test", five(LOAD + SUM), "race"),
    (
        "five-test",
        five(LOAD.replace(" if 0 <= k < len(a) else 0.0", "") + WAIT + SUM),
        "reads a[-2]",
    ),
    (
        "five-test",
        five("tile, x = t.shared('tile', 68), t.thread.x\nfirst = t.block.x * 64\n"
             "tile[x + 2] = a[first + x]\n" + WAIT + SUM),
        "nobody has written it",
    ),  # fmt: skip
    (
        "five-test",
        five("first = t.block.x * 64\nif first + t.thread.x >= len(a):\n    return\n" + LOAD + WAIT + SUM),
        "never reach",
    ),
    (
        "five-test",
        five(LOAD.replace("'tile', 68", "'tile', 64").replace("x, 68, 64", "x, 64, 64") + WAIT + SUM),
        "tile[64] ends at 63",
    ),
    # 3. Bug hunt
    ("hunt-test", "my_witness = 1", "not a witness"),
    ("hunt-test", witness(5, 5, 5), "does not race with itself"),
    ("hunt-test", witness(5, 4, 5), "thread 4 does not write tile[5]"),
    ("hunt-test", witness(5, 5, 6), "thread 6 does not read tile[5]"),
    ("hunt-test", witness(63, 63, 62), "thread 63 does not write"),
    ("hunt-test", witness(64, 64, 63), "not a witness"),
    (
        "repaired-test",
        repaired(TWICE + "for _ in range(2):\n    if x < 63:\n        tile[x] = tile[x] + tile[x + 1]\n"
                 "    yield t.barrier()\nout[x] = tile[x]"),
        "race",
    ),  # fmt: skip
    (
        "repaired-test",
        repaired(TWICE + "for _ in range(2):\n    s = tile[x]\n    if x < 63:\n        s += tile[x + 1]\n"
                 "    yield t.barrier()\n    tile[x] = s\nout[x] = tile[x]"),
        "race",
    ),  # fmt: skip
    (
        "repaired-test",
        repaired(TWICE + "for _ in range(2):\n    if x < 63:\n        yield t.barrier()\n"
                 "        s = tile[x] + tile[x + 1]\n        yield t.barrier()\n        tile[x] = s\n"
                 "out[x] = tile[x]"),
        "never reaches",
    ),  # fmt: skip
    (
        "repaired-test",
        repaired("x = t.thread.x\ns = a[x]\nif x < 63:\n    s += 2 * a[x + 1]\n"
                 "if x < 62:\n    s += a[x + 2]\nout[x] = s"),
        "too many accesses",
    ),  # fmt: skip
    # 4. Break a rule of thumb
    ("rule-test", "my_columns = 32", "the claim stands"),
    ("rule-test", "my_columns = 65", "not a number of columns"),
    ("rule-test", "my_columns = 31.0", "not a number of columns"),
]

RIGHT = [
    ("rows-test", rows(SHARE + STRIDED + BY_ONE + "    out[row] = s")),
    ("rows-test", rows(SHARE + STRIDED + HALVES + "if x == 0:\n    out[row] = tile[0]")),
    (
        "rows-test",
        rows(SHARE + "for j in range(a.shape[1] // 32):\n    mine = mine + a[row, 32 * j + x]\n"
             "tile[x] = mine\n" + BY_ONE + "    out[row] = s"),
    ),  # fmt: skip
    ("five-test", five(LOAD + WAIT + SUM)),
    (
        "five-test",
        five("tile, x = t.shared('halo', 68), t.thread.x\nfirst = t.block.x * 64\ni = first + x\n"
             "tile[x + 2] = a[i] if i < len(a) else 0.0\n"
             "if x < 2:\n    tile[x] = a[i - 2] if i >= 2 else 0.0\n"
             "    tile[x + 66] = a[i + 64] if i + 64 < len(a) else 0.0\n"
             "yield t.barrier()\nif i < len(a):\n"
             "    out[i] = tile[x] + tile[x + 1] + tile[x + 2] + tile[x + 3] + tile[x + 4]"),
    ),  # fmt: skip
    ("hunt-test", witness(62, 62, 61)),
    # two tiles in turn: one barrier a turn
    (
        "repaired-test",
        repaired("tile, x = t.shared('tile', (3, 64)), t.thread.x\ntile[0, x] = a[x]\n"
                 "yield t.barrier()\nfor k in range(2):\n    s = tile[k, x]\n    if x < 63:\n"
                 "        s += tile[k, x + 1]\n    tile[k + 1, x] = s\n    yield t.barrier()\n"
                 "out[x] = tile[2, x]"),
    ),  # fmt: skip
    # without the last barrier: a thread reads what it has written itself
    (
        "repaired-test",
        repaired(TWICE + "for k in range(2):\n    s = tile[x] + (tile[x + 1] if x < 63 else 0.0)\n"
                 "    yield t.barrier()\n    tile[x] = s\n    if k == 0:\n        yield t.barrier()\n"
                 "out[x] = tile[x]"),
    ),  # fmt: skip
    ("rule-test", "my_columns = 63"),
    ("rule-test", "my_columns = 1"),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)
