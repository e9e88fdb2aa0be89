"""One problem of several stages, run in several ways; what each way moves and computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mlc_course.errors import UsageError
from mlc_course.tensor_program.memory.cache import Cache
from mlc_course.tensor_program.memory.traffic import Traffic, traffic
from mlc_course.tensor_program.problems.workload import Workload
from mlc_course.tensor_program.tvm_names import Schedule
from mlc_course.tensor_program.work import Stage, stages

Apply = Callable[[Schedule], None]
# An eighth of a usual first cache, a sixteenth of a second: small problems do not fit, as large
# ones do not fit into real caches, and a count takes no time.
SMALL_CACHES = (Cache(4 * 1024), Cache(64 * 1024))


@dataclass(frozen=True)
class Fusion:
    """One way to run the stages: its name, what happens to the bytes, and the steps."""

    name: str
    why: str
    apply: Apply


@dataclass(frozen=True)
class Counted:
    """What a program moves, and how often it computes what."""

    traffic: Traffic
    stages: tuple[Stage, ...]

    @property
    def flops(self) -> int:
        """Float operations of a whole run."""
        return sum(stage.flops for stage in self.stages)


@dataclass(frozen=True)
class Staged:
    """A problem of several stages. The first of its fusions leaves them apart.

    ``counted`` is small enough to simulate, ``measured`` large enough to time. ``prepare`` and
    ``finish`` are for timing only: the same for every fusion, so that arithmetic does not hide
    what the bytes cost.
    """

    name: str
    counted: Workload
    measured: Workload
    fusions: tuple[Fusion, ...]
    prepare: Apply
    finish: Apply

    def fusion(self, name: str) -> Fusion:
        """Raises ``UsageError`` for a name that is not there."""
        for each in self.fusions:
            if each.name == name:
                return each
        known = " | ".join(each.name for each in self.fusions)
        raise UsageError(f"{self.name}: no such fusion", expected=known, got=name)

    def small(self, fusion: str) -> Schedule:
        """The program to count."""
        sch = Schedule(self.counted.program())
        self.fusion(fusion).apply(sch)
        return sch

    def count(self, fusion: str, *levels: Cache) -> Counted:
        """Bytes between the caches, ``SMALL_CACHES`` by default, and runs of each stage; a second.

        Raises ``UsageError`` for a name that is not there.
        """
        sch = self.small(fusion)
        return Counted(traffic(sch, *(levels or SMALL_CACHES)), stages(sch))

    def quick(self, fusion: str) -> Apply:
        """The steps of the program to time."""
        chosen = self.fusion(fusion)

        def apply(sch: Schedule) -> None:
            self.prepare(sch)
            chosen.apply(sch)
            self.finish(sch)

        return apply
