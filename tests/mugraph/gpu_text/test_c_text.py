"""Kernels as CUDA C++ and OpenCL C: their names, their indices, their vectors, and refusals."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from golden import Golden

from mlc_course.errors import GraphError, SizeError, UsageError
from mlc_course.mugraph.gpu_text.c_text import Source, launch_grid, source_of
from mlc_course.mugraph.gpu_text.dialects import CUDA, OPENCL, STORAGE_BYTES, Dialect
from mlc_course.mugraph.gpu_text.neighbours import are_neighbours
from mlc_course.mugraph.gpu_text.reserved_names import RESERVED
from mlc_course.mugraph.ir import KernelGraph, Number, parse
from mlc_course.mugraph.kernels.index_expressions import ZERO, const, linear_form, var
from mlc_course.mugraph.kernels.kernel_program import (
    Apply,
    Axis,
    Buffer,
    Compute,
    Constant,
    Guard,
    Kernel,
    Read,
    Remark,
    Select,
    Threads,
)
from mlc_course.mugraph.programs import PROGRAM_OF, published
from mlc_course.mugraph.thread_kernels import Gpu, thread_program

TEXTS = Path(__file__).parent / "texts"
T, C, X = var("t"), var("c"), var("x")
ONE = Number(Fraction(1))


def text_of(graph: KernelGraph, dialect: Dialect = CUDA, storage: str = "float16") -> Source:
    gpu = Gpu(storage_bytes=STORAGE_BYTES[storage], matrix_unit=dialect is CUDA)
    return source_of(thread_program(graph, gpu).program.kernels, dialect, storage)


def one_line(
    statement: Compute, dialect: Dialect = CUDA, storage: str = "float32", threads: int = 32
) -> str:
    """The text of a kernel with one statement, without its head."""
    buffers = {each.name: each for each in (A, OUT)}
    kernel = Kernel(
        "k",
        (("x", 4),),
        threads,
        (buffers["A"],),
        (buffers["Out"],),
        (),
        (Threads("t", threads, (statement,)),),
        storage_bytes=STORAGE_BYTES[storage],
    )
    text = source_of([kernel], dialect, storage).text
    return text[text.rindex("block_x = ") :].partition("\n")[2]


A = Buffer("A", (8, 64), "global", "storage")
OUT = Buffer("Out", (8, 64), "global", "storage")


# ---- whole texts


@pytest.mark.parametrize(
    ("name", "dialect", "storage"),
    [("rms_norm_matmul_fused", CUDA, "float16"), ("gated_mlp_fused", OPENCL, "float32")],
)
def test_the_text_of_a_kernel_is_as_recorded(
    name: str, dialect: Dialect, storage: str, golden: Golden
) -> None:
    ending = "cu" if dialect is CUDA else "cl"
    golden(TEXTS / f"{name}.{ending}", text_of(published(name), dialect, storage).text)


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_every_kernel_of_a_program_is_in_its_text(name: str) -> None:
    graph = published(name)
    for dialect in (CUDA, OPENCL):
        source = text_of(graph, dialect, "float16")
        assert len(source.names) == len(list(graph.blocks)) == len(set(source.names))
        for each in source.names:
            assert source.text.count(f"{each}(") == 1


def test_only_what_is_called_comes_before_a_kernel() -> None:
    text = text_of(published("n_trans_fused"), storage="float32").text
    for name in ("multiply_add", "copy_async", "largest", "half"):
        assert name not in text
    assert "multiply_add" in text_of(published("attention_fused")).text
    assert "largest" in text_of(published("online_softmax_attention")).text


# ---- names

ODD = """
{name}({x}[a=16, b=32], {y}[b, c=16]):
  block grid(x=1):
    {t} = load({x})
    {u} = load({y})
    {z} = matmul({t}, {u})
    {out} = store({z})
  return {out}
"""


@pytest.mark.parametrize(
    "names",
    [
        "kernel half float t int threadIdx x exp",
        "main load store put address copy_async a b",
        "double class this new m n d c",
        "shared_memory block block_x i j l product out",
        "__init _x Y_ y__y _1 if else for",
    ],
)
@pytest.mark.parametrize("dialect", [CUDA, OPENCL], ids=lambda each: each.name)
def test_names_that_c_has_another_use_for_are_changed(names: str, dialect: Dialect) -> None:
    keys = ("name", "x", "y", "t", "u", "z", "out")
    graph = parse(ODD.format(**dict(zip(keys, names.split(), strict=False))))
    source = text_of(graph, dialect)
    kinds = r"(?:half|float|int)\*?(?: const)?(?: restrict| __restrict__)? (\w+)"
    declared = re.findall(kinds, source.text)
    body = source.text[source.text.index(f"{source.names[0]}(") :]
    named = {each for each in declared if re.search(rf"\b{each}\b", body)}
    assert not {each for each in named if each in RESERVED} - {"a", "b"}
    assert source.names[0] not in RESERVED


def test_two_kernels_do_not_have_one_name() -> None:
    (kernel,) = thread_program(published("n_trans_fused"), Gpu()).program.kernels
    source = source_of([kernel, kernel], CUDA, "float16")
    assert source.names == ("n_trans_fused_kernel", "n_trans_fused_kernel_2")


# ---- indices


def test_places_beyond_two_to_the_31_are_counted_in_64_bits() -> None:
    wide = Buffer("A", (1 << 17, 1 << 15), "global", "storage")
    assert wide.size == 1 << 32
    for dialect, long in ((CUDA, "(long long)t"), (OPENCL, "(long)t")):
        kernel = Kernel(
            "k", (("x", 4),), 32, (wide,), (OUT,), (),
            (Threads("t", 32, (Compute(OUT, (ZERO, T), Read(wide, (T * 4096, ZERO))),)),),
            storage_bytes=4,
        )  # fmt: skip
        text = source_of([kernel], dialect, "float32").text
        assert f"A[134217728*{long}]" in text
        assert "Out[t]" in text


def test_a_grid_beyond_what_an_axis_can_have_is_launched_along_one() -> None:
    body = (Threads("t", 32, (Compute(OUT, (var("y") % 8, T), Constant(ONE)),)),)
    kernel = Kernel("k", (("x", 2), ("y", 70_000)), 32, (), (OUT,), (), body, storage_bytes=4)
    assert launch_grid(kernel, CUDA) == (140_000, 1, 1)
    assert launch_grid(kernel, OPENCL) == (2, 70_000, 1)
    text = source_of([kernel], CUDA, "float32").text
    assert "const int block_y = block % 70000;" in text
    assert text.index("block_y =") < text.index("block_x =")


def test_more_blocks_or_threads_than_there_can_be_are_refused() -> None:
    body = (Threads("t", 2048, (Compute(OUT, (ZERO, T % 64), Constant(ONE)),)),)
    with pytest.raises(SizeError, match="threads of a block"):
        source_of([Kernel("k", (), 2048, (), (OUT,), (), body)], CUDA, "float32")
    many = Kernel("k", (("x", 1 << 16), ("y", 1 << 17)), 32, (), (OUT,), (), ())
    with pytest.raises(SizeError, match="blocks"):
        launch_grid(many, CUDA)


# ---- vectors

WIDE = (Axis("c", 4, 4, unrolled=True),)


def test_a_long_loop_is_written_out_in_parts() -> None:
    """NVRTC works for minutes on thousands of copies of a load."""
    graph = parse("sums(X[b=8, d=1048576]):\n  Y = sum(X, axis=1)\n  return Y\n")
    lines = [each.strip() for each in text_of(graph, storage="float32").text.splitlines()]
    before = [lines[n - 1] for n, each in enumerate(lines) if "j < 2048" in each]
    assert before == ["#pragma unroll 8"]
    assert "#pragma unroll" in lines


def test_neighbours_are_loaded_and_stored_at_once() -> None:
    s = Compute(OUT, (ZERO, T * 4 % 64 + C), Read(A, (ZERO, T * 4 % 64 + C)), WIDE)
    cuda = one_line(s, storage="float16")
    assert "load(A_part, A + 4*(t % 16));" in cuda
    assert "store(Out + 4*(t % 16), Out_part);" in cuda
    opencl = one_line(s, OPENCL, "float16")
    assert "vstore_half4(vload_half4(0, A + 4*(t % 16)), 0, Out + 4*(t % 16));" in opencl


@pytest.mark.parametrize(
    "index",
    [(ZERO, T % 16 + C), (C, T), (ZERO, T % 8 * 4 + C * 2), (ZERO, (T + C) % 4)],
    ids=str,
)
def test_what_does_not_lie_together_is_read_one_by_one(index: tuple) -> None:  # type: ignore[type-arg]
    s = Compute(OUT, (ZERO, T % 16 * 4 + C), Read(A, index), WIDE)
    assert "load(A_part" not in one_line(s)
    assert "vload4" not in one_line(s, OPENCL)


def test_a_swizzle_keeps_chunks_together_and_no_more() -> None:
    place = (T % 8, T // 8 * 4 + C)
    for chunk, together in ((8, True), (4, True), (2, False)):
        buffer = Buffer("s", (8, 32), "shared", swizzle=(chunk, 4))
        assert are_neighbours(buffer, place, C, 4) is together
    assert not are_neighbours(Buffer("s", (8, 30), "shared", strides=(30, 1)), place, C, 4)
    assert are_neighbours(Buffer("s", (8, 32), "shared", strides=(36, 1)), place, C, 4)


def test_a_sum_of_multiples_is_recognized() -> None:
    assert linear_form(T * 4 + C + 8) == {T: 4, C: 1, const(1): 8}
    assert linear_form((T + X) * 4) == {T: 4, X: 4}
    assert linear_form(T // 2 * 6) == {T // 2: 6}


def test_a_choice_by_lane_is_made_lane_by_lane() -> None:
    chosen = Select(C < 2, Read(A, (ZERO, C)), Read(A, (ZERO, C + 4)))
    s = Compute(OUT, (ZERO, T % 16 * 4 + C), chosen, WIDE)
    assert "vload4" not in one_line(s, OPENCL)
    assert "c < 2 ?" in one_line(s, OPENCL)


def test_what_a_condition_leaves_out_is_not_loaded() -> None:
    """The branch that is not taken may be out of bounds."""
    chosen = Select(X < 2, Read(A, (X, T % 8 * 4 + C)), Read(A, (X + -2, T % 8 * 4 + C)))
    s = Compute(OUT, (ZERO, T % 16 * 4 + C), chosen, WIDE)
    cuda, opencl = one_line(s), one_line(s, OPENCL)
    assert "load(A_part" not in cuda
    assert "block_x < 2 ? (float4)(vload4(" in opencl


def test_one_branch_of_a_choice_may_be_one_number() -> None:
    s = Compute(
        OUT, (ZERO, T % 16 * 4 + C), Select(X < 2, Read(A, (X, T % 8 * 4 + C)), Constant(ONE)), WIDE
    )
    assert "(float4)(1.0f)" in one_line(s, OPENCL)


def test_remarks_call_nothing() -> None:
    kernel = Kernel("k", (), 32, (), (OUT,), (), (Remark("store of largest"),), storage_bytes=4)
    assert "smallest" not in source_of([kernel], OPENCL, "float32").text
    assert "largest(" not in source_of([kernel], CUDA, "float32").text


# ---- arithmetic


@pytest.mark.parametrize(("name", "called"), [("max", "largest"), ("min", "smallest")])
def test_an_extreme_of_nan_is_nan_by_the_text(name: str, called: str) -> None:
    s = Compute(OUT, (ZERO, T), Apply(name, (Read(A, (ZERO, T)), Read(A, (const(1), T)))))
    for dialect in (CUDA, OPENCL):
        assert f"Out[t] = {called}(A[t], A[t + 64]);" in one_line(s, dialect)
        assert "fmax" not in dialect.pieces[called]


def test_a_function_without_a_spelling_is_refused() -> None:
    s = Compute(OUT, (ZERO, T), Apply("zeta", (Read(A, (ZERO, T)),)))
    with pytest.raises(GraphError, match="no spelling in OpenCL C for"):
        one_line(s, OPENCL)


def test_guards_keep_both_branches() -> None:
    put = Compute(OUT, (ZERO, T), Read(A, (ZERO, T)))
    kernel = Kernel(
        "k", (), 32, (A,), (OUT,), (),
        (Threads("t", 32, (Guard(T < 4, (), (put,)), Guard(T < 8, (put,), (put,)))),),
        storage_bytes=4,
    )  # fmt: skip
    text = source_of([kernel], CUDA, "float32").text
    assert "if (!(t < 4)) {" in text
    assert "} else {" in text


def test_a_product_on_a_matrix_unit_is_refused_where_there_is_none() -> None:
    gpu = Gpu(matrix_unit=True)
    (kernel,) = thread_program(published("gated_mlp_fused"), gpu).program.kernels
    with pytest.raises(GraphError, match="no matrix unit in OpenCL C"):
        source_of([kernel], OPENCL, "float16")


@pytest.mark.parametrize(
    "name", ["M_PI", "FLT_MAX", "CL_VERSION_1_2", "CLK_LOCAL_MEM_FENCE", "get_local_id", "INT_MAX"]
)
def test_names_that_headers_define_are_changed(name: str) -> None:
    keys = ("name", "x", "y", "t", "u", "z", "out")
    names = ("f", name, "Y", "t", "u", "z", "out")
    text = text_of(parse(ODD.format(**dict(zip(keys, names, strict=True)))), OPENCL).text
    body = text[text.index("f_kernel(") :]
    assert re.search(rf"\b{name}_value\b", body)
    assert not re.search(rf"restrict {name}\b", body)


def test_threads_wait_behind_a_loop_in_opencl() -> None:
    """PoCL 3.0 mixes up the sums of a loop of two turns otherwise."""
    lines = text_of(published("gated_mlp_fused"), OPENCL).text.splitlines()
    end = next(n for n, line in enumerate(lines) if "for (int k" in line)
    close = lines.index("  }", end)
    assert "barrier(" in lines[close + 1]


# ---- storage


def test_a_storage_that_the_plan_does_not_count_on_is_refused() -> None:
    (kernel,) = thread_program(published("gated_mlp_fused"), Gpu()).program.kernels
    with pytest.raises(UsageError, match="a memory plan for 2"):
        source_of([kernel], CUDA, "float32")
    with pytest.raises(UsageError, match="no storage in OpenCL C"):
        source_of([kernel], OPENCL, "bfloat16")
    with pytest.raises(UsageError, match="no storage in CUDA"):
        source_of([replace(kernel)], CUDA, "float64")


@pytest.mark.parametrize("loop", ["r", "s_2", "s_share"])
def test_a_register_has_another_name_than_the_loop_around_it(loop: str) -> None:
    graph = parse(
        f"""
rows(X[m=16, n=64]):
  block grid(x=1) loop({loop}=4):
    x = load(X, imap={{}}, fmap={{{loop}: 1}})
    s = sum(x, axis=1)
    r = div(x, s)
    y = accumulate(r)
    Y = store(y, omap={{x: 0}})
  return Y
"""
    )
    for storage in ("float32", "float16"):
        text = text_of(graph, CUDA, storage).text
        (counter,) = re.findall(r"  for \(int (\w+) = 0; \1 < 4; \+\+\1\) {\n    // operands", text)
        assert not re.search(rf"float {counter}\[", text)
