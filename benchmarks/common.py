"""What every benchmark script shares: its command line, its file, and its verdict."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlc_course.mugraph.ir import KernelGraph, parse, read_mirage
from mlc_course.tensor_program.ladders import record

SAVED = Path(__file__).parents[1] / "tests" / "mugraph" / "ir" / "mirage_saved"


@dataclass(frozen=True)
class Target:
    """A number that this benchmark was built for: ``measured`` should be at least ``wanted``."""

    what: str
    wanted: float
    measured: float

    @property
    def reached(self) -> bool:
        return self.measured >= self.wanted

    def __str__(self) -> str:
        verdict = "reached" if self.reached else "FALLS SHORT"
        return f"{self.what}: {self.measured:.3f}, wanted {self.wanted:.2f}: {verdict}"


def saved_by_mirage() -> Iterator[tuple[KernelGraph, list[KernelGraph]]]:
    """Yield each program with the graphs for it that Mirage has saved."""
    for path in sorted(SAVED.glob("*.json")):
        text = SAVED / f"{path.stem.removeprefix('single_')}.txt"
        program = parse(text.read_text(encoding="utf-8"))
        saved = json.loads(path.read_text(encoding="utf-8"))
        yield program, [read_mirage(each, program.inputs, path.stem) for each in saved]


def command_line(module: str | None, keep: str = "") -> argparse.ArgumentParser:
    """The options that every benchmark takes, described by the first line of its docstring.

    ``keep`` is what a benchmark keeps for the lessons with ``--recordings``, if it does.
    """
    parser = argparse.ArgumentParser(description=(module or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write machine, date, figures")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures")
    parser.add_argument("--check", action="store_true", help="status 1 when a number falls short")
    if keep:
        parser.add_argument("--recordings", type=Path, metavar="DIR", help=f"keep {keep}")
    return parser


def finish(
    arguments: argparse.Namespace,
    figures: dict[str, Any],
    targets: Sequence[Target],
    plot: Callable[[Path], None],
) -> int:
    """Write what was asked for and say, last, what falls short."""
    if arguments.json:
        held = [{**vars(target), "reached": target.reached} for target in targets]
        record.save({**record.provenance(), "targets": held, **figures}, arguments.json)
    if arguments.plot:
        plot(arguments.plot)
    print()
    for target in targets:
        print(target)
    short = [target.what for target in targets if not target.reached]
    print(f"falls short: {'; '.join(short)}" if short else "every number is reached")
    return 1 if arguments.check and short else 0
