"""The files of translations, one for each language: brought up to date, and held against the code.

python -m mlc_course.words.catalogue    adds what is newly marked, and says what is not right
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

import mlc_course
from mlc_course.words.speech import ENGLISH, LANGUAGES

PACKAGE = Path(mlc_course.__file__).parent
KINDS = [("**.py", "python"), ("**.js", "javascript")]
MARKS = {"tr": None, "trn": (1, 2), "marked": None, "_subcommand": (3,)}  # a command's purpose
PLACE = re.compile(r"\{[a-z_]\w*[^{}]*\}")  # {count:,}
WIDTH = 100


def main() -> int:
    """Bring every file up to date, and return 1 where a translation is missing or wrong."""
    wrong = []
    for language in LANGUAGES:
        if language != ENGLISH:
            update(language)
            wrong += [f"{language}.po: {each}" for each in faults(language)]
    print("\n".join(wrong) or "Every marked string is translated.")
    return bool(wrong)


def path(language: str) -> Path:
    """Return the file of a language's translations."""
    return PACKAGE / "words" / f"{language}.po"


@functools.cache
def found() -> Catalog:
    """Return every string that is marked in the package, with the files that it is in."""
    catalog = Catalog()
    for name, _, text, comments, _ in extract_from_dir(PACKAGE, KINDS, keywords=MARKS):
        catalog.add(text, locations=[(name, 0)], auto_comments=comments)
    return catalog


def translations(language: str) -> Catalog:
    """Return what the file of a language holds."""
    with path(language).open("rb") as opened:
        return read_po(opened, locale=language)


def update(language: str) -> None:
    """Add to a file what is newly marked, empty, and drop what is marked no longer."""
    catalog = translations(language)
    catalog.update(found(), no_fuzzy_matching=True, update_creation_date=False)
    catalog.obsolete.clear()
    with path(language).open("wb") as opened:
        write_po(
            opened, catalog, width=WIDTH, sort_by_file=True, omit_header=True, include_lineno=False
        )


def faults(language: str) -> Iterator[str]:
    """Yield what is wrong with a language's translations, one sentence each."""
    marked = {_key(each): each for each in found() if each.id}
    held = {_key(each): each for each in translations(language) if each.id}
    for text in marked.keys() - held.keys():
        yield f"not in the file: {text}"
    for text in held.keys() - marked.keys():
        yield f"marked nowhere: {text}"
    for text in marked.keys() & held.keys():
        yield from _wrong(held[text])


def _key(message: Message) -> str:
    return message.id if isinstance(message.id, str) else message.id[0]


def _wrong(message: Message) -> Iterator[str]:
    said = [message.string] if isinstance(message.string, str) else list(message.string or ("",))
    if message.fuzzy or not all(said):
        yield f"not translated: {_key(message)}"
        return
    places = set(PLACE.findall(message.id if isinstance(message.id, str) else message.id[-1]))
    for each in said:
        if (here := set(PLACE.findall(each))) != places:
            yield f"other values than in English, {here ^ places}: {_key(message)}"
        elif places and re.search("[{}]", PLACE.sub("", each)):
            yield f"a brace that belongs to no value: {_key(message)}"


if __name__ == "__main__":
    sys.exit(main())
