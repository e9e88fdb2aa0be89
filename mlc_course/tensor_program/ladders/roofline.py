"""The roofline model: arithmetic intensity of programs, and the speed that it allows.

Arithmetic intensity is counted, not guessed: the bytes are those that the simulated caches of this
machine fetch. Source: S. Williams et al., Roofline, CACM 2009; one picture for each level of
memory, as in A. Ilic et al., Cache-aware Roofline, IEEE CAL 2014.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlc_course.errors import UsageError, check_known
from mlc_course.machine import describe
from mlc_course.tensor_program.ladders.record import Record
from mlc_course.tensor_program.ladders.rungs import Rung, scheduled, select
from mlc_course.tensor_program.memory import Cache, Roofs, count, levels
from mlc_course.tensor_program.problems import make_workload


@dataclass(frozen=True)
class Point:
    """One program in the roofline: its float32 operations, the bytes that it moved, its seconds.

    Raises ``UsageError`` for a number that is not above zero.
    """

    name: str
    flops: float
    bytes: float
    seconds: float

    def __post_init__(self) -> None:
        for what in ("flops", "bytes", "seconds"):
            if not getattr(self, what) > 0:
                raise UsageError(
                    f"{self.name} has no place in a roofline",
                    expected=f"{what} above zero",
                    got=getattr(self, what),
                    hint="a program that only moves data has no arithmetic intensity",
                )

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: operations per byte."""
        return self.flops / self.bytes

    @property
    def gflops(self) -> float:
        return self.flops / self.seconds / 1e9

    def attainable(self, roofs: Roofs, source: str = "memory") -> float:
        """GFLOP/s that the roofs allow a program which fetches its bytes from this level."""
        return min(roofs.gflops, self.intensity * roofs.sources[source])


def counted(
    record: Record, rungs: Sequence[Rung], caches: Sequence[Cache] = ()
) -> Iterator[Record]:
    """Count the bytes that each rung of a record moves; yields the record after each rung.

    ``bytes_moved`` are those fetched into each cache, the last of them from memory, counted by
    ``memory.count``: exactly, for one thread, without those written back. The naive rung of the
    full sizes takes a minute. ``caches`` are this machine's by default. Raises ``UsageError`` for a
    rung that is not among ``rungs``, and what ``count`` raises.
    """
    work = record["workload"]
    workload = make_workload(work["name"], tuple(work["sizes"].values()))
    caches = caches or levels(describe())
    names = [each["name"] for each in record["rungs"]]
    climbed = select(rungs, names)
    done: list[Record] = []
    for each, rung in zip(record["rungs"], climbed, strict=True):
        moved = count(scheduled(workload, rung), *caches)
        done.append({**each, "bytes_moved": [level.bytes_moved for level in moved]})
        yield {**record, "rungs": [*done, *record["rungs"][len(done) :]]}


def is_counted(record: Record) -> bool:
    """Tell whether the bytes of every rung of a record were counted."""
    return bool(record["rungs"]) and all("bytes_moved" in rung for rung in record["rungs"])


def roofs_of(record: Record) -> Roofs:
    """The roofs that were measured with a ladder."""
    kept = record["roofs"]
    return Roofs(
        record["threads"],
        kept["gflops"],
        kept["gbytes_per_s"],
        tuple(kept["caches"]),
        tuple(kept.get("spreads", ())),
        kept.get("taken", ""),
    )


def points(record: Record, source: str = "memory") -> list[Point]:
    """The rungs of a record with the bytes that each fetched from ``source``: L2, L3 or memory.

    Raises ``UsageError`` for a record whose bytes were not counted, or a source that it lacks.
    """
    if not is_counted(record):
        raise UsageError(
            "the bytes of this climb were not counted",
            expected="bytes_moved for each rung",
            got=f"{record['workload']['name']} of {record['date']}",
            hint="climb with --roofline FILE",
        )
    known = list(roofs_of(record).sources)
    check_known("no such level of memory", source, known)
    flops, level = record["workload"]["flops"], known.index(source)
    return [
        Point(rung["name"], flops, rung["bytes_moved"][level], rung["median_s"])
        for rung in record["rungs"]
    ]
