"""Results of searches on disk: no task is done twice, so a stopped search can be continued."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path

from platformdirs import user_cache_path

import mlc_course.mugraph
from mlc_course.mugraph.cost import Cost
from mlc_course.mugraph.search.task import FusedGraph, Outcome, Task


def default_folder() -> Path:
    """Return the folder of this user's results."""
    return user_cache_path("mlc-course") / "superoptimize"


class Store:
    """Outcomes by task, one file each. A file that cannot be read counts as missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, task: Task) -> Outcome | None:
        try:
            plain = json.loads(self._path(task).read_text(encoding="utf-8"))
            found = [
                FusedGraph(**{**each, "cost": Cost(**each["cost"])}) for each in plain["found"]
            ]
            return Outcome(**{**plain, "found": found})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def save(self, task: Task, outcome: Outcome) -> None:
        """Write the file whole or not at all, even if other processes write it too."""
        path = self._path(task)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{hashlib.sha256(str(id(outcome)).encode()).hexdigest()[:8]}")
        fresh.write_text(json.dumps(asdict(outcome), indent=1), encoding="utf-8")
        fresh.replace(path)

    def _path(self, task: Task) -> Path:
        name = task.program.partition("(")[0]
        return self.folder / f"{name}-{task.target.name}" / f"{key(task)}.json"


def key(task: Task) -> str:
    """Hash all that an outcome depends on: the task, except for its deadline, and the code."""
    plain = asdict(replace(task, deadline=None))
    plain["prunings"] = sorted(plain["prunings"])
    text = json.dumps(plain, sort_keys=True, default=str) + _code()
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@lru_cache(maxsize=1)
def _code() -> str:
    """Hash every module of ``mugraph``, so that results of other code are not looked up."""
    root = Path(str(mlc_course.mugraph.__file__)).parent
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):  # a graph's text is in the task itself
        found.update(path.read_bytes())
    return found.hexdigest()
