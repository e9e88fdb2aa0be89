"""TVM's names for loop programs, spelled once for the pinned version.

When the pin moves, only this file and ``relax_names`` change. It is also a list of what older
tutorials call by other names (``tvm.tir`` is ``tvm.tirx`` today, ``tvm.nd``
is ``tvm.runtime``, and ``tvm.build`` is ``tvm.compile``).
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mlc_course.extras import brought_by

with brought_by():
    import tvm
    import tvm_ffi
    from tvm import IRModule, libinfo, te, tirx
    from tvm.ir import Node, Op, PrimType, Range
    from tvm.ir.expr import Call, StringImm, TensorLoad
    from tvm.ir.transform import PassContext
    from tvm.ir.utils import derived_object
    from tvm.s_tir import SBlock, SBlockRealize, Schedule, TensorIntrin
    from tvm.s_tir import meta_schedule as meta_schedule
    from tvm.s_tir import transform as s_tir_transform
    from tvm.s_tir.schedule import LoopRV, SBlockRV, Trace
    from tvm.s_tir.schedule.schedule import ScheduleError
    from tvm.script import from_source
    from tvm.script import tirx as T
    from tvm.script.ir_builder import IRBuilder
    from tvm.script.ir_builder import tirx as tir_builder
    from tvm.support import cc
    from tvm.support.popen_pool import PopenPoolExecutor
    from tvm.sym import Analyzer, detect_linear_equation, iter_map_simplify
    from tvm.target import Target, codegen
    from tvm.tirx import PrimFunc
    from tvm.tirx.analysis import undefined_vars
    from tvm.tirx.buffer import BufferType
    from tvm_ffi import Array

from mlc_course.errors import UsageError
from mlc_course.machine import runs_as_written, stand_in, usable_cores

# TVM's thread pool is made at its first use, with this many threads; `use_threads` chooses among
# them afterwards. They are not bound to cores: bound ones would fight with NumPy's for a core.
os.environ["TVM_NUM_THREADS"] = str(usable_cores())
os.environ["TVM_BIND_THREADS"] = "0"

TensorProgram: TypeAlias = IRModule | PrimFunc | Schedule
ITERATOR_PREFIX = "v_"  # create_prim_func calls the block iterator of loop ``m`` ``v_m``

__all__ = [
    "ITERATOR_PREFIX",
    "Analyzer",
    "Array",
    "BufferType",
    "Call",
    "IRBuilder",
    "IRModule",
    "LoopRV",
    "Node",
    "Op",
    "PopenPoolExecutor",
    "PrimFunc",
    "PrimType",
    "Range",
    "SBlock",
    "SBlockRV",
    "SBlockRealize",
    "Schedule",
    "ScheduleError",
    "StringImm",
    "TensorIntrin",
    "T",
    "Target",
    "TensorProgram",
    "Trace",
    "TensorLoad",
    "compile_module",
    "cpu_features",
    "cpu_target",
    "derived_object",
    "detect_linear_equation",
    "dump_program",
    "evaluator",
    "every_node",
    "flattened",
    "has_features",
    "host_cpu",
    "intrinsic_name",
    "intrinsic_number",
    "is_known_cpu",
    "load_cpu_intrinsics",
    "linker",
    "load_program",
    "lowered",
    "iter_map_simplify",
    "opaque_blocks",
    "level_target",
    "read_script",
    "memory_stages",
    "meta_schedule",
    "rewrite",
    "runtime_library",
    "on_one_thread",
    "same_structure",
    "shared_tensor",
    "substitute",
    "te",
    "tensor_intrinsic",
    "tir_builder",
    "tensor",
    "tirx",
    "undefined_vars",
    "unique_variables",
    "use_threads",
    "version",
    "with_llvm_options",
]

# processors with vectors of that width, and no wider ones
STAND_INS = {"AVX-512": "skylake-avx512", "AVX2": "haswell", "SSE": "x86-64"}
ALIGNMENT = 64  # bytes; what TVM's generated code may assume of a buffer
STACK_BYTES = 1024  # TVM's kMaxStackAlloca: smaller global buffers are put on the stack
version: str = tvm.__version__


@functools.cache
def host_cpu() -> str:
    """LLVM's name of this processor, such as ``znver4``, or of the one that it stands in for.

    Instructions are counted in code for it. It is also what runs, unless it is too wide.
    """
    asked = stand_in()
    return STAND_INS[asked] if asked else str(codegen.llvm_get_system_cpu())


def load_cpu_intrinsics() -> None:
    """Spare a search ten seconds: its context imports the intrinsics of all processors, GPUs' too.

    Those of others can still be imported by name, as ``tvm.s_tir.tensor_intrin.cuda``.
    """
    name = "tvm.s_tir.tensor_intrin"
    if name not in sys.modules:
        package = types.ModuleType(name)
        package.__path__ = [str(Path(tvm.s_tir.__file__).parent / "tensor_intrin")]
        sys.modules[name] = package
        for processor in ("x86", "arm_cpu", "riscv_cpu"):
            importlib.import_module(f"{name}.{processor}")


def tensor_intrinsic(name: str) -> tuple[PrimFunc, PrimFunc]:
    """Return the description and the implementation of a tensor intrinsic for x86 or ARM.

    Raises ``UsageError`` where TVM has registered none of that name.
    """
    load_cpu_intrinsics()
    found = TensorIntrin.get(name, allow_missing=True)
    if found is None:
        raise UsageError(
            f"TVM has no tensor intrinsic {name!r}",
            expected="one that has been registered, such as dot_16x4_avx512",
            got=name,
        )
    return found.desc, found.impl


def cpu_target(threads: int = 1, cpu: str | None = None) -> Target:
    """The machine to generate code for: one that can run here, or another that LLVM knows."""
    here = host_cpu() if runs_as_written() else str(codegen.llvm_get_system_cpu())
    return Target({"kind": "llvm", "mcpu": cpu or here, "num-cores": threads})


def with_llvm_options(target: Target, *options: str) -> Target:
    """The same target with more of LLVM's own options, such as ``-vectorize-slp=false``."""
    known = target.export()
    return Target({**known, "cl-opt": [*map(str, known.get("cl-opt", ())), *options]})


def is_known_cpu(cpu: str) -> bool:
    """Tell whether LLVM can generate code for it; for any other name LLVM takes ``generic``."""
    return bool(codegen.llvm_is_valid_cpu(cpu, codegen.llvm_get_system_triple()))


def level_target(
    settings: Mapping[str, str | tuple[str, ...]], *, attributes: Sequence[str] = ()
) -> Target:
    """The machine with these settings (``mcpu``, ``mtriple``, ``mattr``), on one thread.

    ``attributes`` are more of LLVM's, such as ``-prefer-256-bit``.
    """
    known: dict[str, Any] = {"kind": "llvm", "num-cores": 1, **settings}
    if listed := [*known.pop("mattr", ()), *attributes]:
        known["mattr"] = listed
    return Target(known)


def has_features(target: Target, features: Sequence[str]) -> bool:
    """Tell whether the machine that code is generated for has all of LLVM's features."""
    return bool(codegen.llvm_cpu_has_features(list(features), target))


def intrinsic_name(number: int) -> str:
    """LLVM's name of an intrinsic, by the number that it has in TensorIR."""
    return str(codegen.llvm_get_intrinsic_name(number))


def intrinsic_number(name: str) -> int:
    """LLVM's number of an intrinsic; 0 where this LLVM has none of that name."""
    return int(codegen.llvm_lookup_intrinsic_id(name))


def cpu_features(cpu: str) -> frozenset[str]:
    """Return LLVM's names of what a processor of this machine's kind can do: ``avx2``, ``fma``."""
    return frozenset(map(str, codegen.llvm_get_cpu_features(Target({"kind": "llvm", "mcpu": cpu}))))


def compile_module(module: IRModule | PrimFunc, target: Target, *, compact: bool = True) -> Any:
    """TVM's machine code for a program, whatever it has made of it; see ``compile_program``.

    Unless ``compact``, buffers keep their sizes, as in ``lowered``.
    """
    here = PassContext.current()
    disabled = [] if compact else [str(s_tir_transform.CompactBufferAllocation().info.name)]
    with PassContext(
        opt_level=here.opt_level,
        required_pass=here.required_pass,
        config=dict(here.config.items()),
        disabled_pass=[*here.disabled_pass, *disabled],
        instruments=here.instruments,
    ):
        return tvm.compile(module, target=target)


def linker() -> str | None:
    """The C compiler of this machine, which TVM calls to link; None where there is none."""
    found = cc.get_cc()
    return str(found) if found else None


def runtime_library() -> Path:
    """Path of TVM's runtime, a shared library that runs compiled functions without the compiler."""
    return Path(libinfo.find_libtvm_runtime())


@dataclass(frozen=True)
class MemoryStages:
    """A program at three stages of its way to LLVM.

    In ``compact`` each buffer holds only what is in use at a time, in ``flat`` it has one axis, and
    in ``shared`` buffers share memory when one is no longer needed as the other begins.
    """

    compact: PrimFunc
    flat: PrimFunc
    shared: PrimFunc


def memory_stages(function: PrimFunc) -> MemoryStages:
    """Lower a program as ``compile_program`` does, and keep the stages that decide on its memory.

    Raises what TVM raises for a program that it cannot compile.
    """
    kept: dict[tuple[str, bool], PrimFunc] = {}

    @tvm.instrument.pass_instrument
    class Keep:
        def run_before_pass(self, module: IRModule, info: Any) -> None:
            kept[str(info.name), False] = module["main"]

        def run_after_pass(self, module: IRModule, info: Any) -> None:
            kept[str(info.name), True] = module["main"]

    target = cpu_target()
    module = IRModule({"main": function.with_attr("global_symbol", "main")})
    lower, *_ = tirx.get_default_tir_pipeline(target)
    with tvm.transform.PassContext(instruments=[Keep()]):
        lower(tirx.transform.BindTarget(target.with_host(target))(module))
    return MemoryStages(
        compact=kept["s_tir.CompactBufferAllocation", True],
        flat=kept["tirx.StorageRewrite", False],
        shared=kept["tirx.StorageRewrite", True],
    )


def every_node(root: Any) -> Iterator[Any]:
    """The nodes of a statement in program order, each before those inside it."""
    found: list[Any] = []
    tvm_ffi.structural_walk(root, (object, found.append), order="pre")
    return iter(found)


def opaque_blocks(module: IRModule) -> IRModule:
    """The program whose indices are made of loops, as TVM's first passes leave it.

    Raises what TVM raises.
    """
    for each in (
        s_tir_transform.CanonicalizeLoop(),
        s_tir_transform.LowerCrossThreadReduction(),
        s_tir_transform.LowerInitBlock(),
        s_tir_transform.PlanAndUpdateBufferAllocationLocation(),
        s_tir_transform.ConvertBlocksToOpaque(),
        s_tir_transform.LiftThreadBinding(),
        s_tir_transform.ManifestSharedMemoryLocalStage(),
    ):
        module = each(module)
    return module


def lowered(module: IRModule, *, compact: bool = True) -> IRModule:
    """The program as loops and stores, just before TVM makes its buffers one-dimensional.

    The passes are those with which TVM's pipeline begins; what follows them, such as unrolling, can
    take long. Unless ``compact``, buffers keep their sizes. Raises what TVM raises.
    """
    module = opaque_blocks(module)
    for each in (
        *([s_tir_transform.CompactBufferAllocation()] if compact else []),
        s_tir_transform.LowerAutoCopy(),
        s_tir_transform.UnifyThreadBinding(),
        s_tir_transform.LowerMatchBuffer(),
        s_tir_transform.StmtSimplify(),
        s_tir_transform.InjectPermutedLayout(),
        s_tir_transform.AnnotateIrregularLoop(),
        s_tir_transform.InjectSoftwarePipeline(),
        s_tir_transform.TransformMmaBufferLayout(),
        s_tir_transform.LowerOpaqueBlock(),
    ):
        module = each(module)
    return module


def flattened(module: IRModule) -> IRModule:
    """A lowered program with one-dimensional buffers."""
    return tirx.transform.FlattenBuffer()(module)


def unique_variables(module: IRModule) -> IRModule:
    """The program with a variable of its own for each loop and each let."""
    return s_tir_transform.ConvertSSA()(module)


def rewrite(root: Any, kind: type, change: Callable[[Any, Any], Any]) -> Any:
    """A node with ``change(node, mutator)`` in place of each node of a kind, outermost first.

    ``mutator.default_mutate(node)`` goes on inside a node.
    """
    return tvm_ffi.structural_mutate(root, (kind, change))


def substitute(root: Any, values: Mapping[Any, Any]) -> Any:
    """An expression with values in place of variables."""
    return tvm_ffi.structural_map(root, (tirx.Var, lambda var: values.get(var, var)))


def on_one_thread(function: PrimFunc) -> PrimFunc:
    """The function with serial loops in place of parallel ones."""

    def serial(loop: tirx.For) -> tirx.For:
        if loop.kind != tirx.ForKind.PARALLEL:
            return loop
        parts = loop.body, loop.thread_binding, loop.annotations, loop.step
        return tirx.For(loop.loop_var, loop.min, loop.extent, tirx.ForKind.SERIAL, *parts)

    found = tvm_ffi.structural_map(function, (tirx.For, serial))
    assert isinstance(found, PrimFunc)
    return found


def dump_program(module: IRModule) -> str:
    """A program as text that ``load_program`` reads back exactly."""
    return str(tvm.ir.save_json(module))


def load_program(text: str) -> IRModule:
    """Read a program that ``dump_program`` wrote."""
    return tvm.ir.load_json(text)


def read_script(text: str) -> PrimFunc:
    """Read a function in TVMScript, which begins with ``@T.prim_func``.

    Python evaluates what stands in it: only for a text that is known to hold nothing else. Raises
    what TVM raises for a text that is no program.
    """
    found = from_source(text, extra_vars={"T": T})
    assert isinstance(found, PrimFunc)
    return found


def same_structure(first: object, second: object) -> bool:
    """Tell whether two TVM nodes are equal in all but the names of variables."""
    return bool(tvm_ffi.structural_equal(first, second))


def tensor(array: NDArray[Any]) -> Any:
    """TVM's copy of a NumPy array; its method ``numpy`` copies it back."""
    return tvm.runtime.tensor(array)


def evaluator(library: Any, number: int) -> Callable[..., Any]:
    """Return a function that calls a compiled ``main`` so many times, without Python between.

    It takes the buffers; ``results[0]`` of what it returns are the mean seconds of a call.
    """
    timed: Callable[..., Any] = library.mod.time_evaluator("main", tvm.cpu(), number=number)
    return timed


def shared_tensor(array: NDArray[Any]) -> Any:
    """TVM's view of a NumPy array, without a copy, so that both are timed on the same memory.

    Raises ``ValueError`` when the array is not contiguous or not aligned to 64 bytes
    (``problems.aligned`` makes arrays that are).
    """
    if not array.flags.c_contiguous or array.ctypes.data % ALIGNMENT:
        raise ValueError(f"shared_tensor needs a contiguous array aligned to {ALIGNMENT} bytes")
    return tvm.runtime.from_dlpack(np.asarray(array))


_in_use = threading.local()  # TVM has a pool for each thread that calls it


def use_threads(threads: int) -> None:
    """Let TVM's parallel loops run on this many threads from now on.

    Raises ``UsageError`` below one, and above the number of cores.
    """
    wanted = os.getpid(), threads  # a process that was forked has no pool yet
    if getattr(_in_use, "threads", None) == wanted:
        return
    if not 1 <= threads <= usable_cores():
        raise UsageError(
            "threads: not a number of this machine's cores",
            expected=f"1 to {usable_cores()}",
            got=threads,
        )
    tvm.get_global_func("runtime.config_threadpool")(0, threads)
    _in_use.threads = wanted
