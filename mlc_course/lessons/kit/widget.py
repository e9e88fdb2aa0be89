"""The base class of the lessons' widgets: style sheet, script, static form, buttons."""

from __future__ import annotations

import contextlib
import html
import signal
import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from importlib import resources
from threading import Event
from typing import Any, TypeVar

from mlc_course.extras import brought_by

with brought_by("lab"):
    import anywidget
    import traitlets
    from IPython.core.getipython import get_ipython

from mlc_course.errors import CourseError, UsageError, check_known
from mlc_course.parallel import interruptible
from mlc_course.words import marked, script_words, tr

KIT = resources.files("mlc_course.lessons.kit")
STYLE = (KIT / "style.css").read_text(encoding="utf-8")
INTERRUPT = marked("Kernel > Interrupt Kernel stops here")

Item = TypeVar("Item")
MimeBundle = tuple[dict[str, Any], dict[str, Any]]


class Widget(anywidget.AnyWidget):
    """A widget whose script is the ``.js`` file beside its module, with a static form in HTML.

    ``tasks`` names the methods that buttons of the page may call; none is called while ``busy``.
    ``status`` is the line that says where the figures come from, or how far a measurement is.
    """

    _css = STYLE
    tasks: tuple[str, ...] = ("measure",)

    status = traitlets.Unicode("").tag(sync=True)
    busy = traitlets.Bool(False).tag(sync=True)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if Widget in cls.__bases__:  # traitlets makes further subclasses of its own
            cls._esm = script(cls.__module__)
        super().__init_subclass__(**kwargs)

    def __init__(self, **traits: Any) -> None:
        self._pace = Pace()
        self._drawn: dict[Hashable, Any] = {}
        super().__init__(**traits)
        self.on_msg(lambda widget, content, buffers: answer(self, content))

    def static_html(self) -> str:
        """Return what is shown where no widgets run: on GitHub, on a printed page."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> MimeBundle:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        static = f'<div class="mlc"><style>{STYLE}</style>{self.static_html()}</div>'
        return {**data, "text/html": static}, metadata

    def once(self, view: Hashable, draw: Callable[[], Item]) -> Item:
        """Return what was drawn for a view before, or draw it now."""
        if view not in self._drawn:
            self._drawn[view] = draw()
        drawn: Item = self._drawn[view]
        return drawn

    def draw_ahead(self, views: Iterable[Callable[[], object]]) -> None:
        """Draw views before anyone asks for them; an interrupt keeps those that are drawn."""
        with contextlib.suppress(KeyboardInterrupt):
            for draw in views:
                draw()

    @contextlib.contextmanager
    def measuring(self, what: str) -> Iterator[None]:
        """Be busy inside the ``with``; ``what`` says in the status line what is measured."""
        self.busy, self.status = True, tr("Measuring {what}", what=what)
        try:
            yield
        except KeyboardInterrupt:
            self.status = tr("Stopped before the first round was measured.")
            raise
        except CourseError as error:
            self.status = tr("Nothing was measured: {what}.", what=error.what)
            raise
        finally:
            self.busy = False

    def paced(self, steps: Iterable[Item], *, unit: str) -> Iterator[Item]:
        """The results of slow ``steps``, each step only after the last result was shown.

        The steps run in a thread; drawing meanwhile would count as their time. First waits for the
        ``unit`` (a rung, a tile) that an interrupt left under way.
        """
        if not self._pace.ended.is_set():
            self.status = tr(
                "Waiting for the {unit} that was under way when you stopped ...", unit=unit
            )
            self._pace.ended.wait()
        self._pace = pace = Pace()
        for item in interruptible(pace.keep(steps)):
            yield item
            if _asked.is_set():
                raise KeyboardInterrupt  # the first one was dropped on its way
            pace.go_on()


class Choice(traitlets.TraitType[Any, Any]):
    """A trait that is one of a few words or numbers; raises ``UsageError`` for another value."""

    def __init__(self, default: object, known: Iterable[object]) -> None:
        super().__init__(default)
        self.known = tuple(known)
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> Any:
        """Return ``value`` if it is known."""
        return one_of(str(self.name), self.known, value)


def one_of(trait: str, known: Collection[Item], got: Any) -> Item:
    """Return ``got`` if it is one of the known choices; raise ``UsageError`` otherwise."""
    check_known(f"{trait}: no such choice", got, known)
    chosen: Item = got
    return chosen


def in_range(what: str, first: int, last: int, got: int) -> int:
    """Return ``got`` if it is from ``first`` to ``last``; raise ``UsageError`` otherwise."""
    if not first <= got <= last:
        raise UsageError(f"no such {what}", expected=f"{first} to {last}", got=got)
    return int(got)


# --- HTML -----------------------------------------------------------------------------------------


def script(module: str) -> str:
    """The JavaScript of the widget in a Python module, from the file of its name beside it.

    ``module`` is the module's ``__name__``; ``common.js`` comes first, and nothing else is loaded.
    It has its words in the language that is spoken now.
    """
    package, _, name = module.rpartition(".")
    parts = (KIT / "common.js", resources.files(package) / f"{name}.js")
    text = "\n".join(part.read_text(encoding="utf-8") for part in parts)
    return text.replace("const WORDS = {};", f"const WORDS = {script_words(text)};", 1)


def charts(*svgs: str) -> str:
    """HTML of pictures, one below the other; empty ones are left out."""
    return "".join(f'<div class="mlc-chart">{svg}</div>' for svg in svgs if svg)


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    kind: str = "mlc-runs",
    chosen: int | None = None,
) -> str:
    """HTML of a table; ``kind`` is its style, ``chosen`` the number of the row that is marked."""

    def row(tag: str, cells: Sequence[object]) -> str:
        return "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells)

    mark = ' class="mlc-chosen"'
    body = "".join(
        f"<tr{mark if number == chosen else ''}>{row('td', cells)}</tr>"
        for number, cells in enumerate(rows)
    )
    return (
        f'<table class="{kind}"><thead><tr>{row("th", head)}</tr></thead><tbody>{body}</tbody>'
        "</table>"
    )


# --- what buttons do ------------------------------------------------------------------------------


def answer(widget: Any, content: object) -> None:
    """Do what a widget's button asks for, and show an error of ours as the widget's status."""
    task = content.get("task") if isinstance(content, dict) else None

    def act() -> None:
        try:
            with can_be_interrupted():
                getattr(widget, str(task))()
        except CourseError as error:
            widget.status = f"{type(error).__name__}: {error}"

    if task in widget.tasks and not widget.busy:
        on_main_thread(act)


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


_asked = threading.Event()  # an interrupt has come since ``can_be_interrupted`` began


@contextlib.contextmanager
def can_be_interrupted() -> Iterator[None]:
    """Let Interrupt Kernel raise ``KeyboardInterrupt`` inside the ``with``.

    ipykernel does so by itself only while it handles a message in the main thread. Python drops an
    exception that is raised where an object is finalized, so ``paced`` steps look at ``_asked``.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        _asked.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _asked.clear()


class Pace:
    """Hold back slow steps in another thread until the result of the last one is drawn.

    Drawing takes a core and Python's lock, and would count as time of the next step. ``ended`` is
    set while no steps are under way.
    """

    def __init__(self) -> None:
        self._next, self.ended = Event(), Event()
        self._stopped = False
        self.ended.set()

    def keep(self, items: Iterable[Item]) -> Iterator[Item]:
        """The same items, each one only after ``go_on`` was called for the one before."""
        self.ended.clear()
        try:
            for item in items:
                yield item
                self._next.wait()
                self._next.clear()
                if self._stopped:
                    return
        finally:
            self.ended.set()

    def go_on(self) -> None:
        self._next.set()

    def stop(self) -> None:
        """Let the step that is under way be the last."""
        self._stopped = True
        self._next.set()
