"""One kernel in several forms, each with one decision changed, and what each form costs.

The forms are: rows without gaps in shared memory, a barrier more, no copies ahead, another
grid. Each is right; they differ in what is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from mlc_course.errors import UsageError
from mlc_course.mugraph.codegen import (
    LOAD,
    BlockLowering,
    KernelLowering,
    Tiling,
    cut_extent,
    free_axes,
    live_nodes,
    published_tiling,
    retiled,
)
from mlc_course.mugraph.ir import LOOP, KernelGraph
from mlc_course.mugraph.kernel_checks import CodeVerdict, smaller, verify_code
from mlc_course.mugraph.kernels import (
    ZERO,
    Barrier,
    Body,
    Guard,
    Kernel,
    Loop,
    Statement,
    Threads,
    walk,
)
from mlc_course.mugraph.thread_kernels import (
    Cost,
    Gpu,
    kernel_cost,
    lower_for_threads,
    with_buffers,
)

GPU = Gpu(matrix_unit=True)
LOWERED, NO_SWIZZLE, ONE_MORE = "as lowered", "no swizzle", "a barrier more"
NOT_AHEAD, OTHER_GRID = "no copies ahead", "another grid"
KNOBS = (LOWERED, NO_SWIZZLE, ONE_MORE, NOT_AHEAD, OTHER_GRID)
Lower = Callable[[KernelGraph, int, Tiling], Kernel]


@dataclass(frozen=True)
class Counts:
    """The costs of a kernel, counted from its statements.

    ``wavefronts`` are those of a block, every iteration counted as the second one; ``least`` is the
    fewest that the same words could take. ``waits`` are the barriers that a block comes to.
    """

    blocks: int
    shared_bytes: int
    barriers: int
    waits: int
    wavefronts: int
    least: int
    loaded_bytes: int


@dataclass(frozen=True)
class Form:
    """A kernel of a graph's only block graph, and how to make it again for other sizes."""

    name: str
    graph: KernelGraph
    place: int
    tiling: Tiling
    lower: Lower
    kernel: Kernel

    @property
    def counts(self) -> Counts:
        """The kernel's costs."""
        kernel = self.kernel
        costs = list(costs_of(kernel, kernel.body))
        return Counts(
            blocks=kernel.blocks,
            shared_bytes=kernel.shared_bytes,
            barriers=sum(isinstance(each, Barrier) for each in walk(kernel.body)),
            waits=waits(kernel.body),
            wavefronts=sum(times * cost.wavefronts for times, cost in costs),
            least=sum(times * cost.least for times, cost in costs),
            loaded_bytes=loaded_bytes(self.graph, self.place, self.tiling),
        )

    def verified(self) -> CodeVerdict:
        """Compare the kernel with its graph over finite fields."""
        return verify_code(
            self.graph,
            {self.place: self.kernel},
            {self.place: self.tiling},
            self.lower,
            iterations=GPU.stages + 1,
        )

    def small(self) -> Form:
        """Return this form with the same tiles, but on few blocks and iterations."""
        made = smaller(self.graph, {self.place: self.tiling}, GPU.stages + 1)
        tiling = made.tilings[self.place]
        kernel = self.lower(made.graph, self.place, tiling)
        return replace(self, graph=made.graph, tiling=tiling, kernel=kernel)


def form(graph: KernelGraph, knob: str = LOWERED) -> Form:
    """Return the kernel of a graph, with one decision taken otherwise.

    Raises ``UsageError`` for an unknown knob, and for a graph of more or fewer than one kernel.
    """
    places = [place for place, _ in graph.blocks]
    if len(places) != 1 or len(graph.equations) != 1:
        raise UsageError(
            f"{graph.name}: kernels", expected="a graph of one kernel", got=len(graph.equations)
        )
    (place,) = places
    tiling = published_tiling(dict(graph.blocks)[place])
    lower: Lower = partial(lower_for_threads, gpu=GPU)
    if knob == OTHER_GRID:
        tiling = wider(graph, place)
    elif knob == NOT_AHEAD:
        lower = partial(lower_for_threads, gpu=replace(GPU, stages=1))
    elif knob == NO_SWIZZLE:
        lower = partial(_changed, plain_rows)
    elif knob == ONE_MORE:
        lower = partial(_changed, one_barrier_more)
    elif knob != LOWERED:
        raise UsageError("no such knob", expected=" | ".join(KNOBS), got=knob)
    return Form(knob, graph, place, tiling, lower, lower(graph, place, tiling))


def forms(graph: KernelGraph) -> Mapping[str, Form]:
    """Return the kernel with every knob."""
    return {knob: form(graph, knob) for knob in KNOBS}


def _changed(
    change: Callable[[Kernel], Kernel], graph: KernelGraph, place: int, tiling: Tiling
) -> Kernel:
    return change(lower_for_threads(graph, place, tiling, GPU))


def wider(graph: KernelGraph, place: int) -> Tiling:
    """Return the tiling with steps twice as wide along the first grid axis that allows it.

    Raises ``UsageError`` where no axis does.
    """
    block = dict(graph.blocks)[place]
    free = free_axes(graph, place)
    for axis, steps in block.grid:
        total = cut_extent(graph, place, axis)
        if axis in free.grid and total and steps > 1:
            return retiled(graph, place, {axis: 2 * (total // steps)})
    raise UsageError(f"{graph.name}: no grid axis can be cut otherwise", expected="one", got="none")


def plain_rows(kernel: Kernel) -> Kernel:
    """Return a kernel whose tiles lie in shared memory row behind row, without gap or swizzle."""
    plain = {each.name: replace(each, strides=(), swizzle=None) for each in kernel.shared}
    shared = tuple(plain[each.name] for each in kernel.shared)
    return replace(kernel, shared=shared, body=with_buffers(kernel.body, plain), reasons=())


def one_barrier_more(kernel: Kernel) -> Kernel:
    """Return a kernel with a barrier at the end of each loop over the graph's iterations."""

    def longer(body: Body) -> Body:
        return tuple(
            replace(each, body=(*longer(each.body), Barrier())) if isinstance(each, Loop) else each
            for each in body
        )

    return replace(kernel, body=longer(kernel.body))


def without_barriers(kernel: Kernel, numbers: frozenset[int] | set[int]) -> Kernel:
    """Return a kernel without some of its barriers, which are numbered from 0 down the text.

    Raises ``UsageError`` for a number that no barrier has.
    """
    count = sum(isinstance(each, Barrier) for each in walk(kernel.body))
    if not numbers <= set(range(count)):
        raise UsageError("no such barrier", expected=f"0 to {count - 1}", got=sorted(numbers))
    seen = iter(range(count))

    def left(body: Body) -> Body:
        found = list[Statement]()
        for each in body:
            match each:
                case Barrier():
                    if next(seen) not in numbers:
                        found.append(each)
                case Loop() | Threads():
                    found.append(replace(each, body=left(each.body)))
                case Guard():
                    body_, otherwise = left(each.body), left(each.otherwise)
                    found.append(replace(each, body=body_, otherwise=otherwise))
                case _:
                    found.append(each)
        return tuple(found)

    return replace(kernel, body=left(kernel.body))


def waits(body: Body) -> int:
    """Return how many barriers a block comes to, at most."""
    if len(body) > 1 and all(isinstance(each, Guard) for each in body):
        return max(waits((each,)) for each in body)  # a body for every last step: a block runs one
    total = 0
    for each in body:
        match each:
            case Barrier():
                total += 1
            case Loop():
                total += each.extent * waits(each.body)
            case Guard():
                total += max(waits(each.body), waits(each.otherwise))
    return total


def costs_of(
    kernel: Kernel, body: Body, around: tuple[Loop, ...] = ()
) -> Iterator[tuple[int, Cost]]:
    """Yield each statement's cost in shared memory, and how often a block comes to it."""
    for each in body:
        if isinstance(each, Loop):
            yield from costs_of(kernel, each.body, (*around, each))
            continue
        nest: Statement = each
        for loop in reversed(around):
            nest = replace(loop, body=(nest,))
        times = math.prod(loop.extent for loop in around)
        yield times, kernel_cost(replace(kernel, body=(nest,)), GPU.bytes_of)


def loaded_bytes(graph: KernelGraph, place: int, tiling: Tiling) -> int:
    """Return the bytes of tiles that all blocks load together."""
    block = dict(graph.blocks)[place]
    whole = KernelLowering(graph, place, tiling, BlockLowering)
    tiles = whole.tiles({axis: ZERO for axis, _ in whole.grid}, ())
    live = live_nodes(tiles)
    steps = math.prod(tiling[loop].steps for loop, _ in block.loops)
    blocks = math.prod(tiling[axis].steps for axis, _ in block.grid)
    elements = sum(
        math.prod(node.shape) * (steps if node.stage == LOOP else 1)
        for node in tiles.nodes
        if node in live and node.kind == LOAD
    )
    return blocks * elements * GPU.storage_bytes


def crowded(kernel: Kernel) -> Kernel:
    """Return a kernel with a barrier at every place that all threads of a block come to."""

    def between(body: Body) -> Body:
        found: list[Statement] = [Barrier()]
        for each in body:
            if isinstance(each, Loop):
                each = replace(each, body=between(each.body))
            if isinstance(each, Barrier):
                continue
            found.append(each)
            if isinstance(each, Loop | Threads):
                found.append(Barrier())
        return tuple(found)

    return replace(kernel, body=between(kernel.body))
