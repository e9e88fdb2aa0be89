"""Variants of a kernel for sizes that a guard asks for, in front of the one for all sizes.

A variant is the kernel itself with something in the place of a size: a likely value, or a multiple
of a vector's width. So loops get a known length, and nothing is left for narrower vectors.
Which variant runs is decided at the call, by its guard; the last one has none, and is always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mlc_course.dynamic_shape.codegen.templates import Lowered
from mlc_course.dynamic_shape.fusion import Knowledge
from mlc_course.dynamic_shape.ir import (
    Constraint,
    Divisible,
    Eq,
    Module,
    SymbolicDim,
    dims_of,
    forced_size,
    holds,
    said,
)
from mlc_course.mugraph.kernels import ExprLike, SizedKernel, var

MOST_LIKELY = 2  # variants for likely values; each takes as long to compile as the kernel


@dataclass(frozen=True)
class Variant:
    """A kernel that is right where all constraints of its ``guard`` hold.

    ``quotients`` are the sizes that it is given divided by a number, by the names of the results.
    """

    kernel: SizedKernel
    guard: tuple[Constraint, ...] = ()
    quotients: tuple[tuple[str, str, int], ...] = ()

    def __str__(self) -> str:
        return " and ".join(map(said, self.guard)) or "any sizes"

    def admits(self, sizes: Mapping[str, int]) -> bool:
        """Tell whether the guard holds."""
        return all(holds(each, sizes) for each in self.guard)

    def arguments(self, sizes: Mapping[str, int]) -> Iterator[int]:
        """Yield the numbers that the kernel is given for these sizes."""
        quotients = {name: sizes[of] // by for name, of, by in self.quotients}
        for name in self.kernel.sizes:
            yield quotients[name] if name in quotients else sizes[name]


def variants(
    lower: Callable[[Mapping[str, int]], Lowered],
    knowledge: Knowledge,
    likely: Sequence[SymbolicDim],
) -> tuple[Lowered, tuple[Variant, ...]]:
    """Return a kernel and its variants, the most special one first and the general one last.

    ``lower`` makes it, with some sizes assumed to be multiples of numbers. ``likely`` are
    dimensions with likely values, under the names that the knowledge has for them.
    """
    lowered = lower({})
    general = lowered.kernel
    found: list[Variant] = []
    for dim in likely:
        for value in dim.likely if dim.name in general.sizes else ():
            if len(found) < MOST_LIKELY:
                found.append(_at_value(general, knowledge, dim.name, value))
    if lowered.widths:
        found.append(_at_multiples(lower(lowered.widths).kernel, lowered.widths))
    special = (
        replace(each, kernel=replace(each.kernel, name=f"{general.name}_variant{number}"))
        for number, each in enumerate(found, 1)
    )
    return lowered, (*special, Variant(general))


def _at_value(kernel: SizedKernel, knowledge: Knowledge, name: str, value: int) -> Variant:
    """The kernel where a size, and those that follow from it, are known."""
    sizes = {name: value}
    while True:
        new: dict[str, int] = {}
        for fact in knowledge.stated:
            missing = {dim for dim in dims_of(fact) if isinstance(dim, str)} - sizes.keys()
            if len(missing) == 1:
                (other,) = missing
                forced = forced_size(fact, other, sizes)
                new |= {other: forced} if forced else {}
        if not new:
            break
        sizes |= new
    used = {name: size for name, size in sizes.items() if name in kernel.sizes}
    guard = tuple(Eq(name, size) for name, size in used.items())
    return Variant(kernel.where(used, ()), guard)


def _at_multiples(kernel: SizedKernel, widths: Mapping[str, int]) -> Variant:
    """The kernel where some sizes are multiples of vectors' widths."""
    values: dict[str, ExprLike] = {}
    quotients = []
    for name, by in widths.items():
        quotient = f"{name}_by_{by}"
        while quotient in kernel.sizes:
            quotient += "_"
        values[name] = var(quotient) * by
        quotients.append((quotient, name, by))
    guard = tuple(Divisible((name,), (by,)) for name, by in widths.items())
    made = kernel.where(values, tuple(quotient for quotient, _, _ in quotients))
    return Variant(made, guard, tuple(quotients))


def likely_sizes(module: Module, knowledge: Knowledge) -> list[SymbolicDim]:
    """Return dimensions with likely values, under each name that kernels have for them."""
    found: dict[str, SymbolicDim] = {}
    own = {dim.name: dim for dim in module.dims if dim.likely}
    shared_names = knowledge.shared_names()
    for type_, dims in zip(module.function.types, knowledge.sizes, strict=True):
        for dim, name in zip(type_.dims, dims, strict=True):
            if isinstance(dim, str) and isinstance(name, str) and dim in own:
                name = shared_names.get(name, name)
                found.setdefault(name, replace(own[dim], name=name))
    return list(found.values())
