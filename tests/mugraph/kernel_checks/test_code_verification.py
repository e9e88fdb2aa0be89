"""Right kernels are accepted with a bound, and mutants that compute something else are not."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import SEED, Tried

from mlc_course.errors import Undecided, UsageError
from mlc_course.mugraph.codegen.tilings import Tiling, cut_extent, published_tiling, retiled
from mlc_course.mugraph.cpu_kernels.cpu_cost import Cache, Rates
from mlc_course.mugraph.cpu_kernels.cpu_lowering import Cpu, lower
from mlc_course.mugraph.cpu_kernels.cpu_tilings import choices
from mlc_course.mugraph.ir import FLOAT64, KernelGraph, Number, parse, run
from mlc_course.mugraph.kernel_checks.code_verification import (
    CodeVerdict,
    compare_code,
    evaluate_tiled,
    run_kernels,
    verify_code,
)
from mlc_course.mugraph.kernel_checks.index_bounds import outside
from mlc_course.mugraph.kernel_checks.program_mutants import Mutant, kernel_mutants
from mlc_course.mugraph.kernel_checks.small_tilings import Smaller, differing_lines, smaller
from mlc_course.mugraph.kernels.index_expressions import Expr, const, var
from mlc_course.mugraph.kernels.kernel_program import (
    Apply,
    Axis,
    Buffer,
    Compute,
    Constant,
    Guard,
    Kernel,
    Loop,
    Read,
    Select,
    Threads,
    rewritten,
)
from mlc_course.mugraph.programs import PROGRAM_OF, published

CPU = Cpu(4, 16)
CACHES = (Cache(1 << 15, float("inf"), 1 << 12), Cache(1 << 20, 1e11, 1 << 16))
RATES = Rates(threads=1, lanes=4, instructions=8e9, caches=CACHES, memory=2e10)
MUTANTS = 28  # of each kernel
TILINGS = 24
# Tilings with short last steps, along the grid and in the loop.
RETILED: Mapping[str, Mapping[str, int]] = {
    "rms_norm_matmul_fused": {"x": 40, "k": 30},
    "gated_mlp_fused": {"x": 50, "k": 70},
    "lora_looped": {"x": 1500},
    "online_softmax_attention": {"y": 20, "k": 50},
    "qk_norm_attention_fused": {"y": 60, "k": 50},
}


def lowered(graph: KernelGraph, place: int, tiling: Tiling) -> Kernel:
    return lower(graph, place, tiling, CPU)


def tilings(
    graph: KernelGraph, tiles: Mapping[str, int] | None = None, *, panels: bool = False
) -> dict[int, Tiling]:
    """With ``panels``, all strips that several rows of register tiles use are packed."""
    found = {
        place: retiled(graph, place, tiles) if tiles else published_tiling(block)
        for place, block in graph.blocks
    }
    names = graph.names if panels else ()
    return {place: replace(each, panels=names) for place, each in found.items()}


def all_lowered(graph: KernelGraph, cuts: Mapping[int, Tiling]) -> dict[int, Kernel]:
    return {place: lowered(graph, place, cut) for place, cut in cuts.items()}


def checked(
    graph: KernelGraph, tiles: Mapping[str, int] | None = None, *, panels: bool = False
) -> CodeVerdict:
    cuts = tilings(graph, tiles, panels=panels)
    return verify_code(graph, all_lowered(graph, cuts), cuts, lowered, seed=SEED)


@pytest.mark.parametrize("panels", [False, True])
@pytest.mark.parametrize("name", PROGRAM_OF)
def test_published_kernels_are_equal_to_their_graphs(name: str, panels: bool) -> None:
    verdict = checked(published(name), panels=panels)
    assert verdict.equal, verdict
    assert 0 < verdict.error_bound <= 1e-9
    # a part of keys that is cut into fewer tiles is shorter, and the next one begins earlier
    assert bool(verdict.other_lines) == ("split" in name)


@pytest.mark.parametrize("name", RETILED)
def test_short_last_steps_are_equal_to_a_graph_with_such_tiles(name: str) -> None:
    verdict = checked(published(name), RETILED[name], panels=True)
    assert verdict.equal, verdict
    assert not verdict.other_lines
    assert any(cut.short for tiling in verdict.tilings.values() for cut in tiling.cuts)


@pytest.mark.slow
def test_any_tiling_on_any_machine_is_equal(tried: Tried) -> None:
    rng = random.Random(SEED)
    names = [name for name in PROGRAM_OF if len(list(published(name).blocks)) == 1]
    for _ in range(TILINGS):
        graph = published(rng.choice(names))
        (block,) = (block for _, block in graph.blocks)
        cuts = {axis: cut_extent(graph, 0, axis) for axis, _ in (*block.grid, *block.loops)}
        tiles = {
            a: min(rng.randint(1, 130), n) for a, n in cuts.items() if n and rng.random() < 0.7
        }
        cpu = Cpu(rng.choice((1, 4, 8, 16)), rng.choice((16, 32)), chains=rng.choice((1, 3, 4)))
        panels = rng.choice(((), graph.names))
        tiling = {0: replace(retiled(graph, 0, tiles), panels=panels)}

        def lowered_here(graph: KernelGraph, place: int, tiling: Tiling, cpu: Cpu = cpu) -> Kernel:
            return lower(graph, place, tiling, cpu)

        kernels = {0: lowered_here(graph, 0, tiling[0])}
        verdict = verify_code(graph, kernels, tiling, lowered_here, seed=SEED)
        assert verdict.equal, f"{graph.name}, {tiles}, {cpu}: {verdict}"
    tried("tilings of kernels", TILINGS)


def test_a_last_step_shorter_than_the_lanes_of_a_sum_is_lowered_right() -> None:
    assert checked(published("rms_norm_matmul_fused"), {"k": 35}).equal
    assert checked(published("attention_fused"), {"k": 45}).equal


BETWEEN = parse("""between(X[b=4, d=12], W[d, n=6]):
  halves = scale(X, by=1/2)
  block grid(x=2) loop(k=2):
    x = load(halves, fmap={k: 1})
    w = load(W, imap={x: 1}, fmap={k: 0})
    part = matmul(x, w)
    product = accumulate(part)
    weights = exp(product)
    Y = store(weights, omap={x: 1})
  total = sum(Y, axis=1)
  Z = div(Y, total)
  return Z
""")


def test_operators_outside_of_block_graphs_are_interpreted() -> None:
    verdict = checked(BETWEEN)
    assert verdict.equal, verdict


def test_a_graph_that_stays_too_large_is_not_decided() -> None:
    graph = BETWEEN.resized({"d": 12_000_000})
    with pytest.raises(Undecided, match="too large to be run over residues"):
        checked(graph)


def test_a_verdict_says_what_was_covered() -> None:
    said = str(checked(published("online_softmax_attention")))
    assert said.startswith("equal to its graph on h=2, m=32, d=64, n=192, v=64 with the same tiles")
    assert "(x=2, y=2, k=3)" in said and "missed with probability at most" in said


# ---- wrong kernels


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAM_OF)
def test_no_kernel_is_accepted_that_computes_something_else(name: str, tried: Tried) -> None:
    graph = published(name)
    small = smaller(graph, tilings(graph, panels=True))
    right = all_lowered(small.graph, small.tilings)
    inputs = [drawn(small.graph, factor) for factor in (1, 100)]
    with np.errstate(all="ignore"):
        want = [run(small.graph, each) for each in inputs]
    refused = 0
    some = [(place, each) for place, kernel in right.items() for each in picked(kernel)]
    for place, mutant in some:
        kernels = {**right, place: mutant.kernel}
        verdict = compare_code(small, kernels, seed=SEED)
        refused += not verdict.equal
        if verdict.equal:
            for given, expected in zip(inputs, want, strict=True):
                found = run_kernels(small.graph, kernels, list(given.values()), FLOAT64)
                assert close(found, expected), f"{mutant.kind}: {mutant.where}"
    tried("kernels with a mistake", len(some))
    assert len(some) >= MUTANTS - 5
    assert refused > 0.8 * len(some)


def picked(kernel: Kernel) -> list[Mutant]:
    """Some mutants, of every kind as many."""
    by_kind: dict[str, list[Mutant]] = {}
    for each in kernel_mutants(kernel):
        by_kind.setdefault(each.kind, []).append(each)
    each_kind = -(-MUTANTS // len(by_kind))
    rng = random.Random(SEED)
    return [m for some in by_kind.values() for m in rng.sample(some, min(each_kind, len(some)))]


def drawn(graph: KernelGraph, factor: float) -> dict[str, Any]:
    """Inputs; a large factor makes scores so large that exp overflows without a maximum."""
    rng = np.random.default_rng(SEED)
    return {
        name: rng.standard_normal(shape) * (factor if name in ("Q", "X") else 1)
        for name, shape in graph.input_shapes.items()
    }


def close(found: list[Any], expected: list[Any]) -> bool:
    return all(
        np.isnan(b).any() or np.abs(a - b).max() <= 1e-9 * np.abs(b).max()
        for a, b in zip(found, expected, strict=True)
    )


def changed(kernel: Kernel, kind: str, words: str) -> Kernel:
    """The first mutant of a kind whose change speaks of ``words``."""
    return next(m.kernel for m in kernel_mutants(kernel) if m.kind == kind and words in m.where)


def test_a_running_maximum_that_cancels_is_seen_all_the_same() -> None:
    graph = published("online_softmax_attention")
    small = smaller(graph, tilings(graph))
    (right,) = all_lowered(small.graph, small.tilings).values()
    fewer = changed(right, "store", "so_far[0, i, 0] = max(so_far")
    given = drawn(small.graph, 1)
    found = run_kernels(small.graph, {0: fewer}, list(given.values()), FLOAT64)
    assert close(found, run(small.graph, given))  # any maximum does, where no score is large
    verdict = compare_code(small, {0: fewer}, seed=SEED)
    assert not verdict.equal and "O differs in" in str(verdict)


def test_a_wrong_full_kernel_is_refused_by_its_bounds() -> None:
    graph = published("gated_mlp_fused")
    cuts = tilings(graph)
    wrong = all_lowered(graph, cuts)
    first = wrong[0]
    wrong[0] = replace(first, grid=tuple((axis, extent + 1) for axis, extent in first.grid))
    verdict = verify_code(graph, wrong, cuts, lowered, seed=SEED)
    assert not verdict.equal
    assert "W1, axis 1: 32*x + 12*s + c may be 0 to 4119, of 0 to 4095" in str(verdict)


def test_a_fault_is_what_a_verdict_says() -> None:
    graph = published("lora_fused")
    small = smaller(graph, tilings(graph))
    (right,) = all_lowered(small.graph, small.tilings).values()
    verdict = compare_code(small, {0: changed(right, "store", "Y[")}, seed=SEED)
    assert not verdict.equal and "is never written" in str(verdict)


def test_every_block_graph_needs_a_kernel_and_an_error_is_a_probability() -> None:
    graph = published("gqa_split_kv")
    cuts = tilings(graph)
    with pytest.raises(UsageError, match="kernels"):
        verify_code(graph, {}, cuts, lowered)
    with pytest.raises(UsageError, match="error"):
        verify_code(graph, all_lowered(graph, cuts), cuts, lowered, error=0)


# ---- small sizes


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_small_sizes_keep_tiles_and_lose_steps(name: str) -> None:
    for tiles in (None, RETILED.get(name)):
        graph = published(name)
        cuts = tilings(graph, tiles)
        small = smaller(graph, cuts)
        for place, block in graph.blocks:
            loops = dict(block.loops)
            for before, after in zip(cuts[place].cuts, small.tilings[place].cuts, strict=True):
                assert replace(after, steps=before.steps) == before
                least = min(before.steps, (3 if before.axis in loops else 2) + before.short)
                most = least + (4 if not before.tile else 0)
                assert least <= after.steps <= max(most, least) or before.short
        full = all_lowered(graph, cuts)
        other = all_lowered(small.graph, small.tilings)
        registers = [
            [each.shape for each in kernel.shared] for kernel in (*full.values(), *other.values())
        ]
        assert registers[: len(full)] == registers[len(full) :]


def test_a_kernel_with_panels_has_them_on_small_sizes_too() -> None:
    """Rows of 24 KiB share a set of the first cache, those of the small sizes do not."""
    graph = published("rms_norm_matmul_fused")
    best = choices(graph, CPU, RATES)[0]
    verdict = best.verified()
    assert "w_panel" in str(best.program) and "W in panels" in str(verdict)
    assert verdict.equal and not verdict.other_lines, verdict
    cut = retiled(graph, 0, {"x": 1024, "k": 64})
    packed = replace(cut, panels=("W",))
    wrong = verify_code(graph, {0: lowered(graph, 0, packed)}, {0: cut}, lowered, seed=SEED)
    assert wrong.other_lines  # what was checked is another kernel, and the verdict says so


def test_tiles_of_equal_parts_are_interpreted_as_the_graph_is() -> None:
    graph = published("online_softmax_attention")
    small = smaller(graph, tilings(graph))
    given = drawn(small.graph, 1)
    (ours,) = evaluate_tiled(small, list(given.values()), FLOAT64)
    assert np.array_equal(ours, run(small.graph, given)[0])


def test_a_short_last_tile_makes_no_difference_to_an_attention() -> None:
    graph = published("online_softmax_attention")
    cuts = tilings(graph, RETILED["online_softmax_attention"])
    small = smaller(graph, cuts)
    given = drawn(small.graph, 1)
    (ours,) = evaluate_tiled(small, list(given.values()), FLOAT64)
    np.testing.assert_allclose(ours, run(small.graph, given)[0])


def full_and_differing(
    name: str, tiles: Mapping[str, int] | None = None
) -> tuple[Kernel, Callable[[Kernel], list[str]]]:
    """A full kernel, and what lists the lines of another one that the small kernel has not."""
    graph = published(name)
    cuts = tilings(graph, tiles, panels=True)
    small = smaller(graph, cuts)
    full, other = lowered(graph, 0, cuts[0]), lowered(small.graph, 0, small.tilings[0])
    steps, sizes = (cuts[0], small.tilings[0]), (graph.size_of, small.graph.size_of)
    return full, lambda kernel: differing_lines(kernel, other, steps, sizes)


def test_statements_that_differ_are_listed() -> None:
    full, differing = full_and_differing("lora_looped")
    assert differing(full) == []
    assert len(differing(changed(full, "step", "W[64*k + l"))) == 1


@pytest.mark.parametrize(
    ("name", "tiles"),
    [("lora_looped", None), ("lora_looped", {"x": 1500}), ("rms_norm_matmul_fused", None)],
)
def test_no_mistake_at_full_size_alone_is_missed(
    name: str, tiles: Mapping[str, int] | None
) -> None:
    """Another number, guard, loop, layout: it is not within bounds, or it is listed."""
    full, differing = full_and_differing(name, tiles)
    for mutant in list(kernel_mutants(full))[::2]:
        listed = outside(mutant.kernel) or differing(mutant.kernel)
        assert listed, f"{mutant.kind}: {mutant.where}"


def test_what_a_full_kernel_declares_is_compared_too() -> None:
    full, differing = full_and_differing("rms_norm_matmul_fused", {"x": 40, "k": 30})
    first, *others = full.shared
    lines = {
        "threads": replace(full, threads=2),
        "shared memory": replace(full, shared=(replace(first, shape=(1, 1)), *others)),
        "arguments": replace(full, inputs=(replace(full.inputs[0], strides=(1, 4096)),)),
        "blocks x < 102": replace(full, grid=(("x", 102),)),
    }
    assert {differing(each)[0] for each in lines.values()} == set(lines)


def test_an_argument_is_as_large_at_full_size_as_was_declared() -> None:
    full, differing = full_and_differing("rms_norm_matmul_fused")

    def change(s: Any) -> tuple[Any, ...]:
        if isinstance(s, Compute) and s.target.name == "Y":
            s = replace(s, target=replace(s.target, shape=(32, 6144)))
        return (s,)

    assert len(differing(replace(full, body=rewritten(full.body, change)))) == 1


def test_a_constant_at_full_size_is_the_same_or_follows_a_size() -> None:
    full, differing = full_and_differing("rms_norm_matmul_fused")
    constants = [Fraction(1, 4096), Fraction(1, 4095), Fraction(-1, 4096), Fraction(1, 8192)]
    found = [differing(with_constant(full, each)) for each in constants]
    assert [len(each) for each in found] == [0, 1, 1, 1]


def with_constant(kernel: Kernel, number: Fraction) -> Kernel:
    """The kernel with another number in place of 1/4096."""

    def value(x: Any) -> Any:
        match x:
            case Constant(Number(coefficient)) if coefficient == Fraction(1, 4096):
                return Constant(Number(number))
            case Apply(name, args):
                return Apply(name, tuple(map(value, args)))
        return x

    def change(s: Any) -> tuple[Any, ...]:
        return (replace(s, value=value(s.value)),) if isinstance(s, Compute) else (s,)

    return replace(kernel, body=rewritten(kernel.body, change))


def test_a_kernel_has_the_arguments_of_its_graph() -> None:
    graph = published("lora_fused")
    cuts = tilings(graph)
    right = all_lowered(graph, cuts)
    first, *others = right[0].inputs
    larger = replace(first, shape=tuple(2 * n for n in first.shape))
    wrong = {0: replace(right[0], inputs=(larger, *others))}
    with pytest.raises(UsageError, match="arguments of the kernel"):
        verify_code(graph, wrong, cuts, lowered)


# ---- bounds at full size

N, K = var("n"), var("k")
A = Buffer("A", (10, 4), "global", "storage")
OUT = Buffer("Out", (8,), "global", "storage")
AXES = (Axis("n", 8),)


def copied(read: Any, axis: Axis, **more: Any) -> Kernel:
    body = (Compute(OUT, (N,), read, (axis,)),)
    return Kernel("k", (), 1, (A,), (OUT,), (), more.get("around", lambda b: b)(body))


def at(row: Any) -> Read:
    return Read(A, (row, N % 4))


def test_conditions_narrow_the_bounds_of_an_index() -> None:
    eight = Axis("n", 8)
    assert outside(copied(at(N + 2), eight)) is None
    assert outside(copied(at(N + 3), eight)) is not None
    assert outside(copied(Select(N < 7, at(N + 3), at(N)), eight)) is None
    assert outside(copied(Select(N < 8, at(N + 3), at(N)), eight)) is not None
    assert outside(copied(Select(N < 3, at(N), at(N + -3)), eight)) is None
    assert outside(copied(Select(N < 2, at(N), at(N + -3)), eight)) is not None


def test_guards_narrow_the_bounds_of_loops() -> None:
    def loop(condition: Any, row: Any) -> Kernel:
        return copied(at(row), Axis("n", 8),
                      around=lambda body: (Loop("k", 4, (Guard(condition, body),)),))  # fmt: skip

    assert outside(loop(K < 1, K * 8 + N)) is None
    assert outside(loop(K < 2, K * 8 + N)) is not None
    assert outside(loop(K.is_equal(3), K + -3 + N)) is None
    assert outside(loop(K.is_equal(2), K + -3 + N)) is not None


def test_conditions_narrow_the_bounds_of_sums() -> None:
    def rows(limit: int) -> Kernel:
        row = K * 8 + N
        chosen = Select(row < limit, at(row), Select(row < limit + 2, at(row + -2), at(N)))
        return copied(chosen, Axis("n", 8), around=lambda body: (Loop("k", 4, body),))

    assert outside(rows(10)) is None
    assert outside(rows(11)) is not None


def test_a_condition_on_a_sum_bounds_what_the_sum_is_a_part_of() -> None:
    n, k, t = N, K, var("t")
    rows = t // 4 + k * 2

    def part(limit: int) -> Kernel:
        body: tuple[Any, ...] = (Guard(rows < limit, (Compute(OUT, (n,), at(rows + n), AXES),)),)
        body = (Loop("k", 8, body),)
        return Kernel("k", (), 32, (A,), (OUT,), (), (Threads("t", 32, body),))

    # A has 10 rows, n goes to 7; the sum is split differently in the index
    assert outside(part(3)) is None
    assert outside(part(4)) is not None


def test_conditions_on_threads_are_looked_at_thread_by_thread() -> None:
    t = var("t")

    def lanes(condition: Expr, index: Expr) -> Kernel:
        return copied(
            at(index),
            Axis("n", 8),
            around=lambda body: (Threads("t", 32, (Guard(condition, body),)),),
        )

    assert outside(lanes(t % 4 < 2, t % 4 * 4 + 1)) is None
    assert outside(lanes(t % 4 < 3, t % 4 * 4 + 2)) is not None
    assert outside(lanes(t // 8 < 1, t % 16 + 2)) is None
    assert outside(lanes(t // 8 < 2, t % 16 + 2)) is not None
    # of an inner variable of the same name nothing is known
    renamed = (Loop("t", 32, (Guard(t < 2, (Compute(OUT, (N,), at(t % 4 * 4), AXES),)),)),)
    inside = (Threads("t", 2, (Guard(t < 1, renamed),)),)
    assert outside(Kernel("k", (), 1, (A,), (OUT,), (), inside)) is None


def test_of_equal_names_the_innermost_counts() -> None:
    inside = (Loop("n", 2, (Guard(K * 8 + N < 8, (Compute(OUT, (K * 8 + N,), at(N), AXES),)),)),)
    assert outside(Kernel("k", (("k", 2),), 1, (A,), (OUT,), (), inside)) is not None


@pytest.mark.parametrize("op", ["^", "//", "%"])
def test_what_has_no_bounds_is_not_shown_to_be_within_them(op: str) -> None:
    row = Expr(op, (N + -9, const(1 if op == "^" else -2)))
    assert outside(copied(at(row), Axis("n", 8))) is not None


def test_an_index_that_may_be_outside_says_how_far() -> None:
    found = outside(copied(at(N + 3), Axis("n", 8)))
    assert str(found) == (
        "A, axis 0: n + 3 may be 3 to 10, of 0 to 9 (at: Out[n] = A[n + 3, n % 4]    over n < 8)"
    )


def test_mutants_are_of_every_kind() -> None:
    graph = published("rms_norm_matmul_fused")
    small: Smaller = smaller(graph, tilings(graph))
    (right,) = all_lowered(small.graph, small.tilings).values()
    kinds = Counter(each.kind for each in kernel_mutants(right))
    assert set(kinds) == {
        "index", "step", "exchange", "iteration", "loop", "guard", "store", "combine", "layout",
        "place",
    }  # fmt: skip
