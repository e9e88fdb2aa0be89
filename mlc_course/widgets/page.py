"""What the widgets share: their style sheet, the start of their scripts, their static form."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from typing import Any

from IPython.core.getipython import get_ipython

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

    def measure() -> None:
        try:
            with can_be_interrupted():
                widget.measure()
        except CourseError as error:
            widget.status = f"{type(error).__name__}: {error}"

    if content == {"task": "measure"} and not widget.busy:
        on_main_thread(measure)


def on_main_thread(act: Callable[[], None]) -> None:
    """Run ``act`` where an interrupt reaches it: now, or as soon as the main thread is free.

    From the second message of a widget on, JupyterLab has its messages handled in a thread of their
    own (a subshell of the kernel), and Python raises ``KeyboardInterrupt`` in the main thread only.
    """
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None or threading.current_thread() is threading.main_thread():
        act()
        return

    def act_and_stay() -> None:
        with contextlib.suppress(KeyboardInterrupt):  # it would end the kernel
            act()

    kernel.io_loop.add_callback(act_and_stay)


@contextlib.contextmanager
def can_be_interrupted() -> Iterator[None]:
    """Let Interrupt Kernel raise ``KeyboardInterrupt`` inside the ``with``.

    ipykernel does so by itself only while it handles a message in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def one_of(trait: str, known: Sequence[str], got: object) -> str:
    """``got``, when it is one of the known choices; raises ``UsageError`` otherwise."""
    if got not in known:
        raise UsageError(f"{trait}: no such choice", expected=" | ".join(known), got=got)
    return str(got)
