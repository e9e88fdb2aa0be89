"""Small programs drawn at random: whatever fits, with outputs of any kind."""

from __future__ import annotations

import random
from collections.abc import Sequence

Named = tuple[str, tuple[int, ...]]

ALONE = ("exp", "square", "neg", "silu", "tanh", "relu")
WITH_NUMBER = ("scale", "shift")
ALONG = ("sum", "mean", "max", "softmax", "stable_softmax")
TOGETHER = ("add", "sub", "mul", "div", "maximum")
MOVED = ("matmul", "transpose", "split", "concat", "reshape")
NUMBERS = ("2", "1/3", "-1", "0.5", "1/8")


def small_program(rng: random.Random) -> str:
    """A program of two axes with one to seven operators, as text; some values may be unused."""
    sizes = {
        "a": rng.choice([4, 6, 8, 16]),
        "b": rng.choice([1, 8, 12, 32]),
        "c": rng.choice([9, 16]),
    }
    known = [("X", "ab"), ("Y", "ab"), ("W", "bc"), ("V", "cb"), ("R", "1b"), ("T", "a1")]
    head, values, named = list[str](), list[Named](), set[str]()
    for name, dims in rng.sample(known, rng.randint(1, 4)):
        said = [dim if dim in named or dim == "1" else f"{dim}={sizes[dim]}" for dim in dims]
        named |= {*dims}
        head.append(f"{name}[{', '.join(said)}]")
        values.append((name, tuple(sizes.get(dim, 1) for dim in dims)))
    lines, first = list[str](), len(values)
    wanted = rng.randint(1, 7)
    while len(lines) < wanted:
        made = _line(rng, values, f"v{len(lines)}")
        if made:
            line, shape = made
            values.append((f"v{len(lines)}", shape))
            lines.append(line)
    outputs = [values[-1][0], *(name for name, _ in values[:-1] if rng.random() < 0.15)]
    rng.shuffle(outputs)
    assert len(values) == first + len(lines)
    body = "".join(f"  {line}\n" for line in lines)
    return f"p({', '.join(head)}):\n{body}  return {', '.join(outputs)}\n"


def _line(
    rng: random.Random, values: Sequence[Named], name: str
) -> tuple[str, tuple[int, ...]] | None:
    op = rng.choice((*ALONE, *WITH_NUMBER, *ALONG, *TOGETHER, *MOVED))
    x, shape = rng.choice(values)
    if op in ALONE:
        return f"{name} = {op}({x})", shape
    if op in WITH_NUMBER:
        return f"{name} = {op}({x}, by={rng.choice(NUMBERS)})", shape
    if op in ALONG:
        axis = rng.randrange(2)
        left = tuple(1 if place == axis else extent for place, extent in enumerate(shape))
        return f"{name} = {op}({x}, axis={axis})", shape if "softmax" in op else left
    if op == "transpose":
        return f"{name} = transpose({x}, axes=[1, 0])", shape[::-1]
    if op == "reshape":
        return f"{name} = reshape({x}, shape=[{shape[0] * shape[1]}, 1])", (shape[0] * shape[1], 1)
    if op == "split":
        half = f"{name} = split({x}, axis=1, parts=2, part={rng.randrange(2)})"
        return (half, (shape[0], shape[1] // 2)) if shape[1] % 2 == 0 else None
    fits = {
        "matmul": lambda other: other[0] == shape[1],
        "concat": lambda other: other[1] == shape[1],
    }.get(op, lambda other: all(m == n or 1 in (m, n) for m, n in zip(shape, other, strict=True)))
    others = [each for each in values if fits(each[1])]
    if not others:
        return None
    y, other = rng.choice(others)
    if op == "matmul":
        return f"{name} = matmul({x}, {y})", (shape[0], other[1])
    if op == "concat":
        return f"{name} = concat({x}, {y}, axis=0)", (shape[0] + other[0], shape[1])
    return f"{name} = {op}({x}, {y})", tuple(map(max, zip(shape, other, strict=True)))
