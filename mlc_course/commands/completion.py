"""``mlc-course completion``: what a shell runs so that the tabulator key completes the command."""

from __future__ import annotations

from mlc_course.errors import MachineError

COMMAND = "mlc-course"


def run(*, shell: str) -> int:
    """Print the completion of a shell; raise ``MachineError`` where argcomplete is missing."""
    try:
        from argcomplete.shell_integration import shellcode  # only here, and where a shell asks
    except ImportError:
        raise MachineError(
            "completion: argcomplete is not installed", hint="pip install argcomplete"
        ) from None
    print(shellcode([COMMAND], shell=shell))
    return 0
