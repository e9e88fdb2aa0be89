"""Results of searches on disk: no task is done twice, so a stopped search can be continued.

What is on disk may have been changed since: its graphs are verified again, and their costs are
estimated again. A file that is not a result at all is an error before the search starts.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

import mlc_course.mugraph
from mlc_course.errors import CourseError, UsageError
from mlc_course.mugraph.cost import Cost
from mlc_course.mugraph.search.own_operators import digest
from mlc_course.mugraph.search.task import FusedGraph, Outcome, Task


def default_folder() -> Path:
    """Return the folder of this user's results."""
    return user_cache_path("mlc-course") / "superoptimize"


class Store:
    """Outcomes by task, one file each, as ``explore`` returns them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def check(self, task: Task) -> None:
        """Raise ``UsageError`` unless all results of a task's program can be read."""
        folder = self._path(task).parent
        for above in (folder, *folder.parents):
            if above.exists():
                if not above.is_dir():
                    raise UsageError("the store of results", expected="a folder", got=above)
                break
        for path in sorted(folder.glob("*.json")):
            _read(path)

    def load(self, task: Task) -> Outcome | None:
        """Return the outcome of a task, or None; raise ``UsageError`` for a file that is none."""
        path = self._path(task)
        if not path.exists():
            return None
        outcome = _read(path)
        inputs = task.read(task.program).input_shapes
        for each in outcome.found:
            try:
                fits = task.read(each.text).input_shapes == inputs
            except CourseError as error:
                raise _no_result(path, error.what) from None
            if not fits:
                raise _no_result(path, "a graph with other inputs")
        return outcome

    def save(self, task: Task, outcome: Outcome) -> None:
        """Write the file whole or not at all, even if other processes write it too."""
        path = self._path(task)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{hashlib.sha256(str(id(outcome)).encode()).hexdigest()[:8]}")
        fresh.write_text(json.dumps(asdict(outcome), indent=1), encoding="utf-8")
        fresh.replace(path)

    def _path(self, task: Task) -> Path:
        """Results of other code are in another folder: nobody looks at them."""
        name = self.folder / _code() / f"{task.name}-{task.target.name}"
        return name / f"{key(task)}.json"


def key(task: Task) -> str:
    """Hash all that an outcome depends on: the task, except for its deadline."""
    plain = asdict(replace(task, deadline=None, operators=b""))
    plain["prunings"] = sorted(plain["prunings"])
    text = json.dumps(plain, sort_keys=True, default=str) + digest(task.operators)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@lru_cache(maxsize=1)
def _code() -> str:
    """Hash every module of ``mugraph``."""
    root = Path(str(mlc_course.mugraph.__file__)).parent
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):  # a graph's text is in the task itself
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


_OUTCOME = {"values": int, "tried": int, "instances": int, "closest": str, "reach": float | int}
_GRAPH = {"text": str, "nest": str, "instances": int, "fit": int}


def _read(path: Path) -> Outcome:
    """Read a file of the store, every type checked."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _no_result(path, error) from None
    if not isinstance(plain, dict) or plain.keys() != {each.name for each in fields(Outcome)}:
        raise _no_result(path, f"the keys {', '.join(plain)}" if isinstance(plain, dict) else plain)
    wrong = [name for name, kind in _OUTCOME.items() if not isinstance(plain[name], kind)]
    if wrong or not _counts(plain["pruned"]) or not _texts(plain["cut"]) or plain["undecided"]:
        raise _no_result(path, f"{', '.join(wrong) or 'pruned, cut or undecided'} of another type")
    if not isinstance(plain["found"], list) or not all(map(_is_graph, plain["found"])):
        raise _no_result(path, "graphs of another type")
    found = [
        FusedGraph(**{**each, "made_of": tuple(each["made_of"]), "cost": Cost(**each["cost"])})
        for each in plain["found"]
    ]
    return Outcome(**{**plain, "found": found})


def _is_graph(plain: Any) -> bool:
    if not isinstance(plain, dict) or plain.keys() != {each.name for each in fields(FusedGraph)}:
        return False
    cost = plain["cost"]
    return (
        all(isinstance(plain[name], kind) for name, kind in _GRAPH.items())
        and _texts(plain["made_of"])
        and plain["verdict"] is None
        and isinstance(cost, dict)
        and cost.keys() == {each.name for each in fields(Cost)}
        and all(isinstance(each, float | int) for each in cost.values())
    )


def _counts(plain: Any) -> bool:
    return isinstance(plain, dict) and all(isinstance(n, int) for n in plain.values())


def _texts(plain: Any) -> bool:
    return isinstance(plain, list) and all(isinstance(each, str) for each in plain)


def _no_result(path: Path, got: object) -> UsageError:
    text = str(got)
    return UsageError(
        f"{path}: not a result of a search",
        expected="a file that an earlier search wrote",
        got=text if len(text) < 80 else f"{text[:80]}...",
        hint="remove it, or search with --fresh",
    )
