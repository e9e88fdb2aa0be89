"""Levels: the sets of instructions that a processor may have, and LLVM's names for them."""

from __future__ import annotations

from dataclasses import dataclass

from mlc_course.errors import check_known
from mlc_course.instruction_selection.isa.instruction import Instruction
from mlc_course.instruction_selection.isa.neon import NEON
from mlc_course.instruction_selection.isa.x86 import AVX2, AVX512, VNNI


@dataclass(frozen=True)
class Level:
    """A set of instructions, the width of its registers in bits, and the target that has it.

    ``features`` are the processor's features as LLVM names them; ``target`` is what TVM compiles
    for. On a processor with a higher level the target is still the level's own, so that LLVM's
    programs use the same instructions as ours.
    """

    name: str
    rows: tuple[Instruction, ...]
    width: int
    features: tuple[str, ...]
    target: tuple[tuple[str, str | tuple[str, ...]], ...]

    def __str__(self) -> str:
        return self.name


_AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd")
LEVELS = {
    level.name: level
    for level in (
        Level("avx2", AVX2, 256, ("avx2", "fma"), (("mcpu", "haswell"),)),
        Level("avx512", AVX512, 512, ("avx2", "fma", *_AVX512), (("mcpu", "skylake-avx512"),)),
        Level(
            "vnni",
            AVX512 + VNNI,
            512,
            ("avx2", "fma", *_AVX512, "avx512vnni"),
            (("mcpu", "cascadelake"),),
        ),
        Level(
            "neon",
            NEON,
            128,
            ("neon", "dotprod", "i8mm"),
            (("mtriple", "aarch64-linux-gnu"), ("mattr", ("+neon", "+dotprod", "+i8mm"))),
        ),
    )
}


def level_of(name: str) -> Level:
    """Return the level of that name.

    Raises:
        UsageError: there is no such level.
    """
    check_known("no level of instructions", name, LEVELS)
    return LEVELS[name]
