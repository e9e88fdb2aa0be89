"""``mlc-course superoptimize``: the graphs that a search found, ranked, and why one is first."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from tqdm import tqdm

from mlc_course.commands.output import NOWHERE, Results, check_folder, write_text
from mlc_course.commands.run import plain, table
from mlc_course.commands.verify import graph as read
from mlc_course.commands.verify import operators_in
from mlc_course.errors import CourseError, Undecided, UsageError, check_known
from mlc_course.machine import describe, usable_cores
from mlc_course.mugraph.cost import TARGETS, Target, cost, counts, why
from mlc_course.mugraph.cost import target as target_named
from mlc_course.mugraph.cpu_kernels import cpu_target
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.kernel_checks import CodeVerdict
from mlc_course.mugraph.runtime import Racer, fastest_of_each, race, verified
from mlc_course.mugraph.search import (
    OUT_OF_TIME,
    Ended,
    Event,
    Found,
    Pruned,
    Started,
    Store,
    Tried,
    Unverified,
    default_folder,
    superoptimize,
)
from mlc_course.mugraph.verify import plain_verdict
from mlc_course.parallel import (
    INTERRUPTED,
    end_workers,
    executor_for,
    interrupted_once,
    leave,
)
from mlc_course.tensor_program.memory import roofs
from mlc_course.units import plural, size_text

FOUND, NOTHING, USAGE_STATUS = 0, 1, 2
STOPPED = "stopped"
CPU, UNFUSED = "cpu", "unfused"
ROWS = 12  # of the table
FEW = 4  # lines of a list
MARK = "# found by mlc-course superoptimize"  # first line of a graph's file


@dataclass
class Tally:
    """The totals of a stream of search events."""

    program: KernelGraph
    target: Target
    began: float = field(default_factory=time.monotonic)
    values: int = 0
    pruned: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)
    unverified: list[Unverified] = field(default_factory=list)
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
            case Unverified():
                self.unverified.append(event)
                return f"    not verified, {1e6 * event.cost.total:.2f} us: {event.why}"
            case Found():
                self.found.append(event)
                grids = plural(event.fit, "choice")
                return (
                    f"    FOUND {1e6 * event.cost.total:.2f} us: "
                    f"{plural(event.operators, 'operator')}, {event.how}, "
                    f"best of {grids} of grids and extents"
                )
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
            "program_cost": float(cost(self.program, self.target).total),
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
                    "kernels": len(each.graph.equations),
                    "bytes": moved(each.graph, self.target),
                    "cost": float(each.cost.total),
                    "cost_terms": each.cost.terms,
                    "verdict": plain_verdict(each.verdict),
                }
                for each in self.ranked
            ],
            "unverified": [
                {
                    "part": each.part,
                    "text": str(each.graph),
                    "how": each.how,
                    "cost": float(each.cost.total),
                    "why": each.why,
                }
                for each in self.unverified
            ],
        }


def moved(graph: KernelGraph, target: Target) -> int:
    """Return the bytes of device memory that all kernels read and store."""
    return int(sum(each.read + each.stored for each in counts(graph, target)))


def run(
    program: str,
    *,
    operators: Path | None = None,
    target: str = "a100",
    measured: bool = False,
    threads: int | None = None,
    max_ops: int | None = None,
    time_limit: float | None = None,
    memory: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    executor: str | None = None,
    out: Path | None = None,
    results: Results = NOWHERE,
    fresh: bool = False,
    verbose: bool = False,
) -> int:
    """Search, then print the answer; 0 with a graph, 1 without one, 130 after Ctrl-C.

    ``memory`` is in bytes, for the banks of all processes together; half of the machine's if not
    given. Results
    of tasks are kept in the user's cache folder, or in ``out/tasks`` beside the graphs; ``fresh``
    does not look for earlier ones. ``verbose`` tells what is tried and pruned.
    """
    own = operators_in(operators)
    known = read(program, own)
    machine = _machine(target, threads)
    if measured and target != CPU:
        raise UsageError(
            "--run: graphs are run on this machine only",
            expected=f"--target {CPU}",
            got=f"--target {target}",
        )
    start = executor_for(executor, jobs)
    check_folder(out)
    if out:
        written_before(known.name, out)
    store = None if fresh else Store(out / "tasks" if out else default_folder())
    tally = Tally(known, machine)
    workers_here = jobs or usable_cores()
    alone = executor is None and workers_here == 1  # then the work is done here
    memory = memory or psutil.virtual_memory().total // 2
    workers = None if alone else start()
    events = superoptimize(
        known,
        machine,
        operators=own,
        max_ops=max_ops,
        time_limit=time_limit,
        memory=max(1 << 20, memory // workers_here),
        seed=seed,
        executor=workers,
        store=store,
    )
    try:
        stopped = _follow(events, tally, verbose)
    except BrokenExecutor as error:
        stopped = f"a worker has ended: {error}"
    except CourseError:
        end_workers()  # they have only just begun to start
        raise
    print(_answer(tally), flush=True)  # whatever ends the process later
    record = tally.plain()
    try:
        if out:
            write(tally, out)
        if measured:
            racers: list[Racer] = []
            if tally.found and not stopped:
                stopped = _measured(tally, threads, racers)
            record["measured"] = [plain(each) for each in racers]
    finally:  # what was found is kept, also where a kernel is wrong
        results.write(record)
    status = FOUND if tally.found else NOTHING
    if stopped:
        print(stopped if fresh else f"{stopped}; the same command goes on from here")
        status = INTERRUPTED if stopped == STOPPED else USAGE_STATUS
    late = tally.ended is not None and any(OUT_OF_TIME in each for each in tally.ended.cut)
    if workers is not None:
        if executor is None and (stopped or late):
            leave(status)  # workers are in the middle of a task
        workers.shutdown()
    return status


def _follow(events: Iterator[Event], tally: Tally, verbose: bool) -> str:
    """Show how far the search is; return ``STOPPED`` when Ctrl-C ended it, else ""."""
    with tqdm(unit="bank", disable=None, leave=False) as bar:
        try:
            with interrupted_once() as asked:
                for event in events:
                    line = tally.take(event)
                    if line and verbose:
                        bar.write(line)
                    if isinstance(event, Started):
                        bar.total = event.tasks
                    bar.update(isinstance(event, Tried))
                    if tally.found:
                        best = 1e6 * float(tally.ranked[0].cost.total)
                        before = 1e6 * cost(tally.program, tally.target).total
                        bar.set_description(f"{best:.1f} us, the program {before:.1f}")
                    if asked.is_set():
                        raise KeyboardInterrupt  # it came where Python drops what is raised
        except KeyboardInterrupt:
            return STOPPED
    return ""


def _machine(target: str, threads: int | None) -> Target:
    """Return a target by name; ``cpu`` is this machine, whose roofs are measured once."""
    if target != CPU:
        check_known("no target", target, (*TARGETS, CPU))
        return target_named(target)
    threads = usable_cores() if threads is None else threads
    return cpu_target(describe(), roofs(threads))


def _measured(tally: Tally, threads: int | None, fastest: list[Racer]) -> str:
    """Compile the best graphs and time them beside NumPy; return ``STOPPED`` after Ctrl-C, else "".

    ``fastest`` is filled. Ctrl-C before the first round of the timing leaves no times; after it,
    some kernels that were not compared with their graphs as code.
    """
    stopped = ""
    graphs = {f"{n}": each.graph for n, each in enumerate(tally.ranked[:ROWS], 1)}
    graphs[UNFUSED] = tally.program
    threads = usable_cores() if threads is None else threads
    with tqdm(unit="step", disable=None, leave=False) as bar:

        def step(said: str) -> None:
            bar.set_description(said)
            bar.update(1)

        try:
            with interrupted_once() as asked:
                racers = race(
                    tally.program, graphs, threads=threads, always=(UNFUSED,), on_step=step
                )
                fastest += fastest_of_each(racers)
                if asked.is_set():
                    raise KeyboardInterrupt  # it has ended the timing early
                for place, each in enumerate(fastest):
                    (fastest[place],) = verified([each], step)
        except KeyboardInterrupt:
            stopped = STOPPED
    said = [*table(fastest, threads), *_verdicts(fastest)] if fastest else ["    not measured"]
    print("\n".join(["", *said]))
    return stopped


def _verdicts(racers: list[Racer]) -> list[str]:
    """Say which kernels were compared with their graphs as code."""
    equal = [each for each in racers if isinstance(each.verdict, CodeVerdict)]
    bounds = [each.verdict.error_bound for each in equal if isinstance(each.verdict, CodeVerdict)]
    names = ", ".join(each.name for each in equal)
    lines = []
    if equal:
        lines.append(
            f"    kernels of {names}: equal to their graphs as code; a difference would be missed "
            f"with probability at most {max(bounds):.1e}"
        )
    for each in racers:
        if isinstance(each.verdict, Undecided):
            lines.append(f"    kernels of {each.name}: not verified, {each.verdict.what}")
        if each.verdict is None:
            lines.append(f"    kernels of {each.name}: not verified, stopped before")
    return lines


def _answer(tally: Tally) -> str:
    """The table, the best graph, and why it is the best; then what is not known."""
    lines = _found(tally) if tally.found else _nothing(tally)
    lines += _list(
        "not verified",
        [
            f"{each.part}, {each.how}, {1e6 * each.cost.total:.2f} us: {each.why}"
            for each in tally.unverified
        ],
    )
    return "\n".join(lines + _list("not complete", tally.ended.cut if tally.ended else ()))


def _found(tally: Tally) -> list[str]:
    ranked, target = tally.ranked, tally.target
    before, seconds = cost(tally.program, target), time.monotonic() - tally.began
    rows = [
        (" ", "the program, an operator a kernel", tally.program, before.total),
        *(
            (str(n), each.how, each.graph, each.cost.total)
            for n, each in enumerate(ranked[:ROWS], 1)
        ),
    ]
    width = min(60, max(len(how) for _, how, _, _ in rows))
    lines = [
        f"{plural(len(ranked), 'graph')} equal to {tally.program.name}, found in {seconds:.1f} s; "
        f"times are a model of {target.name}, not measured",
        "",
        f"{'':>3} {'graph':<{width}} {'kernels':>8} {'bytes':>8} {'us':>9} {'of the program':>15}",
    ]
    for place, how, graph, total in rows:
        short = how if len(how) <= width else f"{how[: width - 3]}..."
        share = "" if graph is tally.program else f"{100 * total / before.total:.0f} %"
        lines.append(
            f"{place:>3} {short:<{width}} {len(graph.equations):>8} "
            f"{size_text(moved(graph, target)):>8} {1e6 * total:>9.2f} {share:>15}".rstrip()
        )
    best = ranked[0]
    lines += ["", str(best.graph), "", f"    {best.cost}"]
    lines += [f"    {line}" for line in str(best.verdict).splitlines()]
    lines.append(f"    than the program: {why(best.graph, tally.program, target)}")
    if len(ranked) > 1:
        lines.append(f"    than the second: {why(best.graph, ranked[1].graph, target)}")
    return lines


def _nothing(tally: Tally) -> list[str]:
    closest = tally.ended.closest if tally.ended else ""
    so_far = "" if tally.ended else " so far"
    lines = [f"no cheaper graph found for {tally.program.name}{so_far}"]
    if closest:
        lines.append(f"    closest: {closest}")
    return lines + [f"    pruned {count}: {why}" for why, count in tally.pruned.most_common()]


def _list(what: str, lines: list[str] | tuple[str, ...]) -> list[str]:
    """Return a few lines of a list, and how many are left out."""
    more = len(lines) - FEW
    said = [f"    {what}: {each}" for each in lines[:FEW]]
    return said + ([f"    {what}: {more} more, see --json"] if more > 0 else [])


def written_before(name: str, folder: Path) -> list[Path]:
    """Return the graphs that an earlier search for this program wrote into the folder.

    Raises ``UsageError`` where somebody else's file has such a name.
    """
    found = []
    for path in folder.glob(f"{name}_*.txt"):
        if not path.stem.removeprefix(f"{name}_").isdecimal():
            continue
        if not _is_marked(path):
            raise UsageError(
                f"--out {folder}: a graph would be written over a file that is not a search's",
                expected=f"no file of your own named {name}_NUMBER.txt there",
                got=path,
                hint="name another folder, or move the file",
            )
        found.append(path)
    return found


def _is_marked(path: Path) -> bool:
    """Tell whether a search wrote this file; it did not where nothing can be read."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.readline(len(MARK) + 2).rstrip(b"\r\n") == MARK.encode()
    except OSError:
        return False


def write(tally: Tally, folder: Path) -> None:
    """Write each graph to a file in the text form; those of an earlier search go."""
    name = tally.program.name
    paths = [folder / f"{name}_{place:02}.txt" for place in range(1, len(tally.ranked) + 1)]
    before = written_before(name, folder)
    for path, each in zip(paths, tally.ranked, strict=True):
        write_text(path, f"{MARK}\n{each.graph}\n")
    for path in before:
        if path not in paths:
            path.unlink()
