"""Run a script, then say what its process has loaded.

    python loaded_modules.py SCRIPT ARGUMENTS ...

The last line of the output is JSON: the modules outside of Python's standard library, the shared
libraries in memory (none where the system does not tell), and the most memory that was in use.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path


def modules() -> list[str]:
    """Top-level modules that Python has imported and does not bring itself."""
    known = {*sys.stdlib_module_names, "cython_runtime"}
    names = {name.partition(".")[0] for name in sys.modules} - known
    return sorted(name for name in names if not name.startswith("_"))


def libraries() -> list[str]:
    """File names of the shared libraries in this process, as Linux tells them."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    paths = {line.split(maxsplit=5)[5] for line in lines if len(line.split(maxsplit=5)) == 6}
    return sorted({Path(path).name for path in paths if ".so" in path})


def peak_bytes() -> int:
    """The most memory that was in use, 0 where the system does not tell."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux, whose getrusage counts what the parent had, too
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 0


if __name__ == "__main__":
    script = Path(sys.argv[1]).resolve()
    del sys.argv[0]
    sys.path[0] = str(script.parent)
    runpy.run_path(str(script), run_name="__main__")
    found = {"modules": modules(), "libraries": libraries(), "peak_bytes": peak_bytes()}
    print(json.dumps(found))
