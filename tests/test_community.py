"""What people expect beside the code: a version, a changelog, a citation, licences, and rules."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlc_course import __version__

ROOT = Path(__file__).parent.parent
RELEASE = re.compile(r"^## (\d+\.\d+\.\d+), (\d{4}-\d{2}-\d{2})$", re.M)
# What the schema of the Citation File Format 1.2.0 requires; the rest of it is optional.
REQUIRED = ("cff-version", "message", "title", "authors")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def citation_faults(citation: dict[str, Any]) -> list[str]:
    """What a citation file lacks, or says in another form than the schema wants."""
    faults = [f"{key} is missing" for key in REQUIRED if not citation.get(key)]
    if citation.get("cff-version") != "1.2.0":
        faults.append("cff-version is not 1.2.0")
    if citation.get("type", "software") not in ("software", "dataset"):
        faults.append("type is neither software nor dataset")
    for author in citation.get("authors") or ():
        if not ("name" in author or {"family-names", "given-names"} & author.keys()):
            faults.append(f"an author without a name: {author}")
    if not isinstance(citation.get("date-released"), datetime.date):
        faults.append("date-released is not a date")
    return faults


def test_the_citation_is_valid_and_of_this_version() -> None:
    citation = yaml.safe_load(text("CITATION.cff"))
    assert citation_faults(citation) == []
    assert citation["version"] == __version__
    newest, date = RELEASE.findall(text("CHANGELOG.md"))[0]
    assert (newest, date) == (__version__, citation["date-released"].isoformat())


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"title": ""}, "title is missing"),
        ({"authors": [{"email": "x"}]}, "an author without a name: {'email': 'x'}"),
        ({"cff-version": "1.1.0"}, "cff-version is not 1.2.0"),
        ({"date-released": "soon"}, "date-released is not a date"),
        ({"type": "book"}, "type is neither software nor dataset"),
    ],
)
def test_a_citation_that_is_not_valid_is_refused(change: dict[str, Any], fault: str) -> None:
    assert citation_faults({**yaml.safe_load(text("CITATION.cff")), **change}) == [fault]


def test_releases_go_down_the_page_and_each_says_something() -> None:
    page = text("CHANGELOG.md")
    found = [(tuple(map(int, number.split("."))), date) for number, date in RELEASE.findall(page)]
    assert found and found == sorted(found, reverse=True)
    assert all(part.count("\n- ") > 2 for part in re.split(r"^## .*$", page, flags=re.M)[1:])


def test_the_version_has_one_place() -> None:
    assert 'version = { attr = "mlc_course.__version__" }' in text("pyproject.toml")
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_code_and_text_have_their_licences_whole() -> None:
    assert "Apache License" in text("LICENSE")
    licence = text("LICENSE-text")
    assert licence.startswith("Attribution 4.0 International")
    assert all(f"Section {number} -- " in licence for number in range(1, 9))
    for page in ("README.md", "CONTRIBUTING.md", "docs/book/conf.py"):
        assert "CC BY 4.0" in text(page) and "Apache-2.0" in text(page), page
    assert 'license-files = ["LICENSE", "LICENSE-text", "THIRD_PARTY.md"]' in text("pyproject.toml")


def test_contributors_are_told_the_rules() -> None:
    page = text("CONTRIBUTING.md")
    for name in ("docs/CODE_OF_CONDUCT.md", "docs/SECURITY.md", "CHANGELOG.md", "LICENSE-text"):
        assert f"]({name})" in page, name
    assert "rlimits" in text("docs/SECURITY.md") and "private" in text("docs/SECURITY.md")
