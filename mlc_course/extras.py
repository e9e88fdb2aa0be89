"""Packages that an extra of the course brings, and the error where one of them is missing.

The engines import without them: a module that can do most of its work alone takes such a package
``on_demand``, and a module that is about the package imports it inside of ``brought_by``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from mlc_course.errors import MissingPackage

COURSE = "mlc-course"


def install(extra: str = "") -> str:
    """Return the command that brings an extra's packages, or those that the library itself needs.

    >>> install("onnx")
    "pip install 'mlc-course[onnx]'"
    """
    return f"pip install '{COURSE}[{extra}]'" if extra else f"pip install {COURSE}"


@contextmanager
def brought_by(extra: str = "") -> Iterator[None]:
    """Raise ``MissingPackage`` where an import inside the ``with`` finds no package.

    Its hint installs ``extra``, or what the library itself needs. A module of the course that is
    missing is a fault of the course, and stays a ``ModuleNotFoundError``.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == __name__.partition(".")[0]:
            raise
        raise MissingPackage(
            f"the package {package} is not installed", got=error, hint=install(extra)
        ) from None


class on_demand:
    """A module that is imported when one of its names is first asked for.

    Under ``if TYPE_CHECKING`` the module is imported, so that types are known; ``else`` its name is
    bound to ``on_demand("matplotlib", "bench")``. Raises ``MissingPackage`` on use, not before.
    """

    def __init__(self, module: str, extra: str) -> None:
        self._module, self._extra = module, extra

    def __getattr__(self, name: str) -> Any:
        with brought_by(self._extra):
            module = import_module(self._module)
            if not hasattr(module, name):  # a submodule that nobody has imported yet
                import_module(f"{self._module}.{name}")
        return getattr(module, name)
