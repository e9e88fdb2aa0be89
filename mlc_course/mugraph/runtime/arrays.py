"""Arrays that go into compiled kernels, and that come out of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from mlc_course.errors import GraphError, UsageError
from mlc_course.mugraph.ir import Array, KernelGraph
from mlc_course.mugraph.kernels import Buffer
from mlc_course.tensor_program.tir import ALIGNMENT

BRAIN = np.dtype(ml_dtypes.bfloat16)  # NumPy knows it by its name from here on
CPU_DEVICE = 1  # DLPack's kDLCPU


class CopiedInput(UserWarning):
    """An input was copied, because a kernel could not have read it where it was."""


def empty(shape: tuple[int, ...], dtype: str) -> Array:
    """Return a new array that begins at a cache line."""
    kind = np.dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    room = np.empty(size + ALIGNMENT, np.uint8)
    skip = -room.ctypes.data % ALIGNMENT
    return room[skip : skip + size].view(kind).reshape(shape)


def entered(given: Any, buffer: Buffer, dtype: str) -> Array:
    """Return an input as a kernel reads it: of its type, row-major, from a cache line on.

    An array of another layout or of another type of numbers is copied, with a ``CopiedInput``
    warning. Raises ``GraphError`` for another shape, ``UsageError`` for what is no array of real
    numbers in this machine's memory.
    """
    array = _as_array(given, buffer.name)
    if array.shape != buffer.shape:
        raise GraphError(f"input {buffer.name}: its shape", expected=buffer.shape, got=array.shape)
    reasons = []
    if array.dtype != np.dtype(dtype):
        reasons.append(f"it is of {array.dtype.name}, the kernel reads {dtype}")
    if not array.flags.c_contiguous:
        reasons.append("it is not row-major")
    if not array.flags.writeable:
        reasons.append("it is read-only, and NumPy does not share such memory")
    if not reasons and array.ctypes.data % ALIGNMENT:
        reasons.append(f"it does not begin at a multiple of {ALIGNMENT} bytes")
    if not reasons:
        return array
    copy = empty(buffer.shape, dtype)
    with np.errstate(over="ignore"):
        copy[...] = array
    reason = "; ".join(reasons)
    warnings.warn(f"input {buffer.name} is copied: {reason}", CopiedInput, stacklevel=4)
    return copy


def _as_array(given: Any, name: str) -> Array:
    device = getattr(given, "__dlpack_device__", None)
    if device is not None and not isinstance(given, np.ndarray) and device()[0] != CPU_DEVICE:
        raise UsageError(
            f"input {name}: it is on another device",
            expected="an array in this machine's memory",
            got=f"{type(given).__name__} on DLPack device {device()}",
        )
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"input {name}: not an array", expected="an array of numbers", got=error
        ) from None
    if np.ma.is_masked(given):
        raise UsageError(
            f"input {name}: some of its elements are masked",
            expected="a number in every place",
            got=f"{int(np.ma.getmaskarray(given).sum())} masked of {array.size}",
            hint="fill them, as with X.filled(0)",
        )
    check_real(f"input {name}", array.dtype)
    return array


def check_real(what: str, dtype: np.dtype[Any]) -> None:
    """Check that a type is one of real numbers; raise ``UsageError`` otherwise."""
    if dtype.kind not in "fiub" and dtype != BRAIN:
        raise UsageError(f"{what}: not real numbers", expected="an array of numbers", got=dtype)


def checked_output(given: Any, buffer: Buffer, dtype: str) -> Array:
    """Return an array that a kernel may write into.

    Raises ``UsageError`` for one that it cannot: an output is never copied.
    """
    wanted = f"a row-major, writeable {dtype} array of shape {buffer.shape} from a cache line on"
    if not isinstance(given, np.ndarray) or isinstance(given, np.ma.MaskedArray):
        raise UsageError(f"output {buffer.name}", expected=wanted, got=type(given).__name__)
    right = given.shape == buffer.shape and given.dtype == np.dtype(dtype)
    if not right or not given.flags.c_contiguous or not given.flags.writeable:
        got = f"{given.dtype} {given.shape}, strides {given.strides}"
        raise UsageError(f"output {buffer.name}", expected=wanted, got=got)
    if given.ctypes.data % ALIGNMENT:
        got = f"it begins {given.ctypes.data % ALIGNMENT} bytes after one"
        raise UsageError(f"output {buffer.name}", expected=wanted, got=got)
    return given


def _always(array: object) -> bool:
    return True


def _assign(target: Array, source: Array) -> None:
    target[...] = source


def _same(array: Array) -> Array:
    return array


@dataclass(frozen=True)
class Memory:
    """Where the arrays of kernels are: what makes one there, and what takes those that are given.

    ``entered`` and ``checked_output`` are given an array, the buffer that it is for, and its type.
    ``holds`` tells whether an array is there already; ``copied`` copies into its first argument,
    from there or to there, and ``on_host`` gives an array as NumPy has it.
    """

    empty: Callable[[tuple[int, ...], str], Array]
    entered: Callable[[Any, Buffer, str], Array]
    checked_output: Callable[[Any, Buffer, str], Array]
    may_overlap: Callable[[Array, Array], bool]
    holds: Callable[[object], bool] = _always
    copied: Callable[[Array, Array], None] = _assign
    on_host: Callable[[Array], Array] = _same


HOST = Memory(empty, entered, checked_output, np.may_share_memory)


def random_inputs(graph: KernelGraph, seed: int = 0) -> dict[str, Array]:
    """Return normal inputs by name, scaled so that products of matrices stay near 1.

    An input with two axes or more has deviation 1 / sqrt(extent of the axis before the last), as
    the weights of a layer have; one that is no larger than that axis has deviation 1.
    """
    rng = np.random.default_rng(seed)
    found = {}
    for name, shape in graph.input_shapes.items():
        scale = shape[-2] ** -0.5 if len(shape) > 1 and shape[-2] <= shape[-1] else 1.0
        array = empty(shape, "float32")
        array[...] = rng.standard_normal(shape) * scale
        found[name] = array
    return found


def by_name(graph_inputs: Sequence[str], given: Mapping[str, Any], name: str) -> None:
    """Check that inputs are given by the names of a graph; raise ``GraphError`` otherwise."""
    if given.keys() != set(graph_inputs):
        raise GraphError(
            f"{name}: inputs",
            expected=", ".join(graph_inputs),
            got=", ".join(given) or "none",
        )
