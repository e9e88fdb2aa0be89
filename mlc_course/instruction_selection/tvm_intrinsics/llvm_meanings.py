"""Meanings of LLVM's intrinsics, from the rows of instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from mlc_course.errors import UsageError, check_known
from mlc_course.instruction_selection.integers import S8, S16, S32, Formula, IntType, wrap
from mlc_course.instruction_selection.isa import LEVELS

_NAME = "llvm."


@dataclass(frozen=True)
class LlvmMeaning:
    """One intrinsic of LLVM: the types that it reads, and its lanes from those of its operands."""

    reads: tuple[IntType, ...]
    result: IntType
    lanes: Callable[[Sequence[Sequence[Formula]]], list[Formula]]


def meaning_of(name: str, operands: Sequence[IntType]) -> LlvmMeaning:
    """Return the meaning of an intrinsic that is called with lanes of these types.

    LLVM's types have no sign, and some x86 intrinsics were once called with lanes of another
    width: where no row reads such widths, an intrinsic that has one row means that.

    Raises:
        UsageError: no row has the intrinsic, or several have it and none reads such lanes.
    """
    known = _meanings()
    check_known("no row has the LLVM intrinsic", name, known)
    widths = [each.bits for each in operands]
    fitting = [x for x in known[name] if [each.bits for each in x.reads] == widths]
    if not fitting and len(known[name]) > 1:
        raise UsageError(
            f"no row of {name} reads such lanes",
            expected=" | ".join(", ".join(map(str, each.reads)) for each in known[name]),
            got=", ".join(map(str, operands)),
        )
    return (fitting or known[name])[0]


@cache
def _meanings() -> Mapping[str, tuple[LlvmMeaning, ...]]:
    """The meanings of each intrinsic: NEON's have one name for lanes of all widths."""
    found: dict[str, list[LlvmMeaning]] = {name: [meaning] for name, meaning in _PAIRS.items()}
    rows = dict.fromkeys(row for level in LEVELS.values() for row in level.rows)
    for row in rows:
        if row.kind == "lane" and not row.has_immediate:
            reads = tuple(read.type for read in row.reads)
            for name in dict.fromkeys(row.reach.values()):
                if name.startswith(_NAME):
                    found.setdefault(name, []).append(LlvmMeaning(reads, row.result, row.lanes))
    return MappingProxyType({name: tuple(meanings) for name, meanings in found.items()})


def _pairwise(lanes: Sequence[Formula], to: IntType) -> list[Formula]:
    pairs = zip(lanes[::2], lanes[1::2], strict=True)
    return [wrap(to, a + b) for a, b in pairs]


# Three that the search has no use for: they add neighbours of one register or two.
_PAIRS: dict[str, LlvmMeaning] = {
    "llvm.aarch64.neon.smull": LlvmMeaning(
        (S8, S8), S16, lambda operands: [a * b for a, b in zip(*operands, strict=True)]
    ),
    "llvm.aarch64.neon.saddlp": LlvmMeaning(
        (S16,), S32, lambda operands: _pairwise(operands[0], S32)
    ),
    "llvm.aarch64.neon.addp": LlvmMeaning(
        (S32, S32), S32, lambda operands: _pairwise([*operands[0], *operands[1]], S32)
    ),
}
