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
from typing import TYPE_CHECKING

from mlc_course import __version__
from mlc_course.errors import CourseError

if TYPE_CHECKING:
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


AddCommand = Callable[["Subparsers"], None]
COMMANDS: tuple[AddCommand, ...] = (add_doctor, add_lab)


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
