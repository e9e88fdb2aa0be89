"""``mlc-course tune``: a search with a bar and its best so far, then the best beside NumPy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from tqdm import tqdm

from mlc_course.commands.output import NOWHERE, Results, check_folder
from mlc_course.errors import MachineError, UsageError, check_known
from mlc_course.measure import warning_lines
from mlc_course.parallel import leave
from mlc_course.tensor_program.ladders import climb, record
from mlc_course.tensor_program.memory import roofs
from mlc_course.tensor_program.problems import Workload, make_workload
from mlc_course.tensor_program.search import Fleet, recordings, tune
from mlc_course.tensor_program.search import strategy as strategy_of
from mlc_course.units import milliseconds

BUDGET_S = 6.0  # of comparing the best with NumPy


def run(
    workload: str,
    *,
    recorded: bool,
    out: Path | None,
    rpc: str | None,
    key: str | None,
    results: Results = NOWHERE,
    **options: Any,
) -> int:
    """Replay recorded searches of a workload, or search with the options of ``search``."""
    if recorded:
        return replay(workload, results)
    return search(workload, folder=out, fleet=_fleet(rpc, key), results=results, **options)


def _fleet(address: str | None, key: str | None) -> Fleet | None:
    if address is None and key is None:
        return None
    host, _, port = (address or "").rpartition(":")
    if not (host and port.isdigit() and key):
        raise UsageError(
            "tune: a fleet is an address and a key",
            expected="--rpc HOST:PORT --key NAME",
            got=f"--rpc {address} --key {key}",
        )
    return Fleet(host, int(port), key)


def search(
    name: str,
    *,
    strategy: str,
    trials: int,
    sizes: tuple[int, ...] = (),
    threads: int = 1,
    seed: int = 0,
    limit_s: float = 10.0,
    folder: Path | None = None,
    fleet: Fleet | None = None,
    results: Results = NOWHERE,
) -> int:
    """Search, print, compare the best with NumPy. Ctrl-C goes on to the comparison, then 130."""
    if trials < 1:
        raise UsageError("tune: too few trials", expected="1 or more", got=trials)
    workload, used = make_workload(name, sizes), strategy_of(strategy)
    folder = folder or default_folder(workload, strategy, threads)
    check_folder(folder)
    print(f"{workload.title}, {strategy}: {used.why}\ndatabase: {folder}", flush=True)
    found = tune.search(
        workload,
        used,
        folder,
        trials=trials,
        threads=threads,
        seed=seed,
        limit_s=limit_s,
        fleet=fleet,
    )
    stopped = follow(found, trials, len(tune.open_database(folder)))
    if stopped:
        print(f"\nstopped; the same command goes on from {folder}", flush=True)
        if tune.best(folder) is None:
            leave()
    taken = compare_best(workload, folder, threads=threads)
    if results:
        results.write(taken)
        print(f"record: {results.path}")
    if stopped:
        leave()
    return 0


def default_folder(workload: Workload, strategy: str, threads: int) -> Path:
    """Return the folder of a search's database, below the present folder."""
    sizes = "x".join(str(size) for size in workload.sizes.values())
    return Path("out") / "tune" / f"{workload.name}-{sizes}-{strategy}-{threads}t"


def follow(found: Any, trials: int, done: int) -> bool:
    """Show a search as it goes on; True when Ctrl-C ended it."""
    fastest, failed, number = math.inf, 0, done
    with tqdm(total=trials, initial=done, unit="trial", disable=None) as bar:
        bar.set_description("starting TVM's search")
        try:
            for number, tried in enumerate(found, done + 1):
                if tried.seconds is None:
                    failed += 1
                elif tried.seconds < fastest:
                    fastest = tried.seconds
                    tqdm.write(f"trial {number:>4}: {milliseconds(fastest)}")
                best = milliseconds(fastest) if fastest < math.inf else "none ran yet"
                bar.set_description(f"best {best}, {failed} failed")
                bar.update()
        except KeyboardInterrupt:
            bar.set_description("waiting for the candidate that is being measured")
            try:
                found.close()
            except KeyboardInterrupt:  # a second one does not wait
                print("\nstopped", flush=True)
                leave()
            return True
    print(f"{number} trials, {failed} of those measured now failed")
    return False


def compare_best(workload: Workload, folder: Path, *, threads: int) -> record.Record:
    """Check the best of a database against float64, time it beside NumPy, print and return that.

    Raises ``MachineError`` when no candidate of the database ran.
    """
    best = tune.best(folder)
    if best is None:
        raise MachineError(
            "tune: no candidate ran",
            got=f"{len(tune.open_database(folder))} trials in {folder}",
            hint="give each more time: --limit SECONDS",
        )
    limits = roofs(threads)
    climbed = list(climb(workload, [best.rung], threads=threads, budget_s=BUDGET_S))
    taken = record.ladder_record(workload, climbed, limits, threads=threads)
    print(f"{record.HEAD}\n{record.row(taken['rungs'][0])}")
    for line in warning_lines(each["warning"] for each in (taken["roofs"], *taken["rungs"])):
        print(line)
    searched = {"seconds": best.seconds, "readings": tune.readings(folder)}
    return {**taken, "search": {**searched, "about": tune.read_about(folder)}}


def replay(name: str, results: Results = NOWHERE) -> int:
    """Replay the recorded searches of a workload on this machine, in seconds.

    Raises ``UsageError`` when none is recorded.
    """
    known = recordings()
    found = [each for each in known if each.workload.name == name]
    if not found:
        names = sorted({each.workload.name for each in known})
        check_known("no search is recorded of", name, names)
    replayed = []
    for each in found:
        about = each.about
        print(
            f"\n{about['strategy']}, {about['threads']} threads, {len(about['readings'])} "
            f"trials. {each.where}: "
            f"{milliseconds(about['best_s'])}, NumPy / ours {about['ratio_to_numpy']:.3f}"
        )
        replayed.append(compare_best(each.workload, each.folder, threads=about["threads"]))
    results.write({"replayed": replayed})
    return 0
