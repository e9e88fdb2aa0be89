"""Results of searches on disk: the same task is not done twice, so that a search can go on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path

from platformdirs import user_cache_path

import mlc_course.mugraph
from mlc_course.mugraph.search.task import Outcome, Task


def default_folder() -> Path:
    """Where this user's results are kept."""
    return user_cache_path("mlc-course") / "superoptimize"


class Store:
    """Outcomes by task, one file each. An unreadable file is as good as none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, task: Task) -> Outcome | None:
        try:
            plain = json.loads(self._path(task).read_text(encoding="utf-8"))
            return Outcome(**plain)
        except (OSError, ValueError, TypeError):
            return None

    def save(self, task: Task, outcome: Outcome) -> None:
        """Whole or not at all, whoever writes beside us."""
        path = self._path(task)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{hashlib.sha256(str(id(outcome)).encode()).hexdigest()[:8]}")
        fresh.write_text(json.dumps(outcome.plain(), indent=1), encoding="utf-8")
        fresh.replace(path)

    def _path(self, task: Task) -> Path:
        name = task.program.partition("(")[0]
        return self.folder / f"{name}-{task.target.name}" / f"{key(task)}.json"


def key(task: Task) -> str:
    """Of everything that an outcome depends on: the task, but for its time, and the code."""
    plain = asdict(replace(task, deadline=None))
    plain["prunings"] = sorted(plain["prunings"])
    text = json.dumps(plain, sort_keys=True, default=str) + _code()
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@lru_cache(maxsize=1)
def _code() -> str:
    """Of the modules that a search runs: a result of other code is none of this."""
    root = Path(str(mlc_course.mugraph.__file__)).parent
    found = hashlib.sha256()
    for path in sorted((*root.glob("*.py"), *root.glob("search/*.py"))):
        found.update(path.read_bytes())
    return found.hexdigest()
