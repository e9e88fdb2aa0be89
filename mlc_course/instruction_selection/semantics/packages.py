"""Packages that only the checks need: an emulator, an assembler, a symbolic model, a solver."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from mlc_course.errors import MachineError

# What pip calls each module; the versions are those of constraints.txt.
PIP_NAMES = {
    "unicorn": "unicorn",
    "keystone": "keystone-engine",
    "triton": "triton-library",
    "z3": "z3-solver",
}


def package(name: str) -> ModuleType:
    """Return a module, imported.

    Raises:
        MachineError: its package is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MachineError(
            f"{name} is missing",
            expected="the packages that second sources for instructions need",
            got=str(error),
            hint=f"pip install -c constraints.txt {PIP_NAMES[name.partition('.')[0]]}",
        ) from None


def missing(*names: str) -> tuple[str, ...]:
    """Return what pip would have to install for these modules."""
    return tuple(PIP_NAMES[each] for each in names if importlib.util.find_spec(each) is None)
