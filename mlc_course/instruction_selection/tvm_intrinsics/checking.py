"""TVM's own tensor intrinsics against their descriptions: TVM compares the two nowhere.

A tensor intrinsic is a description, a loop in TensorIR, and an implementation, vector code that is
put in its place. ``TensorIntrin.register`` takes any pair. Here both are read on exact integers,
and proved equal for all inputs or refuted by one; then the implementation is compiled for a
processor that it is for, and run where this is one.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from mlc_course.errors import MachineError, check_known
from mlc_course.instruction_selection.insert import implementation
from mlc_course.instruction_selection.integers import const
from mlc_course.instruction_selection.lower import RegisterProgram
from mlc_course.instruction_selection.prove import Proved, Refuted, Verdict, prove_equal
from mlc_course.instruction_selection.spec import Specification
from mlc_course.instruction_selection.tvm_intrinsics.vector_reading import memory_of, run
from mlc_course.parallel import run_limited
from mlc_course.tensor_program.tir import PrimFunc, tvm

SECONDS, MEMORY_BYTES = 60, 4 << 30  # for a child that compiles one intrinsic
LINE = 88


@dataclass(frozen=True)
class TvmIntrinsic:
    """A tensor intrinsic that TVM registers: its name, and a target that has its instructions.

    ``promise`` are ranges of inputs within which it may be right where it is not right for all.
    """

    name: str
    target: Mapping[str, Any]
    promise: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def target_text(self) -> str:
        return ", ".join(str(x) for value in self.target.values() for x in _listed(value))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


_ARM = {"mtriple": "aarch64-linux-gnu"}
# TVM has others for floats, for GPUs, and for vectors whose length the processor chooses.
TVM_INTRINSICS: Mapping[str, TvmIntrinsic] = MappingProxyType(
    {
        each.name: each
        for each in (
            TvmIntrinsic("dot_16x4_vnni", {"mcpu": "cascadelake"}),
            TvmIntrinsic("dot_16x4_avx512", {"mcpu": "skylake-avx512"}, {"A": (0, 127)}),
            TvmIntrinsic("dot_4x4_i8i8s32_neon", _ARM | {"mattr": ["+neon"]}),
            TvmIntrinsic("dot_4x4_i8i8s32_sdot", _ARM | {"mattr": ["+neon", "+dotprod"]}),
            TvmIntrinsic("dot_4x4_u8u8u32_udot", _ARM | {"mattr": ["+neon", "+dotprod"]}),
            TvmIntrinsic("dot_4x4_u8u8i32_hdot", _ARM | {"mattr": ["+neon", "+dotprod"]}),
        )
    }
)


@dataclass(frozen=True)
class IntrinsicRun:
    """The result of an intrinsic for given inputs, lane by lane.

    ``described`` and ``implemented`` are computed on exact integers; ``processor`` is what this
    processor computes, ``None`` where LLVM or the processor does not have the instructions.
    """

    described: tuple[int, ...]
    implemented: tuple[int, ...]
    processor: tuple[int, ...] | None


@dataclass(frozen=True)
class IntrinsicCheck:
    """The findings on one of TVM's tensor intrinsics.

    ``verdict`` is on all inputs, ``promised`` on those within its promise, where it is not right
    for all. ``fault`` is what LLVM says where it does not compile. ``ran`` is what came of the
    input that refutes it.
    """

    intrinsic: TvmIntrinsic
    verdict: Verdict
    promised: Verdict | None
    fault: str | None
    ran: IntrinsicRun | None

    @property
    def is_right(self) -> bool:
        """Whether it compiles and is proved for all inputs."""
        return isinstance(self.verdict, Proved) and self.fault is None

    def __str__(self) -> str:
        lines = [f"{self.intrinsic.name}  ({self.intrinsic.target_text})"]
        lines.append(str(self.verdict))
        if self.ran is not None and self.ran.processor is not None:
            same = self.ran.processor == self.ran.implemented
            lines.append(f"This processor computes {'that, too' if same else 'another value'}.")
        if self.promised is not None:
            ranges = ", ".join(f"{k} in {a}..{b}" for k, (a, b) in self.intrinsic.promise.items())
            lines.append(f"For {ranges}: {self.promised}")
        lines.append("It compiles." if self.fault is None else f"It does not compile: {self.fault}")
        first, *others = (textwrap.wrap(each, LINE) for each in lines)
        return "\n".join([*first, *(f"  {text}" for each in others for text in each)])


def check_intrinsics(names: Iterable[str] = TVM_INTRINSICS) -> list[IntrinsicCheck]:
    """Check TVM's tensor intrinsics of these names, one row each.

    Raises:
        UsageError: a name is none of ``TVM_INTRINSICS``.
    """
    return [check_intrinsic(each) for each in names]


def check_intrinsic(name: str) -> IntrinsicCheck:
    """Check one of TVM's tensor intrinsics: its meaning, its compilation, and a run.

    LLVM runs in a process of its own, which it may abort.

    Raises:
        UsageError: the name is none of ``TVM_INTRINSICS``.
    """
    check_known("no tensor intrinsic of TVM's", name, TVM_INTRINSICS)
    intrinsic = TVM_INTRINSICS[name]
    description, implementation = tvm.tensor_intrinsic(name)
    verdict = compared(description, implementation)
    promised = None
    if isinstance(verdict, Refuted) and intrinsic.promise:
        promised = compared(description, implementation, intrinsic.promise)
    fault = _fault_of(implementation, intrinsic.target)
    ran = run_intrinsic(name, verdict.model) if isinstance(verdict, Refuted) else None
    return IntrinsicCheck(intrinsic, verdict, promised, fault, ran)


def run_intrinsic(name: str, values: Mapping[str, int]) -> IntrinsicRun:
    """Return what an intrinsic computes for given inputs: by its description, and by itself.

    ``values`` are named as ``A[0]`` for one lane of a buffer, or ``A`` for all of them; others are
    0. The processor runs in a process of its own, which may lack the instructions.

    Raises:
        UsageError: the name is none of ``TVM_INTRINSICS``.
    """
    check_known("no tensor intrinsic of TVM's", name, TVM_INTRINSICS)
    intrinsic = TVM_INTRINSICS[name]
    description, implementation = tvm.tensor_intrinsic(name)
    given = {
        buffer: [values.get(f"{buffer}[{i}]", values.get(buffer, 0)) for i in range(len(lanes))]
        for buffer, lanes in memory_of(description).items()
    }
    result = str(implementation.params[-1].name)

    def exactly(function: PrimFunc) -> tuple[int, ...]:
        lanes = run(function, {buffer: list(map(const, held)) for buffer, held in given.items()})
        return tuple(lane.lo for lane in lanes[result])

    def by_the_processor() -> tuple[int, ...]:
        arrays = [
            tvm.tensor(np.array(given[str(each.name)], str(each.dtype)).reshape(_shape(each)))
            for each in implementation.params
        ]
        _compiled(implementation, intrinsic.target)["main"](*arrays)
        return tuple(map(int, arrays[-1].numpy().reshape(-1)))

    processor = None
    if "mtriple" not in intrinsic.target:
        with suppress(MachineError):
            processor = run_limited(by_the_processor, seconds=SECONDS, memory_bytes=MEMORY_BYTES)
    return IntrinsicRun(exactly(description), exactly(implementation), processor)


def _shape(buffer: Any) -> tuple[int, ...]:
    return tuple(map(int, buffer.shape))


def read_back(spec: Specification, program: RegisterProgram) -> Verdict:
    """Prove that what ``insert`` puts into a schedule for a program computes the specification.

    The program is read from the TensorIR that TVM gets, at full width and for all inputs within
    the promised ranges. So a fault of the lowering or of its text is found, too.

    Raises:
        UsageError: the TensorIR has an expression or an intrinsic with no meaning.
    """
    description = spec.prim_func(program.outputs, offset_factor=1)
    return compared(description, implementation(spec, program), spec.ranges)


def compared(
    description: PrimFunc,
    implementation: PrimFunc,
    ranges: Mapping[str, tuple[int, int]] | None = None,
) -> Verdict:
    """Prove that two functions leave the same lanes in all their buffers, or refute it.

    Raises:
        UsageError: one of them has a statement, an expression or an intrinsic with no meaning.
    """
    before = memory_of(description, ranges)
    wanted, found = run(description, before), run(implementation, before)
    written = [name for name, lanes in before.items() if not lanes == wanted[name] == found[name]]
    return prove_equal(
        [lane for name in written for lane in wanted[name]],
        [lane for name in written for lane in found[name]],
    )


def _fault_of(implementation: PrimFunc, target: Mapping[str, Any]) -> str | None:
    """Return why LLVM does not compile a function, ``None`` where it does."""

    def work() -> str:
        try:
            _compiled(implementation, target)
        except Exception as error:  # only TVM runs here
            return _first_words(str(error))
        return ""

    try:
        return run_limited(work, seconds=SECONDS, memory_bytes=MEMORY_BYTES) or None
    except MachineError:
        return "LLVM ends the process"


def _compiled(implementation: PrimFunc, target: Mapping[str, Any]) -> Any:
    named = implementation.with_attr("global_symbol", "main")
    return tvm.compile_module(named, tvm.Target({"kind": "llvm", **target}))


def _first_words(text: str) -> str:
    """Return LLVM's own words from an error of TVM's."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    after = (at + 1 for at, line in enumerate(lines) if line.endswith("following errors:"))
    return lines[min(next(after, 0), len(lines) - 1)]
