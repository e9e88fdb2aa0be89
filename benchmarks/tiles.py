"""The map of tiles that lesson 06 shows before anything is measured on the reader's machine."""

from __future__ import annotations

import sys
from pathlib import Path

from common import Target, command_line, finish
from tqdm import tqdm

from mlc_course.lessons.kit import Tile, best_for, grid
from mlc_course.lessons.lesson_06_tiling import (
    NAME,
    Facts,
    Measured,
    cells,
    map_record,
    measure,
)
from mlc_course.machine import describe
from mlc_course.tensor_program.ladders import record
from mlc_course.tensor_program.memory import levels


def typical(passes: list[Measured]) -> Measured:
    """The pass with the middle ratio: neighbours and the places of arrays change between them."""
    return sorted(passes, key=lambda done: done.comparison.ratio)[len(passes) // 2]


def draw(taken: record.Record, path: Path) -> None:
    """The measured map, as SVG."""
    from mlc_course.lessons.lesson_06_tiling import TileMap

    path.write_text(TileMap(recording=taken).picture("measured"))


def main() -> int:
    parser = command_line(__doc__, "the map for lesson 06")
    parser.add_argument("--budget", type=float, default=0.5, help="seconds of measuring a tile")
    parser.add_argument(
        "--passes",
        type=int,
        default=1,
        help="over the map; of each tile the middle ratio counts",
    )
    arguments = parser.parse_args()
    caches = levels(describe())[:2]
    found: dict[Tile, list[Measured]] = {tile: [] for tile in grid()}

    def known(tile: Tile) -> Facts | None:
        return found[tile][0].facts if found[tile] else None

    with tqdm(total=arguments.passes * len(grid()), unit="tile") as bar:
        for _ in range(arguments.passes):
            for done in measure(caches, budget_s=arguments.budget, known=known):
                found[done.tile].append(done)
                bar.update()
    taken = map_record(map(typical, found.values()), caches)
    if arguments.recordings:
        record.save(taken, arguments.recordings / record.recording_file(NAME, taken))
    shown = cells(taken)
    fastest = max(each["ratio"] for each in shown.values())
    predicted = shown[best_for(caches[0].bytes)]
    targets = [
        Target("the fastest tile, in units of NumPy's speed", 0.9, fastest),
        Target(
            "the tile that L1's size predicts, of the fastest", 0.5, predicted["ratio"] / fastest
        ),
    ]
    return finish(arguments, taken, targets, lambda path: draw(taken, path))


if __name__ == "__main__":
    sys.exit(main())
