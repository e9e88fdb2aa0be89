"""``mlc-course verify``: two graphs are read, compared, and the verdict is printed."""

from __future__ import annotations

import json
import os.path
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlc_course.errors import CourseError, UsageError
from mlc_course.mugraph.ir import KernelGraph, Op, from_json, ops, parse
from mlc_course.mugraph.programs import MODELS, NAMES, PROGRAM_OF, published, workload
from mlc_course.mugraph.verify import Verdict, plain_verdict, verify

EQUAL, DIFFERENT, UNDECIDED = 0, 1, 2


def operators_in(path: Path | None) -> tuple[Op, ...]:
    """Run a Python file and return the operators (``Op``) that it defines.

    Raises ``UsageError`` for a file that cannot be run, or has none.
    """
    if path is None:
        return ()
    try:
        code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
        names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
        exec(code, names)
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path}: cannot be run", expected="Python", got=got) from error
    found = {each.name: each for each in names.values() if isinstance(each, Op)}
    own = tuple(op for op in found.values() if op is not ops.BY_NAME.get(op.name))
    if not own:
        raise UsageError(f"{path}: no operator", expected="NAME = Op(...)", got=", ".join(found))
    return own


def graph(source: str, own: Sequence[Op] = ()) -> KernelGraph:
    """A graph from a file in the text form or as ``.json``, or one of the course's by its name.

    ``own`` are operators besides the predefined ones, for the text form. Raises ``GraphError`` or
    ``ShapeError`` with the line, ``UsageError`` for what cannot be read.
    """
    path = Path(source)
    if not os.path.isfile(path):  # which is also false for a name that is too long
        if source in (*NAMES, *MODELS):
            return workload(source)
        if source in PROGRAM_OF:
            return published(source)
        known = (*NAMES, *PROGRAM_OF, *MODELS)
        raise UsageError(
            f"{source}: no such file, and no graph of the course",
            expected=f"a file, or one of {', '.join(known)}",
            got=source,
        )
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            return from_json(json.loads(text))
        return parse(text, (*ops.OPERATORS, *own))
    except CourseError as error:
        error.add_note(f"in {source}")
        raise
    except (OSError, ValueError, RecursionError) as error:  # no text, no JSON, or too much of it
        raise UsageError(f"{source} cannot be read", expected="text", got=error) from None


def run(
    left: str,
    right: str,
    *,
    error: float,
    extent: int,
    as_json: bool,
    operators: Path | None = None,
) -> int:
    """Print whether two graphs are equal; 0 equal, 1 different, 2 outside what can be decided."""
    try:
        own = operators_in(operators)
        verdict = verify(graph(left, own), graph(right, own), error=error, extent=extent)
    except CourseError as reason:
        if not as_json:
            raise
        notes = getattr(reason, "__notes__", [])
        said = {"equal": None, "reason": "\n".join([type(reason).__name__, str(reason), *notes])}
        print(json.dumps(said, indent=2))
        return UNDECIDED
    if as_json:
        print(json.dumps(_plain(verdict), indent=2))
    else:
        print(verdict)
        if verdict.equal and len(verdict.outputs) > 1:
            print("outputs:", ", ".join(f"{i} = {j}" for i, j in enumerate(verdict.outputs)))
    return EQUAL if verdict.equal else DIFFERENT


def _plain(verdict: Verdict) -> dict[str, Any]:
    example = verdict.counterexample
    return {
        **plain_verdict(verdict),
        "counterexample": None
        if example is None
        else {
            "inputs": {name: array.tolist() for name, array in example.inputs.items()},
            "output": example.output,
            "place": list(example.place),
            "left": example.left_value,
            "right": example.right_value,
        },
    }
