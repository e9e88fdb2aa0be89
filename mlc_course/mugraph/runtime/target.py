"""A target: what lowers graphs for a machine, what runs their kernels, and what text they have.

A new target is one more entry of ``compiled.TARGETS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from mlc_course.mugraph.ir import Array, KernelGraph
from mlc_course.mugraph.kernel_checks import CodeVerdict
from mlc_course.mugraph.kernels import KernelProgram
from mlc_course.mugraph.runtime.arrays import HOST, Memory


@dataclass(frozen=True)
class Options:
    """The options of a compilation, such as CPU threads and the type of tensors in memory.

    ``arch`` is the architecture of a GPU, such as ``sm_90``; None is the one that is there.
    """

    threads: int
    storage: str
    arch: str | None = None


class Lowered(Protocol):
    """A kernel program that knows what it was lowered from."""

    @property
    def program(self) -> KernelProgram:
        """The kernels."""

    def verified(self) -> CodeVerdict:
        """Compare the kernels with their graph, as code."""


# Runs all kernels of a program on the arrays that it was made for.
Launch: TypeAlias = Callable[[], object]
# Makes a launch from arrays by the names of a program's buffers.
Binder: TypeAlias = Callable[[Mapping[str, Array]], Launch]


@dataclass(frozen=True)
class Text:
    """A text that a program has on a target, such as assembly."""

    what: str
    write: Callable[[KernelProgram, Options], str]


@dataclass(frozen=True)
class Target:
    """The way in which graphs become functions on one kind of machine.

    ``lower`` gives the kernels of a graph; ``build`` compiles them, and its result binds them to
    arrays, which are in the target's ``memory``. ``texts`` are by the suffix of a file.
    """

    name: str
    storages: tuple[str, ...]
    lower: Callable[[KernelGraph, Options], Lowered]
    build: Callable[[KernelProgram, Options], Binder]
    texts: Mapping[str, Text]
    memory: Memory = HOST
    has_arch: bool = False  # it compiles for an architecture that is named
