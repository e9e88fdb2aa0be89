"""The visible checks of exercises 13, and the graphs that they are about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlc_course.exercise import UnmetCheck, called, check, given, holds, returns, sealed, shown
from mlc_course.tensor_program.networks import KINDS, Graph, fuse, partitioned, sketch, traffic
from mlc_course.units import size_text

MOST_BYTES = 1_750_000


def kinds(answer: object) -> None:
    """1. What kind is it?"""
    check(
        given(answer),
        sealed(
            list(KINDS.values()),
            {
                "bias": "d73f54aacb54",
                "outer": "83acfc2cd768",
                "flip": "ef93015d51fd",
                "thin": "6a88c510a028",
                "largest": "560957e84341",
                "squares": "9d082dadcc1d",
                "linear": "1fea8465861e",
                "look up": "91d539c5a88d",
            },
            hint="where does an element of O find its operands, and how many elements of O does "
            "each of them serve?",
        ),
    )


# --- 2. Who shares a kernel? ----------------------------------------------------------------------


def block() -> Graph:
    """A block of a network: linear, then its softmax plus its transpose."""
    square = (64, 64)
    return sketch(
        {"x": square, "w": square, "bias": (64,)},
        [
            ("a", "matmul", "out-fusable", ("x", "w"), square),
            ("b", "add", "elementwise", ("a", "bias"), square),
            ("t", "transpose", "injective", ("b",), square),
            ("e", "exp", "elementwise", ("b",), square),
            ("s", "sum", "reduction", ("e",), (64, 1)),
            ("d", "divide", "elementwise", ("e", "s"), square),
            ("y", "add", "elementwise", ("d", "t"), square),
        ],
    )


def groups(answer: object) -> None:
    """2. Who shares a kernel?"""
    check(given(answer), holds(_counts_right_operators, kind="answers"))


def kernels_of_lists(value: Any, example: str) -> dict[str, frozenset[str]]:
    """The kernel of each operator; raises ``UnmetCheck`` unless it is a list of lists of names."""
    lists = type(value) is list and all(type(each) is list and each for each in value)
    if not lists or any(type(name) is not str for each in value for name in each):
        raise UnmetCheck("not a list of kernels", expected=f"such as {example}", got=shown(value))
    return {name: frozenset(each) for each in value for name in each}


def _counts_right_operators(value: Any) -> str:
    mine = kernels_of_lists(value, '[["a"], ["b", "t"]]')
    partitioned(block(), value)
    right = {name: frozenset(each) for each in fuse(block()).kernels for name in each}
    found = sum(mine[name] == right[name] for name in right)
    if found < len(right):
        raise UnmetCheck(
            f"{found} of {len(right)} operators are in the right kernel",
            hint="for each operator: where do all paths from it meet again, and what is on them?",
        )
    return f"all {len(right)} operators are in the kernel that FuseOps puts them in"


def shares_as_fuse_ops(value: Any) -> str:
    """Say which operator is in the wrong kernel, and why; for the grader."""
    kernel = kernels_of_lists(value, '[["a"], ["b", "t"]]')
    partitioned(block(), value)
    found = fuse(block())
    for refusal in found.refusals:
        for reader in block().readers(refusal.producer):
            if reader.name in kernel[refusal.producer]:
                raise UnmetCheck(
                    f"{refusal.producer} shares the kernel of {reader.name}",
                    expected="two kernels",
                    got=sorted(kernel[refusal.producer]),
                    hint=refusal.reason,
                )
    for shared in found.kernels:
        apart = [name for name in shared if name not in kernel[shared[-1]]]
        if apart:
            raise UnmetCheck(
                f"{apart[0]} is kept apart from {shared[-1]}",
                expected="one kernel: nothing on the path forbids it",
                got=f"{sorted(kernel[apart[0]])} and {sorted(kernel[shared[-1]])}",
            )
    if set(kernel.values()) != {frozenset(each) for each in found.kernels}:
        raise UnmetCheck(
            "operators share a kernel that have nothing to do with each other",
            expected="kernels whose operators read one another",
            got=shown(value),
        )
    return "the kernels that FuseOps makes"


# --- 3. Beat FuseOps ------------------------------------------------------------------------------


def pooled() -> Graph:
    """A block that repeats a small tensor, multiplies, and keeps the largest of each pair."""
    return sketch(
        {"x": (256, 64), "w1": (64, 64), "w2": (1024, 256), "w3": (128, 128)},
        [
            ("p", "matmul", "out-fusable", ("x", "w1"), (256, 64)),
            ("g", "repeat", "injective", ("p",), (256, 1024)),
            ("q", "matmul", "out-fusable", ("g", "w2"), (256, 256)),
            ("r", "relu", "elementwise", ("q",), (256, 256)),
            ("m", "max of pairs", "reduction", ("r",), (256, 128)),
            ("z", "matmul", "out-fusable", ("m", "w3"), (256, 128)),
            ("k", "add", "elementwise", ("z", "m"), (256, 128)),
        ],
    )


def partition(answer: object) -> None:
    """3. Beat FuseOps."""
    check(given(answer), holds(_moves_little, kind="count"))


def _moves_little(value: Any) -> str:
    kernels_of_lists(value, '[["p"], ["g", "q"]]')
    made = partitioned(pooled(), value)
    for nodes in made.kernels.values():
        matmuls = [node.name for node in nodes if node.op == "matmul"]
        if len(matmuls) > 1:
            raise UnmetCheck(
                f"{' and '.join(matmuls)} are in one kernel",
                expected="at most one matmul a kernel",
                got=", ".join(node.name for node in nodes),
            )
    moved = traffic(made)
    if moved > MOST_BYTES:
        largest = max(made.between, key=lambda each: each.bytes)
        raise UnmetCheck(
            f"the kernels read and write {size_text(moved)}",
            expected=f"at most {size_text(MOST_BYTES)}",
            got=f"the largest tensor between two kernels is {largest.name}, "
            f"{size_text(largest.bytes)}",
        )
    return f"{len(made.kernels)} kernels, which read and write {size_text(moved)}"


# --- 4. Bug hunt: a tensor with two readers -------------------------------------------------------


def fuser(answer: Callable[..., Any]) -> None:
    """4. Bug hunt: a tensor with two readers."""
    check(
        called(answer),
        returns({"a": ["x"], "b": ["a"], "c": ["b"]}, ["c"], result=[["a", "b", "c"]]),
        returns(
            {"a": ["x"], "b": ["a"], "c": ["a"]},
            ["b", "c"],
            result=[["a"], ["b"], ["c"]],
            hint="a kernel hands out one tensor: who else needs a?",
        ),
        returns(
            {"a": ["x"], "lib": ["a"], "c": ["lib", "a"]},
            ["c"],
            result=[["a"], ["lib"], ["c"]],
            hint="a has two readers; lib, a library call, stays alone",
        ),
        returns(
            {"a": ["x"], "lib": ["a"], "c": ["lib"]},
            ["c"],
            result=[["a"], ["lib"], ["c"]],
            hint="a library call shares its kernel with neither side",
        ),
        returns(
            {"a": ["x"], "b": ["a"]},
            ["a", "b"],
            result=[["a"], ["b"]],
            hint="an output has to be handed out, too",
        ),
        returns(
            {"a": ["x"], "b": ["a", "a"]},
            ["b"],
            result=[["a", "b"]],
            hint="an operator that reads a tensor twice is one reader",
        ),
        returns(
            {"a": ["x"], "b": ["x"], "c": ["b", "a"]},
            ["c"],
            result=[["a", "b", "c"]],
            hint="inside a kernel, names are in the order of execution",
        ),
    )
