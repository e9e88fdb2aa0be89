"""Counts of the cases that tests try, their seeds, and the run that goes on with fresh ones."""

from __future__ import annotations

import inspect
import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

TESTS = Path(__file__).parent.parent
SEED = 0  # of what is drawn, where nobody asks for another
LONGEST_S = 120.0  # what one test gets of --minutes, at most

Tried = Callable[[str, int], None]
CASES = pytest.StashKey[Counter[str]]()
SEED_NOW = pytest.StashKey[int | None]()


def draws(item: pytest.Item) -> bool:
    """Whether hypothesis draws the cases of this test."""
    return bool(hypothesis.is_hypothesis_test(getattr(item, "obj", None)))


def place(item: pytest.Item) -> str:
    """The test's folder, by which its cases are counted."""
    return item.path.parent.relative_to(TESTS).as_posix()


class Cases:
    """Counts what each test tries, adds it up over the workers, and prints and writes the sums."""

    def __init__(self, config: pytest.Config) -> None:
        self.config, self.began = config, time.time()
        self.tried, self.seconds, self.said = Counter[str](), Counter[str](), Counter[str]()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        """Note in the test's report how many cases it tried, and the last seed."""
        __tracebackhide__ = True
        item, cases = pyfuncitem, Counter[str]()
        item.stash[CASES], item.stash[SEED_NOW] = cases, self.config.option.seed
        handle = item.obj.hypothesis if draws(item) else None
        inner = handle and handle.inner_test

        def counted(*args: Any, **named: Any) -> None:
            cases[place(item)] += 1
            inner(*args, **named)

        if handle:
            handle.inner_test = counted
            if item.stash[SEED_NOW] is not None:
                hypothesis.seed(self.config.option.seed)(item.obj)
        try:
            return (yield)
        finally:
            if handle:
                handle.inner_test = inner
            item.user_properties.append(("tried", dict(cases)))
            item.user_properties.append(("seed", item.stash[SEED_NOW]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        where = report.nodeid.partition("::")[0].removeprefix("tests/")
        self.seconds[where.rpartition("/")[0] or "."] += report.duration
        if report.when == "call":
            for family, cases in dict(report.user_properties).get("tried", {}).items():
                self.tried[family] += cases
        if report.when == "call" or report.outcome != "passed":
            self.said[report.outcome] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        say = terminalreporter.write_line
        if self.tried:
            terminalreporter.section("cases tried")
        for family, cases in sorted(self.tried.items()):
            say(f"{cases:>10,}  {family}")
        found = [
            (each, seed)
            for each in terminalreporter.stats.get("failed", ())
            if (seed := dict(each.user_properties).get("seed")) is not None
        ]
        if found:
            terminalreporter.section("to repeat what failed")
        for report, seed in found:
            say(f"pytest --seed {seed} '{report.nodeid}'")
        if self.config.option.record and not self.config.option.collectonly:
            self.write(self.config.option.record)

    def write(self, path: Path) -> None:
        from mlc_course.tensor_program.ladders import provenance  # imports TVM

        figures = {
            "seconds": round(time.time() - self.began),
            "tests": dict(sorted(self.said.items())),
            "tried": dict(sorted(self.tried.items())),
            "seconds_by_folder": {k: round(v) for k, v in sorted(self.seconds.items())},
        }
        path.write_text(json.dumps({**provenance(), **figures}, indent=1) + "\n")


class LongRun:
    """Calls what draws its cases again and again, with fresh seeds, until the time is up.

    Each test gets an equal share of the time that is left. The order is drawn too, so that those
    for which no time is left are others in every run.
    """

    def __init__(self, first_seed: int, deadline: float) -> None:
        worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
        self.workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
        self.first_seed, self.deadline = first_seed, deadline
        self.seeds = random.Random(first_seed + worker)
        self.left = 0  # tests, at all workers if they are equally fast

    @classmethod
    def of(cls, config: pytest.Config) -> LongRun:
        """The long run that was asked for; a worker takes part in that of its controller."""
        given = getattr(config, "workerinput", {}).get("long_run")
        first_seed = config.option.seed or random.SystemRandom().randrange(10**9)
        return cls(*given) if given else cls(first_seed, time.time() + 60 * config.option.minutes)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist."""
        node.workerinput["long_run"] = [self.first_seed, self.deadline]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        chosen = [each for each in items if draws(each) or each.get_closest_marker("fuzz")]
        config.hook.pytest_deselected(items=[each for each in items if each not in set(chosen)])
        random.Random(self.first_seed).shuffle(chosen)
        items[:], self.left = chosen, len(chosen)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        __tracebackhide__ = True
        now = time.time()
        share = self.workers * (self.deadline - now) / max(self.workers, self.left)
        self.left -= self.workers
        if share <= 0:
            pytest.skip("the time is up")
        until = now + min(LONGEST_S, share)
        while time.time() < until:
            self.call(pyfuncitem)
        return True

    def call(self, item: pytest.Function) -> None:
        __tracebackhide__ = True
        seed = item.stash[SEED_NOW] = self.seeds.randrange(10**9)
        wanted = inspect.signature(item.obj).parameters
        values = {name: value for name, value in item.funcargs.items() if name in wanted}
        if "seed" in values:
            values["seed"] = seed
        test = hypothesis.seed(seed)(item.obj) if draws(item) else item.obj
        test(**values)
