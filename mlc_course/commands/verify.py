"""``mlc-course verify``: two graphs are read, compared, and the verdict is printed."""

from __future__ import annotations

import json
import os.path
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from mlc_course.commands.output import NOWHERE, Results
from mlc_course.errors import CourseError, UsageError, did_you_mean
from mlc_course.mugraph.ir import KernelGraph, Op, from_json, ops, parse
from mlc_course.mugraph.programs import MODELS, NAMES, PROGRAM_OF, published, workload
from mlc_course.mugraph.verify import Verdict, plain_verdict, verify

EQUAL, DIFFERENT = 0, 1


def operators_in(path: Path | None) -> tuple[Op, ...]:
    """Run a Python file and return the operators (``Op``) that it defines.

    Raises ``UsageError`` for a file that cannot be run, or has none.
    """
    if path is None:
        return ()
    name = f"operators_in_{re.sub(r'[^0-9A-Za-z_]', '_', path.stem)}"
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # some decorators look for it there
    sys.path.append(str(path.parent.resolve()))  # for what it imports, in workers too
    try:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        got = f"{type(error).__name__}: {error}"
        raise UsageError(f"{path}: cannot be run", expected="Python", got=got) from error
    cloudpickle.register_pickle_by_value(module)
    found = {id(each): each for each in vars(module).values() if isinstance(each, Op)}
    known = set(map(id, ops.OPERATORS))
    own = tuple(op for number, op in found.items() if number not in known)
    if not own:
        names = ", ".join(op.name for op in found.values())
        raise UsageError(f"{path}: no operator", expected="NAME = Op(...)", got=names or "none")
    taken = {*ops.BY_NAME}
    for op in own:
        if op.name in taken:
            raise UsageError(
                f"{path}: two operators of the name {op.name!r}",
                expected="a name of its own for each",
                got=op.name,
            )
        taken.add(op.name)
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
            hint=did_you_mean(source, known),
        )
    try:
        text = path.read_text(encoding="utf-8")
        plain = json.loads(text) if path.suffix == ".json" else None
    except (OSError, ValueError, RecursionError) as error:  # no text, no JSON, or too much of it
        raise UsageError(f"{source} cannot be read", expected="text", got=error) from None
    every = (*ops.OPERATORS, *own)
    try:
        return parse(text, every) if plain is None else from_json(plain, every)
    except CourseError as error:
        error.add_note(f"in {source}")
        raise
    except Exception as error:  # of the shape rule of an operator, or of too long a number
        got = f"{type(error).__name__}: {error}"
        raise UsageError(f"{source} cannot be read", expected="a graph", got=got) from None


def run(
    left: str,
    right: str,
    *,
    error: float,
    extent: int,
    operators: Path | None = None,
    results: Results = NOWHERE,
) -> int:
    """Print whether two graphs are equal; 0 equal, 1 different, 2 outside what can be decided."""
    try:
        own = operators_in(operators)
        verdict = verify(graph(left, own), graph(right, own), error=error, extent=extent)
    except CourseError as reason:
        notes = getattr(reason, "__notes__", [])
        said = "\n".join([type(reason).__name__, str(reason), *notes])
        results.write({"equal": None, "reason": said})
        raise
    print(verdict)
    if verdict.equal and len(verdict.outputs) > 1:
        print("outputs:", ", ".join(f"{i} = {j}" for i, j in enumerate(verdict.outputs)))
    results.write(_plain(verdict))
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
