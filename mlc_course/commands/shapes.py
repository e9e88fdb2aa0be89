"""``mlc-course shapes``: what is known of a program's unknown sizes, and what follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, assert_never

from mlc_course.commands.output import NOWHERE, Results, check_file, write_text
from mlc_course.commands.shape_questions import Question, Reply, read_question, shape_text
from mlc_course.dynamic_shape.fusion import simplified
from mlc_course.dynamic_shape.ir import Constraint, Module, parse, said, text, to_buffers
from mlc_course.dynamic_shape.programs import NAMES, program
from mlc_course.dynamic_shape.solve import (
    AllProved,
    Certificate,
    Facts,
    Refuted,
    Reshape,
    Solver,
    Unknown,
    check_certificate,
    equal_products,
    explained,
)
from mlc_course.errors import CourseError, UsageError, did_you_mean

PROVED, REFUTED, UNKNOWN = 0, 1, 2
SAME = equal_products((), ())  # what is left to claim of two products of the same sizes


def run(
    *,
    source: str,
    queries: Sequence[str],
    simplify_path: Path | None = None,
    buffers_path: Path | None = None,
    results: Results = NOWHERE,
) -> int:
    """Print the facts of a program and the answer to each query; write it if asked.

    It is written simplified, or on buffers.

    Returns 0 if all are proved, 1 if one is refuted, and 2 if one stays unknown.
    """
    check_file(simplify_path)
    check_file(buffers_path)
    module = read(source)
    questions = [read_question(query, module) for query in queries]
    dims, stated = {dim.name: dim for dim in module.dims}, module.facts()
    solver = Solver(Facts(dims, stated))
    answers = [(question, question.answer(solver)) for question in questions]
    for question, answer in answers:
        for claim, certificate in _proofs(question, answer):
            check_certificate(certificate, claim, dims, stated)
    if simplify_path is not None:
        write_text(simplify_path, text(simplified(module)))
    if buffers_path is not None:
        write_text(buffers_path, text(to_buffers(module)))
    _print_facts(module)
    for question, answer in answers:
        print(f"\n{question.text}")
        for line in _lines(question, answer, module):
            print(f"  {line}")
    said_so = [_data(question, answer, module) for question, answer in answers]
    results.write({"facts": list(map(said, stated)), "answers": said_so})
    kinds = {type(answer) for _, answer in answers}
    if Refuted in kinds:
        return REFUTED
    return UNKNOWN if Unknown in kinds else PROVED


def read(source: str) -> Module:
    """Return a program of the course by its name, or one from a file of text or of ONNX."""
    path = Path(source)
    if not path.is_file():
        if source in NAMES:
            return program(source)
        raise UsageError(
            f"{source}: no such file, and no program of the course",
            expected=f"a file, or one of {', '.join(NAMES)}",
            got=source,
            hint=did_you_mean(source, NAMES),
        )
    try:
        if path.suffix == ".onnx":
            return _imported(path)
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{source}: cannot be read", expected="text", got=error) from None
    except CourseError as error:
        error.add_note(f"in {source}")
        raise


def _imported(path: Path) -> Module:
    from mlc_course.dynamic_shape.importers import from_onnx  # only models wait for ONNX and TVM

    return from_onnx(path)


def _print_facts(module: Module) -> None:
    print(f"@{module.function.name}: {', '.join(dim.name for dim in module.dims)}")
    for fact, where in module.origins().items():
        print(f"  {said(fact):<32} {where}")


def _proofs(question: Question, reply: Reply) -> Iterator[tuple[Constraint, Certificate]]:
    """Yield what was proved, with the proofs."""
    match reply:
        case AllProved(certificates):
            yield from zip(question.claims, certificates, strict=True)
        case Reshape(groups):
            yield from ((group.claim, group.certificate) for group in groups)


def _steps(question: Question, reply: Reply, module: Module) -> list[str]:
    """Return the steps of all proofs in words, each once, but for those of the same sizes."""
    dims, stated = {dim.name: dim for dim in module.dims}, module.facts()
    proofs = [each for claim, each in _proofs(question, reply) if claim != SAME]
    return list(dict.fromkeys(line for each in proofs for line in explained(each, dims, stated)))


def _groups(question: Question, found: Reshape) -> Iterator[str]:
    """Yield the sizes that go with each other, such as ``[T] -> [B, S]``."""
    operand, result = question.reshape or ((), ())
    for group in found.groups:
        before = operand[group.operand.start : group.operand.stop]
        after = result[group.result.start : group.result.stop]
        yield f"{shape_text(before)} -> {shape_text(after)}"


def _lines(question: Question, reply: Reply, module: Module) -> list[str]:
    match reply:
        case AllProved():
            return ["proved", *_steps(question, reply, module)]
        case Reshape():
            found = f"proved: {reply.kind}, {', '.join(_groups(question, reply)) or 'no axes'}"
            return [found, *_steps(question, reply, module)]
        case Refuted(model):
            return ["refuted", ", ".join(f"{name} = {size}" for name, size in model.items())]
        case Unknown():
            return ["unknown: neither a proof nor a counter-example was found"]
    assert_never(reply)


def _data(question: Question, reply: Reply, module: Module) -> dict[str, Any]:
    found: dict[str, Any] = {"claim": question.text}
    match reply:
        case Refuted(model):
            return found | {"answer": "refuted", "sizes": dict(model)}
        case Unknown():
            return found | {"answer": "unknown"}
        case Reshape():
            found |= {"kind": reply.kind, "groups": list(_groups(question, reply))}
    return found | {"answer": "proved", "steps": _steps(question, reply, module)}
