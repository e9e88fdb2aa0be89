"""``mlc-course ladder``: rows as they are measured, then a file and a picture."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tqdm import tqdm

from mlc_course.commands.output import NOWHERE, Results, check_file
from mlc_course.extras import brought_by
from mlc_course.measure import warning_lines
from mlc_course.parallel import interruptible, leave
from mlc_course.tensor_program.ladders import (
    QUICK_SIZES,
    Climbed,
    Rung,
    climb,
    ladder,
    record,
    roofline,
    select,
)
from mlc_course.tensor_program.memory import higher, roofs
from mlc_course.tensor_program.plots import save_plot, save_roofline
from mlc_course.tensor_program.problems import make_workload
from mlc_course.units import milliseconds

# Seconds of measuring, for one rung.
THOROUGH_BUDGET_S, BUDGET_S, QUICK_BUDGET_S = 8.0, 2.0, 0.3
PICTURES = (".png", ".svg", ".pdf")


def run(
    workload: str,
    *,
    sizes: tuple[int, ...] = (),
    threads: int = 1,
    rungs: tuple[str, ...] = (),
    article: bool = False,
    quick: bool = False,
    thorough: bool = False,
    results: Results = NOWHERE,
    plot_path: Path | None = None,
    roofline_path: Path | None = None,
) -> int:
    """Climb, print, write. Ctrl-C ends the process with status 130, the rungs that are done kept.

    Raises ``UsageError`` for an unknown workload, rung or file format before anything is measured.
    """
    budget_s = THOROUGH_BUDGET_S if thorough else QUICK_BUDGET_S if quick else BUDGET_S
    every = ladder(workload, article=article)
    asked = select(every, rungs) if rungs else every
    problem = make_workload(workload, sizes or (QUICK_SIZES[workload] if quick else ()))
    for path in (plot_path, roofline_path):
        check_file(path, PICTURES)
        if path:
            with brought_by("bench"):  # now, rather than after minutes of measuring
                import_module("matplotlib")
    climbed: list[Climbed] = []
    limits = roofs(threads, remeasure=True)

    def taken() -> record.Record:
        return record.ladder_record(problem, climbed, limits, threads=threads)

    print(f"{record.title(taken())}\n\n{record.HEAD}", flush=True)
    stopped = False
    with tqdm(total=len(asked), unit="rung", leave=False, disable=None) as bar:
        bar.set_postfix_str(asked[0].name)
        steps = climb(problem, asked, threads=threads, budget_s=budget_s, thorough=thorough)
        try:
            for done in interruptible(steps):
                climbed.append(done)
                tqdm.write(record.row(record.rung_record(problem, done, limits)))
                bar.update()
                bar.set_postfix_str(asked[min(len(climbed), len(asked) - 1)].name)
        except KeyboardInterrupt:
            stopped = True
    if not stopped:
        try:
            limits = higher(limits, roofs(threads, remeasure=True))
            print(f"roofs, of before and after the higher: {limits}")
        except KeyboardInterrupt:
            stopped = True
    found = taken()
    if roofline_path and not stopped:
        found, stopped = _counted(found, asked)
    _finish(found, results, plot_path, roofline_path)
    if stopped:
        leave()
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
    results: Results,
    plot_path: Path | None,
    roofline_path: Path | None,
) -> None:
    if not taken["rungs"]:
        print("stopped before the first rung was measured; nothing is written")
        return
    numpy = milliseconds(taken["baseline"]["median_s"])
    print(f"{'NumPy':<16} {numpy:>11}\n{record.made_on(taken)}")
    warnings = (each["warning"] for each in (taken["roofs"], *taken["rungs"]))
    for rung in taken["rungs"]:
        if part := record.timed_part(taken, rung):
            print(f"{rung['name']}: {part}; --thorough times them all")
    for line in (*record.setback_lines(taken), *warning_lines(warnings)):
        print(line)
    if results:
        results.write(taken)
        print(f"record: {results.path}")
    if plot_path:
        save_plot(taken, plot_path)
        print(f"picture: {plot_path}")
    if roofline_path and roofline.is_counted(taken):
        save_roofline(taken, roofline_path)
        print(f"roofline: {roofline_path}")
