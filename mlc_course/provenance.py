"""Where figures come from: machine, date and versions, which begin every file of results.

Neither TVM nor NumPy is imported for it: it can be written about an installation that is broken.
"""

from __future__ import annotations

import datetime
import platform
from typing import Any

from mlc_course import __version__, machine

PACKAGES = {"numpy": "numpy", "tvm": "apache-tvm", "tvm_ffi": "apache-tvm-ffi"}


def installed_version(package: str) -> str | None:
    """Return the version of a package that pip would list, or None where there is none."""
    from importlib import metadata  # only here: it takes a tenth of the time of `--help`

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def provenance() -> dict[str, Any]:
    """Return ``machine``, ``date`` (of today, as YYYY-MM-DD) and ``versions``, ready for JSON."""
    return {
        "machine": machine.describe().to_dict(),
        "date": datetime.date.today().isoformat(),
        "versions": {
            "python": platform.python_version(),
            "mlc_course": __version__,
            **{name: installed_version(package) for name, package in PACKAGES.items()},
        },
    }
