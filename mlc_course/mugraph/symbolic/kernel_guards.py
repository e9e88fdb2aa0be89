"""Variants of a kernel: one for sizes that its tiles divide, and one for all, with a guard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from mlc_course.mugraph.kernels import Kernel, SizedKernel
from mlc_course.mugraph.symbolic.symbolic_graphs import SymbolicGraph

EXACT, MASKED = "exact", "masked"


class Lower(Protocol):
    """Makes the kernel of a block graph, for a machine."""

    def __call__(self, symbolic: SymbolicGraph, place: int, *, exact: bool) -> SizedKernel: ...


@dataclass(frozen=True)
class Variant:
    """A kernel, and its guard: the sizes that tiles have to divide, each with its tile."""

    name: str
    kernel: SizedKernel
    sizes: tuple[str, ...]
    tiles: Mapping[str, int]

    @property
    def is_exact(self) -> bool:
        return self.name == EXACT

    def admits(self, sizes: Mapping[str, int]) -> bool:
        """Tell whether the guard holds."""
        return not self.is_exact or all(sizes[name] % self.tiles[name] == 0 for name in self.sizes)

    def arguments(self, sizes: Mapping[str, int]) -> list[int]:
        """Return the numbers that the kernel is given at these sizes, which it admits."""
        return [sizes[n] // self.tiles[n] if self.is_exact else sizes[n] for n in self.sizes]

    def at(self, sizes: Mapping[str, int]) -> Kernel:
        """Return the kernel at these sizes, which it admits."""
        numbers = zip(self.kernel.sizes, self.arguments(sizes), strict=True)
        return self.kernel.at(dict(numbers))

    def __str__(self) -> str:
        conditions = [f"{self.tiles[n]} divides {n}" for n in self.sizes if self.tiles[n] > 1]
        return f"{self.name}: {(self.is_exact and ' and '.join(conditions)) or 'any sizes'}"


def variants(symbolic: SymbolicGraph, lower: Lower) -> dict[int, tuple[Variant, ...]]:
    """Return the variants of each block graph's kernel, those with a guard first."""
    found = {}
    for place, _ in symbolic.graph.blocks:
        used = symbolic.used(place)
        tiles = {name: symbolic.tiles[name] for name in used}
        kinds = (EXACT, MASKED) if any(tile > 1 for tile in tiles.values()) else (EXACT,)
        found[place] = tuple(
            Variant(kind, lower(symbolic, place, exact=kind == EXACT), used, tiles)
            for kind in kinds
        )
    return found
