"""Barriers are where values cross threads, and nowhere else."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowered_graphs import few_steps, kernels

from mlc_course.mugraph.codegen.block_lowering import KernelLowering
from mlc_course.mugraph.kernels.index_expressions import Expr, var
from mlc_course.mugraph.kernels.kernel_program import (
    Barrier,
    Body,
    Buffer,
    Compute,
    Guard,
    Loop,
    Read,
    Statement,
    Threads,
    rewritten,
)
from mlc_course.mugraph.programs import PROGRAM_OF
from mlc_course.mugraph.thread_kernels.barriers import (
    barrier_count,
    fewest_by_trial,
    inward,
    merged,
    ordered,
    races,
    with_barriers,
    without_barrier,
)
from mlc_course.mugraph.thread_kernels.thread_lowering import Gpu, ThreadBlock

T, K = var("t"), var("k")
COUNT = 4
TILES = [Buffer(name, (COUNT,)) for name in "abc"]
A, B, C = TILES
RING = Buffer("ring", (2, COUNT))
OUT = Buffer("out", (COUNT,), "global")


def step(target: Buffer, source: Buffer, shift: int = 0) -> Threads:
    """Each thread reads an element, its own or one further on, and writes its own."""
    value = Read(source, ((T + shift) % COUNT,))
    return Threads("t", COUNT, (Compute(target, (T,), value),))


def fill(target: Buffer, *slot: Expr) -> Threads:
    return Threads("t", COUNT, (Compute(target, (*slot, T), Read(OUT, (T,))),))


def count(*body: Statement) -> int:
    return barrier_count(with_barriers(body))


def test_a_thread_does_not_wait_for_itself() -> None:
    assert count(fill(A), step(B, A), step(C, B)) == 0


def test_a_value_that_crosses_threads_needs_a_barrier() -> None:
    assert count(fill(A), step(B, A, 1)) == 1


def test_one_barrier_does_for_all_that_cross_it() -> None:
    assert count(fill(A), fill(B), step(C, A, 1), step(OUT, B, 1)) == 1


def test_a_loop_needs_a_barrier_at_its_end_for_what_the_next_iteration_overwrites() -> None:
    assert count(Loop("k", 3, (fill(A), step(OUT, A, 1)))) == 2
    assert count(Loop("k", 1, (fill(A), step(OUT, A, 1)))) == 1


def test_two_slots_save_the_barrier_at_the_end() -> None:
    other = Threads("t", COUNT, (Compute(OUT, (T,), Read(RING, (K % 2, (T + 1) % COUNT))),))
    assert count(Loop("k", 5, (fill(RING, K % 2), other))) == 1


def test_a_barrier_is_put_before_a_loop_and_not_into_it() -> None:
    body = with_barriers((fill(A), Loop("k", 4, (step(OUT, A, 1),))))
    assert isinstance(body[1], Barrier)
    assert barrier_count(body) == 1


def test_only_the_branch_that_is_taken_counts() -> None:
    first = Guard(K.is_equal(0), (step(B, A, 1),), (step(B, C),))
    assert count(Loop("k", 3, (first,))) == 0


def test_statements_move_up_to_where_they_need_no_barrier_of_their_own() -> None:
    body: Body = (fill(A), step(B, A, 1), fill(C), step(OUT, B, 1), step(OUT, C, 1))
    late = (fill(A), step(B, A, 1), step(OUT, B, 1), fill(C), step(OUT, C, 1))
    assert count(*body) == 2
    assert count(*late) == 3
    assert count(*ordered(late)) == 2


def test_all_ask_together_what_is_the_same_for_all() -> None:
    first = Guard(K.is_equal(0), (fill(A),), (step(A, B),))
    (loop,) = inward((Loop("k", 3, (first,)),))
    assert isinstance(loop, Loop)
    assert isinstance(loop.body[0], Threads)


steps = st.builds(step, st.sampled_from(TILES), st.sampled_from(TILES), st.integers(0, 1)).filter(
    lambda s: not races((s,)) and _is_single(s)
)


def _is_single(statement: Threads) -> bool:
    (inside,) = statement.body
    assert isinstance(inside, Compute) and isinstance(inside.value, Read)
    return inside.target != inside.value.buffer or inside.value.index == (T,)


@st.composite
def bodies(draw: st.DrawFn) -> Body:
    before = draw(st.lists(steps, max_size=2))
    inside = draw(st.lists(steps, max_size=3))
    after = draw(st.lists(steps, max_size=2))
    loop = (Loop("k", draw(st.integers(1, 3)), tuple(inside)),) if inside else ()
    return (*before, *loop, *after)


@pytest.mark.fuzz
@settings(max_examples=60)
@given(bodies())
def test_no_choice_of_fewer_barriers_is_free_of_races(body: Body) -> None:
    made = with_barriers(body)
    assert not races(made)
    runs_once = rewritten(made, lambda s: s.body if isinstance(s, Loop) and s.extent == 1 else (s,))
    for number in range(barrier_count(runs_once)):
        assert races(without_barrier(runs_once, number))
    if not any(isinstance(each, Loop) and each.extent > 1 for each in body):
        most = barrier_count(made)
        assert fewest_by_trial(body, most) == most


@pytest.mark.fuzz
@settings(max_examples=60)
@given(bodies())
def test_an_order_of_statements_never_needs_more(body: Body) -> None:
    assert barrier_count(with_barriers(ordered(body))) <= barrier_count(with_barriers(body))


# Of each kernel: barriers in the text, and how many of them are in the loop.
BARRIERS = {
    "rms_norm_matmul_fused": [(3, 2)],
    "gated_mlp_fused": [(1, 1)],
    "lora_fused": [(2, 0)],
    "lora_looped": [(2, 1)],
    "gqa_split_kv": [(3, 2), (1, 1)],
    "qk_norm_attention_fused": [(6, 4)],
    "n_trans_fused": [(4, 0)],
    "attention_fused": [(3, 2)],
    "online_softmax_attention": [(3, 3)],
    "attention_split_kv": [(3, 3), (1, 1)],
}


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_no_barrier_of_a_published_graph_can_be_left_out(name: str) -> None:
    counts = []
    for kernel in kernels(few_steps(name, 4), Gpu(stages=3)):
        assert not races(kernel.body)
        total = barrier_count(kernel.body)
        inside = sum(barrier_count(e.body) for e in kernel.body if isinstance(e, Loop))
        counts.append((total, inside))
        for number in range(total):
            assert races(without_barrier(kernel.body, number))
    assert counts == BARRIERS[name]


@pytest.mark.parametrize("name", ["lora_looped", "gated_mlp_fused", "rms_norm_matmul_fused"])
def test_fewer_barriers_do_not_do(name: str) -> None:
    small, gpu = few_steps(name, 3), Gpu(stages=2)
    for place, tiling in small.tilings.items():
        whole = KernelLowering(small.graph, place, tiling, partial(ThreadBlock, gpu, gpu.stages))
        body = ordered(inward(whole.kernel().body))
        assert fewest_by_trial(body, 3) == barrier_count(with_barriers(body))


def test_neighbours_become_one_statement() -> None:
    assert len(merged((fill(A), fill(B), Barrier(), fill(C)))) == 3
