"""Block graphs lowered for many threads: right values, no races, and nothing to spare."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from golden import Golden
from hypothesis import given, settings
from lowered_graphs import cut, few_steps, kernels, published_tilings, wrong
from small_graphs import SOFT_CAP, graphs, saved_graphs

from mlc_course.errors import SizeError
from mlc_course.mugraph.codegen.tilings import published_tiling
from mlc_course.mugraph.ir import FLOAT64, Builder, KernelGraph, ops, parse
from mlc_course.mugraph.kernel_checks.execution import values
from mlc_course.mugraph.kernel_checks.memory_faults import first_fault
from mlc_course.mugraph.kernel_checks.program_mutants import Mutant, kernel_mutants
from mlc_course.mugraph.kernel_checks.small_tilings import smaller
from mlc_course.mugraph.kernels.kernel_program import AwaitCopies, Copy, Kernel, walk
from mlc_course.mugraph.programs import PROGRAM_OF, published
from mlc_course.mugraph.thread_kernels.thread_lowering import Gpu, lower_for_threads

KERNELS = Path(__file__).parent / "kernels"
LOOPED = [name for name in PROGRAM_OF if next(iter(published(name).blocks))[1].loops]

MOST_ITERATIONS = {"gqa_split_kv": 4, "attention_split_kv": 4}  # more need more blocks, too
PIPELINES = [
    (name, iterations, stages)
    for name in LOOPED
    for iterations in range(1, MOST_ITERATIONS.get(name, 5) + 1)
    for stages in ((1, 2, 3) if iterations == 3 else (2, 3))
]


@pytest.mark.parametrize(("name", "iterations", "stages"), PIPELINES)
def test_a_pipeline_is_right_for_every_number_of_iterations(
    name: str, iterations: int, stages: int
) -> None:
    small = few_steps(name, iterations)
    assert not wrong(small.graph, small.tilings, Gpu(stages=stages))


@pytest.mark.parametrize("threads", [32, 256])
@pytest.mark.parametrize("name", PROGRAM_OF)
def test_a_block_may_have_any_number_of_warps(name: str, threads: int) -> None:
    small = few_steps(name, 2)
    assert not wrong(small.graph, small.tilings, Gpu(threads=threads))


SHORT = [
    ("rms_norm_matmul_fused", {"b": 5, "d": 40, "n": 28}, {"x": 10, "k": 16}),
    ("rms_norm_matmul_fused", {"b": 16, "d": 56, "n": 48}, {"x": 32, "k": 24}),
    ("gated_mlp_fused", {"b": 3, "d": 100, "n": 36}, {"x": 16, "k": 24}),
    ("lora_looped", {"b": 3, "d": 40, "n": 36, "r": 2}, {"x": 16, "k": 16}),
    ("attention_fused", {"m": 16, "n": 100, "d": 8, "v": 8}, {"y": 16, "k": 64}),
    ("online_softmax_attention", {"m": 6, "n": 40, "d": 8, "v": 8}, {"y": 4, "k": 16}),
    ("qk_norm_attention_fused", {"m": 6, "n": 37, "d": 8, "v": 5}, {"y": 4, "k": 10}),
]


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize(("name", "sizes", "tiles"), SHORT)
def test_last_steps_may_be_short(
    name: str, sizes: dict[str, int], tiles: dict[str, int], stages: int
) -> None:
    small = cut(name, sizes, tiles)
    assert any(each.short for tiling in small.tilings.values() for each in tiling.cuts)
    assert not wrong(small.graph, small.tilings, Gpu(threads=32, stages=stages))


@pytest.mark.fuzz
@settings(max_examples=40)
@given(graphs())
def test_random_block_graphs_are_right(graph: KernelGraph) -> None:
    assert not wrong(graph, {}, Gpu(threads=32, stages=2))


@pytest.mark.parametrize("file", ["rmsnorm_bs1", "lora"])
def test_graphs_that_a_search_found_are_right(file: str) -> None:
    for graph in saved_graphs(file)[:4]:
        small = smaller(graph, published_tilings(graph), 3)
        assert not wrong(small.graph, small.tilings, Gpu(stages=2))


def test_an_operator_of_the_users_own_is_lowered_as_any_other() -> None:
    builder = Builder("capped")
    x = builder.input("X", "b=8", "d=64")
    w = builder.input("W", "d", "n=32")
    with builder.block(grid={"x": 2}, loop={"k": 4}) as block:
        part = ops.matmul(block.load(x, fmap={"k": 1}), block.load(w, imap={"x": 1}, fmap={"k": 0}))
        y = block.store(SOFT_CAP(ops.accumulate(part), by="3"), omap={"x": 1})
    graph = builder.returns(y)
    assert not wrong(graph, {}, Gpu())


def test_tiles_that_a_loop_lays_side_by_side_are_stored_whole() -> None:
    graph = parse("""
beside(X[a=4, b=8]):
  block grid(x=2) loop(k=2):
    x = load(X, imap={x: 0}, fmap={k: 1})
    doubled = add(x, x)
    s = accumulate(doubled, fmap={k: 1})
    Y = store(s, omap={x: 0})
  return Y
""")
    assert not wrong(graph, {}, Gpu(threads=32))


def test_one_thread_of_a_row_writes_what_all_of_it_have() -> None:
    graph = parse("""
rows(X[a=8, b=64]):
  block grid(x=2) loop(k=2):
    x = load(X, imap={x: 0}, fmap={k: 1})
    s = sum(x, axis=1)
    total = accumulate(s)
    half = scale(total, by=1/2)
    Y = store(half, omap={x: 0})
    x_so_far = accumulate(x)
    z = div(x_so_far, total)
    Z = store(z, omap={x: 0})
  return Y, Z
""")
    assert not wrong(graph, {}, Gpu(threads=64))
    kernel = lower_for_threads(graph, 0, published_tiling(dict(graph.blocks)[0]), Gpu(threads=64))
    assert "% 16 == 0" in str(kernel)


# ---- what kernels are made of


def all_kernels(name: str, gpu: Gpu) -> list[Kernel]:
    """The kernels of a published graph at its own sizes."""
    graph = published(name)
    return [lower_for_threads(graph, place, tile, gpu) for place, tile in
            published_tilings(graph).items()]  # fmt: skip


def statements(kernel: Kernel, kind: type) -> list[object]:
    return [each for each in walk(kernel.body) if isinstance(each, kind)]


@pytest.mark.parametrize("name", LOOPED)
def test_looped_operands_are_copied_16_bytes_at_once(name: str) -> None:
    kernel = all_kernels(name, Gpu())[0]
    copies = [each for each in statements(kernel, Copy) if isinstance(each, Copy)]
    assert copies
    assert {each.width for each in copies} == {8}
    assert {each.target.role for each in copies} == {"storage"}


def test_a_ring_has_as_many_slots_as_memory_allows() -> None:
    slots = {}
    for shared_bytes in (96, 64, 48, 32):
        kernel = all_kernels("attention_fused", Gpu(stages=4, shared_bytes=1024 * shared_bytes))[0]
        assert kernel.shared_bytes <= 1024 * shared_bytes
        ring = next(each for each in kernel.shared if each.name == "k")
        slots[shared_bytes] = ring.shape[0] if len(ring.shape) == 4 else 1
    assert slots == {96: 4, 64: 3, 48: 2, 32: 1}


def test_tiles_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SizeError, match="shared memory of a block"):
        all_kernels("attention_fused", Gpu(shared_bytes=4096))


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_a_layout_that_is_not_plain_has_its_reason(name: str) -> None:
    for kernel in all_kernels(name, Gpu()):
        for buffer in kernel.shared:
            if buffer.strides or buffer.swizzle:
                assert any(each.startswith(f"{buffer.name}: ") for each in kernel.reasons)


# ---- what is refused

REFUSED = {
    "barrier": {"refused"},
    "await": {"refused"},
    "stage": {"refused"},
    "layout": {"refused", "the same"},
    "place": {"refused", "the same"},
}


def small_kernel(name: str, stages: int) -> Kernel:
    sizes = {
        "rms_norm_matmul_fused": ({"b": 4, "d": 40, "n": 16}, {"x": 8, "k": 8}),
        "gated_mlp_fused": ({"b": 4, "d": 40, "n": 16}, {"x": 8, "k": 8}),
        "online_softmax_attention": ({"m": 4, "n": 40, "d": 8, "v": 8, "h": 1}, {"y": 4, "k": 8}),
    }[name]
    (kernel,) = kernels(cut(name, *sizes), Gpu(threads=32, stages=stages))
    return kernel


def judged(kernel: Kernel, mutant: Mutant) -> str:
    """``refused``, or whether the values are ``the same`` or ``other`` ones."""
    if first_fault(mutant.kernel):
        return "refused"
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(each.shape) for each in kernel.inputs]
    right = values(kernel, inputs, FLOAT64)
    got = values(mutant.kernel, inputs, FLOAT64)
    same = all(np.allclose(a, b, equal_nan=True) for a, b in zip(right, got, strict=True))
    return "the same" if same else "other"


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize(
    "name", ["rms_norm_matmul_fused", "gated_mlp_fused", "online_softmax_attention"]
)
def test_what_breaks_the_order_of_accesses_is_refused(name: str, stages: int) -> None:
    kernel = small_kernel(name, stages)
    assert first_fault(kernel) is None
    verdicts: dict[str, Counter[str]] = {kind: Counter() for kind in REFUSED}
    for mutant in kernel_mutants(kernel):
        other_thread = "(t + " in mutant.where  # instead of another slot of a ring
        if mutant.kind in REFUSED and not other_thread:
            verdicts[mutant.kind][judged(kernel, mutant)] += 1
    for kind, allowed in REFUSED.items():
        assert verdicts[kind]["refused"]
        assert set(verdicts[kind]) <= allowed, (kind, verdicts[kind])


def test_every_wait_is_needed() -> None:
    kernel = small_kernel("rms_norm_matmul_fused", 3)
    assert statements(kernel, AwaitCopies) == [AwaitCopies(1)]


# ---- the text

TEXTS = {
    "rms_norm_matmul_fused": Gpu(),
    "online_softmax_attention": Gpu(),
    "n_trans_fused": Gpu(),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_of_a_kernel_is_as_recorded(name: str, golden: Golden) -> None:
    graph = published(name)
    tiling = published_tiling(dict(graph.blocks)[0])
    kernel = lower_for_threads(graph, 0, tiling, TEXTS[name])
    golden(KERNELS / f"{name}_threads.txt", f"{kernel}\n")
