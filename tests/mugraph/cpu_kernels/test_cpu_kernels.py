"""Block graphs as kernels for a CPU: right at every size, on every tiling, for every operator."""

from __future__ import annotations

import itertools
import random
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden import Golden
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import FILES, MEDIUM, saved_graphs, small

from mlc_course.errors import UsageError
from mlc_course.machine import describe
from mlc_course.mugraph.codegen import (
    cut_extent,
    free_axes,
    in_blocks,
    program_of,
    published_tiling,
    retiled,
)
from mlc_course.mugraph.cpu_kernels import Cpu, CpuProgram, cpu_of, lower
from mlc_course.mugraph.cpu_kernels.cpu_cost import Cache, Rates, estimate
from mlc_course.mugraph.cpu_kernels.cpu_tilings import candidates, ranked_tilings
from mlc_course.mugraph.ir import KernelGraph, Op, ops, parse
from mlc_course.mugraph.ir.ops import elementwise
from mlc_course.mugraph.kernel_checks import first_fault
from mlc_course.mugraph.kernels.kernel_program import Allocate, Compute, Loop, walk
from mlc_course.mugraph.programs import MODELS, NAMES, PROGRAM_OF, published, workload
from mlc_course.mugraph.runtime import check, compile_graph, random_inputs

KERNELS = Path(__file__).parent / "kernels"
CPU = cpu_of(describe())
OPERATORS = [op for op in ops.OPERATORS if not op.carried]


def one_step(graph: KernelGraph) -> KernelGraph:
    """The graph with one step along every axis that may have any number of steps."""
    equations = list(graph.equations)
    for place, block in graph.blocks:
        free = free_axes(graph, place)
        equations[place] = replace(
            equations[place],
            op=replace(
                block,
                grid=tuple((a, 1 if a in free.grid else n) for a, n in block.grid),
                loops=tuple((a, 1 if a in free.loops else n) for a, n in block.loops),
            ),
        )
    return replace(graph, equations=tuple(equations))


def agrees(
    graph: KernelGraph,
    tiles: dict[int, dict[str, int]] | None = None,
    cpu: Cpu = CPU,
    *,
    panels: bool = False,
) -> None:
    """Check a graph, compiled with these tiles by place, against the interpreter."""
    whole = in_blocks(graph)
    cuts = [retiled(whole, place, (tiles or {}).get(place, {})) for place, _ in whole.blocks]
    tilings = [replace(each, panels=whole.names if panels else ()) for each in cuts]
    kernels = [lower(whole, place, each, cpu) for place, each in enumerate(tilings)]
    lowered = CpuProgram(program_of(whole, kernels), tuple(tilings), cpu, ())
    compiled = compile_graph(graph, threads=1, lowered=lowered)
    inputs = random_inputs(graph)
    found = check(graph, inputs, compiled(**inputs))
    assert found.passed, f"{graph}\n{compiled.program}\n{found}"


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_published_graphs_are_right(name: str) -> None:
    agrees(small(published(name), MEDIUM))


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_graphs_that_mirage_saved_are_right(file: str) -> None:
    for graph in dict.fromkeys(saved_graphs(file)):
        agrees(small(graph, MEDIUM))


@pytest.mark.parametrize("name", (*NAMES, *MODELS))
def test_programs_are_right_operator_by_operator(name: str) -> None:
    agrees(small(workload(name), MEDIUM))


ALONE = {
    "matmul": "Y = matmul(X, X2)",
    "accumulate": "",
    "scale": "Y = scale(X, by=1/3)",
    "shift": "Y = shift(X, by=0.7)",
    "clamp": "Y = clamp(X, low=-0.5, high=0.25)",
    "fold": "Y = fold(X, axis=1, to=7)",
    "rms_norm": "Y = rms_norm(X, axis=1, eps=0.01)",
    "repeat": "Y = repeat(X, axis=0, times=3)",
    "reshape": "Y = reshape(X, shape=[7, 35])",
    "transpose": "Y = transpose(X, axes=[1, 0])",
    "concat": "Y = concat(X, W, axis=1)",
    "split": "Y = split(X, axis=1, parts=5, part=3)",
    "sum": "Y = sum(X, axis={axis})",
    "mean": "Y = mean(X, axis={axis})",
    "max": "Y = max(X, axis={axis})",
    "softmax": "Y = softmax(X, axis={axis})",
    "stable_softmax": "Y = stable_softmax(X, axis={axis})",
    "log": "Y = log(P)",
    "sqrt": "Y = sqrt(P)",
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", OPERATORS, ids=str)
def test_every_operator_alone(op: Op, axis: int) -> None:
    two = op.operands == 2
    line = ALONE.get(op.name, f"Y = {op.name}({'X, W' if two else 'X'})").format(axis=axis)
    if op.name == "matmul":
        text = "alone(X[a=7, b=35], X2[b, c=19]):"
    else:
        text = "alone(X[a=7, b=35], W[a, b]):" if "W" in line else "alone(X[a=7, b=35]):"
    lines = [text, f"  {line}", "  return Y", ""]
    if "P)" in line:
        lines.insert(1, "  Q = mul(X, X)\n  P = shift(Q, by=0.1)")
    agrees(parse("\n".join(lines)))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_any_tiling_of_any_sizes_is_right(seed: int) -> None:
    rng = random.Random(seed)
    graph = one_step(published(rng.choice([*PROGRAM_OF])))
    sizes = (1, 2, 3, 5, 7, 11, 16, 17, 23, 31, 33, 40, 64, 97)
    fixed = "split_kv" in graph.name  # its parts are of equal extent
    given_sizes = {
        name: size if size == 1 else 2 if name == "h" else 64 if fixed else rng.choice(sizes)
        for name, size in graph.sizes
    }
    graph = graph.resized(given_sizes)
    tiles = {}
    for place, _ in graph.blocks:
        free = free_axes(graph, place)
        extents = {axis: cut_extent(graph, place, axis) for axis in free.grid | free.loops}
        tiles[place] = {axis: rng.randint(1, n) for axis, n in extents.items() if n}
    cpu = replace(CPU, lanes=rng.choice([4, 8, 16]), registers=rng.choice([16, 32]))
    agrees(graph, tiles, cpu, panels=rng.random() < 0.5)


def test_a_new_operator_compiles_without_another_line() -> None:
    def softplus(m, x):  # type: ignore[no-untyped-def]
        return m.function("log", 1 + m.exp(x))

    own = Op("softplus", elementwise, softplus)
    text = "own(X[a=9, b=21], W[b, c=13]):\n  p = matmul(X, W)\n  Y = softplus(p)\n  return Y\n"
    agrees(parse(text, (*ops.OPERATORS, own)))


@pytest.mark.parametrize(
    "meaning", [lambda m, x: np.sin(x), lambda m, x: x.real, lambda m, x: m.no_such_function(x)]
)
def test_a_meaning_outside_of_the_arithmetic_is_refused(meaning: Any) -> None:
    own = Op("own", elementwise, meaning)
    graph = parse("one(X[a=9, b=21]):\n  Y = own(X)\n  return Y\n", (*ops.OPERATORS, own))
    with pytest.raises(UsageError, match="operator own: its meaning is not lowered"):
        compile_graph(graph, threads=1)


def test_axes_that_may_have_any_number_of_steps() -> None:
    fused = free_axes(published("rms_norm_matmul_fused"), 0)
    assert (fused.grid, fused.loops, fused.assumed) == ({"x"}, {"k"}, frozenset())
    online = free_axes(published("online_softmax_attention"), 0)
    assert (online.grid, online.loops, online.assumed) == ({"x", "y"}, {"k"}, {"k"})
    # Parts of the keys make the first kernel's outputs as large as there are parts.
    assert free_axes(published("gqa_split_kv"), 0).grid == {"x", "z"}


WITH_A_MEAN = """\
    means(X[b=4, d=64]):
      block grid(x=4) loop(k=4):
        x = load(X, imap={x: 0}, fmap={k: 1})
        means = mean(x, axis=1)
        total = accumulate(means)
        Y = store(total, omap={x: 0})
      return Y
"""


def test_a_loop_whose_steps_count_keeps_its_number_of_steps() -> None:
    graph = parse(textwrap.dedent(WITH_A_MEAN))
    assert free_axes(graph, 0).loops == frozenset()
    agrees(graph)


DIAGONAL_BLOCKS = """\
    gram(X[n=8, d=4]):
      block grid(x=2):
        x = load(X, imap={x: 0})
        t = transpose(x, axes=[1, 0])
        p = matmul(x, t)
        Y = store(p, omap={x: 0})
      return Y
"""
DIAGONAL_BLOCKS_SUMMED = """\
    gram(X[n=8, d=4]):
      block grid(x=1) loop(k=2):
        x = load(X, fmap={k: 0})
        t = transpose(x, axes=[1, 0])
        p = matmul(x, t)
        s = sum(p, axis=1)
        total = accumulate(s)
        Y = store(total)
      return Y
"""
ALONG_ANOTHER_DIMENSION = """\
    stacked(X[m=4, n=8]):
      block grid(x=1) loop(k=2):
        x = load(X, fmap={k: 1})
        both = accumulate(x, fmap={k: 0})
        Y = store(both)
      return Y
"""
UNDER_EACH_OTHER = """\
    stacked(X[m=8, n=8]):
      block grid(x=2) loop(k=2):
        x = load(X, imap={x: 0}, fmap={k: 1})
        both = accumulate(x, fmap={k: 0})
        Y = store(both, omap={x: 0})
      return Y
"""
TWO_LOOPS_UNDER_EACH_OTHER = """\
    stacked(X[m=8, n=8]):
      block grid(x=1) loop(j=2, k=4):
        x = load(X, fmap={j: 0, k: 1})
        all = accumulate(x, fmap={j: 0, k: 0})
        Y = store(all)
      return Y
"""
KNOWN_EXTENT = """\
    known(X[n=12, 1], V[n]):
      block grid(x=1):
        x = load(X, imap={x: 0})
        v = load(V, imap={x: 0})
        flat = reshape(x, shape=[n])
        same = reshape(v, shape=[n])
        y = add(flat, same)
        Y = store(y, omap={x: 0})
      return Y
"""


@pytest.mark.parametrize(
    "text",
    [
        DIAGONAL_BLOCKS,
        DIAGONAL_BLOCKS_SUMMED,
        ALONG_ANOTHER_DIMENSION,
        UNDER_EACH_OTHER,
        TWO_LOOPS_UNDER_EACH_OTHER,
        KNOWN_EXTENT,
    ],
)
def test_axes_whose_steps_make_the_shape_keep_their_number_of_steps(text: str) -> None:
    graph = parse(textwrap.dedent(text))
    free = free_axes(graph, 0)
    assert not free.grid | free.loops
    agrees(graph)


@pytest.mark.parametrize("shapes", [("a=100", "a"), ("a=100, 1", "a"), ("a=100, 1, 1", "a")])
def test_a_reshape_is_not_cut(shapes: tuple[str, str]) -> None:
    before, after = shapes
    graph = in_blocks(parse(f"r(X[{before}]):\n  Y = reshape(X, shape=[{after}])\n  return Y\n"))
    free = free_axes(graph, 0)
    assert not free.grid | free.loops
    agrees(graph)


SO_FAR = """\
    below(X[m=4, n=64]):
      block grid(x=1) loop(k=4):
        x = load(X, fmap={k: 1})
        largest = max(x, axis=1)
        so_far = running_max(largest)
        below = sub(x, so_far)
        all = accumulate(below, fmap={k: 1})
        Y = store(all)
      return Y
"""


def test_what_depends_on_a_running_value_keeps_its_number_of_steps() -> None:
    graph = parse(textwrap.dedent(SO_FAR))
    assert free_axes(graph, 0).assumed == {"k"}
    assert {tiling["k"].steps for tiling in candidates(graph, 0, 1)} == {4}
    agrees(graph)


TWO_LOOPS = """\
    total(X[a=8, b=12], W[b, c=3]):
      block grid(x=1) loop(j=2, k=2):
        x = load(X, fmap={j: 0, k: 1})
        w = load(W, fmap={k: 0})
        p = matmul(x, w)
        rows = accumulate(p, fmap={j: 0})
        s = sum(x, axis=0)
        t = sum(s, axis=1)
        total = accumulate(t)
        y = add(rows, total)
        Y = store(y)
      return Y
"""


@pytest.mark.parametrize("j", [1, 3, 4, 7, 8])
@pytest.mark.parametrize("k", [1, 5, 6, 11, 12])
def test_two_loops_may_both_have_a_short_last_step(j: int, k: int) -> None:
    graph = parse(textwrap.dedent(TWO_LOOPS))
    assert free_axes(graph, 0).loops == {"j", "k"}
    kernel = lower(graph, 0, retiled(graph, 0, {"j": j, "k": k}), CPU)
    assert first_fault(kernel) is None
    agrees(graph, {0: {"j": j, "k": k}})


def test_a_load_that_nothing_reads_does_not_matter() -> None:
    text = """\
        unread(X[a=32, b=40], Z[c=64]):
          block grid(x=2) loop(k=2):
            x = load(X, imap={x: 0}, fmap={k: 1})
            z = load(Z, imap={x: 0}, fmap={k: 0})
            s = sum(x, axis=1)
            t = accumulate(s)
            Y = store(t, omap={x: 0})
          return Y
    """
    graph = parse(textwrap.dedent(text))
    for tiling in candidates(graph, 0, 2):
        assert first_fault(lower(graph, 0, tiling, CPU)) is None
    agrees(graph)


def test_tensors_may_have_any_number_of_axes() -> None:
    sizes = ", ".join(f"{name}=2" for name in "abcdefgh")
    text = f"many(X[{sizes}]):\n  E = exp(X)\n  S = sum(E, axis=3)\n  Y = div(E, S)\n  return Y\n"
    agrees(parse(text))


@pytest.mark.parametrize("names", ["ijmnpq", "abclmnpq", "cdlmnpq", "rcluvw", "sth", "abcdefgh"])
def test_loops_may_have_any_names(names: str) -> None:
    first, second, *others = names
    text = f"""\
        named(X[a=4, b=4, c=80], W[a, c, d=4]):
          block grid(x=1) loop({", ".join(f"{name}=2" for name in names)}):
            x = load(X, fmap={{{first}: 0, {second}: 1}})
            w = load(W, fmap={{{first}: 0}})
            e = exp(x)
            s = sum(e, axis=2)
            p = matmul(x, w)
            c = sum(x, axis=1)
            sums = accumulate(s, fmap={{{first}: 0}})
            products = accumulate(p)
            columns = accumulate(c)
            S = store(sums)
            P = store(products)
            C = store(columns)
          return S, P, C
    """
    agrees(parse(textwrap.dedent(text)))


NOT_LINEAR = """\
    shares(X[b=4, d=64]):
      block grid(x=4) loop(k=4):
        x = load(X, imap={x: 0}, fmap={k: 1})
        sums = sum(x, axis=1)
        squares = square(sums)
        total = accumulate(squares)
        Y = store(total, omap={x: 0})
      return Y
"""


def test_a_loop_over_squares_of_sums_keeps_its_number_of_steps() -> None:
    graph = parse(textwrap.dedent(NOT_LINEAR))
    assert free_axes(graph, 0).loops == frozenset()
    agrees(graph)


@pytest.mark.parametrize("isa", ["AVX-512", "AVX2", "NEON"])
def test_register_tiles_fit_the_registers(isa: str) -> None:
    lanes, registers = {"AVX-512": (16, 32), "AVX2": (8, 16), "NEON": (4, 32)}[isa]
    cpu = Cpu(lanes, registers)
    for rows in (1, 2, 3, 8, 16, 100):
        for columns in (1, 8, 48, 64, 6144):
            for streamed, clashing in itertools.product((False, True), repeat=2):
                r, c = cpu.register_tile(rows, columns, streamed=streamed, clashing=clashing)
                assert r <= max(1, rows) and c % lanes == 0
                assert r * (c // lanes) + c // lanes + 1 <= registers


@pytest.mark.parametrize("name", ["rms_norm_matmul_fused", "online_softmax_attention"])
def test_a_kernel_is_text_that_a_student_can_read(name: str, golden: Golden) -> None:
    graph = small(published(name), MEDIUM)
    tiling = replace(published_tiling(dict(graph.blocks)[0]), panels=("W",))
    kernel = lower(graph, 0, tiling, Cpu(lanes=8, registers=16))
    golden(KERNELS / f"{name}_cpu.txt", f"{kernel}\n")


def test_what_is_summed_stays_in_registers() -> None:
    graph = small(published("gated_mlp_fused"), MEDIUM)
    kernel = lower(graph, 0, published_tiling(dict(graph.blocks)[0]), CPU)
    sums = [each for each in walk(kernel.body) if isinstance(each, Compute) and each.combine]
    assert sums and all(each.target.scope == "registers" for each in sums)
    assert any(isinstance(each, Allocate) for each in walk(kernel.body))
    assert any(isinstance(each, Loop) and each.name == "k" for each in walk(kernel.body))


@pytest.mark.parametrize(("extent", "packed"), [(1024, True), (1040, False)])
def test_strips_whose_rows_clash_in_the_cache_are_packed(extent: int, packed: bool) -> None:
    graph = one_step(published("attention_fused")).resized({"n": extent, "m": 64})
    panels = candidates(graph, 0, 1)[0].panels
    assert panels == (("K",) if packed else ())
    kernel = lower(graph, 0, replace(retiled(graph, 0, {"k": 208}), panels=panels), CPU)
    assert ("_panel[" in str(kernel)) == packed
    assert first_fault(kernel) is None  # two heads in one block have one panel after the other
    agrees(graph, {0: {"k": 208}}, panels=packed)


# A machine of any kind, in round numbers: multiply-adds of vectors, bytes a second.
CACHES = (
    Cache(1 << 15, float("inf"), 1 << 12),
    Cache(1 << 20, 3e11, 1 << 16),
    Cache(1 << 25, 2e11, 64),
)
RATES = Rates(threads=1, lanes=16, instructions=8e9, caches=CACHES, memory=6e10)


@pytest.mark.parametrize("columns", [6144, 6160])
def test_the_first_tiling_reads_weights_once_and_loses_no_line(columns: int) -> None:
    graph = in_blocks(workload("rms_norm_matmul").resized({"n": columns}))
    place = max(place for place, _ in graph.blocks)  # the product
    first = ranked_tilings(graph, place, Cpu(16, 32), RATES)[0].tiling
    assert first["x"].steps == 1  # all rows in one block
    assert bool(first.panels) == (columns == 6144)
    assert not first.panels or first["k"].tile <= 128  # rows that fit the second cache's sets


def test_lines_that_are_lost_or_not_fetched_take_time() -> None:
    graph = published("gated_mlp_fused")
    cpu = Cpu(8, 16)

    def memory(x: int, k: int, ahead: int = 256) -> float:
        tiling = replace(retiled(graph, 0, {"x": x, "k": k}), panels=("W1", "W2"))
        found = estimate(lower(graph, 0, tiling, replace(cpu, ahead=ahead)), RATES)
        return found.memory + found.near

    assert memory(4096, 64) < memory(4096, 512)  # 512 rows of 16 KiB share 4 of 1,024 sets
    assert memory(4096, 64) < memory(256, 64) < memory(16, 64)  # the first strips are late
    assert memory(4096, 64) < memory(4096, 64, ahead=0)
