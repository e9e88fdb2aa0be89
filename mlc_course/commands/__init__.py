"""What can be done from a terminal? The ``mlc-course`` command, one module for each subcommand.

Read ``cli`` first: it lists the subcommands and their options.
"""

from mlc_course.commands.cli import main

__all__ = ["main"]
