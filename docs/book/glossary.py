"""The glossary as Sphinx wants it: entries that can be linked, and an index of the lessons."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import nbformat

ENTRY = re.compile(r"^\*\*([^*]+)\*\* (.*)$", re.M)
SEE = re.compile(r"^\*([^*]+)\* see \*([^*]+)\*$", re.M)
LINKED = re.compile(r"\(([\w/]+\.ipynb)\)")
ITALIC = re.compile(r"(?<!\*)\*([^*\n]+)\*(?!\*)")
TO_GLOSSARY = re.compile(r"\[([^\]]+)\]\(glossary\.ipynb\)")


class Glossary:
    """The terms of ``notebooks/glossary.ipynb``, and the lessons that explain each."""

    def __init__(self, notebook: Any) -> None:
        self._notebook = notebook
        text = "\n\n".join(cell.source for cell in notebook.cells)
        self.lessons = {term: LINKED.findall(said) for term, said in ENTRY.findall(text)}
        self._terms = {*self.lessons, *(term for term, _ in SEE.findall(text))}
        self._spelled = {term.lower(): term for term in self._terms}

    def term(self, words: str) -> str | None:
        """Return the entry that words of a lesson mean, in the singular if need be."""
        low = " ".join(re.sub("[`*]", "", words).lower().split())
        ways = (low, low.removesuffix("s"), low.removesuffix("es"), f"{low.removesuffix('ies')}y")
        return next((self._spelled[way] for way in ways if way in self._spelled), None)

    def page(self) -> Any:
        """Return the notebook with its entries as Sphinx's, which can be linked and are indexed."""
        page = deepcopy(self._notebook)
        for cell in page.cells[1:]:
            head, _, entries = cell.source.partition("\n")
            lines = [self._entry(each) for each in entries.strip().split("\n\n")]
            cell.source = "\n".join((head, "", "```{glossary}", *lines, "```"))
        return page

    def mark(self, lesson: Any, name: str) -> None:
        """Link each term of a lesson to its entry, and index the lesson under what it explains."""
        for cell in lesson.cells:
            if cell.cell_type == "markdown":
                cell.source = TO_GLOSSARY.sub(self._link, cell.source)
        own = [term for term, names in self.lessons.items() if name in names]
        if not own:
            return
        index = f"```{{index}} {', '.join(own)}\n```"
        lesson.cells.insert(1, nbformat.v4.new_markdown_cell(index))
        lesson.cells[1].id = "index"

    def _entry(self, text: str) -> str:
        if see := SEE.match(text):
            return f"{see[1]}\n  See {self._link(see[2])}.\n"
        found = ENTRY.match(text)
        assert found, f"glossary: not an entry: {text[:60]}"
        said = ITALIC.sub(lambda each: self._link(each[1]), found[2])
        return f"{found[1]}\n  {said}\n"

    def _link(self, words: str | re.Match[str]) -> str:
        said = words if isinstance(words, str) else words[1]
        term = self.term(said)
        if term is None:
            return f"*{said}*" if isinstance(words, str) else words[0]
        strong = "**" if said.startswith("**") else ""
        return f"{strong}{{term}}`{re.sub('[`*]', '', said)} <{term}>`{strong}"
