"""Verdicts as plain data, for files and other processes."""

from __future__ import annotations

from typing import Any

from mlc_course.mugraph.verify import Verdict


def plain_verdict(verdict: Verdict) -> dict[str, Any]:
    """What a file keeps of a verdict."""
    return {
        "equal": verdict.equal,
        "error_bound": verdict.error_bound,
        "trials": verdict.trials,
        "outputs": list(verdict.outputs),
        "sizes": [dict(each) for each in verdict.sizes],
    }


def read_verdict(plain: dict[str, Any]) -> Verdict:
    """The reverse; the plan of the tests is not kept."""
    return Verdict(
        plain["equal"],
        plain["error_bound"],
        plain["trials"],
        None,
        tuple(plain["outputs"]),
        tuple(plain["sizes"]),
        None,
    )
