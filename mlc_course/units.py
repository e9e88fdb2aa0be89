"""Numbers with their units, as every table, picture and sentence of the course writes them."""

from __future__ import annotations

import math


def milliseconds(seconds: float) -> str:
    """Three significant digits: ``22,400 ms``, ``105 ms``, ``0.683 ms``."""
    rounded = float(f"{1e3 * seconds:.3g}")
    digits = max(0, 2 - math.floor(math.log10(rounded)))
    return f"{rounded:,.{digits}f} ms"


def plural(count: int, noun: str) -> str:
    """A number with its noun: ``1 thread``, ``2 threads``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def size_text(size: int) -> str:
    """``40 B``, ``51.2 kB``, ``1.15 MB``: three significant digits, a kilobyte is 1000 bytes."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{float(f'{size / unit:.3g}'):g} {name}"
    return f"{size} B"


def times(ratio: float) -> str:
    """``1.09 x``, ``0.0041 x``."""
    return f"{ratio:.2f} x" if ratio >= 0.1 else f"{ratio:.2g} x"
