"""Targets: the machines that graphs are ranked for, with their limits and the rates of their units.

Figures are published ones, or assumed where nothing is published, as their source says. A machine
that has been measured is one more ``Target``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from mlc_course.errors import UsageError, check_known


@dataclass(frozen=True)
class Target:
    """Rates are those of the whole chip; a block has the share of its multiprocessor.

    ``shared_bytes`` is what one block can have, ``shared_bytes_per_sm`` what all blocks have that
    one multiprocessor holds at a time. ``near_bytes_per_s`` is from the level 2 cache, ``*_flops``
    of products of matrices (in tiles of ``matrix_tile``: rows, columns, depth) and of elementwise
    operators, ``special_per_s`` of exp, sqrt and division.
    """

    name: str
    source: str
    multiprocessors: int
    shared_bytes: int
    shared_bytes_per_sm: int
    blocks_per_sm: int
    most_blocks: int
    memory_bytes_per_s: float
    near_bytes_per_s: float
    shared_bytes_per_s: float
    matrix_flops: float
    element_flops: float
    special_per_s: float
    barrier_s: float
    launch_s: float
    matrix_tile: tuple[int, int, int] = (16, 8, 16)
    itemsize: int = 2

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int | float) and not value > 0:
                raise UsageError(f"target {self.name}: {each.name}", expected="above 0", got=value)


_CLOCK = {"a100": 1.41e9, "h100": 1.83e9}

A100 = Target(
    name="a100",
    source=(
        "NVIDIA A100 Tensor Core GPU Architecture (2020): SXM4, 40 GB, float16, boost clock. "
        "Barrier and launch times are assumed, not published"
    ),
    multiprocessors=108,
    shared_bytes=163 * 1024,
    shared_bytes_per_sm=164 * 1024,
    blocks_per_sm=32,
    most_blocks=2**31 - 1,
    memory_bytes_per_s=1555e9,
    near_bytes_per_s=5120 * _CLOCK["a100"],
    shared_bytes_per_s=108 * 128 * _CLOCK["a100"],
    matrix_flops=312e12,
    element_flops=19.5e12,
    special_per_s=108 * 16 * _CLOCK["a100"],
    barrier_s=30e-9,
    launch_s=3e-6,
)
H100 = Target(
    name="h100",
    source=(
        "NVIDIA H100 Tensor Core GPU Architecture (2022): SXM5, float16 without sparsity, boost "
        "clock. Level 2 cache as the A100's, barrier and launch times: assumed, not published"
    ),
    multiprocessors=132,
    shared_bytes=227 * 1024,
    shared_bytes_per_sm=228 * 1024,
    blocks_per_sm=32,
    most_blocks=2**31 - 1,
    memory_bytes_per_s=3352e9,
    near_bytes_per_s=5120 * _CLOCK["h100"],
    shared_bytes_per_s=132 * 128 * _CLOCK["h100"],
    matrix_flops=989.4e12,
    element_flops=66.9e12,
    special_per_s=132 * 16 * _CLOCK["h100"],
    barrier_s=25e-9,
    launch_s=3e-6,
)
TARGETS: Mapping[str, Target] = {each.name: each for each in (A100, H100)}


def target(name: str, **changes: object) -> Target:
    """Return a machine by its name, with other figures where some are given.

    Raises ``UsageError`` for a name or a figure that does not exist.
    """
    check_known("no target", name, TARGETS)
    known = {each.name for each in fields(Target)}
    for each in changes:
        check_known("target: no figure", each, known)
    return replace(TARGETS[name], **changes)  # type: ignore[arg-type]
