"""``mlc-course superoptimize``: the search as it goes on, then the graphs that it found, ranked."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from tqdm import tqdm

from mlc_course.commands.output import check_file, check_folder
from mlc_course.commands.verify import graph as read
from mlc_course.machine import usable_cores
from mlc_course.mugraph.cost import Target, cost, why
from mlc_course.mugraph.cost import target as target_named
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.search import (
    Ended,
    Event,
    Found,
    Pruned,
    Started,
    Store,
    Tried,
    default_folder,
    superoptimize,
)
from mlc_course.mugraph.verify import plain_verdict
from mlc_course.parallel import INTERRUPTED, executor_for

FOUND, NOTHING = 0, 1
ROWS = 12  # of the table


@dataclass
class Tally:
    """The totals of a stream of search events."""

    program: KernelGraph
    target: Target
    began: float = field(default_factory=time.monotonic)
    values: int = 0
    pruned: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    ended: Ended | None = None

    def take(self, event: Event) -> str:
        """Add it up, and say it in a line; "" for what needs none."""
        match event:
            case Tried():
                self.values += event.values
                cut = f"; cut short by {', '.join(event.cut)}" if event.cut else ""
                return (
                    f"{event.part}, {event.nests}: {event.candidates} candidates, "
                    f"{event.values} values, {event.instances} grids and extents{cut}"
                )
            case Pruned():
                self.pruned[event.reason] += event.count
                return f"    pruned {event.count}: {event.reason}"
            case Found():
                self.found.append(event)
                return f"    FOUND {1e6 * event.cost.total:.2f} us: {_how(event)}"
            case Ended():
                self.ended = event
            case Started():
                pass
        return ""

    @property
    def ranked(self) -> list[Found]:
        """The cheapest first; of equal ones, the one with fewer operators."""
        return sorted(self.found, key=lambda each: (float(each.cost.total), each.operators))

    def plain(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "program": self.program.name,
            "target": self.target.name,
            "seconds": time.monotonic() - self.began,
            "values": self.values,
            "pruned": dict(sorted(self.pruned.items())),
            "cut": list(self.ended.cut) if self.ended else ["interrupted"],
            "closest": self.ended.closest if self.ended else "",
            "found": [
                {
                    "text": str(each.graph),
                    "how": each.how,
                    "operators": each.operators,
                    "cost": float(each.cost.total),
                    "cost_terms": each.cost.terms,
                    "verdict": plain_verdict(each.verdict),
                }
                for each in self.ranked
            ],
        }


def run(
    program: str,
    *,
    target: str = "a100",
    max_ops: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    jobs: int | None = None,
    executor: str | None = None,
    out: Path | None = None,
    json_path: Path | None = None,
    fresh: bool = False,
) -> int:
    """Search, print as it goes, then rank; 0 with a graph, 1 without one, 130 after Ctrl-C.

    Results of tasks are kept in the user's cache folder, or in ``out/tasks`` beside the graphs;
    ``fresh`` does not look for earlier ones.
    """
    start = executor_for(executor, jobs)
    check_folder(out)
    check_file(json_path)
    machine, known = target_named(target), read(program)
    store = None if fresh else Store(out / "tasks" if out else default_folder())
    tally = Tally(known, machine)
    alone = executor is None and (jobs or usable_cores()) == 1  # then the work is done here
    with nullcontext() if alone else _running(start()) as workers:
        events = superoptimize(
            known,
            machine,
            max_ops=max_ops,
            time_limit=time_limit,
            seed=seed,
            executor=workers,
            store=store,
        )
        stopped = _follow(events, tally)
    print(_ranking(tally))
    if out:
        write(tally, out)
    if json_path:
        json_path.write_text(json.dumps(tally.plain(), indent=2), encoding="utf-8")
    if stopped:
        print("stopped" if fresh else "stopped; the same command goes on from here")
        for process in psutil.Process().children():
            process.terminate()  # in the middle of a task
        return INTERRUPTED
    return FOUND if tally.found else NOTHING


def _follow(events: Iterator[Event], tally: Tally) -> bool:
    """Print the stream under a bar; True when Ctrl-C ended it."""
    with tqdm(unit="bank", disable=None) as bar:
        try:
            for event in events:
                line = tally.take(event)
                if line:
                    bar.write(line)
                if isinstance(event, Started):
                    bar.reset(event.tasks)
                bar.update(isinstance(event, Tried))
                bar.set_description(f"{len(tally.found)} graphs found")
        except KeyboardInterrupt:
            return True
    return False


@contextmanager
def _running(pool: Executor) -> Iterator[Executor]:
    try:
        yield pool
    finally:
        pool.shutdown(wait=False)  # what waits is cancelled already


def _ranking(tally: Tally) -> str:
    ranked = tally.ranked
    if not ranked:
        return _nothing(tally)
    before = cost(tally.program, tally.target)
    seconds = time.monotonic() - tally.began
    lines = [
        f"\n{len(ranked)} graphs equal to {tally.program.name} in {seconds:.1f} s, ranked for "
        f"{tally.target.name} (a model, not a measurement):",
        f"{'':>3} {'us':>8} {'operators':>9}  how",
        f"{'':>3} {1e6 * before.total:>8.2f} {len(tally.program.equations):>9}  as it is, "
        "each operator a kernel",
    ]
    for place, each in enumerate(ranked[:ROWS], 1):
        lines.append(f"{place:>3} {1e6 * each.cost.total:>8.2f} {each.operators:>9}  {each.how}")
    best = ranked[0]
    lines += ["", str(best.graph), "", f"    {best.cost}", f"    {best.verdict}"]
    lines.append(f"    than the program: {why(best.graph, tally.program, tally.target)}")
    if len(ranked) > 1:
        lines.append(f"    than the second: {why(best.graph, ranked[1].graph, tally.target)}")
    return "\n".join(lines + _cut(tally))


def _nothing(tally: Tally) -> str:
    closest = tally.ended.closest if tally.ended else ""
    so_far = "" if tally.ended else " so far"
    lines = [f"\nno graph found for {tally.program.name}{so_far}"]
    if closest:
        lines.append(f"    closest: {closest}")
    for reason, count in tally.pruned.most_common():
        lines.append(f"    pruned {count}: {reason}")
    return "\n".join(lines + _cut(tally))


def _cut(tally: Tally) -> list[str]:
    return [f"    not complete: {each}" for each in (tally.ended.cut if tally.ended else ())]


def _how(found: Found) -> str:
    return f"{found.operators} operators, {found.how}, best of {found.fit} grids and extents"


def write(tally: Tally, folder: Path) -> None:
    """Each graph as a file in the text form, the cheapest first."""
    for place, each in enumerate(tally.ranked, 1):
        path = folder / f"{tally.program.name}_{place:02}.txt"
        path.write_text(f"{each.graph}\n", encoding="utf-8")
