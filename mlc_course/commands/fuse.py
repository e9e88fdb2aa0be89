"""``mlc-course fuse``: kernels of a program with unknown sizes, and what each merge rests on."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mlc_course.commands.output import NOWHERE, Results, check_file, write_bytes, write_text
from mlc_course.commands.shapes import read
from mlc_course.drawing import UNDATED
from mlc_course.dynamic_shape.codegen import CODE
from mlc_course.dynamic_shape.fusion import (
    LEVELS,
    Kernel,
    Knowledge,
    Level,
    Plan,
    Refusal,
    levels_picture,
    plan,
)
from mlc_course.dynamic_shape.ir import Constraint, said
from mlc_course.dynamic_shape.solve import Proved, check_certificate, explained


def run(
    *,
    source: str,
    facts: Level,
    stitch: bool,
    explain: bool,
    plot_path: Path | None,
    code_path: Path | None = None,
    results: Results = NOWHERE,
) -> int:
    """Print the kernels of a program, and with ``explain`` merges, proofs and refusals."""
    check_file(code_path, tuple(CODE))
    check_file(plot_path, (".png", ".svg"))
    module = read(source)
    found = plan(module, facts, stitch=stitch, progress=True)
    knowledge = Knowledge(module, facts)
    drawn = io.BytesIO()
    if plot_path is not None:  # first of all, since another level's facts may contradict each other
        plans = [plan(module, level, stitch=stitch) for level in LEVELS]
        kind = plot_path.suffix
        levels_picture(plans).savefig(drawn, format=kind[1:], metadata=UNDATED.get(kind))
    code = CODE[code_path.suffix](found) if code_path is not None else ""
    for line in _lines(found, knowledge, explain=explain):
        print(line)
    if plot_path is not None:
        write_bytes(plot_path, drawn.getvalue())
    if code_path is not None:
        write_text(code_path, code if code.endswith("\n") else code + "\n")
    results.write(_data(found, knowledge))
    return 0


def _lines(found: Plan, knowledge: Knowledge, *, explain: bool) -> Iterator[str]:
    function = found.module.function
    calls = f", {_number(found.calls, 'library call')}" if found.calls else ""
    yield (
        f"@{function.name}, facts: {found.level}; {_number(len(found.kernels), 'kernel')}{calls}"
        f" ({found.op_by_op} op by op)"
    )
    for number, kernel in enumerate(found.kernels, 1):
        yield ""
        yield f"kernel {number}: {kernel.form}, {_layout(kernel)}"
        yield f"  {_operators(found, kernel.values)}"
        yield f"  stores {', '.join(map(function.name_of, kernel.outputs))}"
        for fact in kernel.facts:
            yield f"  needs {said(fact)}"
            if explain:
                yield from (f"    {step}" for step in _proof(fact, knowledge))
    if explain:
        yield ""
        for merge in found.merges:
            if merge.facts:
                first, second = _values(found, merge.first), _values(found, merge.second)
                yield f"merged: {first} with {second}, by {_all(merge.facts)}"
        others = sum(not merge.facts for merge in found.merges)
        yield f"{_number(others, 'merge')} without a fact"
    for refusal in found.refusals if explain else ():
        why = _why(refusal, knowledge)
        yield f"not merged: kernels {refusal.first + 1} and {refusal.second + 1}; {why}"


def _number(count: int, name: str) -> str:
    return f"1 {name}" if count == 1 else f"{count} {name}s"


def _layout(kernel: Kernel) -> str:
    if kernel.form == "loop":
        return "element by element"
    return f"rows {_dims(kernel.rows)}, columns {_dims(kernel.columns)}"


def _dims(dims: Sequence[object]) -> str:
    return f"[{', '.join(map(str, dims))}]"


def _operators(found: Plan, values: Sequence[int]) -> str:
    function = found.module.function
    first = len(function.inputs)
    return ", ".join(
        f"{function.name_of(value)} {function.equations[value - first].op.name}" for value in values
    )


def _values(found: Plan, values: Sequence[int]) -> str:
    names = [found.module.function.name_of(value) for value in values]
    return names[0] if len(names) == 1 else f"{names[0]}..{names[-1]} ({len(names)})"


def _proof(fact: Constraint, knowledge: Knowledge) -> list[str]:
    answer = knowledge.solver.ask(fact)
    assert isinstance(answer, Proved)
    check_certificate(answer.certificate, fact, knowledge.dims, knowledge.stated)
    return explained(answer.certificate, knowledge.dims, knowledge.stated)


def _all(facts: Sequence[Constraint]) -> str:
    return " and ".join(map(said, facts))


def _why(refusal: Refusal, knowledge: Knowledge) -> str:
    if not refusal.missing:
        return refusal.reason
    if not knowledge.is_possible(refusal.missing):
        return f"they would need {_all(refusal.missing)}, which the facts rule out"
    return f"they would be if {_all(refusal.missing)} were known"


def _data(found: Plan, knowledge: Knowledge) -> dict[str, Any]:
    name = found.module.function.name_of
    return {
        "function": found.module.function.name,
        "facts": found.level,
        "op_by_op": found.op_by_op,
        "calls": found.calls,
        "kernels": [
            {
                "form": kernel.form,
                "values": list(map(name, kernel.values)),
                "outputs": list(map(name, kernel.outputs)),
                "rows": list(kernel.rows),
                "columns": list(kernel.columns),
                "facts": list(map(said, kernel.facts)),
            }
            for kernel in found.kernels
        ],
        "merges": [
            {
                "first": list(map(name, merge.first)),
                "second": list(map(name, merge.second)),
                "side": merge.side,
                "facts": list(map(said, merge.facts)),
            }
            for merge in found.merges
        ],
        "refusals": [
            {
                "kernels": [refusal.first + 1, refusal.second + 1],
                "side": refusal.side,
                "reason": refusal.reason,
                "missing": list(map(said, refusal.missing)),
                "is_possible": knowledge.is_possible(refusal.missing),
            }
            for refusal in found.refusals
        ],
    }
