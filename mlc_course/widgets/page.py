"""What the widgets share: their style sheet, the start of their scripts, their static form."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Any

from mlc_course.errors import CourseError, UsageError

FILES = resources.files("mlc_course.widgets")
STYLE = (FILES / "style.css").read_text(encoding="utf-8")

MimeBundle = tuple[dict[str, Any], dict[str, Any]]


def script(name: str) -> str:
    """The JavaScript module of a widget: ``common.js``, then its own. Nothing else is loaded."""
    parts = ("common.js", f"{name}.js")
    return "\n".join((FILES / part).read_text(encoding="utf-8") for part in parts)


def with_static_form(bundle: MimeBundle | None, html: str) -> MimeBundle:
    """A widget's display data with HTML for where no widgets run: GitHub, a printed page."""
    data, metadata = bundle or ({}, {})
    return {**data, "text/html": f'<div class="mlc"><style>{STYLE}</style>{html}</div>'}, metadata


def measure_when_asked(widget: Any, content: object) -> None:
    """Answer a widget's button: measure, and show an error of ours as the widget's status."""
    if content == {"task": "measure"} and not widget.busy:
        try:
            widget.measure()
        except CourseError as error:
            widget.status = f"{type(error).__name__}: {error}"


def one_of(trait: str, known: Sequence[str], got: object) -> str:
    """``got``, when it is one of the known choices; raises ``UsageError`` otherwise."""
    if got not in known:
        raise UsageError(f"{trait}: no such choice", expected=" | ".join(known), got=got)
    return str(got)
