"""The ``mlc-course`` command: one small function a subcommand.

A subcommand imports what it runs only when it runs, so that ``mlc-course --help`` waits for neither
NumPy nor TVM.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from mlc_course import __version__
from mlc_course.errors import CourseError, UsageError

if TYPE_CHECKING:
    from mlc_course.tensor_program.search.tune import Fleet

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

USAGE_STATUS = 2  # what argparse itself ends with
INTERRUPTED_STATUS = 130  # what a shell reports of a program that Ctrl-C ended


def add_doctor(subparsers: Subparsers) -> None:
    """``mlc-course doctor``: is this machine ready?"""
    parser = subparsers.add_parser("doctor", help="check this machine, line by line")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.set_defaults(run=run_doctor)


def run_doctor(arguments: argparse.Namespace) -> int:
    """Print each finding as it comes, or all as JSON; 1 when something needed is broken."""
    from mlc_course import doctor

    findings = []
    for finding in doctor.examine():
        findings.append(finding)
        if not arguments.json:
            print(finding, flush=True)
    if arguments.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    return doctor.exit_status(findings)


def add_lab(subparsers: Subparsers) -> None:
    """``mlc-course lab``: read the lessons."""
    parser = subparsers.add_parser("lab", help="open the lessons in JupyterLab")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument("--port", type=int, help="default: the first free one from 8888 on")
    parser.set_defaults(run=run_lab)


def run_lab(arguments: argparse.Namespace) -> int:
    """Hand this process to JupyterLab."""
    from mlc_course import lab

    return lab.start(browser=not arguments.no_browser, port=arguments.port)


def add_ladder(subparsers: Subparsers) -> None:
    """``mlc-course ladder``: transform a program rung by rung, beside NumPy."""
    parser = subparsers.add_parser("ladder", help="climb a ladder of transformations past NumPy")
    parser.add_argument("workload", help="matmul_exp_matmul, matmul, linear_relu, softmax, conv2d")
    _add_problem(parser)
    parser.add_argument("--rungs", type=_words, default=(), metavar="A,B", help="only these")
    parser.add_argument("--quick", action="store_true", help="small sizes, under 20 seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the record here")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw it here (.png, .svg)")
    parser.add_argument(
        "--roofline",
        type=Path,
        metavar="FILE",
        help="count the bytes of each rung (minutes, on full sizes), draw them under the roofs",
    )
    parser.set_defaults(run=run_ladder)


def _add_problem(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", type=_sizes, default=(), metavar="M,K,..", help="whole numbers")
    parser.add_argument("--threads", type=int, default=1, help="for NumPy and ours (default 1)")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(","))


def run_ladder(arguments: argparse.Namespace) -> int:
    """Print each rung as it is measured; Ctrl-C keeps the rungs that are done."""
    from mlc_course.tensor_program import report

    return report.ladder(
        arguments.workload,
        sizes=arguments.sizes,
        threads=arguments.threads,
        names=arguments.rungs,
        quick=arguments.quick,
        json_path=arguments.json,
        plot_path=arguments.plot,
        roofline_path=arguments.roofline,
    )


def add_tune(subparsers: Subparsers) -> None:
    """``mlc-course tune``: let the machine search for a schedule."""
    parser = subparsers.add_parser("tune", help="search for a schedule, and keep what is found")
    parser.add_argument("workload", help="matmul_exp_matmul, matmul, linear_relu, softmax, ...")
    _add_problem(parser)
    parser.add_argument(
        "--strategy", default="packing", help="random, blind, evolutionary or packing"
    )
    parser.add_argument("--trials", type=int, default=32, help="candidates to measure")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for one candidate")
    parser.add_argument("--out", type=Path, metavar="DIR", help="database; resumed if it exists")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the comparison here")
    parser.add_argument("--rpc", metavar="HOST:PORT", help="measure through a TVM RPC tracker")
    parser.add_argument("--key", help="which of the tracker's machines")
    parser.add_argument("--recorded", action="store_true", help="replay the course's recordings")
    parser.set_defaults(run=run_tune)


def run_tune(arguments: argparse.Namespace) -> int:
    """Search, or replay recorded searches; Ctrl-C keeps the best so far."""
    from mlc_course.tensor_program.search import report

    if arguments.recorded:
        return report.replay(arguments.workload)
    return report.search(
        arguments.workload,
        strategy=arguments.strategy,
        trials=arguments.trials,
        sizes=arguments.sizes,
        threads=arguments.threads,
        seed=arguments.seed,
        limit_s=arguments.limit,
        folder=arguments.out,
        fleet=_fleet(arguments.rpc, arguments.key),
        json_path=arguments.json,
    )


def _fleet(address: str | None, key: str | None) -> Fleet | None:
    from mlc_course.tensor_program.search.tune import Fleet

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


def add_verify(subparsers: Subparsers) -> None:
    """``mlc-course verify``: do two mu-graphs compute the same?"""
    parser = subparsers.add_parser(
        "verify",
        help="do two mu-graphs compute the same function? 0 equal, 1 different, 2 cannot be told",
    )
    for side in ("left", "right"):
        parser.add_argument(side, metavar=side.upper(), help="a file, or a graph of the course")
    parser.add_argument("--error", type=float, default=1e-9, help="accepted (default 1e-9)")
    parser.add_argument("--extent", type=int, default=2, help="steps of small grids and loops")
    parser.add_argument("--full", action="store_true", help="test the full sizes besides")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    parser.set_defaults(run=run_verify)


def run_verify(arguments: argparse.Namespace) -> int:
    """Print the verdict and its error bound, or the input on which the graphs differ."""
    from mlc_course.mugraph import report

    return report.compare(
        arguments.left,
        arguments.right,
        error=arguments.error,
        extent=arguments.extent,
        full=arguments.full,
        as_json=arguments.json,
    )


def add_superoptimize(subparsers: Subparsers) -> None:
    """``mlc-course superoptimize``: let the machine find the fused graph."""
    parser = subparsers.add_parser(
        "superoptimize",
        help="search for fused mu-graphs that are equal to a program, ranked; 1 when none is found",
    )
    parser.add_argument("program", metavar="PROGRAM", help="a file, or a program of the course")
    parser.add_argument("--target", default="a100", help="a100 or h100 (default a100)")
    parser.add_argument("--max-ops", type=int, metavar="N", help="operators of a graph, at most")
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--executor", metavar="dask://HOST:PORT", help="search on a Dask cluster")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write graphs and results here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found here")
    parser.add_argument("--fresh", action="store_true", help="do not use earlier results")
    parser.set_defaults(run=run_superoptimize)


def run_superoptimize(arguments: argparse.Namespace) -> int:
    """Search and rank; Ctrl-C keeps what was found, and the same command goes on."""
    from mlc_course.mugraph.search import report

    return report.run(**{name: each for name, each in vars(arguments).items() if name != "run"})


def add_grade(subparsers: Subparsers) -> None:
    """``mlc-course grade``: marks that can be trusted."""
    parser = subparsers.add_parser("grade", help="grade a folder of submissions, unattended")
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="DIR/STUDENT/... or DIR/STUDENT.zip"
    )
    parser.add_argument("--solutions", type=Path, default=Path("solutions"), metavar="DIR")
    parser.add_argument("--out", type=Path, default=Path("marks.csv"), metavar="FILE.csv")
    parser.add_argument("--jobs", type=int, help="processes at a time (default: one for each core)")
    parser.add_argument("--executor", metavar="dask://HOST:PORT", help="grade on a Dask cluster")
    parser.add_argument(
        "--sandbox", choices=("bubblewrap", "rlimits"), help="default: the best here"
    )
    parser.add_argument("--json", action="store_true", help="print the marks as JSON")
    parser.set_defaults(run=run_grade)


def run_grade(arguments: argparse.Namespace) -> int:
    """Grade what is not graded yet; Ctrl-C keeps what is, and the same command goes on."""
    from mlc_course.grading import report

    return report.grade_folder(
        arguments.folder,
        solutions=arguments.solutions,
        out=arguments.out,
        jobs=arguments.jobs,
        executor=arguments.executor,
        sandbox=arguments.sandbox,
        as_json=arguments.json,
    )


AddCommand = Callable[["Subparsers"], None]
COMMANDS: tuple[AddCommand, ...] = (
    add_doctor,
    add_lab,
    add_ladder,
    add_tune,
    add_verify,
    add_superoptimize,
    add_grade,
)


def build_parser(commands: Sequence[AddCommand] = COMMANDS) -> argparse.ArgumentParser:
    """The parser of the whole command line; each subcommand sets ``run``."""
    parser = argparse.ArgumentParser(prog="mlc-course", description="The course on one command.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in commands:
        add(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None, commands: Sequence[AddCommand] = COMMANDS) -> int:
    """Run one command line and return its exit status.

    A ``CourseError`` is the user's to solve, so it is printed as its text, without a traceback.
    """
    parsed = build_parser(commands).parse_args(arguments)
    try:
        status: int = parsed.run(parsed)
    except CourseError as error:
        notes = getattr(error, "__notes__", ())
        print("\n".join((f"{type(error).__name__}: {error}", *notes)), file=sys.stderr)
        return USAGE_STATUS
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
    return status


if __name__ == "__main__":
    sys.exit(main())
