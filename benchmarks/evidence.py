"""How often one test accepts graphs that differ, at tiny primes, beside the bound stated for it."""

from __future__ import annotations

import sys
from typing import Any

from common import Target, command_line, finish
from tqdm import tqdm

from mlc_course.lessons.lesson_17_finite_field_verification import (
    LOWEST,
    Evidence,
    accepted,
    evidence_svg,
)
from mlc_course.mugraph.mutants import NEAR_MISSES, Pair
from mlc_course.tensor_program.ladders import record

WRONG = 1e-6  # a bound that is true is exceeded by so much less often than this


def counted(pair: Pair, tests: int, bar: Any) -> tuple[dict[str, Any], list[Evidence]]:
    """One panel of the picture, and its points."""
    found = []
    for prime in LOWEST:
        found.append(accepted(pair.left, pair.right, prime, tests, seed=prime))
        bar.update()
    points = [
        {"prime": prime, "accepted": each.accepted, "bound": each.bound}
        for prime, each in zip(LOWEST, found, strict=True)
    ]
    return {"name": pair.name, "said": pair.said, "points": points}, found


def main() -> int:
    parser = command_line(__doc__, "it for lesson 17")
    parser.add_argument("--tests", type=int, default=100_000, help="of each pair at each prime")
    arguments = parser.parse_args()
    panels, every = [], list[Evidence]()
    with tqdm(total=len(NEAR_MISSES) * len(LOWEST), unit="point") as bar:
        for pair in NEAR_MISSES:
            panel, found = counted(pair, arguments.tests, bar)
            panels.append(panel)
            every += found
    figures = {"tests": arguments.tests, "pairs": panels}
    if arguments.recordings:
        kept = {**record.provenance(), **figures}
        record.save(kept, arguments.recordings / "near_misses.json")
    below = sum(each.luck >= WRONG for each in every) / len(every)
    stating = [each for each in every if each.bound < 1]
    closest = max(each.rate / each.bound for each in stating)
    targets = [
        Target("points whose bound stands", 1.0, below),
        Target("the highest rate, of its bound: how tight bounds can be", 0.9, closest),
        Target("points at which something is stated", 0.5, len(stating) / len(every)),
    ]
    return finish(arguments, figures, targets, lambda path: path.write_text(evidence_svg(figures)))


if __name__ == "__main__":
    sys.exit(main())
