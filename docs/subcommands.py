"""The subcommands of ``mlc-course`` with their options and exit statuses, as Markdown."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from mlc_course.commands.cli import INTERRUPTED, USAGE_STATUS, Parser, subcommands


def statuses() -> str:
    """Return what each exit status means, a line for each subcommand.

    130 means the same everywhere, and so does what 2 means last.
    """
    lines = [f"| | 0 | 1 | {USAGE_STATUS} | {INTERRUPTED} |", "|---|---|---|---|---|"]
    for name, parser in subcommands().items():
        cells = (parser.statuses.get(each, "") for each in (0, 1, USAGE_STATUS, INTERRUPTED))
        lines.append(f"| [`{name}`](#{name}) | {' | '.join(cells)} |")
    return "\n".join(lines)


def every_subcommand() -> str:
    """Return a section for each subcommand: its purpose, its arguments and its options."""
    return "\n\n".join("\n".join(_section(name, each)) for name, each in subcommands().items())


def _section(name: str, parser: Parser) -> Iterator[str]:
    yield f"### {name}"
    yield ""
    yield str(parser.description)
    yield ""
    yield "| argument | |"
    yield "|---|---|"
    for each in parser._actions:
        if not isinstance(each, argparse._HelpAction):
            purpose = str(each.help or "").replace("|", "\\|")
            yield f"| {_written(each)} | {purpose} |"


def _written(action: argparse.Action) -> str:
    """Return an argument as it is written: `` `--json FILE` ``."""
    metavar = action.metavar if isinstance(action.metavar, str) else None
    if action.choices:
        metavar = metavar or ", ".join(map(str, action.choices))
    if not action.option_strings:
        return f"`{metavar or action.dest}`"
    value = "" if action.nargs == 0 else f" {metavar or action.dest.upper()}"
    return f"`{action.option_strings[0]}{value}`"
