"""Changes of one line in the kernel of RMSNorm and a matmul, and what the checks say about each.

All but one make it wrong. ``judged`` verifies a changed kernel; ``float_error`` is what a test on
random numbers sees, on a machine whose threads happen to keep in step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mlc_course.errors import UsageError, check_known
from mlc_course.lessons.lesson_19_from_graph_to_code.knobs import Form, form
from mlc_course.mugraph.codegen import Tiling
from mlc_course.mugraph.ir import FLOAT64, KernelGraph, evaluate
from mlc_course.mugraph.kernel_checks import CodeVerdict, Mutant, kernel_mutants, values
from mlc_course.mugraph.kernels import Kernel
from mlc_course.mugraph.programs import published


@dataclass(frozen=True)
class Change:
    """One of the course's mutants: of its kind, number ``nth`` whose text begins with ``at``."""

    kind: str
    at: str
    nth: int = 0
    reads: str = ""  # what the new line has


CHANGES: Mapping[str, Change] = {
    "no barrier before the product": Change("barrier", "barrier", 1),
    "one group of copies later": Change("await", "await copies", 1),
    "xg read without its swizzle": Change("layout", "product[i, c] +=", 2),
    "Y stored a column further": Change("index", "Y[", reads="+ c + 1]"),
    "shares added by max": Change("combine", "total_2[i] +=", 1),
    "shares begin at the neighbour's": Change("stage", "total[", 0),
    "x copied into the slot in use": Change("stage", "copy x[(k + 2)", 0),
}
CHECKS = {
    "race": "the run without values: threads race",
    "bounds": "the run without values: an index out of bounds",
    "undefined": "the run without values: what nobody wrote is read",
    "overlap": "the run without values: two points write one element",
    "layout": "the run without values: another element than was written",
    "copy": "the run without values: a copy is under way",
    "blocks": "the run without values: two blocks at one element",
    "matrix": "the run without values: the matrix unit hands out others",
}
FIELD = "the comparison over finite fields"
NOTHING = "nothing: it is right"


def changed(kernel: Kernel, name: str) -> Mutant:
    """Return a kernel with one of ``CHANGES``; raises ``UsageError`` where it has no such line."""
    check_known("no such change", name, CHANGES)
    return mutant(kernel, CHANGES[name])


def mutant(kernel: Kernel, wanted: Change) -> Mutant:
    """Return a kernel with a change; raises ``UsageError`` where it has no such line."""
    left = wanted.nth
    for each in kernel_mutants(kernel):
        before, _, after = each.where.partition("  ->  ")
        if each.kind == wanted.kind and before.startswith(wanted.at) and wanted.reads in after:
            if not left:
                return each
            left -= 1
    raise UsageError(
        f"{kernel.name}: it has no line for this change", expected=wanted.at, got=wanted.kind
    )


def judged(made: Form, name: str) -> CodeVerdict:
    """Verify a changed kernel as code."""

    def lower(graph: KernelGraph, place: int, tiling: Tiling) -> Kernel:
        return changed(made.lower(graph, place, tiling), name).kernel

    return replace(made, lower=lower, kernel=changed(made.kernel, name).kernel).verified()


def caught_by(verdict: CodeVerdict) -> str:
    """Name the check that refused a kernel."""
    if verdict.fault:
        return CHECKS.get(verdict.fault.kind, f"the run without values: {verdict.fault.kind}")
    if verdict.beyond:
        return "the bounds at full size"
    return FIELD if verdict.differs else NOTHING


def float_error(made: Form, name: str) -> float:
    """Return the largest error of a changed kernel on random numbers, as ``kernel_error`` does."""
    small = made.small()
    return kernel_error(small, changed(small.kernel, name).kernel)


def kernel_error(small: Form, kernel: Kernel) -> float:
    """Return the largest error of a kernel on random numbers, as a share of the largest element.

    All threads keep in step, a copy is done at once, and an element is found by its index. The
    error is infinite where an index is out of bounds.
    """
    rng = np.random.default_rng(0)
    shapes = small.graph.input_shapes
    inputs = [rng.standard_normal(shape) for shape in shapes.values()]
    (exact,) = evaluate(small.graph, inputs, FLOAT64)
    given = dict(zip(shapes, inputs, strict=True))
    try:
        (found,) = values(kernel, [given[each.name] for each in kernel.inputs], FLOAT64)
    except IndexError:
        return float("inf")
    return float(np.abs(found - exact).max() / np.abs(exact).max())


# ---- the exercises' kernels

HUNTED: Mapping[str, Change] = {
    "A": Change("iteration", "copy w1[(k + 2)", reads="W1[64*(k + 1)"),
    "B": Change("exchange", "gate[i, c] = 0"),
    "C": Change("stage", "copy x[(k + 2)"),
    "D": Change("await", "await copies", 1),
}


def hunted() -> dict[str, Kernel]:
    """Return four kernels of the fused gated MLP on small sizes, each with one line changed."""
    kernel = form(published("gated_mlp_fused")).small().kernel
    return {letter: mutant(kernel, change).kernel for letter, change in HUNTED.items()}
