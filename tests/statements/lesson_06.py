"""What lesson 6 says of tiles, held against counts of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlc_course.lessons.kit import Tile, grid, moved
from mlc_course.machine import describe
from mlc_course.tensor_program.memory import levels

NUMBER = r"([\d,]+(?:\.\d+)?)"


def faults(said: Mapping[str, str]) -> Iterator[str]:
    """Yield what is untrue in the sentences that the cells printed, by cell id in ``said``."""
    caches = levels(describe())[:2]
    whole = 4 * 960 * 960
    fetched = [each / whole for each in _b(Tile(960, 960), caches, 960)]
    for level, times in re.findall(
        rf"L(\d) fetches each element of B {NUMBER}", said["hook-count"]
    ):
        if abs(_float(times) - fetched[int(level) - 1]) > 0.5:
            yield f"hook-count: L{level} fetches {fetched[int(level) - 1]:.1f} times, not {times}"
    room = re.search(r"a cache of (\d+) elements is the smallest", said["reveal-room"])
    if not room or int(room[1]) != _smallest_room():
        yield f"reveal-room: the smallest room is {_smallest_room()}"
    outside, inside = (
        _float(each) for each in re.findall(rf"fetched {NUMBER}", said["transform-count"])
    )
    if not (outside > 20 and inside < 2):
        yield "transform-count: the order of the loops should decide what is fetched"
    yield from _end(said["end-sentence"], caches)


def _end(text: str, caches: tuple[object, ...]) -> Iterator[str]:
    found = re.search(
        rf"here that is (\d+) KiB, so (\d+) x (\d+).*fetched {NUMBER} times", text, re.S
    )
    if not found:
        yield "end-sentence: no tile is named"
        return
    tile, first = Tile(int(found[2]), int(found[3])), levels(describe())[0]
    if tile.working_set > first.bytes:
        yield f"end-sentence: {tile} does not fit into L1"
    times = _b(tile, (first,), 240)[0] / (4 * 960 * 960)
    if abs(times - _float(found[4])) > 0.06:
        yield f"end-sentence: B is fetched {times:.2f} times, not {found[4]}"
    if times > 2 and any(_b(t, (first,), 240)[0] < 1.5 * 4 * 960 * 960 for t in grid()):
        yield f"end-sentence: {tile} is fetched {times:.1f} times, and other tiles once"


def _b(tile: Tile, caches: tuple[object, ...], rows: int) -> tuple[int, ...]:
    fetched: tuple[int, ...] = moved(tile, caches, (rows, 960, 960)).of("B").fetched  # type: ignore[arg-type]
    return fetched


def _float(text: str) -> float:
    return float(text.replace(",", ""))


def _smallest_room() -> int:
    """The smallest cache of whole elements in which tiles of 4 x 4 of B are fetched once."""
    touched = [
        element
        for n_0 in (0, 4)
        for k_0 in (0, 4)
        for m in range(8)
        for k in range(k_0, k_0 + 4)
        for n in range(n_0, n_0 + 4)
        for element in (("C", m, n), ("A", m, k), ("B", k, n))
    ]
    last: dict[tuple[str, int, int], int] = {}
    widest = 0
    for place, element in enumerate(touched):
        if element[0] == "B" and element in last:
            widest = max(widest, len(set(touched[last[element] + 1 : place])))
        last[element] = place
    return widest + 1
