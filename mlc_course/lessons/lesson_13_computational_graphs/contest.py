"""What the lesson races and counts: three versions of the network, with the same inner loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlc_course.machine import describe
from mlc_course.measure import Comparison
from mlc_course.tensor_program.ladders import speedup
from mlc_course.tensor_program.memory import Cache, count
from mlc_course.tensor_program.networks import HIDDEN, digits, graph, passes, race_graphs, train
from mlc_course.tensor_program.problems import Array, aligned
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import IRModule, Schedule
from mlc_course.units import size_text

FIVE, TWO, MERGED = "five kernels", "two kernels", "one nest each"
L1, L2 = 32 << 10, 1 << 20  # where the system does not tell its caches
MOST_IMAGES = 8192
FLOAT = 4


def rows(sch: Schedule) -> None:
    """Let the columns run innermost, as lesson 5 does, and leave the nests where they are."""
    steps.reorder(sch, "matmul", "i0", "k", "i1")
    steps.hoist_init(sch, "matmul", "k")


def one_nest(sch: Schedule, last: str) -> None:
    """Finish each row in the loop that computes it, where the block ``last`` reads the product."""
    steps.reorder(sch, "matmul", "i0", "k", "i1")
    steps.fuse_consumer(sch, last, into="matmul", at="i0")
    steps.hoist_init(sch, "matmul", "k")


def hidden_layer(sch: Schedule) -> None:
    """One nest for matmul, add and relu."""
    steps.inline(sch, "T_add")
    one_nest(sch, "compute")


def last_layer(sch: Schedule) -> None:
    """One nest for matmul and add."""
    one_nest(sch, "T_add")


NESTS: dict[str, Callable[[Schedule], None]] = {
    "fused_matmul_add_relu": hidden_layer,
    "fused_matmul1_add1": last_layer,
}
ONE_NEST = passes.Pass(
    MERGED,
    "Your schedule: in each kernel the nests become one, and its arrays shrink to a row.",
    lambda module: passes.with_schedules(module, NESTS),
)


def versions(written: IRModule) -> dict[str, IRModule]:
    """Five kernels, two, and two of one nest each; every matmul has the same inner loops."""
    five = passes.run(written, *passes.LOWERING)
    two = passes.run(five, *passes.FUSION)
    return {
        FIVE: passes.with_schedules(five, dict.fromkeys(("matmul", "matmul1"), rows)),
        TWO: passes.with_schedules(two, dict.fromkeys(NESTS, rows)),
        MERGED: ONE_NEST.apply(two),
    }


# --- racing ---------------------------------------------------------------------------------------


def many_images() -> Array:
    """So many images that one intermediate is twice this machine's second cache, at most 8192."""
    images = digits().images
    wanted = 2 * (describe().l2_bytes or L2) // (FLOAT * HIDDEN)
    wanted = min(max(wanted, len(images)), MOST_IMAGES)
    return aligned(np.resize(images, (wanted, images.shape[1])))


def sizes(images: Array) -> str:
    """Say how large an intermediate of these images is beside this machine's second cache."""
    here = describe()
    known = f"{here.l2_bytes >> 10} KiB" if here.l2_bytes else f"perhaps {L2 >> 10} KiB"
    each = size_text(FLOAT * HIDDEN * len(images))
    return f"{len(images):,} images: {each} for each of a, b and h; your second cache: {known}"


def race(programs: Mapping[str, IRModule], images: Array) -> dict[str, Comparison]:
    """Check versions of the network and time them beside NumPy on these images, on one thread."""
    trained = train()
    weights = dict(zip(("w1", "b1", "w2", "b2"), trained.weights, strict=True))
    return race_graphs(programs, {"x": images, **weights}, lambda: trained.numpy(images))


def verdict(found: Mapping[str, Comparison], name: str, *, over: str) -> str:
    """Say in a sentence whether one is faster than the other, as far as the race can tell."""
    beside = speedup(found, name, over=over)
    low, high = beside.interval
    told = f"95 % interval {low:.2f} to {high:.2f}{beside.mark}"
    if low > 1:
        return f"{name}: {beside.ratio:.2f} times as fast as {over} ({told})"
    if high < 1:
        told = f"95 % interval {1 / high:.2f} to {1 / low:.2f}{beside.mark}"
        return f"{name}: slower, {1 / beside.ratio:.2f} times the time of {over} ({told})"
    return f"{name}: this race cannot tell its speed from that of {over} ({told})"


def saved_per_launch(found: Mapping[str, Comparison], launches: int) -> str:
    """Say what one of these launches costs, which two kernels do without."""
    (low, high), five = speedup(found, TWO, over=FIVE).interval, found[FIVE].timing.median_s
    least, most = (1e6 * five * (1 - 1 / ratio) / launches for ratio in (low, high))
    if least <= 0:
        return f"a launch costs less than this race can see: at most {max(most, 0):.2f} µs"
    return f"a launch costs {least:.2f} to {most:.2f} µs"


# --- counting -------------------------------------------------------------------------------------


def counted(programs: Mapping[str, IRModule]) -> dict[str, tuple[int, int, int]]:
    """Launches of each version, and the bytes that its kernels fetch into L1 and into L2.

    The caches have this machine's sizes, rounded down to powers of two, and are empty when a
    kernel begins.
    """
    here = describe()
    caches = [Cache(_power(size)) for size in (here.l1d_bytes or L1, here.l2_bytes or L2)]
    found = {}
    for name, program in programs.items():
        counts = [count(each, *caches) for each in passes.kernels(program).values()]
        moved = [sum(each[level].bytes_moved for each in counts) for level in (0, 1)]
        found[name] = len(graph(program).kernels), moved[0], moved[1]
    return found


def _power(size: int) -> int:
    """The largest power of two that is not above a size."""
    return 1 << (size.bit_length() - 1)


def count_lines(found: Mapping[str, tuple[int, int, int]]) -> str:
    """A line for each version with its launches and bytes."""
    return "\n".join(
        f"{name:<14} {launches} launch{'es' * (launches > 1):<2}   into L1 {size_text(first):>8}   "
        f"into L2 {size_text(second):>8}"
        for name, (launches, first, second) in found.items()
    )


def where_it_went(found: Mapping[str, tuple[int, int, int]]) -> str:
    """Say which of the two changes spares the second cache, from the counts."""
    five, two, merged = (found[name][2] for name in (FIVE, TWO, MERGED))
    by_grouping, by_merging = five - two, two - merged
    more = "merging the nests" if by_merging > by_grouping else "grouping the operators"
    return (
        f"of what five kernels fetch into L2, two kernels fetch {two / five:.0%} and one nest each "
        f"{merged / five:.0%}: {more} spares more"
    )


def arrays_moved(module: IRModule, array_bytes: int) -> int:
    """Return how many arrays of this size the kernels of a module read and write."""
    drawn = graph(module)
    total = 0
    for nodes in drawn.kernels.values():
        own = {node.name for node in nodes}
        outside = {name for node in nodes for name in node.operands} - own
        total += sum(drawn.values[name].bytes == array_bytes for name in outside)
        total += sum(
            node.result.bytes == array_bytes
            and (
                node.name in drawn.outputs
                or any(r.name not in own for r in drawn.readers(node.name))
            )
            for node in nodes
        )
    return total


def pass_lines(module: IRModule, applied: list[Any]) -> str:
    """A line for each pass: kernels to launch, bytes between kernels and inside, constants."""
    lines, names = [], ["as written", *(each.name for each in applied)]
    for name, each in zip(names, [None, *applied], strict=True):
        module = each.apply(module) if each else module
        now = graph(module)
        lines.append(
            f"{name:<22}{len(now.kernels):>2} kernels   "
            f"between {size_text(now.bytes_between):>8}   "
            f"inside {size_text(now.bytes_inside):>8}   "
            f"constant {size_text(now.bytes_constant):>8}"
        )
    return "\n".join(lines)
