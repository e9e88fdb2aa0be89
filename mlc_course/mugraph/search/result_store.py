"""Results of searches on disk: no task is done twice, so a stopped search can be continued.

What is on disk may have been changed since. Of a stored graph only its text counts: it has to be a
graph of the program's inputs, its cost is estimated again, and it is verified again. A file that is
not a result at all is an error before the search starts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

import mlc_course.mugraph
from mlc_course.errors import CourseError, UsageError
from mlc_course.mugraph.cost import cost
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.search.own_operators import digest
from mlc_course.mugraph.search.task import FusedGraph, Outcome, Task, made_of

MOST = 64  # graphs of a task that are kept, the cheapest
LONGEST = 1 << 20  # bytes of a file


def default_folder() -> Path:
    """Return the folder of this user's results."""
    return user_cache_path("mlc-course") / "superoptimize"


class Store:
    """Outcomes by task, one file each, as ``explore`` returns them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[Path, tuple[str, Outcome]] = {}  # each with its program

    def check(self, task: Task) -> None:
        """Read all results of the program that a task is of, and try whether more can be written.

        Raises ``UsageError`` for a file that is no result, and for a folder that cannot be used.
        """
        folder = self._path(task).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            draft = folder / f".{os.getpid()}"
            draft.touch()
            draft.unlink()
            paths = sorted(folder.glob("*.json"))
        except OSError as error:
            raise UsageError(
                f"{self.folder}: not a folder for the store of results",
                expected="a folder that can be written",
                got=error,
                hint="give another with --out, or search with --fresh",
            ) from None
        self._known = {path: _outcome(path, task) for path in paths}

    def load(self, task: Task) -> Outcome | None:
        """Return the outcome of a task, or None; raise ``UsageError`` for a file that is none."""
        path = self._path(task)
        if path not in self._known and not path.exists():
            return None
        program, outcome = self._known.get(path) or _outcome(path, task)
        if program != task.program:
            raise _no_result(path, "the result of another program")
        return replace(outcome, found=[*outcome.found], cut=[*outcome.cut], undecided=[])

    def save(self, task: Task, outcome: Outcome) -> None:
        """Write the file whole or not at all, even if other processes write it too."""
        path = self._path(task)
        path.parent.mkdir(parents=True, exist_ok=True)
        plain = {
            "program": task.program,
            "values": outcome.values,
            "tried": outcome.tried,
            "instances": outcome.instances,
            "pruned": outcome.pruned,
            "cut": outcome.cut,
            "closest": outcome.closest,
            "reach": outcome.reach,
            "found": [
                {"text": g.text, "nest": g.nest, "instances": g.instances, "fit": g.fit}
                for g in outcome.found[:MOST]
            ],
        }
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(plain, indent=1), encoding="utf-8")
        fresh.replace(path)

    def _path(self, task: Task) -> Path:
        """Results of other code are in another folder: nobody looks at them."""
        folder = self.folder / _code() / f"{task.name[:40]}-{task.target.name[:40]}"
        return folder / f"{key(task)}.json"


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


def _outcome(path: Path, task: Task) -> tuple[str, Outcome]:
    """Read a file of the store, with the text of its program.

    Every type is checked, every graph is read, and its cost is estimated.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode) or path.stat().st_size > LONGEST:
            raise ValueError("not a file of this size and kind")
        plain = json.loads(path.read_text(encoding="utf-8"))
        text = _of(plain, "program", str)
        program = task.read(text)
        pruned = _of(plain, "pruned", dict)
        outcome = Outcome(
            values=_count(plain, "values"),
            tried=_count(plain, "tried"),
            instances=_count(plain, "instances"),
            pruned={_line(why): _count(pruned, why) for why in pruned},
            cut=[_line(each) for each in _of(plain, "cut", list)],
            closest=_line(_of(plain, "closest", str)),
            reach=min(1.0, max(0.0, float(_of(plain, "reach", int | float)))),
            found=[_graph(each, program, task) for each in _of(plain, "found", list)[:MOST]],
        )
    except CourseError as error:
        raise _no_result(path, error.what) from None
    except (OSError, ValueError, RecursionError, OverflowError) as error:
        raise _no_result(path, error) from None
    outcome.found.sort(key=lambda each: (each.cost.total, each.text))
    return text, outcome


def _graph(plain: Any, program: KernelGraph, task: Task) -> FusedGraph:
    graph = task.read(_of(plain, "text", str))
    inputs = (graph.inputs, graph.sizes, graph.output_shapes)
    if inputs != (program.inputs, program.sizes, program.output_shapes):
        raise ValueError("a graph with other inputs or outputs")
    instances, fit = (_count(plain, name) for name in ("instances", "fit"))
    nest = _line(_of(plain, "nest", str))
    price = cost(graph, task.target)
    return FusedGraph(str(graph), nest, made_of(graph), price, instances, fit)


def _of(plain: Any, name: str, kind: Any) -> Any:
    found = plain.get(name) if isinstance(plain, dict) else None
    if not isinstance(found, kind) or isinstance(found, bool):
        raise ValueError(f"{name}: {type(found).__name__}")
    return found


def _count(plain: Any, name: str) -> int:
    found: int = _of(plain, name, int)
    if not 0 <= found < 1 << 60:
        raise ValueError(f"{name}: {found}")
    return found


def _line(text: Any) -> str:
    """Return a text that is one printable line."""
    if not isinstance(text, str) or not text.isprintable() or len(text) > 10_000:
        raise ValueError("a text that is not one printable line")
    return text


def _no_result(path: Path, got: object) -> UsageError:
    text = re.sub(r"\s+", " ", str(got))
    return UsageError(
        f"{path}: not a result of a search",
        expected="a file that an earlier search wrote",
        got=text if len(text) < 80 else f"{text[:80]}...",
        hint="remove it, or search with --fresh",
    )
