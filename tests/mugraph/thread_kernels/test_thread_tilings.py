"""A graph keeps its tiling where that fits a block, and gets another one where it does not."""

from __future__ import annotations

import pytest
from lowered_graphs import cut, wrong
from small_graphs import saved_graphs

from mlc_course.errors import SizeError
from mlc_course.mugraph.codegen import published_tiling
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.programs import NAMES, PROGRAM_OF, published, workload
from mlc_course.mugraph.thread_kernels import Gpu, thread_program
from mlc_course.mugraph.thread_kernels.thread_tilings import MOST_KEPT, kept_in_registers

GPU = Gpu(matrix_unit=True)


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_a_published_tiling_is_kept_and_its_kernels_are_the_graph(name: str) -> None:
    graph = published(name)
    made = thread_program(graph, GPU)
    assert made.tilings == tuple(published_tiling(block) for _, block in graph.blocks)
    verdict = made.verified()
    assert verdict.equal, verdict


@pytest.mark.parametrize("name", ["rms_norm_matmul", "gated_mlp", "lora", "n_trans"])
def test_operators_outside_block_graphs_get_kernels_that_are_the_graph(name: str) -> None:
    made = thread_program(workload(name), GPU)
    assert len(made.program.kernels) == len(workload(name).equations)
    verdict = made.verified()
    assert verdict.equal, verdict


@pytest.mark.parametrize("name", NAMES)
def test_no_block_needs_more_than_it_can_have(name: str) -> None:
    for gpu in (GPU, Gpu(shared_bytes=32 * 1024), Gpu(storage_bytes=4, shared_bytes=48 * 1024)):
        for kernel in thread_program(workload(name), gpu).program.kernels:
            assert kernel.shared_bytes <= gpu.shared_bytes
            assert kernel.storage_bytes == gpu.storage_bytes


def test_a_tiling_that_does_not_fit_is_cut_again() -> None:
    small = cut("gated_mlp_fused", {"b": 8, "d": 1024, "n": 512}, {"x": 512, "k": 512})
    made = thread_program(small.graph, GPU)
    assert made.tilings[0] != published_tiling(dict(small.graph.blocks)[0])
    assert not wrong(small.graph, {0: made.tilings[0]}, GPU)


@pytest.mark.parametrize("number", [0, 12])
def test_saved_graphs_with_operators_on_whole_tensors_are_lowered(number: int) -> None:
    made = thread_program(saved_graphs("mha_bs1")[number], GPU)
    assert all(kernel.shared_bytes <= GPU.shared_bytes for kernel in made.program.kernels)


WHOLE_OPERANDS = """
whole(X[a=512, b=512], Y[b, c=512]):
  block grid(x=1):
    x = load(X)
    y = load(Y)
    z = matmul(x, y)
    s = matmul(z, y)
    Z = store(s)
  return Z
"""


def test_tiles_that_cannot_be_cut_are_refused_with_their_size() -> None:
    graph = parse(WHOLE_OPERANDS)
    with pytest.raises(SizeError, match="operands of z, in bytes"):
        thread_program(graph, GPU)


def test_tiles_of_too_many_sums_are_right_where_no_axis_cuts_them() -> None:
    """The CPU runs such a graph, so that a GPU does, with sums outside of its registers."""
    graph = parse("""
wide(X[a=256, b=16], Y[b, c=512]):
  block grid(x=1):
    x = load(X)
    y = load(Y)
    z = matmul(x, y)
    Z = store(z)
  return Z
""")
    made = thread_program(graph, GPU)
    assert not wrong(graph, {0: made.tilings[0]}, made.gpus[0])
    most = thread_program(graph, Gpu(threads=512)).program.kernels
    assert [kernel.threads for kernel in most] == [512]  # 2,048 are more than a block can have


def test_a_tile_of_many_sums_gets_more_threads() -> None:
    graph = parse("""
wide(X[a=128, b=16], Y[b, c=128]):
  block grid(x=1):
    x = load(X)
    y = load(Y)
    z = matmul(x, y)
    Z = store(z)
  return Z
""")
    made = thread_program(graph, GPU)
    assert [kernel.threads for kernel in made.program.kernels] == [256]
    assert not wrong(graph, {0: made.tilings[0]}, made.gpus[0])
    assert made.verified().equal


LARGE = """
large(X[a=4, b=1024], Y[b, c=64]):
  block grid(x=1):
    x = load(X)
    y = load(Y)
    z = matmul(x, y)
    w = matmul(z, y{turned})
    Z = store(w)
  return Z
"""


def test_operands_that_do_not_fit_are_read_in_place() -> None:
    graph = parse(
        LARGE.replace("    w = matmul(z, y{turned})\n", "").replace("store(w)", "store(z)")
    )
    small = Gpu(shared_bytes=16 * 1024)
    made = thread_program(graph, small)
    assert made.gpus[0].copy_bytes == 0
    assert "copy" not in str(made.program.kernels[0])
    assert not wrong(graph, {0: made.tilings[0]}, made.gpus[0])


def test_a_block_may_have_more_memory_where_it_needs_it() -> None:
    graph = published("gqa_split_kv")
    few = thread_program(graph, Gpu(shared_bytes=24 * 1024, most_shared_bytes=96 * 1024))
    assert few.tilings == tuple(published_tiling(block) for _, block in graph.blocks)
    assert max(kernel.shared_bytes for kernel in few.program.kernels) > 24 * 1024


def test_tiles_that_crowd_the_registers_get_more_threads() -> None:
    """Scores, their shares and the sums of a kernel that 128 threads would spill."""
    graph = next(each for each in dict.fromkeys(saved_graphs("mqa_bs1")))
    made = thread_program(graph, Gpu(matrix_unit=True, most_shared_bytes=163 * 1024))
    assert made.program.kernels[0].threads == 256
    assert kept_in_registers(made.program.kernels[0]) <= MOST_KEPT
