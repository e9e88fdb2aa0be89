"""``tr``: a sentence of the course in the language that is spoken here.

English is in the code, and is what a sentence is looked up by. A sentence is looked up whole, with
places for its numbers, because other languages put them elsewhere.
"""

from __future__ import annotations

import contextlib
import functools
import gettext
import io
import json
import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from importlib import resources
from pathlib import Path
from typing import Any

LANGUAGE = "MLC_COURSE_LANGUAGE"  # the variable that names a language
ENGLISH = "en"
LANGUAGES = (ENGLISH, "zh")
IN_SCRIPT = re.compile(r'\btr\(\s*("(?:[^"\\]|\\.)*")')
CATALOGUES = resources.files("mlc_course.words")

_spoken: ContextVar[str | None] = ContextVar("spoken", default=None)


def language() -> str:
    """Return the language that is spoken here, such as ``zh``.

    The variable ``MLC_COURSE_LANGUAGE`` names it. Where it names none that the course speaks, the
    folder of a notebook does: a kernel runs in ``notebooks/zh``. Anything else is English.
    """
    return _spoken.get() or _known(os.environ.get(LANGUAGE, "")) or _of_folder()


@contextlib.contextmanager
def spoken(name: str) -> Iterator[None]:
    """Speak a language inside the ``with``, whatever is asked for: marks are given in English."""
    token = _spoken.set(name)
    try:
        yield
    finally:
        _spoken.reset(token)


def tr(text: str, /, **values: Any) -> str:
    """Return a sentence with its values filled in: ``tr("{count:,} misses", count=misses)``."""
    said = _translations(language()).gettext(text) if text else text
    return said.format(**values) if values else said


def trn(one: str, many: str, count: int, /, **values: Any) -> str:
    """Return the sentence for one, or for another ``count``, which is a value of it, too."""
    said = _translations(language()).ngettext(one, many, count)
    return said.format(count=count, **values)


def marked(text: str) -> str:
    """Return a text as it is; it will be given to ``tr`` where it is shown."""
    return text


def listed(names: Sequence[str]) -> str:
    """Return "a", "a and b", or "a, b and c"."""
    if len(names) < 2:
        return "".join(names)
    return tr("{before} and {last}", before=tr(", ").join(names[:-1]), last=names[-1])


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Fill a text up with blanks to so many columns of a terminal."""
    blanks = " " * (width - columns(text))
    return blanks + text if right else text + blanks


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes: a Chinese letter two, a mark none."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def script_words(script: str) -> str:
    """Return the words of a widget's script in the language that is spoken, as JSON."""
    texts = dict.fromkeys(json.loads(found) for found in IN_SCRIPT.findall(script))
    said = {text: tr(text) for text in texts} if language() != ENGLISH else {}
    return json.dumps(said, ensure_ascii=False)


@functools.cache
def _translations(name: str) -> gettext.NullTranslations:
    """Return the translations of a language; none for English, or without Babel."""
    if name == ENGLISH:
        return gettext.NullTranslations()
    try:  # only where it is needed, because the engines work without it
        from babel.messages.mofile import write_mo
        from babel.messages.pofile import read_po
    except ImportError:
        return gettext.NullTranslations()
    compiled = io.BytesIO()
    with (CATALOGUES / f"{name}.po").open("rb") as opened:
        write_mo(compiled, read_po(opened, locale=name))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


@functools.cache
def _of_folder() -> str:
    """Return the language of the folder in which this process began."""
    with contextlib.suppress(OSError):  # a folder that is gone
        folder = Path.cwd()
        if folder.parent.name == "notebooks":
            return _known(folder.name) or ENGLISH
    return ENGLISH


def _known(name: str) -> str | None:
    """Return a language by its name, or by a locale such as ``zh_CN.UTF-8``."""
    short = name[:2].lower()
    return short if short in LANGUAGES else None
