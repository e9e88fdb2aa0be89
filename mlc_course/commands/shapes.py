"""``mlc-course shapes``: what is known of a program's unknown sizes, and what follows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlc_course.commands.output import check_file, write_text
from mlc_course.dynamic_shape.fusion import simplified
from mlc_course.dynamic_shape.ir import Module, parse, parse_constraint, said, text
from mlc_course.dynamic_shape.programs import NAMES, program
from mlc_course.dynamic_shape.solve import (
    Answer,
    Facts,
    Proved,
    Refuted,
    Solver,
    check_certificate,
    explained,
)
from mlc_course.errors import CourseError, UsageError

PROVED, REFUTED, UNKNOWN = 0, 1, 2


def run(
    *, source: str, queries: Sequence[str], as_json: bool, simplify_path: Path | None = None
) -> int:
    """Print the facts of a program and the answer to each query; write it simplified if asked.

    Returns 0 if all claims are proved, 1 if one is refuted, and 2 if one stays unknown.
    """
    check_file(simplify_path)
    module = read(source)
    claims = [parse_constraint(query) for query in queries]
    dims, stated = {dim.name: dim for dim in module.dims}, module.facts()
    solver = Solver(Facts(dims, stated))
    answers = [(claim, solver.ask(claim)) for claim in claims]
    for claim, answer in answers:
        if isinstance(answer, Proved):
            check_certificate(answer.certificate, claim, dims, stated)
    if simplify_path is not None:
        write_text(simplify_path, text(simplified(module)))
    if as_json:
        said_so = [_data(said(claim), answer, module) for claim, answer in answers]
        print(json.dumps({"facts": list(map(said, stated)), "answers": said_so}, indent=2))
    else:
        _print_facts(module)
        for claim, answer in answers:
            print(f"\n{said(claim)}")
            for line in _lines(answer, module):
                print(f"  {line}")
    kinds = {type(answer) for _, answer in answers}
    if Refuted in kinds:
        return REFUTED
    return PROVED if kinds <= {Proved} else UNKNOWN


def read(source: str) -> Module:
    """Return a program of the course by its name, or one from a file."""
    path = Path(source)
    if not path.is_file():
        if source in NAMES:
            return program(source)
        raise UsageError(
            f"{source}: no such file, and no program of the course",
            expected=f"a file, or one of {', '.join(NAMES)}",
            got=source,
        )
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{source}: cannot be read", expected="text", got=error) from None
    except CourseError as error:
        error.add_note(f"in {source}")
        raise


def _print_facts(module: Module) -> None:
    print(f"@{module.function.name}: {', '.join(dim.name for dim in module.dims)}")
    for fact, where in module.origins().items():
        print(f"  {said(fact):<32} {where}")


def _lines(answer: Answer, module: Module) -> list[str]:
    match answer:
        case Proved(certificate):
            dims = {dim.name: dim for dim in module.dims}
            return ["proved", *explained(certificate, dims, module.facts())]
        case Refuted(model):
            return ["refuted", ", ".join(f"{name} = {size}" for name, size in model.items())]
    return ["unknown: neither a proof nor a counter-example was found"]


def _data(claim: str, answer: Answer, module: Module) -> dict[str, Any]:
    kind, *steps = _lines(answer, module)
    found: dict[str, Any] = {"claim": claim, "answer": kind.split(":")[0]}
    if isinstance(answer, Refuted):
        return found | {"sizes": dict(answer.model)}
    return found | ({"steps": steps} if steps else {})
