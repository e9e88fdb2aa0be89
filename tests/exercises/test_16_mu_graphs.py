"""Lesson 16's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from answers import Complain, both_tests

ASSIGNMENT = "16_mu_graphs"

A = '{"imap": {"y": 0}, "fmap": {"k": 1}}'
B = '{"imap": {"x": 1}, "fmap": {"k": 0}}'
C = '{"omap": {"x": 1, "y": 0}}'


def maps(a: str = A, b: str = B, c: str = C) -> str:
    return f'my_maps = {{"a": {a}, "b": {b}, "C": {c}}}'


def text(name: str, head: str, *lines: str) -> str:
    body = "\n".join([head, *(f"  {line}" for line in lines), "  return C"])
    return f'{name} = """\n{body}\n"""'


THIN = "split(A[m=2, d=1024], B[d, n=16]):"
PARTS = (
    "block grid(x=4, y=16):",
    "  a = load(A, imap={y: 1})",
    "  b = load(B, imap={x: 1, y: 0})",
    "  p = matmul(a, b)",
)
ROWS = (*PARTS, "  P = store(p, omap={x: 1, y: 0})")
ADDED = (
    "block grid(x=4) loop(k=16):",
    "  p = load(P, imap={x: 1}, fmap={k: 0})",
    "  c = accumulate(p)",
    "  C = store(c, omap={x: 1})",
)
BY_COLUMNS = (
    "block grid(x=16) loop(k=8):",
    "  a = load(A, fmap={k: 1})",
    "  b = load(B, imap={x: 1}, fmap={k: 0})",
    "  p = matmul(a, b)",
    "  c = accumulate(p)",
    "  C = store(c, omap={x: 1})",
)


def split(*lines: str, head: str = THIN) -> str:
    return text("my_split", head, *lines)


def changed(lines: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(line.replace(old, new) for line in lines)


SEVEN = """normed(X[b=32, d=512], G[1, d], W[d, n=384]):
  s = square(X)
  r = sum(s, axis=1)
  m = scale(r, by=1/d)
  q = sqrt(m)
  a = mul(X, G)
  y = div(a, q)
  Y = matmul(y, W)
  return Y"""
FUSED = """fused(X[b=32, d=512], G[1, d], W[d, n=384]):
  block grid(x=8) loop(k=32):
    x = load(X, fmap={k: 1})
    g = load(G, fmap={k: 1})
    w = load(W, imap={x: 1}, fmap={k: 0})
    a = mul(x, g)
    p = matmul(a, w)
    P = accumulate(p)
    s = square(x)
    r = sum(s, axis=1)
    R = accumulate(r)
    thread:
      m = scale(R, by=1/d)
      q = sqrt(m)
      y = div(P, q)
    Y = store(y, omap={x: 1})
  return Y"""
FOUR_BY_FOUR = (
    FUSED.replace("grid(x=8) loop(k=32)", "grid(x=4, y=4) loop(k=16)")
    .replace("load(X, ", "load(X, imap={y: 0}, ")
    .replace("omap={x: 1}", "omap={x: 1, y: 0}")
)


def fused(*changes: tuple[str, str], base: str = FUSED) -> str:
    for old, new in changes:
        assert old in base
        base = base.replace(old, new)
    return f'my_fused = """\n{base}\n"""'


def hunt(
    a: str = '{"imap": {"y": 0}, "fmap": {"i": 0, "k": 1}}',
    b: str = '{"imap": {"x": 1}, "fmap": {"k": 0}}',
    c: str = '{"omap": {"x": 1, "y": 0}}',
    ones: str = '{"A": [0, 63], "B": [63, 0]}',
) -> str:
    return f'my_repair = {{"a": {a}, "b": {b}, "C": {c}}}\nmy_witness = {ones}'


WRONG = [
    # 1. The maps of a matmul
    ("maps-test", "my_maps = {}", "not maps for every tensor"),
    ("maps-test", 'my_maps = "imap={y: 0}"', "not maps for every tensor"),
    ("maps-test", maps(a='{"imap": {"x": 0}, "fmap": {"k": 1}}'), "not equal tiles"),
    ("maps-test", maps(b='{"imap": {"x": 1}, "fmap": {"k": 1}}'), "the tiles a and b do not meet"),
    ("maps-test", maps(a='{"imap": {"y": 0}}'), "got       a 8 x 64, b 8 x 8"),
    (
        "maps-test",
        maps(a='{"imap": {"y": 0}}', b='{"imap": {"x": 1}}'),
        "8 times that, in every element",
    ),
    ("maps-test", maps(a='{"fmap": {"k": 1}}'), "other shapes of what is returned"),
    ("maps-test", maps(c='{"omap": {"x": 1}}'), "all 4 blocks along y write the same place"),
    ("maps-test", maps(c='{"omap": {"x": 0, "y": 1}}'), "other shapes of what is returned"),
    ("maps-test", maps(c='{"imap": {"x": 1, "y": 0}}'), "C: not its maps"),
    ("maps-test", maps(a='{"imap": ["y"], "fmap": {"k": 1}}'), "a: imap"),
    # 2. Split the sum
    ("split-test", "my_split = [1, 2]", "an answer of another kind"),
    ("split-test", 'my_split = "two kernels"', "cannot be read (in line 1"),
    ("split-test", split(*BY_COLUMNS), "bytes that one block loads"),
    ("split-test", split(*changed(BY_COLUMNS, "k=8", "k=64")), "bytes that one block loads"),
    # a tile of the second kernel is small, and there are many of them
    (
        "split-test",
        split(
            *changed(changed(ROWS, "x=4, y=16", "y=64"), "imap={x: 1, y: 0}", "imap={y: 0}")[:-1],
            "  P = store(p, omap={y: 0})",
            *changed(ADDED, "k=16", "k=64"),
        ),
        "in kernel 'block C'\n    expected  at most 1,000 bytes\n    got       1,024 bytes",
    ),
    ("split-test", split(*PARTS, "  C = store(p, omap={x: 1})"), "all 16 blocks along y write"),
    ("split-test", split(*ROWS, "C = sum(P, axis=0)"), "other shapes of what is returned"),
    (
        "split-test",
        split(*ROWS, *changed(ADDED, ", fmap={k: 0}", "")),
        "other shapes of what is returned",
    ),
    (
        "split-test",
        split(*ROWS, *changed(changed(ADDED, "k=16", "k=32"), "accumulate(p)", "accumulate(p)")),
        "other shapes of what is returned",
    ),
    (
        "split-test",
        split(*ROWS, *changed(ADDED, "accumulate(p)", "accumulate_max(p)")),
        "an operator that thin does not need",
    ),
    (
        "split-test",
        split(*ROWS, "T = reshape(P, shape=[16, 2, n])", "S = sum(T, axis=0)").replace(
            "return C", "C = reshape(S, shape=[m, n])\n  return C"
        ),
        "kernels",
    ),
    ("split-test", split(*changed(ROWS, "imap={y: 1}", "imap={x: 1}"), *ADDED), "inner dimensions"),
    ("split-test", split(*ROWS, *ADDED, head=THIN.replace("1024", "512")), "other inputs than"),
    # 3. One kernel, within limits
    ("fused-test", fused(base=SEVEN), "kernels"),
    ("fused-test", fused(base=FOUR_BY_FOUR), "bytes loaded"),
    ("fused-test", fused(("grid(x=8)", "grid(x=4)"), ("k=32", "k=4")), "shared memory of a block"),
    ("fused-test", fused(("grid(x=8)", "grid(x=16)")), "bytes loaded"),
    ("fused-test", fused(("by=1/d", "by=1/n")), "0.866 times that"),
    ("fused-test", fused(("    R = accumulate(r)\n", "")), "nothing is called 'R'"),
    ("fused-test", fused(("div(P, q)", "div(p, q)")), "one operand is in the loop"),
    ("fused-test", fused(("      q = sqrt(m)\n", ""), ("P, q", "P, m")), "elements differ"),
    ("fused-test", fused(("div(P, q)", "mul(P, q)")), "elements differ"),
    (
        "fused-test",
        fused(("    g = load", "    z = load(X)\n    g = load"), ("square(x)", "square(z)")),
        "shared memory of a block",
    ),
    # 4. Bug hunt: it passed with ones
    ("hunt-test", hunt(b='{"imap": {"x": 1}, "fmap": {"i": 0}}'), "elements differ"),
    (
        "hunt-test",
        hunt(b='{"imap": {"x": 1}, "fmap": {"i": 0, "k": 1}}'),
        "other shapes of what is",
    ),
    ("hunt-test", hunt(b='{"imap": {"y": 1}, "fmap": {"k": 0}}'), "elements differ"),
    ("hunt-test", hunt(a='{"imap": {"y": 0}, "fmap": {"i": 1, "k": 0}}'), "elements differ"),
    ("hunt-test", hunt(ones="[0, 63]"), "not a witness"),
    ("hunt-test", hunt(ones='{"A": [0, 64], "B": [63, 0]}'), "A: not a place"),
    ("hunt-test", hunt(ones='{"A": [0, 0], "B": [0, 0]}'), "both give a 1 at [0, 0]"),
    ("hunt-test", hunt(ones='{"A": [0, 63], "B": [62, 0]}'), "both give zeros only"),
]


RIGHT = [
    ("maps-test", maps(c='{"omap": {"y": 0, "x": 1}}')),
    ("maps-test", maps(b='{"fmap": {"k": 0}, "imap": {"x": 1}}')),
    # as columns: x outside, so that one block's terms lie side by side
    (
        "split-test",
        split(
            *PARTS,
            "  P = store(p, omap={x: 1, y: 1})",
            *changed(ADDED, "fmap={k: 0}", "fmap={k: 1}"),
        ),
    ),
    # rows, columns and d are cut, and the second kernel has a single block
    (
        "split-test",
        split(
            "block grid(x=2, y=4, z=16) loop(k=2):",
            "  a = load(A, imap={x: 0, z: 1}, fmap={k: 1})",
            "  b = load(B, imap={y: 1, z: 0}, fmap={k: 0})",
            "  p = matmul(a, b)",
            "  q = accumulate(p)",
            "  P = store(q, omap={x: 0, y: 1, z: 0})",
            "block grid(x=2) loop(k=16):",
            "  p = load(P, imap={x: 0}, fmap={k: 0})",
            "  c = accumulate(p)",
            "  C = store(c, omap={x: 0})",
        ),
    ),
    ("fused-test", fused()),
    ("fused-test", fused(("grid(x=8)", "grid(x=6)"), ("k=32", "k=64"))),
    # without a thread graph, with a number for 1/d, and with the gain put on W
    ("fused-test", fused(("    thread:\n", ""), ("      ", "    "), ("1/d", "1/512"))),
    # the scale in the loop, against overflow
    (
        "fused-test",
        fused(
            (
                "    s = square(x)\n",
                "    thread:\n      h = square(x)\n      s = scale(h, by=1/d)\n",
            ),
            ("      m = scale(R, by=1/d)\n", ""),
            ("sqrt(m)", "sqrt(R)"),
        ),
    ),
    # from below: another portion, another part of d
    ("hunt-test", hunt(ones='{"A": [63, 0], "B": [0, 63]}')),
    # the right product is 0, and the suspect has a 1: it takes rows 0 to 15 of B for all of d
    ("hunt-test", hunt(ones='{"A": [0, 16], "B": [0, 5]}')),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)


def test_no_wrong_answer_gets_a_tick_from_the_visible_part(complain: Complain) -> None:
    """Three of each exercise at least; what is wrong is said before anything is handed in."""
    judged = dict.fromkeys((test for test, _, _ in WRONG), 0)
    for test, answer, _ in WRONG:
        assert complain(ASSIGNMENT, test, answer, hidden=False), (test, answer)
        judged[test] += 1
    assert len(judged) == 4
    assert min(judged.values()) >= 3
