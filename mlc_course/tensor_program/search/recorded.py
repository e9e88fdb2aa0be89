"""Recorded searches: every trial with its decisions and its time beside NumPy's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from mlc_course.errors import UsageError, check_known
from mlc_course.machine import Machine, describe
from mlc_course.tensor_program.ladders import Record, made_on, unlike_this_machine
from mlc_course.tensor_program.problems import Workload, make_workload
from mlc_course.tensor_program.search import tune
from mlc_course.tensor_program.search.evolution import Gene
from mlc_course.tensor_program.search.spaces import (
    sample_micro_kernels,
    strategy,
)
from mlc_course.tensor_program.tir import Schedule


@dataclass(frozen=True)
class Trial:
    """One candidate of a search: its decisions, and NumPy's time / its own (0 when it failed).

    ``low`` and ``high`` are the smallest and the largest ratio of its readings.
    """

    genes: tuple[Gene, ...]
    ratio: float
    low: float
    high: float
    error: str | None = None
    warning: str | None = None


@dataclass(frozen=True)
class Population:
    """The trials of one search in their order, and where they come from.

    ``roof`` is NumPy's time / the least time that the machine's measured roofs allow.
    """

    name: str
    title: str
    where: str
    trials: tuple[Trial, ...]
    roof: float

    @property
    def ratios(self) -> list[float]:
        return [each.ratio for each in self.trials]


def best_so_far(ratios: Sequence[float]) -> list[float]:
    """The best ratio of the first 1, 2, 3, ... trials."""
    return list(itertools.accumulate(ratios, max))


def place_of_best(ratios: Sequence[float]) -> int:
    """The place of the best trial, from 0; raises ``UsageError`` when there is no trial."""
    if not ratios:
        raise UsageError("place_of_best: no trials", expected="one or more", got="none")
    return max(range(len(ratios)), key=ratios.__getitem__)


def expected_best(ratios: Sequence[float], draws: int) -> float:
    """The mean of the best of ``draws`` of these, over every way to choose them.

    Of n values in order, the i-th (from 1) is the best of a sample in C(i - 1, draws - 1) ways.
    Raises ``UsageError`` outside of 1 to n.
    """
    if not 1 <= draws <= len(ratios):
        raise UsageError(
            "expected_best: as many draws as there are values, or fewer",
            expected=f"1 to {len(ratios)}",
            got=draws,
        )
    ways = (math.comb(below, draws - 1) for below in range(len(ratios)))
    total = sum(way * value for way, value in zip(ways, sorted(ratios), strict=True))
    return total / math.comb(len(ratios), draws)


# --- what comes with the course -----------------------------------------------------------------

WORKLOAD = "matmul_exp_matmul"
RECORDINGS = Path(__file__).parent / "recordings"


@dataclass(frozen=True)
class Recording:
    """A recorded search: its trials, and its database."""

    about: Record
    folder: Path
    workload: Workload

    @property
    def population(self) -> Population:
        about = self.about
        trials = tuple(map(_trial, about["trials"]))
        name, roof = about["strategy"], about["numpy_s"] / about["roof_s"]
        return Population(name, self.workload.title, self.where, trials, roof)

    @property
    def where(self) -> str:
        """The machine and the date, and whether it is of another kind than this machine."""
        where, here = f"Recorded on {made_on(self.about)}", describe().isa
        there = self.about["machine"]["isa"]
        return where if there == here else f"{where} (yours has {here})"

    def schedule(self, place: int) -> Schedule:
        """The program of one trial; raises ``UsageError`` where there is none."""
        sch = Schedule(self.workload.program())
        self.replay(sch, place)
        return sch

    def replay(self, sch: Schedule, place: int) -> None:
        """Apply one trial to a naive schedule; raises ``UsageError`` if there is no such trial."""
        trials = self.about["trials"]
        if not 0 <= place < len(trials):
            raise UsageError("no such trial", expected=f"0 to {len(trials) - 1}", got=place)
        if self.about["strategy"] == "packing":
            self._pack(sch, [value for _, (value,) in trials[place]["genes"]])
        else:
            tune.replay(self.folder, place, sch)

    def _pack(self, sch: Schedule, decided: Sequence[int]) -> None:
        """Run the space again, because its traces do not hold what Python decided."""
        known = {field.name for field in fields(Machine)}
        machine = Machine(**{k: v for k, v in self.about["machine"].items() if k in known})
        sample_micro_kernels(sch, self.workload, machine, decided)


def kind_folder(record: Record) -> str:
    """The folder of a recording: each instruction set has one, such as ``avx2``."""
    return str(record["machine"]["isa"].lower())


def recordings(isa: str | None = None) -> list[Recording]:
    """The recorded searches that come with the course, one of each name.

    ``isa`` is an instruction set; by default each is from the machine that is most like this one.
    """
    found: dict[str, list[Recording]] = {}
    for folder in sorted(RECORDINGS.glob("*/*")):
        about = tune.read_about(folder)
        if about is None or "trials" not in about:
            continue
        if isa is None or about["machine"]["isa"] == isa:
            workload = make_workload(
                about["workload"]["name"], tuple(about["workload"]["sizes"].values())
            )
            found.setdefault(folder.name, []).append(Recording(about, folder, workload))
    return [min(kept, key=lambda each: unlike_this_machine(each.about)) for kept in found.values()]


def recording(name: str, workload: str = WORKLOAD, isa: str | None = None) -> Recording:
    """A recorded search of a workload, by its strategy.

    It is from the machine that is most like this one, or from one with the instruction set
    ``isa``. Raises ``UsageError`` for a strategy of which nothing is recorded there.
    """
    strategy(name)
    found = {each.folder.name: each for each in recordings(isa)}
    check_known(f"no search of {workload} with {name} is recorded", f"{workload}_{name}", found)
    return found[f"{workload}_{name}"]


def _trial(kept: Record) -> Trial:
    genes = tuple(Gene(name, tuple(value)) for name, value in kept["genes"])
    if kept["seconds"] is None:
        return Trial(genes, 0.0, 0.0, 0.0, kept["error"])
    ratios = sorted(_ratios(kept))
    return Trial(genes, ratios[len(ratios) // 2], ratios[0], ratios[-1])


def _ratios(kept: Record) -> Iterator[float]:
    numpy_s = sorted(kept["numpy"])
    middle = numpy_s[len(numpy_s) // 2]
    return (middle / seconds for seconds in kept["seconds"])
