"""Passes over a graph, each with its reason, and the stages of a module that they make."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mlc_course.errors import check_known
from mlc_course.tensor_program.networks.graphs import graph
from mlc_course.tensor_program.networks.picture import graph_svg
from mlc_course.tensor_program.problems import Array
from mlc_course.tensor_program.schedule import Stage
from mlc_course.tensor_program.tir import IRModule, PrimFunc, Schedule, bind, transform


@dataclass(frozen=True)
class Pass:
    """A function from modules to modules, with its name and the reason for it."""

    name: str
    why: str
    apply: Callable[[IRModule], IRModule]


DEAD_CODE = Pass(
    "DeadCodeElimination",
    "What no output needs is dropped, before anyone spends time on it.",
    transform.DeadCodeElimination(),
)
FOLD = Pass(
    "FoldConstant",
    "An operator that reads only constants is computed now, once, and not at every call.",
    transform.FoldConstant(),
)
LEGALIZE = Pass(
    "LegalizeOps",
    "Every operator becomes a call of a kernel: loops over buffers, which lessons 1 to 12 work on.",
    transform.LegalizeOps(),
)
ANNOTATE = Pass(
    "AnnotateTIROpPattern",
    "Each kernel's loops tell its kind: how its output's indices depend on those of its inputs.",
    transform.AnnotateTIROpPattern(),
)
FUSE_OPS = Pass(
    "FuseOps",
    "By the kinds, kernels are put together into groups. Each group is a function of its own.",
    transform.FuseOps(),
)
FUSE_TIR = Pass(
    "FuseTIR",
    "Each group becomes one kernel. Its loops stand one after another, with the same arrays "
    "between them as before: they are private now, but still there.",
    transform.FuseTIR(),
)
LOWERING = (LEGALIZE, ANNOTATE)
FUSION = (FUSE_OPS, FUSE_TIR)


def bind_weights(weights: Mapping[str, Array]) -> Pass:
    """The pass that makes these parameters constants of the program."""
    return Pass(
        "BindParams",
        "The weights are known before the first image comes: they become constants.",
        lambda module: bind(module, weights),
    )


def run(module: IRModule, *passes: Pass) -> IRModule:
    """Apply passes to a module, which itself stays unchanged."""
    for each in passes:
        module = each.apply(module)
    return module


def stages(module: IRModule, passes: Sequence[Pass], *, first: str = "as written") -> list[Stage]:
    """The module before and after each pass, with pictures on one scale."""
    modules = [module]
    for each in passes:
        modules.append(each.apply(modules[-1]))
    graphs = [graph(each) for each in modules]
    scale = max(each.bytes_between + each.bytes_inside for each in graphs)
    told = [(first, "The graph as it was built."), *((each.name, each.why) for each in passes)]
    return [
        Stage(name, why, script(made), graph_svg(drawn, scale=scale or None))
        for (name, why), made, drawn in zip(told, modules, graphs, strict=True)
    ]


def script(program: IRModule | PrimFunc) -> str:
    """TVMScript of a module or a function, where ``T.int64(200)`` is written 200."""
    return re.sub(r"T\.int64\((\d+)\)", r"\1", str(program.script()))


def kernels(module: IRModule) -> dict[str, PrimFunc]:
    """The kernels of a module by name."""
    functions = module.functions.items()
    return {str(name.name_hint): made for name, made in functions if isinstance(made, PrimFunc)}


def with_schedules(
    module: IRModule, schedules: Mapping[str, Callable[[Schedule], object]]
) -> IRModule:
    """Schedule some kernels of a module, each by its function; the given module stays unchanged.

    Raises ``UsageError`` for a kernel that the module does not have.
    """
    known = kernels(module)
    made = IRModule(dict(module.functions))
    for name, schedule in schedules.items():
        check_known("no kernel", name, known)
        sch = Schedule(known[name])
        schedule(sch)
        made.update_func(module.get_global_var(name), sch.mod["main"])
    return made
