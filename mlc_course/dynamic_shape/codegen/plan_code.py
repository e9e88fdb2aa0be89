"""The kernels of a plan for a target, each in its variants, and their text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from mlc_course.dynamic_shape.codegen.cpu_rows import cpu_kernel
from mlc_course.dynamic_shape.codegen.gpu_rows import gpu_kernel
from mlc_course.dynamic_shape.codegen.guarded_variants import Variant, likely_sizes, variants
from mlc_course.dynamic_shape.codegen.templates import Lowered
from mlc_course.dynamic_shape.fusion import Flow, Knowledge, Plan
from mlc_course.errors import check_known
from mlc_course.machine import describe
from mlc_course.mugraph.cpu_kernels import cpu_of, prim_func
from mlc_course.mugraph.cuda import compile_ptx
from mlc_course.mugraph.gpu_text import CUDA, source_of
from mlc_course.tensor_program.tir import kernel_text

Target = Literal["cpu", "cuda"]
ARCH = "sm_80"  # whose PTX is written
# LLVM would keep an address for each access of each loop, more than there are registers for.
LLVM_OPTIONS = ("-disable-lsr",)


@dataclass(frozen=True)
class PlannedKernel:
    """A kernel of a plan, and its variants, the general one last."""

    lowered: Lowered
    variants: tuple[Variant, ...]

    def chosen(self, sizes: Mapping[str, int]) -> Variant:
        """Return the first variant whose guard holds."""
        return next(each for each in self.variants if each.admits(sizes))


def planned_kernels(
    plan: Plan, target: Target = "cpu", *, folds: bool = True, width: int | None = None
) -> tuple[PlannedKernel, ...]:
    """Return the kernels of a plan, in its order, without those that leave nothing behind.

    ``width`` are the floats of a CPU's vector, by default this machine's. Without ``folds``, index
    arithmetic on a CPU is left as it is written.

    Raises ``GraphError`` for element types that kernels do not compute with, and ``UsageError``
    for another target.
    """
    check_known("no target", target, get_args(Target))
    module = plan.module
    knowledge, flow = Knowledge(module, plan.level), Flow(module.function)
    likely = likely_sizes(module, knowledge)
    width = width or cpu_of(describe()).lanes
    found = []
    for number, kernel in enumerate(plan.kernels):
        if kernel.outputs:
            given = (f"kernel{number}", flow, kernel, knowledge)
            lower: Callable[[Mapping[str, int]], Lowered] = partial(gpu_kernel, *given)
            if target == "cpu":
                lower = partial(cpu_kernel, *given, width, folds=folds)
            found.append(PlannedKernel(*variants(lower, knowledge, likely)))
    return tuple(found)


def _of_cpu(plan: Plan, kind: str) -> Iterator[str]:
    for each in planned_kernels(plan):
        for variant in each.variants:
            yield f"; {variant.kernel.name}, for {variant}"
            yield kernel_text(prim_func(variant.kernel), kind, options=LLVM_OPTIONS)


def _cuda(plan: Plan) -> str:
    kernels = [each for made in planned_kernels(plan, "cuda") for each in made.variants]
    source = source_of([each.kernel for each in kernels], CUDA, "float32")
    guards = [f"// {name}: {each}" for name, each in zip(source.names, kernels, strict=True)]
    return "\n".join([*guards, "", source.text])


def _program(plan: Plan) -> str:
    return "\n\n".join(
        f"# for {variant}\n{variant.kernel}"
        for each in planned_kernels(plan)
        for variant in each.variants
    )


# What a plan's kernels are written as, by the suffix of a file.
CODE: Mapping[str, Callable[[Plan], str]] = {
    ".txt": _program,
    ".ll": lambda plan: "\n".join(_of_cpu(plan, "ll")),
    ".s": lambda plan: "\n".join(_of_cpu(plan, "asm")),
    ".cu": _cuda,
    ".ptx": lambda plan: compile_ptx(_cuda(plan), ARCH),
}
