"""The tile walk: two tiles on the iteration space, step by step, and their speed beside NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import traitlets

from mlc_course.lessons.kit import Choice, Widget, charts, in_range, race_svg
from mlc_course.lessons.lesson_07_two_levels.two_tiles import (
    ROWS,
    VECTORS,
    HotLoop,
    RegisterTile,
    best_registers,
    caches,
    counted,
    depth_by_sets,
    two_levels,
)
from mlc_course.lessons.lesson_07_two_levels.walk_picture import Scene, frames, moments, walk_svg
from mlc_course.machine import describe
from mlc_course.measure import Comparison
from mlc_course.tensor_program.ladders import race

SIZES = (240, 960, 960)
KEPT = 7  # contestants that are shown


class TileWalk(Widget):
    """A register tile of ``rows`` x ``vectors`` on its way through a tile of B.

    ``step`` is the number of steps that are done. ``found`` are races that were run before, by
    name. Setting rows or vectors changes ``stage`` and ``frames``. Raises ``UsageError`` for
    values that it cannot show.
    """

    rows, vectors = Choice(ROWS[0], ROWS), Choice(VECTORS[0], VECTORS)
    step = traitlets.Int(0).tag(sync=True)

    sizes: Any = traitlets.Dict({"rows": list(ROWS), "vectors": list(VECTORS)}).tag(sync=True)
    stage = traitlets.Unicode("").tag(sync=True)
    frames: Any = traitlets.Dict().tag(sync=True)
    speed = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        found: Mapping[str, Comparison] | None = None,
        *,
        count: Callable[[RegisterTile], HotLoop] = counted,
        race: Callable[..., Mapping[str, Comparison]] = race,
        start: RegisterTile | None = None,
    ) -> None:
        self._found = dict(found or {})
        self._count, self._race = count, race
        start = start or best_registers()
        super().__init__(rows=start.rows, vectors=start.vectors)
        self._perform()
        self._say_speed()

    @property
    def tile(self) -> RegisterTile:
        """The tile that is chosen."""
        return RegisterTile(self.rows, self.vectors)

    @property
    def scene(self) -> Scene:
        """What is drawn for the chosen tile."""
        first, *others = caches()
        sizes = [each.bytes for each in (first, *(others or [first]))]
        depth = depth_by_sets(self.tile, first)
        return Scene(self.tile, depth, describe().vector_registers, sizes, self._count(self.tile))

    @property
    def svg(self) -> str:
        """The picture after ``step`` steps."""
        return walk_svg(self.scene, self.step)

    @traitlets.validate("step")
    def _check_step(self, proposal: Any) -> int:
        return in_range("step", 0, len(self.frames["said"]) - 1, proposal.value)

    @traitlets.observe("rows", "vectors")
    def _change_tile(self, change: Any) -> None:
        if self.frames:
            self._perform()

    @traitlets.observe("step")
    def _change_step(self, change: Any) -> None:
        self.status = self.frames["said"][self.step]

    def _perform(self) -> None:
        """Start the walk of the chosen tile anew."""
        scene = self.scene
        known = frames(scene)
        with self.hold_sync():
            self.frames = known
            self.step = 0
            self.status = known["said"][0]
            self.stage = walk_svg(scene, 0)

    def _name(self) -> str:
        return f"{self.tile} in {self.scene.depth}"

    def _say_speed(self) -> None:
        latest = dict(list(self._found.items())[-KEPT:])
        title = "C = A B, 240 x 960 x 960, one thread"
        self.speed = race_svg(title, latest) if latest else ""

    def measure(self) -> None:
        """Race the chosen tile beside NumPy, and keep its bar; takes about a second."""
        name = self._name()
        with self.measuring(name):
            apply = two_levels(self.tile, self.scene.depth)
            found = self._race("matmul", {name: apply}, SIZES, budget_s=0.6)
            self._found.pop(name, None)
            self._found.update(found)
            self._say_speed()
        self.status = f"{name}: {found[name]:.2f} x NumPy's speed, measured here."

    def static_html(self) -> str:
        """The walk in its middle, and the speeds, for a page on which no widgets run."""
        middle = self.step or len(list(moments(self.tile))) // 3
        return charts(walk_svg(self.scene, middle), self.speed)
