"""One HTML page of a lesson's slides, with everything it needs inside: it asks nobody for anything
but, when it is live, its own server for a kernel."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from importlib import resources
from typing import Any

from mlc_course.extras import brought_by

with brought_by("lab"):
    import mistune

from mlc_course.errors import UsageError
from mlc_course.lecture.recording import Recording, outdated
from mlc_course.lecture.slides import Deck
from mlc_course.lessons.kit import STYLE, script

FILES = resources.files("mlc_course.lecture") / "page"


def build(deck: Deck, recording: Recording, live: dict[str, Any] | None = None) -> str:
    """Return the page; ``live`` has what it needs for a kernel: base, token and folder.

    Without ``live``, the page opens from a file, and prints with ``?print-pdf``.
    """
    old = outdated(deck, recording)
    data = {
        "live": live,
        "recorded": recording.label,
        "cells": {cell.name: _cell(cell, recording, cell.name in old) for cell in deck.cells},
        "slides": [asdict(slide) for slide in deck.slides],
        **widgets(recording),
    }
    styles = "\n".join((read("vendor/reveal.css"), STYLE, read("pictures.css"), read("deck.css")))
    scripts = (read("vendor/reveal.js"), read("vendor/editor.js"))
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{html.escape(deck.title)}</title>",
            f'<link rel="icon" href="data:,"><style>{styles}</style></head>',
            '<body><div class="reveal"><div class="slides"></div></div>',
            f'<script type="application/json" id="deck">{embedded(data)}</script>',
            *(f"<script>{each}</script>" for each in scripts),
            f'<script type="module">{module("host.js", "kernel.js", "deck.js")}</script>',
            "</body></html>",
            "",
        )
    )


def widgets(recording: Recording) -> dict[str, Any]:
    """Return what a page needs to draw widgets: their states, and their scripts by module."""
    modules = {each["module"] for each in recording.widgets.values()}
    return {
        "widgets": recording.widgets,
        "scripts": {module: script(module) for module in sorted(modules)},
    }


def list_page(decks: Mapping[str, Deck | UsageError], address: str) -> str:
    """Return a page with a link to the slides of each lesson, below ``address``."""
    lines = "".join(f"<li>{_line(name, deck, address)}</li>" for name, deck in decks.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Lectures</title>'
        f'<link rel="icon" href="data:,"><style>{read("list.css")}</style></head>'
        f"<body><main><h1>Lectures</h1><ul>{lines or 'There are no lessons here.'}</ul></main>"
        "</body></html>\n"
    )


def _line(name: str, deck: Deck | UsageError, address: str) -> str:
    if isinstance(deck, UsageError):
        return html.escape(f"{name}: {deck}")
    minutes = sum(slide.minutes for slide in deck.slides)
    link = f'<a href="{html.escape(address)}/{name[:2]}">{html.escape(deck.title)}</a>'
    return f"{link}: {len(deck.slides)} slides, {minutes:.0f} minutes"


def read(name: str) -> str:
    """Return the text of a file of the page."""
    text = (FILES / name).read_text(encoding="utf-8")
    return text.replace("</script", "<\\/script") if name.endswith(".js") else text


def module(*names: str) -> str:
    """Return one script of several: what each takes from another is in the same scope."""
    return re.sub(r"^(export |import .*\n)", "", "\n".join(map(read, names)), flags=re.MULTILINE)


def embedded(data: object) -> str:
    """Return JSON that ends no script element and begins no comment."""
    text = json.dumps(data, ensure_ascii=False)
    return text.replace("</", "<\\/").replace("<!--", "<\\u0021--")


def markdown(text: str) -> str:
    """Return HTML of Markdown."""
    return str(mistune.html(text))


def _cell(cell: Any, recording: Recording, is_outdated: bool) -> dict[str, Any]:
    return {
        "source": cell.source,
        "isCode": cell.is_code,
        "wall": markdown(cell.wall) if cell.wall else "",
        "showsCode": cell.shows_code,
        "showsResult": cell.shows_result,
        "budget": cell.budget_s,
        "poll": cell.poll,
        "outputs": recording.outputs.get(cell.name, []),
        "isOutdated": is_outdated,
    }
