"""The measurements of the lesson: six programs under the roofline, and products of a far matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mlc_course.lessons.lesson_04_reuse_distance_and_roofline import problems, streams
from mlc_course.machine import describe
from mlc_course.measure import Comparison
from mlc_course.tensor_program.ladders import Point, ladder, race, select
from mlc_course.tensor_program.memory import Cache, count, levels, traffic
from mlc_course.tensor_program.problems import Workload, matmul
from mlc_course.tensor_program.processor import flops
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule

BUDGET_S = 0.5  # of timing, for each program
Apply = Callable[[Schedule], None]


@dataclass(frozen=True)
class Contender:
    """A program to put under the roofline: its problem, and what is done to the naive program."""

    name: str
    work: Workload
    apply: Apply


def contenders() -> Iterator[Contender]:
    """Two passes over a long vector, two orders of the same products, two of the same matmul."""
    length = streams.long_vector()
    yield Contender("relu", streams.relu(length), streams.in_vectors)
    yield Contender("exp", streams.exp(length), streams.in_vectors)
    far = problems.far_products()
    yield Contender("products, vector by vector", far, problems.vector_by_vector)
    yield Contender("products, row by row", far, problems.row_by_row)
    product = matmul(256, 256, 256)
    for name, rung in zip(
        ("matmul, naive", "matmul, packed"),
        select(ladder("matmul"), ["naive", "larger-stays"]),
        strict=True,
    ):
        yield Contender(name, product, rung.apply)


def operations(work: Workload, apply: Apply) -> float:
    """Count the float32 operations of a program."""
    return flops(_scheduled(work, apply))


def memory_bytes(each: Contender, caches: Sequence[Cache]) -> int:
    """Count the bytes that a program moves between memory and the last cache, both ways.

    A vector that is read once moves all of its bytes. The products fetch; what they write is small
    beside that, and is counted with the result.
    """
    if each.work.name in ("relu", "exp"):
        return each.work.bytes
    sch = _scheduled(each.work, each.apply)
    if each.work.name == "products":
        order = Schedule(each.work.program())
        if each.apply is problems.row_by_row:
            steps.reorder(order, "Y", "i", "t")
        fetched = count(order, *caches)[-1].bytes_moved
        return fetched + 4 * each.work.sizes["vectors"] * each.work.sizes["rows"]
    return traffic(sch, *caches).bytes()


def measure_all(
    chosen: Sequence[Contender], caches: Sequence[Cache] = (), *, budget_s: float = BUDGET_S
) -> tuple[dict[str, Point], dict[str, Comparison]]:
    """Count and time programs: their places under the roofline, and their races with NumPy.

    Programs of one problem race together. Roofs are the best of several readings, so a point has
    the best reading of its program.
    """
    points: dict[str, Point] = {}
    races: dict[str, Comparison] = {}
    for name in dict.fromkeys(each.work.name for each in chosen):
        kin = [each for each in chosen if each.work.name == name]
        programs = {each.name: each.apply for each in kin}
        found = race(kin[0].work, programs, budget_s=budget_s * len(kin))
        for each in kin:
            best_s = found[each.name].timing.best_s
            moved = memory_bytes(each, caches or levels(describe()))
            points[each.name] = Point(each.name, operations(each.work, each.apply), moved, best_s)
        races.update(found)
    return points, races


def bytes_by_level(each: Contender, caches: Sequence[Cache] = ()) -> list[int]:
    """Bytes that each cache of this machine fetches for a program, counted."""
    sch = _scheduled(each.work, each.apply)
    return [c.bytes_moved for c in count(sch, *(caches or levels(describe())))]


def _scheduled(work: Workload, apply: Apply) -> Schedule:
    sch = Schedule(work.program())
    apply(sch)
    return sch
