"""What is installed here, and which pair of TVM and its ffi the course asks for."""

from __future__ import annotations

from importlib import metadata

from mlc_course.errors import MachineError

COURSE = "mlc-course"
TVM_PAIR = ("apache-tvm", "apache-tvm-ffi")


def installed_version(package: str) -> str | None:
    """The version that pip would list, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def installed_pair() -> dict[str, str | None]:
    """The versions of TVM and its ffi that are here."""
    return {package: installed_version(package) for package in TVM_PAIR}


def pinned_pair() -> dict[str, str | None]:
    """The versions of TVM and its ffi that the course's own metadata asks for, exactly.

    Raises ``MachineError`` when the course is imported from a folder without being installed.
    """
    try:
        requirements = metadata.requires(COURSE) or []
    except metadata.PackageNotFoundError:
        raise MachineError(f"the package {COURSE} is not installed", hint="make setup") from None
    exact = dict(line.split("==", 1) for line in requirements if "==" in line and ";" not in line)
    return {package: exact.get(package) for package in TVM_PAIR}
