"""Steps drawn at random for whatever program there is, with arguments that mostly fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from mlc_course.tensor_program.schedule import data_steps, lookup, steps
from mlc_course.tensor_program.tir import Schedule

Draw = Callable[..., Any]
WRONG = ("X", "i0", 0, -3, 2.5, None, 10**9)  # arguments that hardly fit anywhere
NAMES = {
    **{
        name: getattr(steps, name)
        for name in (
            "reorder",
            "split",
            "tile",
            "pad",
            "hoist_init",
            "fuse_consumer",
            "compute_per_iteration",
            "inline",
            "merge",
            "several_sums",
            "vectorize",
            "unroll",
            "parallel",
        )
    },
    **{
        name: getattr(data_steps, name)
        for name in (
            "stage",
            "pack",
            "store_innermost",
            "accumulate_locally",
            "polynomial_exp",
        )
    },
}
OFTEN = ("split", "reorder", "tile", "fuse_consumer", "compute_per_iteration", "merge")


def random_step(draw: Draw, sch: Schedule) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """A step's name and its arguments."""
    name = draw(st.sampled_from([*NAMES, *OFTEN]))
    blocks = lookup.blocks(sch)
    block = draw(st.sampled_from(blocks))
    other = draw(st.sampled_from(blocks))
    loops = lookup.loops(sch, block)
    loop = draw(st.sampled_from(loops)) if loops else "i"
    args, named = _arguments(draw, sch, name, block, other, loops, loop)
    if draw(st.integers(0, 24)) == 24:  # now and then a wrong one, in any place
        at = draw(st.integers(0, len(args) - 1))
        args = (*args[:at], draw(st.sampled_from(WRONG)), *args[at + 1 :])
    return name, args, named


def _arguments(
    draw: Draw, sch: Schedule, name: str, block: str, other: str, loops: list[str], loop: str
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    factor = st.sampled_from([2, 2, 4, 3, 1, 5, 7, 8])
    match name:
        case "reorder":
            return (block, *draw(st.permutations(loops))), {}
        case "split" | "several_sums":
            return (block, loop, draw(factor)), {}
        case "tile":
            chosen = draw(st.lists(st.sampled_from(loops or ["i"]), unique=True, max_size=3))
            return (block,), {each: draw(factor) for each in chosen}
        case "pad":
            axes = list(lookup.axes(sch, block)) or ["i"]
            chosen = draw(st.lists(st.sampled_from(axes), unique=True, max_size=3))
            return (block,), {each: draw(factor) for each in chosen}
        case "fuse_consumer":
            return (other,), {"into": block, "at": loop}
        case "compute_per_iteration":
            return (other,), {"of": block, "at": loop}
        case "merge":
            return (block, other), {"at": loop}
        case "inline" | "polynomial_exp":
            return (block,), {}
        case "stage":
            return (block, draw(st.sampled_from(["A0", "A1", "C", "D"]))), {}
        case "pack":
            axes = list(lookup.axes(sch, block)) or ["i"]
            operand = draw(st.sampled_from(["A0", "A1", "C", "D"]))
            return (block, operand), {
                "along": draw(st.sampled_from(axes)),
                "panel": draw(factor),
            }
        case "store_innermost":
            return (block, draw(st.sampled_from(list(lookup.axes(sch, block)) or ["i"]))), {}
        case "accumulate_locally":
            return (block,), {"at": loop}
    return (block, loop), {}
