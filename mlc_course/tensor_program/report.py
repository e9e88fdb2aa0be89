"""Climb a ladder for a reader at a terminal: rows as they come, then a file and a picture."""

from __future__ import annotations

from pathlib import Path

from tqdm import tqdm

from mlc_course.background import interruptible, leave
from mlc_course.tensor_program import record, table
from mlc_course.tensor_program.draw.ladder import save_plot
from mlc_course.tensor_program.draw.roofline import save_roofline
from mlc_course.tensor_program.ladder import Climbed, Rung, climb, select
from mlc_course.tensor_program.ladders import QUICK_SIZES
from mlc_course.tensor_program.ladders import ladder as ladder_of
from mlc_course.tensor_program.memory import roofline
from mlc_course.tensor_program.memory.roofs import higher, roofs
from mlc_course.tensor_program.picture import milliseconds
from mlc_course.tensor_program.problems.workloads import make_workload

BUDGET_S, QUICK_BUDGET_S = 4.0, 0.3  # of measuring, for one rung
PICTURES = (".png", ".svg", ".pdf")
INTERRUPTED = 130


def ladder(
    name: str,
    *,
    sizes: tuple[int, ...] = (),
    threads: int = 1,
    names: tuple[str, ...] = (),
    quick: bool = False,
    json_path: Path | None = None,
    plot_path: Path | None = None,
    roofline_path: Path | None = None,
) -> int:
    """Climb, print, write. Ctrl-C ends the process with status 130, the rungs that are done kept.

    Raises ``UsageError`` for an unknown workload, rung or file format before anything is measured.
    """
    rungs = ladder_of(name)
    rungs = select(rungs, names) if names else rungs
    workload = make_workload(name, sizes or (QUICK_SIZES[name] if quick else ()))
    record.check_writable(json_path, (".json",))
    for path in (plot_path, roofline_path):
        record.check_writable(path, PICTURES)
    climbed: list[Climbed] = []
    limits = roofs(threads, remeasure=True)

    def taken() -> record.Record:
        return record.ladder_record(workload, climbed, limits, threads=threads)

    print(f"{table.title(taken())}\n\n{table.HEAD}", flush=True)
    stopped = False
    with tqdm(total=len(rungs), unit="rung", leave=False, disable=None) as bar:
        bar.set_postfix_str(rungs[0].name)
        steps = climb(
            workload, rungs, threads=threads, budget_s=QUICK_BUDGET_S if quick else BUDGET_S
        )
        try:
            for done in interruptible(steps):
                climbed.append(done)
                tqdm.write(table.row(record.rung_record(workload, done, limits)))
                bar.update()
                bar.set_postfix_str(rungs[min(len(climbed), len(rungs) - 1)].name)
        except KeyboardInterrupt:
            stopped = True
    if not stopped:
        limits = higher(limits, roofs(threads, remeasure=True))
        print(f"roofs, of before and after the higher: {limits}")
    found = taken()
    if roofline_path and not stopped:
        found, stopped = _counted(found, rungs)
    _finish(found, json_path, plot_path, roofline_path)
    if stopped:
        leave(INTERRUPTED)
    return 0


def _counted(taken: record.Record, rungs: tuple[Rung, ...]) -> tuple[record.Record, bool]:
    """The record with the bytes of its rungs, and whether Ctrl-C came before the last."""
    with tqdm(total=len(rungs), desc="bytes", unit="rung", leave=False, disable=None) as bar:
        try:
            for more in interruptible(roofline.counted(taken, rungs)):
                taken = more
                bar.update()
        except KeyboardInterrupt:
            return taken, True
    return taken, False


def _finish(
    taken: record.Record,
    json_path: Path | None,
    plot_path: Path | None,
    roofline_path: Path | None,
) -> None:
    if not taken["rungs"]:
        print("stopped before the first rung was measured; nothing is written")
        return
    numpy = milliseconds(taken["baseline"]["median_s"])
    print(f"{'NumPy':<16} {numpy:>11}\n{record.made_on(taken)}")
    for warning in filter(None, (rung["warning"] for rung in taken["rungs"])):
        print(f"warning: {warning}")
    if json_path:
        record.save(taken, json_path)
        print(f"record: {json_path}")
    if plot_path:
        save_plot(taken, plot_path)
        print(f"picture: {plot_path}")
    if roofline_path and roofline.is_counted(taken):
        save_roofline(taken, roofline_path)
        print(f"roofline: {roofline_path}")
