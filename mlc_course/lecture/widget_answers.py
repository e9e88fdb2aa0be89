"""Answers of a kernel's widgets to every choice, asked once, so that they move without it."""

from __future__ import annotations

import itertools
import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlc_course.extras import brought_by

with brought_by("lab"):
    import traitlets
    from ipywidgets.widgets import widget as ipywidgets_widget

from mlc_course.lessons.kit import Choice, Widget

MOST_VIEWS = 48  # combinations of choices of one widget
MOST_BYTES = 1_500_000
MOST_S = 20.0
# The player's frames of all steps are in the page; the other two say what Python is doing.
OF_THE_PAGE = ("step", "status", "busy")


def write_answers(carried: Mapping[int, Mapping[str, Sequence[Any]]], path: str) -> None:
    """Write what every living widget answers, as JSON by model; ``carried`` adds values to try.

    ``carried`` maps the number of a code cell, whose result is a widget, to values of its traits.
    """
    results = vars(sys.modules["__main__"]).get("Out", {})
    further = {id(results[number]): values for number, values in carried.items()}
    found = {
        widget.model_id: answers(widget, further.get(id(widget), {}))
        for widget in list(ipywidgets_widget._instances.values())  # no public name is left
        if isinstance(widget, Widget)
    }
    Path(path).write_text(json.dumps(found), encoding="utf-8")


def asked_traits(widget: Widget) -> list[str]:
    """Return the traits of a widget that Python reacts to: the page alone cannot answer them."""
    listening = widget._trait_notifiers
    return [
        name
        for name in widget.keys
        if name in widget.traits(sync=True)
        and any(listening.get(name, {}).get("change", ()))
        and name not in OF_THE_PAGE
    ]


def values_of(widget: Widget, name: str) -> Sequence[Any] | None:
    """Return all values that a trait may have, or None where they are not known."""
    trait = widget.traits()[name]
    if isinstance(trait, Choice):
        return trait.known
    if isinstance(trait, traitlets.Bool):
        return (False, True)
    return None


def answers(widget: Widget, further: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Choose every combination of values once, and return what the widget's state became.

    ``asks`` are the traits that Python reacts to, ``chosen`` those that were tried, in order, and
    ``views`` maps a JSON list of their values to what is then different from the first state. A
    widget with too many combinations, or slow ones, or large ones, has no views, and does not move.
    """
    asks = asked_traits(widget)
    known = {name: further.get(name) or values_of(widget, name) for name in asks}
    chosen = {name: values for name, values in known.items() if values is not None}
    views: dict[str, Any] = {}
    if chosen and math.prod(map(len, chosen.values())) <= MOST_VIEWS:
        views = dict(tried(widget, chosen)) or {}
    return {"asks": asks, "chosen": list(chosen), "views": views}


def tried(widget: Widget, chosen: Mapping[str, Sequence[Any]]) -> Iterator[tuple[str, Any]]:
    """Yield each combination with the traits that it changes; nothing if that is too much.

    What a widget remembers of earlier choices, such as a table of them, is no answer to a choice:
    it is left out, and is afterwards what it was.
    """
    first = _state(widget)
    found: list[tuple[str, Any]] = []
    size, ends = 0, time.monotonic() + MOST_S
    try:
        for values in itertools.product(*chosen.values()):
            for name, value in zip(chosen, values, strict=True):
                setattr(widget, name, value)
            now = _state(widget)
            changed = {name: now[name] for name in now if now[name] != first[name]}
            size += len(json.dumps(changed))
            if size > MOST_BYTES or time.monotonic() > ends:
                return
            found.append((json.dumps(values, separators=(",", ":"), ensure_ascii=False), changed))
    finally:
        for name in chosen:
            setattr(widget, name, first[name])
        now = _state(widget)
        remembered = {name for name in now if now[name] != first[name]}
        for name in remembered:
            setattr(widget, name, first[name])
    for key, changed in found:
        yield key, {name: value for name, value in changed.items() if name not in remembered}


def _state(widget: Widget) -> dict[str, Any]:
    state = widget.get_state()
    return {name: value for name, value in state.items() if name[0] != "_" and name != "layout"}
