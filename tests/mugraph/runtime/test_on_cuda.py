"""The target ``cuda``: all up to the launch, on a machine without a GPU."""

from __future__ import annotations

import importlib
import itertools
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from lowered_graphs import cut

from mlc_course.errors import CourseError, MachineError, SizeError, UsageError
from mlc_course.mugraph.cuda import TARGETS as ARCHITECTURES
from mlc_course.mugraph.cuda import (
    compile_cubin,
    cupy,
    cupy_told,
    generations,
    launch_plan,
    shared_limit,
    with_cupy,
)
from mlc_course.mugraph.cuda.with_cupy import cupy_options
from mlc_course.mugraph.gpu_text import STORAGE_BYTES
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.kernels import Buffer
from mlc_course.mugraph.programs import PROGRAM_OF, published
from mlc_course.mugraph.runtime import check, compile_graph, random_inputs
from mlc_course.mugraph.runtime.arrays import HOST, empty
from mlc_course.mugraph.runtime.compiled import Compiled
from mlc_course.mugraph.runtime.on_box import BOX
from mlc_course.mugraph.runtime.on_cuda import checked_output, entered, is_on_gpu, may_overlap

X = Buffer("X", (8, 8))


def has_gpu() -> bool:
    try:
        cupy()
    except MachineError:
        return False
    return True


without_gpu = pytest.mark.skipif(has_gpu(), reason="there is a GPU")


@pytest.mark.parametrize("storage", STORAGE_BYTES)
def test_a_graph_compiles_without_a_gpu(storage: str) -> None:
    call = compile_graph(published("lora_fused"), "cuda", storage=storage, arch="sm_90")
    assert call.options.arch == "sm_90"
    text = call.target.texts[".cu"].write(call.program, call.options)
    assert "lora_fused_kernel" in text
    assert ("multiply_add" in text) == (storage != "float32")


def test_ptx_is_for_the_architecture() -> None:
    call = compile_graph(published("n_trans_fused"), "cuda", arch="sm_90")
    assert ".target sm_90" in call.target.texts[".ptx"].write(call.program, call.options)


@without_gpu
def test_a_call_without_a_gpu_says_what_is_missing() -> None:
    graph = published("n_trans_fused")
    call = compile_graph(graph, "cuda")
    with pytest.raises(MachineError, match=r"CuPy") as refused:
        call(**random_inputs(graph))
    assert "cpu, opencl and box" in str(refused.value)


@pytest.mark.parametrize(
    ("version", "extra"), [(None, "gpu13"), ((12, 4), "gpu12"), ((13, 0), "gpu13")]
)
def test_without_cupy_the_extra_that_fits_is_named(
    version: tuple[int, int] | None, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)  # as if it were not installed
    monkeypatch.setattr(with_cupy, "driver_version", lambda: version)
    with pytest.raises(MachineError, match=rf"mlc-course\[{extra}\]"):
        cupy()


def named(name: str) -> type[RuntimeError]:
    return type(name, (RuntimeError,), {})


@pytest.mark.parametrize(
    ("kind", "becomes"),
    [
        ("CUDARuntimeError", MachineError),
        ("CUDADriverError", MachineError),
        ("NVRTCError", MachineError),
        ("DynamicLibNotFoundError", MachineError),
        ("CompileException", CourseError),
        ("OutOfMemoryError", MemoryError),
        ("SomethingElse", RuntimeError),
    ],
)
def test_what_cupy_raises_becomes_an_error_of_the_course(
    kind: str, becomes: type[Exception]
) -> None:
    with pytest.raises(becomes, match="what it said"), cupy_told("a launch"):
        raise named(kind)("what it said")


@pytest.mark.parametrize("arch", ["sm_75", "sm90", "ampere", "compute_80", ""])
def test_an_architecture_that_cannot_be_is_refused(arch: str) -> None:
    with pytest.raises(UsageError, match="too old|no GPU architecture"):
        compile_graph(published("lora_fused"), "cuda", arch=arch)


@pytest.mark.parametrize("target", ["cpu", "box"])
def test_an_architecture_is_for_cuda_alone(target: str) -> None:
    with pytest.raises(UsageError, match="no architectures to choose from"):
        compile_graph(published("lora_fused"), target, arch="sm_90")


def test_a_graph_that_is_too_large_is_refused() -> None:
    huge = parse("huge(X[b=2097152, d=2097152]):\n  Y = exp(X)\n  return Y\n")
    with pytest.raises(SizeError, match="too many elements"):
        compile_graph(huge, "cuda")


def test_a_kernel_in_bfloat16_is_compared_with_its_own_tolerance() -> None:
    graph = parse("twice(X[b=8, d=8]):\n  Y = exp(X)\n  return Y\n")
    inputs = {name: x.astype("bfloat16") for name, x in random_inputs(graph).items()}
    right = np.exp(inputs["X"].astype("float64")).astype(ml_dtypes.bfloat16)
    assert check(graph, inputs, [right], "bfloat16").passed
    assert not check(graph, inputs, [right * right], "bfloat16").passed


@pytest.mark.slow
@pytest.mark.skipif(not generations(), reason="NVRTC is not installed")
@pytest.mark.parametrize("storage", STORAGE_BYTES)
def test_no_kernel_of_a_published_graph_spills(
    storage: str, full: bool, seed: int, tried: Callable[[str, int], None]
) -> None:
    """For a target and a compiler that are drawn, or for all of them with ``--full``."""
    draws = random.Random(f"{seed} {storage}")
    for name in PROGRAM_OF:
        every = list(itertools.product(ARCHITECTURES, generations()))
        for arch, generation in every if full else draws.sample(every, 1):
            call = compile_graph(published(name), "cuda", storage=storage, arch=arch)
            plan = launch_plan(call.program, storage)
            cubin = compile_cubin(plan.text, arch, generation)
            assert set(cubin.kernels) == {each.name for each in plan.launches}
            for launch in plan.launches:
                needed = cubin.kernels[launch.name]
                assert not needed.spills and not needed.stack, (launch.name, arch, needed)
                assert needed.registers * launch.threads <= 65_536, (launch.name, needed)
                assert launch.shared_bytes + needed.shared <= shared_limit(arch), launch
            tried("pieces of machine code", 1)


@pytest.mark.parametrize("storage", STORAGE_BYTES)
def test_cupy_compiles_the_text_with_the_options_that_it_adds(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CuPy's compiler needs no GPU where it is told an architecture."""
    pytest.importorskip("cupy")
    compiler = importlib.import_module("cupy.cuda.compiler")
    told_arch = ("-arch=sm_90", "cubin")
    monkeypatch.setattr(compiler, "_get_arch_for_options_for_nvrtc", lambda arch: told_arch)
    generation = importlib.import_module("cupy").cuda.nvrtc.getVersion()[0]
    call = compile_graph(published("gated_mlp_fused"), "cuda", storage=storage, arch="sm_90")
    text = launch_plan(call.program, storage).text
    image, _ = compiler.compile_using_nvrtc(text, cupy_options(generation), "90")
    assert image.startswith(b"\x7fELF")


# ---- memory that is not this machine's


class Far:
    """An array that NumPy cannot read, on a machine that has no GPU."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = array.shape


def far_memory() -> Any:
    """A memory whose arrays are far: all has to be copied there and back."""

    def copied(target: Any, source: Any) -> None:
        near = source.array if isinstance(source, Far) else source
        (target.array if isinstance(target, Far) else target)[...] = near

    return type(HOST)(
        empty=lambda shape, dtype: Far(empty(shape, dtype)),  # type: ignore[arg-type, return-value]
        entered=lambda x, buffer, dtype: (  # type: ignore[arg-type, return-value]
            x if isinstance(x, Far) else Far(HOST.entered(x, buffer, dtype))
        ),
        checked_output=lambda x, buffer, dtype: (
            x if isinstance(x, Far) else HOST.checked_output(x, buffer, dtype)
        ),
        may_overlap=lambda a, b: a is b,
        holds=lambda x: isinstance(x, Far),
        copied=copied,
        on_host=lambda x: x.array if isinstance(x, Far) else x,  # type: ignore[attr-defined]
    )


def far_call() -> Compiled:
    """A graph compiled for the box, whose arrays are far."""
    small = cut("gated_mlp_fused", {"b": 8, "d": 32, "n": 32}, {"x": 16, "k": 16})
    call = compile_graph(small.graph, "box", checked=True)
    assert not call.program.temporaries
    inner = call.binder

    def bind(arrays: Any) -> Any:
        assert all(isinstance(each, Far) for each in arrays.values())
        return inner({name: each.array for name, each in arrays.items()})

    call.target, call.binder = replace(BOX, memory=far_memory()), bind
    return call


def test_numpy_arrays_are_copied_there_and_results_back() -> None:
    call = far_call()
    inputs = random_inputs(call.graph)
    (y,) = call(**inputs)
    assert isinstance(y, np.ndarray)
    assert call.first_check and call.first_check.passed
    out = empty(y.shape, "float32")
    bound = call.bind(inputs, [out])
    assert bound()[0] is out and np.array_equal(out, y)


def test_arrays_that_are_there_stay_there() -> None:
    call = far_call()
    inputs = {name: Far(each) for name, each in random_inputs(call.graph).items()}
    (y,) = call(**inputs)
    assert isinstance(y, Far)
    assert call.first_check and call.first_check.passed
    wanted = Far(empty(y.shape, "float32"))
    assert call.bind(inputs, [wanted])()[0] is wanted  # type: ignore[list-item]
    assert np.array_equal(wanted.array, y.array)
    back = empty(y.shape, "float32")
    assert np.array_equal(call.bind(inputs, [back])()[0], y.array)


# ---- on a GPU


@pytest.mark.gpu
@pytest.mark.skipif(not has_gpu(), reason="no GPU, or no CuPy")
@pytest.mark.parametrize("storage", STORAGE_BYTES)
@pytest.mark.parametrize("name", PROGRAM_OF)
def test_published_graphs_are_right_on_a_gpu(name: str, storage: str) -> None:
    graph = published(name)
    inputs = {each: x.astype(storage) for each, x in random_inputs(graph).items()}
    call = compile_graph(graph, "cuda", storage=storage, checked=True)
    (there,) = call(**inputs)
    (here,) = call(**{each: cupy().asarray(x) for each, x in inputs.items()})
    assert is_on_gpu(here) and isinstance(there, np.ndarray)
    assert np.array_equal(there, here.get())


# ---- CuPy's arrays, where it is installed: it needs no driver for an array over memory it is given


def on_stand_in(array: Any, dtype: str = "float32") -> Any:
    cp = pytest.importorskip("cupy")
    memory = cp.cuda.UnownedMemory(array.ctypes.data, array.nbytes, array, 0)
    return cp.ndarray(array.shape, dtype, memptr=cp.cuda.MemoryPointer(memory, 0))


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An array of CuPy, over this machine's memory, with what needs a device taken from its way."""
    cp = pytest.importorskip("cupy")
    if has_gpu():
        pytest.skip("a GPU would be asked")
    monkeypatch.setattr("mlc_course.mugraph.runtime.on_cuda.cupy", lambda: cp)
    monkeypatch.setattr(cp, "asarray", lambda x: x)
    monkeypatch.setattr(cp.cuda.runtime, "getDevice", lambda: 0)
    return on_stand_in(empty((16, 16), "float32"))


def test_arrays_of_cupy_are_used_where_they_are(near: Any) -> None:
    assert is_on_gpu(near) and not is_on_gpu(np.zeros(3)) and not is_on_gpu([1.0])
    square = Buffer("X", (16, 16))
    assert entered(near, square, "float32") is near
    assert checked_output(near, square, "float32") is near
    assert may_overlap(near, near[2:]) and not may_overlap(near[:2], near[2:])
    assert not may_overlap(near, np.zeros(3))


def test_an_output_that_kernels_cannot_write_is_refused(near: Any) -> None:
    square = Buffer("X", (16, 16))
    for wrong, said in (
        (near[:8], "shape"),
        (near.T, "not row-major"),
        (near.view("uint32"), "it is of uint32"),
    ):
        with pytest.raises(UsageError, match=said):
            checked_output(wrong, square, "float32")
    shifted = near.ravel()[1:65].reshape(8, 8)
    with pytest.raises(UsageError, match="a multiple of 16 bytes"):
        checked_output(shifted, X, "float32")


def test_an_input_of_another_shape_or_device_is_refused(
    near: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CourseError, match="its shape"):
        entered(near, X, "float32")
    cp = pytest.importorskip("cupy")
    monkeypatch.setattr(cp.cuda.runtime, "getDevice", lambda: 1)
    with pytest.raises(UsageError, match="another device"):
        entered(near, Buffer("X", (16, 16)), "float32")


@without_gpu
def test_cupy_without_a_driver_says_so() -> None:
    pytest.importorskip("cupy")
    with pytest.raises(MachineError, match="cudaErrorInsufficientDriver") as refused:
        cupy()
    assert "cpu, opencl and box" in str(refused.value)
