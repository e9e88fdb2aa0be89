"""Counts of each stage, and the sentences that follow from counts and races."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from mlc_course.lessons.lesson_01_primitive_tensor_functions.tensor_functions import (
    Chain,
    along_rows,
    chains,
)
from mlc_course.machine import describe
from mlc_course.measure import Comparison, compare
from mlc_course.tensor_program.memory import roofs
from mlc_course.tensor_program.networks import Network, digits
from mlc_course.tensor_program.problems import FLOAT_BYTES, Array
from mlc_course.tensor_program.processor import Assembly, assembly
from mlc_course.tensor_program.tir import PrimFunc, Schedule, own_buffers
from mlc_course.units import plural, size_text, times

BATCHES = 1, 256
CPUS = "x86-64", "x86-64-v3", "x86-64-v4", "cortex-a72", "apple-m1"


def bytes_inside(program: PrimFunc | Schedule) -> int:
    """The bytes of the results that a function declares for itself alone."""
    main = program.mod["main"] if isinstance(program, Schedule) else program
    shapes = ([int(size) for size in buffer.ty.shape] for buffer in own_buffers(main))
    return FLOAT_BYTES * sum(map(prod, shapes))


def bytes_between_and_inside(chain: Chain) -> tuple[int, int]:
    """The bytes of a stage's results between its functions, and of those inside of them."""
    inside = sum(bytes_inside(each.program) for each in chain.functions if each.program)
    return chain.bytes(*chain.between), inside


def gone(before: int, after: int) -> str:
    """Return which part of the bytes is gone: none, some or all of them."""
    return "none" if after >= before else "all of them" if after == 0 else "some of them"


def disagreement(found: Array, network: Network, images: Array) -> float:
    """The largest error of the scores, each relative to the sum of the terms' absolute values.

    Terms of opposite signs cancel, so an error relative to a score itself may be of any size.
    """
    x = images.astype(np.float64)
    w1, b1, w2, b2 = (each.astype(np.float64) for each in network.weights)
    exact = np.maximum(x @ w1 + b1, 0) @ w2 + b2
    absolute = (np.abs(x) @ np.abs(w1) + np.abs(b1)) @ np.abs(w2) + np.abs(b2)
    return float((np.abs(found - exact) / absolute).max())


def race(network: Network, batch: int) -> dict[str, Comparison]:
    """Each compiled stage against NumPy, on one thread, for so many images at a time.

    NumPy has its best form: five calls that write into memory planned beforehand.
    """
    stages = chains(batch)[1:]
    x = digits().images[:batch]
    numpy = stages[0].prepared("NumPy", network, x)
    ours = {each.name: each.prepared("machine code", network, x) for each in stages}
    return compare(ours, ("NumPy", numpy), rounds=(100, 1000), budget_s=2)


def floors() -> dict[int, float]:
    """The least seconds an image that this machine's roofs allow, on one thread, by batch.

    The roof is the arithmetic one: all tensors fit into caches, whose speed is not looked at.
    """
    rate = roofs(1).gflops
    flops = chains()[0].functions[0].flops
    return dict.fromkeys(BATCHES, flops / rate / 1e9)


def slower_by(ratio: float) -> str:
    """The answer of the prediction that a ratio to NumPy's speed belongs to."""
    if ratio >= 1:
        return "faster than NumPy"
    return "slower, by less than 3 x" if ratio > 1 / 3 else "slower, by 3 x or more"


ABOUT = 1.05  # two whose speeds differ by less are called equally fast


def versus(name: str, found: Comparison, other: str = "NumPy") -> str:
    """Say which of two is faster, and how many times; equal if the difference is within noise."""
    low, high = found.interval
    ratio = found.ratio
    if low <= 1 <= high or 1 / ABOUT < ratio < ABOUT:
        return f"{_are(name)} about as fast as {other}"
    if ratio > 1:
        return f"{_are(name)} {ratio:.1f} times as fast as {other}"
    return f"{_are(other)} {1 / ratio:.1f} times as fast as {name}"


def _are(name: str) -> str:
    return f"{name} are" if name.endswith("functions") else f"{name} is"


def calls_race(network: Network) -> Comparison:
    """NumPy's five calls on tensors of a single number, against the same calls for one image."""
    stage, x = chains()[1], digits().images[:1]
    tiny = {
        name: np.full([1] * len(shape), 0.5, np.float32) for name, shape in stage.shapes.items()
    }
    calls = [
        each.prepared("NumPy", *(tiny[name] for name in each.operands)) for each in stage.functions
    ]

    def single_numbers() -> None:
        for call in calls:
            call()

    image = stage.prepared("NumPy", network, x)
    found = compare({"numbers": single_numbers}, ("image", image), rounds=(100, 1000), budget_s=1)
    return found["numbers"]


def calls_said(found: Comparison) -> str:
    """Say what part of NumPy's time for one image is the price of its calls."""
    share = 1 / found.ratio
    if share >= 0.5:
        said = "One image at a time, NumPy's time is mostly the price of calling."
    else:
        said = "Calls take less than half of NumPy's time: even one image is work here."
    return (
        f"NumPy's five calls for one image:       {1e6 * found.baseline.median_s:6.2f} µs\n"
        f"the same five calls on single numbers:  {share:6.0%} of that{found.mark}\n{said}"
    )


def hot_loops() -> dict[str, Assembly]:
    """The innermost loop of ``linear_relu`` before and after the reorder, for this machine."""
    _, _, fused, library = chains()
    return {each.name: assembly(each.functions[0].program) for each in (fused, library)}


def loop_said(name: str, found: Assembly) -> str:
    """A hot loop in one line: lanes, arithmetic, loads and stores."""
    arithmetic = found.histogram()["arithmetic"]
    return (
        f"{name:<14} {found.lanes:>2} float32 at a time; {arithmetic} arithmetic instructions, "
        f"{plural(found.loads, 'load')}, {plural(found.stores, 'store')}"
    )


def fusion_race(network: Network, batch: int) -> Comparison:
    """Two functions against five, all with their loops in the library's order."""
    _, five, _, two = chains(batch)
    five = replace(five, functions=tuple(map(along_rows, five.functions)))
    x = digits().images[:batch]
    slow, fast = (chain.prepared("machine code", network, x) for chain in (five, two))
    return compare({"two": fast}, ("five", slow), rounds=(100, 1000), budget_s=1)["two"]


def fusing_said(batch: int, found: Comparison) -> str:
    """Say what fusing alone changed: counted calls and bytes first, then the race."""
    five, two = chains(batch)[1:3]
    total = five.bytes(*five.between)
    fewer = total - two.bytes(*two.between)
    noun = "1 image: " if batch == 1 else f"{batch} images: "
    cache = max(describe().l2_bytes, describe().l3_bytes)
    fits = "fit" if total <= cache else "do not fit"
    return (
        f"{noun}{len(five.functions) - len(two.functions)} calls fewer, and {size_text(fewer)} of "
        f"{size_text(total)} less between functions.\n  These {size_text(total)} {fits} "
        f"into your largest cache ({size_text(cache)}); "
        f"{versus('two functions', found, 'five functions')}{found.mark}."
    )


def order_said(races: Mapping[int, Mapping[str, Comparison]]) -> str:
    """Say how fast each stage is, and what the order of the loops changed: a line a batch."""
    lines = []
    for batch, found in races.items():
        noun = "1 image" if batch == 1 else f"{batch} images"
        order = found["library"].ratio / found["two functions"].ratio
        lines.append(
            f"Speed, {noun} at a time: compiled as written {times(found['five functions'].ratio)} "
            f"NumPy's; the order of the loops made two functions {order:.1f} times as fast, "
            f"{times(found['library'].ratio)} NumPy's."
        )
    return "\n".join(lines)
