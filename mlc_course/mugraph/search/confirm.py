"""Which of a task's graphs are kept: the cheapest of each nest that the verifier finds equal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mlc_course.errors import Undecided
from mlc_course.mugraph.cost import Cost, cost
from mlc_course.mugraph.search.task import Outcome, Task
from mlc_course.mugraph.search.work import Call, Job
from mlc_course.mugraph.text import parse
from mlc_course.mugraph.verdicts import plain_verdict
from mlc_course.mugraph.verify import verify

REFUTED, CANNOT_TELL = "refuted by the verifier", "the verifier cannot tell"
WORTH = 2  # times what the program itself costs, no more
DEARER = f"dearer than {WORTH} times the program itself"


def confirmed(task: Task, outcome: Outcome) -> Job[Outcome]:
    """What is left of the graphs that ``explore`` found, verified if the task asks for that.

    Each verification is a call of its own: one may take longer than the search.
    """
    program = parse(task.program)
    most = WORTH * cost(program, task.target).total if task.verified else math.inf
    verdicts: dict[str, Any] = {}
    while True:
        kept, dear = _chosen(task, outcome.found, most, verdicts)
        asked = [each["text"] for each in kept if task.verified and each["text"] not in verdicts]
        if not asked:
            break
        answers = yield [verification(task, text) for text in asked]
        verdicts |= zip(asked, answers, strict=True)
    for verdict in verdicts.values():
        if isinstance(verdict, str):
            outcome.refuse(verdict)
    for each in dear:
        outcome.refuse(DEARER)
        what = f"a graph of {each['operators']} operators, {each['nest']}: {Cost(**each['cost'])}"
        outcome.note(1.0, what)
    outcome.found = [{**each, "verdict": verdicts.get(each["text"])} for each in kept]
    return outcome


def _chosen(
    task: Task,
    found: Sequence[dict[str, Any]],
    most: float,
    verdicts: Mapping[str, dict[str, Any] | str],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """As many of each nest as are to be kept, and what would be, if it were not too dear.

    What has no verdict yet counts as equal, and a text in place of one says that it is not.
    """
    kept, dear, taken = list[dict[str, Any]](), list[dict[str, Any]](), Counter[str]()
    for each in found:  # the cheapest first
        if taken[each["nest"]] == task.keep or isinstance(verdicts.get(each["text"]), str):
            continue
        if Cost(**each["cost"]).total > most:
            dear.append(each)
            continue
        taken[each["nest"]] += 1
        kept.append(each)
    return kept, dear


def verification(task: Task, graph: str) -> Call:
    """The call that compares a graph with the program of a task."""
    return check, (task.program, graph, task.error, task.seed)


def check(program: str, graph: str, error: float, seed: int) -> dict[str, Any] | str:
    """A plain verdict of equality, or why there is none."""
    try:
        verdict = verify(parse(program), parse(graph), error=error, seed=seed)
    except Undecided:
        return CANNOT_TELL
    return plain_verdict(verdict) if verdict.equal else REFUTED
