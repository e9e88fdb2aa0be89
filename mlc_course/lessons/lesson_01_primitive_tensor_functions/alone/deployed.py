"""The deployment form: classify an image with what is in this script's folder.

    python deployed.py IMAGE     prints the label and the ten scores

Beside this file stand the compiled functions, the weights, TVM's runtime, and ``plan.json``, which
names every tensor with its shape, and the calls in their order. Nothing of NumPy, of the course or
of the compiler is used.
"""

from __future__ import annotations

import array
import ctypes
import json
import math
import sys
from pathlib import Path
from typing import Any

import tvm_ffi

HERE = Path(__file__).resolve().parent
FLOAT_BYTES = 4


def main(image: bytes) -> None:
    """Load the library, fill the tensors, make the calls."""
    runtime = next(HERE.glob("*tvm_runtime.*"))
    ctypes.CDLL(str(runtime), ctypes.RTLD_GLOBAL)
    library = tvm_ffi.load_module(str(next(HERE.glob("network.*"))))
    plan = json.loads((HERE / "plan.json").read_text())

    tensors = {name: empty(shape) for name, shape in plan["tensors"].items()}
    weights = (HERE / "weights.bin").read_bytes()
    for name in plan["weights"]:
        size = FLOAT_BYTES * math.prod(plan["tensors"][name])
        fill(tensors[name], weights[:size])
        weights = weights[size:]
    fill(tensors[plan["input"]], image)
    for function, operands in plan["calls"]:
        library[function](*(tensors[name] for name in operands))

    scores = read(tensors[plan["output"]], math.prod(plan["tensors"][plan["output"]]))
    print(scores.index(max(scores)), *(f"{score:.6g}" for score in scores))


def empty(shape: list[int]) -> Any:
    """Memory for a tensor, from TVM's runtime."""
    allocate = tvm_ffi.get_global_func("runtime.TVMTensorAllocWithScope")
    cpu, float32 = tvm_ffi.device("cpu"), tvm_ffi.dtype("float32")
    return allocate(tvm_ffi.Shape(tuple(shape)), float32, cpu, None)


def fill(tensor: Any, values: bytes) -> None:
    """Copy float32 values into a tensor."""
    copy = tvm_ffi.get_global_func("runtime.TVMTensorCopyFromBytes")
    copy(tensor, ctypes.cast(ctypes.c_char_p(values), ctypes.c_void_p), len(values))


def read(tensor: Any, count: int) -> list[float]:
    """The values of a tensor."""
    values = array.array("f", bytes(FLOAT_BYTES * count))
    copy = tvm_ffi.get_global_func("runtime.TVMTensorCopyToBytes")
    copy(tensor, ctypes.c_void_p(values.buffer_info()[0]), FLOAT_BYTES * count)
    return values.tolist()


if __name__ == "__main__":
    main(Path(sys.argv[1]).read_bytes())
