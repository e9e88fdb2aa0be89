from __future__ import annotations

import inspect
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from tvm.s_tir.analysis import estimate_tir_flops

from mlc_course.errors import SizeError, UsageError, WrongResult
from mlc_course.tensor_program.problems.catalogue import WORKLOADS, make_workload
from mlc_course.tensor_program.problems.workload import Array, Operand, Workload, aligned
from mlc_course.tensor_program.tir import ALIGNMENT, IRModule, compile_program, shared_tensor

# Sizes that tiles divide, sizes that nothing divides, and ones.
SIZES: dict[str, tuple[tuple[int, ...], ...]] = {
    "matmul_exp_matmul": ((16, 8, 32, 24), (10, 19, 11, 31), (1, 1, 1, 1)),
    "matmul": ((16, 8, 24), (10, 19, 31), (1, 1, 1)),
    "linear_relu": ((16, 8, 24), (10, 19, 31), (1, 1, 1)),
    "two_layer_network": ((8, 16, 12, 4), (7, 19, 11, 3), (1, 1, 1, 1)),
    "softmax": ((8, 32), (7, 19), (1, 1), (5, 1)),
    "rms_norm": ((8, 32), (7, 19), (1, 1), (5, 1)),
    "conv2d": ((4, 10, 10, 8, 3, 3), (3, 11, 7, 5, 2, 4), (1, 1, 1, 1, 1, 1), (2, 3, 5, 3, 3, 5)),
}
CASES = [(name, sizes) for name, table in SIZES.items() for sizes in table]


def test_the_table_has_all_workloads() -> None:
    assert SIZES.keys() == WORKLOADS.keys()


# --- three statements of one problem --------------------------------------------------------------


@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_numpy_and_tensorir_compute_the_reference(name: str, sizes: tuple[int, ...]) -> None:
    work = make_workload(name, sizes)
    inputs, by_numpy, by_tvm = work.inputs(), work.output(), work.output()
    reference = work.reference(inputs)
    assert reference.dtype == np.float64
    work.numpy(*inputs, by_numpy)
    compile_program(work.program())(*map(shared_tensor, inputs), shared_tensor(by_tvm))
    assert work.check(by_numpy, reference) < 1e-5
    assert work.check(by_tvm, reference) < 1e-5


@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_inputs_are_not_written_to(name: str, sizes: tuple[int, ...]) -> None:
    work = make_workload(name, sizes)
    inputs = work.inputs()
    work.numpy(*inputs, work.output())
    work.reference(inputs)
    for left, right in zip(inputs, work.inputs(), strict=True):
        np.testing.assert_array_equal(left, right)


def test_convolution_is_what_its_formula_says() -> None:
    work = make_workload("conv2d", (2, 5, 4, 3, 2, 3))
    x, k = (value.astype(np.float64) for value in work.inputs())
    y = np.zeros((3, 4, 2))
    for f, h, w in np.ndindex(y.shape):
        y[f, h, w] = sum(x[c, h + r, w + s] * k[f, c, r, s] for c, r, s in np.ndindex(2, 2, 3))
    np.testing.assert_allclose(work.reference([x, k]), y, rtol=1e-12)


def test_softmax_is_stable_where_exp_overflows() -> None:
    work = make_workload("softmax", (1, 3))
    x, out = aligned(np.array([[1000.0, 1000.0, -1000.0]])), work.output()
    work.numpy(x, out)
    np.testing.assert_allclose(out, [[0.5, 0.5, 0.0]])


# --- inputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_inputs_follow_from_the_seed(name: str, sizes: tuple[int, ...]) -> None:
    work = make_workload(name, sizes)
    once, again, other = work.inputs(3), work.inputs(3), work.inputs(4)
    for a, b, c, operand in zip(once, again, other, work.operands, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)
        assert a.shape == operand.shape
        assert np.isfinite(a).all()


@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_buffers_can_be_shared_with_tvm(name: str, sizes: tuple[int, ...]) -> None:
    work = make_workload(name, sizes)
    for buffer in (*work.inputs(), work.output()):
        assert buffer.dtype == np.float32
        assert buffer.flags.c_contiguous
        assert buffer.ctypes.data % ALIGNMENT == 0
        shared_tensor(buffer)


def test_an_unaligned_buffer_is_not_shared() -> None:
    with pytest.raises(ValueError, match="aligned to 64 bytes"):
        shared_tensor(aligned(np.zeros(17))[1:])
    with pytest.raises(ValueError, match="contiguous"):
        shared_tensor(aligned(np.zeros((32, 32))).T)


def test_an_output_that_nobody_writes_is_refused() -> None:
    work = make_workload("matmul", (2, 3, 4))
    with pytest.raises(WrongResult, match="nan"):
        work.check(work.output(), work.reference(work.inputs()))


def deviation_of_product(left: Operand, right: Operand) -> float:
    """Of a sum of K products of independent normal numbers."""
    return left.deviation * right.deviation * math.sqrt(left.shape[-1])


def test_exp_stays_finite_at_the_article_s_sizes() -> None:
    work = make_workload("matmul_exp_matmul")
    a, b, _ = work.operands
    assert work.sizes == {"M": 1024, "K": 2048, "L": 1024, "N": 3072}
    # Of 2^20 normal numbers none lies 10 deviations out; exp overflows above 88.
    assert 10 * deviation_of_product(a, b) < 1


@pytest.mark.parametrize("name", ["linear_relu", "two_layer_network"])
def test_layers_keep_the_magnitude_of_their_input(name: str) -> None:
    work = make_workload(name)
    x, *weights = (t for t in work.operands if len(t.shape) == 2)
    for w in weights:
        assert deviation_of_product(replace(x, shape=(1, w.shape[0])), w) == pytest.approx(1)


# --- counts ---------------------------------------------------------------------------------------

FLOPS_AND_FLOATS = {  # at the sizes of these functions' own, counted by hand
    "matmul_exp_matmul": (
        2 * 1024 * 1024 * (2048 + 3072) + 1024 * 1024,
        1024 * 2048 + 2048 * 1024 + 1024 * 3072 + 1024 * 3072,
    ),
    "matmul": (2 * 1024**3, 3 * 1024**2),
    "linear_relu": (512 * 1024 * (2 * 1024 + 2), 512 * 1024 + 1024 * 1024 + 1024 + 512 * 1024),
    "two_layer_network": (
        256 * 200 * (2 * 784 + 2) + 256 * 10 * (2 * 200 + 1),
        256 * 784 + 784 * 200 + 200 + 200 * 10 + 10 + 256 * 10,
    ),
    "softmax": (2048 * 2048 * 5, 2 * 2048 * 2048),
    "rms_norm": (2048 * (2048 * 4 + 3), 2 * 2048 * 2048 + 2048),
    "conv2d": (2 * 64 * 56 * 56 * 64 * 9, 64 * 58 * 58 + 64 * 64 * 9 + 64 * 56 * 56),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_flops_and_bytes_agree_with_a_count_by_hand(name: str) -> None:
    work = make_workload(name)
    assert (work.flops, work.bytes) == (FLOPS_AND_FLOATS[name][0], 4 * FLOPS_AND_FLOATS[name][1])


@pytest.mark.parametrize("name", ["matmul", "linear_relu", "two_layer_network", "conv2d"])
def test_flops_agree_with_a_walk_over_the_program(name: str) -> None:
    for sizes in SIZES[name]:
        work = make_workload(name, sizes)
        assert work.flops == estimate_tir_flops(IRModule({"main": work.program()}))


def test_one_exp_an_element_is_counted_and_tvm_does_not() -> None:
    work = make_workload("matmul_exp_matmul", (10, 19, 11, 31))
    assert work.flops - 10 * 11 == estimate_tir_flops(IRModule({"main": work.program()}))


# --- what is refused ------------------------------------------------------------------------------


@pytest.fixture
def small() -> Workload:
    return make_workload("matmul", (4, 5, 6))


@pytest.fixture
def right(small: Workload) -> Array:
    return small.reference(small.inputs())


def test_a_right_result_has_its_error_told(small: Workload, right: Array) -> None:
    assert small.check(right, right) == 0.0
    assert small.check(right * (1 + 1e-6), right) == pytest.approx(1e-6, rel=1e-3)


def test_one_nan_is_refused(small: Workload, right: Array) -> None:
    got = right.copy()
    got[3, 5] = np.nan
    with pytest.raises(WrongResult, match="relative error <= 0.0001") as caught:
        small.check(got, right)
    assert "matmul (M=4, K=5, N=6)" in str(caught.value)
    assert caught.value.got == "nan"


@pytest.mark.filterwarnings("ignore:invalid value")
def test_an_infinity_is_refused(small: Workload, right: Array) -> None:
    with pytest.raises(WrongResult):
        small.check(np.full(right.shape, np.inf), right)


def test_a_wrong_shape_is_refused(small: Workload, right: Array) -> None:
    with pytest.raises(WrongResult, match="shape"):
        small.check(right.T, right)
    with pytest.raises(WrongResult, match="shape"):
        small.check(right[:1], right)  # would be stretched to fit


def test_an_error_above_the_tolerance_is_refused(small: Workload, right: Array) -> None:
    off = right * (1 + 1e-3)
    with pytest.raises(WrongResult, match="0.001"):
        small.check(off, right)
    assert small.check(off, right, tolerance=2e-3) == pytest.approx(1e-3, rel=1e-3)


def test_a_reference_of_zeros_is_compared_in_absolute_terms(small: Workload) -> None:
    zeros = np.zeros((4, 6))
    assert small.check(zeros, zeros) == 0.0
    with pytest.raises(WrongResult):
        small.check(zeros + 1, zeros)


@pytest.mark.parametrize(
    ("name", "place", "size"),
    [
        (name, place, size)
        for name, table in SIZES.items()
        for place, size in itertools.product(range(len(table[0])), (0, -1))
    ],
)
def test_a_size_below_one_is_refused(name: str, place: int, size: int) -> None:
    sizes = list(SIZES[name][0])
    sizes[place] = size
    with pytest.raises(SizeError):
        make_workload(name, tuple(sizes))
    with pytest.raises(SizeError):
        WORKLOADS[name](*sizes)


def test_a_kernel_larger_than_the_image_is_refused() -> None:
    with pytest.raises(SizeError, match="does not fit"):
        make_workload("conv2d", (1, 4, 4, 1, 5, 1))


def test_an_unknown_workload_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        make_workload("matmull")
    assert all(name in str(caught.value) for name in WORKLOADS)


@pytest.mark.parametrize("sizes", [(1,), (1, 2), (1, 2, 3, 4)])
def test_a_wrong_number_of_sizes_is_refused_with_their_names(sizes: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="M,K,N"):
        make_workload("matmul", sizes)


@pytest.mark.parametrize("name", WORKLOADS)
def test_sizes_stand_in_the_order_of_the_function(name: str) -> None:
    sizes = SIZES[name][0]
    work = make_workload(name, sizes)
    assert tuple(work.sizes.values()) == sizes
    assert list(work.sizes) == list(inspect.signature(WORKLOADS[name]).parameters)[: len(sizes)]
    assert work.title == f"{name} ({', '.join(f'{k}={v}' for k, v in work.sizes.items())})"
