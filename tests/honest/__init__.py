"""Right answers in unusual form: all must get all points.

``HONEST`` has all of them, by the name of the function that writes the submission.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from corpus.handing_in import Notebook

from honest import forms, notebooks

Write = Callable[[Path, Notebook], None]

HONEST: dict[str, Write] = {
    name: function
    for module in (forms, notebooks)
    for name, function in vars(module).items()
    if not name.startswith("_") and getattr(function, "__module__", "") == module.__name__
}
