"""What all tests share: how they are dealt to workers, their caches, and their options.

``make test`` repeats itself: every drawn case comes from a fixed seed. ``--seed N`` draws others,
``--minutes N`` goes on with fresh seeds until the time is used up, and ``--full`` takes every
count whole.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.internal.conjecture.providers as providers
import platformdirs
import pytest
from cases import CASES, SEED, Cases, LongRun, Tried
from golden import Golden, golden_check
from repeatable import seed_the_library
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parent.parent
TOGETHER = ("browser", "measures")
FIRST = ("browser", "measures", "slow")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mlc_course")
    group.addoption("--full", action="store_true", help="every count whole: all 2,000 mutants, ..")
    group.addoption("--seed", type=int, metavar="N", help="draw cases from this seed")
    group.addoption(
        "--minutes",
        type=float,
        metavar="N",
        help="only what draws its cases, again and again with fresh seeds, for this long",
    )
    group.addoption("--update-golden", action="store_true", help="write golden files anew")
    group.addoption("--record", type=Path, metavar="FILE", help="write counts and date to FILE")


def pytest_configure(config: pytest.Config) -> None:
    own_caches(config)
    option = config.option
    config.pluginmanager.register(Cases(config), "cases")
    if option.minutes:
        config.pluginmanager.register(LongRun.of(config), "long run")
    # A time limit for one case would test the neighbours; a database, what the last run found.
    fresh = hypothesis.settings(deadline=None, database=None)
    hypothesis.settings.register_profile("fresh", fresh)
    hypothesis.settings.register_profile("repeatable", fresh, derandomize=True)
    drawn = option.minutes or option.seed is not None
    hypothesis.settings.load_profile("fresh" if drawn else "repeatable")
    if not drawn:
        seed_the_library()
        # Hypothesis draws constants of the modules that this process happens to have loaded, too.
        providers._get_local_constants = providers.Constants


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return golden_check(request.config.option.update_golden)


def own_caches(config: pytest.Config) -> None:
    """Keep the tests out of the user's caches, each worker in a folder of its own.

    The list of this machine's fonts, which takes Matplotlib seconds to make, is shared.
    """
    os.environ.setdefault("MPLCONFIGDIR", str(platformdirs.user_cache_path("matplotlib")))
    folder = tempfile.mkdtemp(prefix="mlc-course-caches-")
    os.environ["XDG_CACHE_HOME"] = folder
    os.environ.pop("MLC_COURSE_LANGUAGE", None)  # tests read English
    os.environ["MLC_COURSE_RULES"] = str(Path(folder, "rules.json"))
    os.environ["MLC_COURSE_PROGRESS"] = str(Path(folder, "progress.json"))
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


class FileByFile(LoadScopeScheduling):  # type: ignore[misc]
    """Gives the tests of one file to one worker, for their fixtures, and the longest files first.

    Browser tests share one JupyterLab and go to one worker; so do files that measure, one at a
    time. xdist's own groups do nothing under pytest 9.2, which keeps a test's id elsewhere.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if has_mark(path, "spread"):
            return nodeid
        return next((name for name in TOGETHER if has_mark(path, name)), path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileByFile | None:
    if config.option.minutes:
        return None
    config.option.loadscopereorder = False  # the order is that of the items
    return FileByFile(config, log)


@cache
def has_mark(path: str, name: str) -> bool:
    """Whether a test file uses a mark; who deals the tests out has seen no more than names."""
    return f"pytest.mark.{name}" in (ROOT / path).read_text(encoding="utf-8")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let workers begin with what takes longest; without workers the order is that of the files."""
    if hasattr(config, "workerinput") and not config.option.minutes:
        first = {
            path: [not has_mark(path.relative_to(ROOT).as_posix(), name) for name in FIRST]
            for path in {item.path for item in items}
        }
        items.sort(key=lambda item: first[item.path])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name every cheat that was not tried because there is no sandbox with walls."""
    skipped = [
        each.nodeid.partition("[")[2].rstrip("]")
        for each in terminalreporter.stats.get("skipped", ())
        if "test_a_cheat_earns_nothing" in each.nodeid and "bubblewrap" in str(each.longrepr)
    ]
    if skipped:
        terminalreporter.section("cheats that were not tried: there is no bubblewrap")
        terminalreporter.write_line(f"{len(skipped)}: {', '.join(sorted(skipped))}")


@pytest.fixture(scope="session")
def full(pytestconfig: pytest.Config) -> bool:
    """Whether every count is to be taken whole."""
    return bool(pytestconfig.option.full)


@pytest.fixture
def seed(pytestconfig: pytest.Config) -> int:
    """The seed of what a test draws; ``--minutes`` calls the test again with others."""
    return SEED if pytestconfig.option.seed is None else int(pytestconfig.option.seed)


@pytest.fixture
def tried(request: pytest.FixtureRequest) -> Tried:
    """``tried("mutants", 200)`` adds to the counts that are printed when all tests are done."""

    def note(family: str, cases: int) -> None:
        request.node.stash[CASES][family] += cases

    return note
