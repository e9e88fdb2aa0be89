"""A trace as a genome: its decisions by name, replayed, and changed one at a time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.tensor_program.problems.workload import Workload
from mlc_course.tensor_program.tvm_names import Schedule

TILE, CHOICE, PLACE = "SamplePerfectTile", "SampleCategorical", "SampleComputeLocation"


@dataclass(frozen=True)
class Gene:
    """One decision: the block and loop (or the question) it is about, and what was decided.

    The value of a tile is its factors from outside to inside; any other value stands alone.
    """

    name: str
    value: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} = {' x '.join(map(str, self.value))}"


def genes(workload: Workload, trace: Any, questions: Sequence[str] = ()) -> tuple[Gene, ...]:
    """The decisions of a trace, in order, under names of the workload's blocks and loops.

    A choice among numbers does not say what it is about: ``questions`` names those, in order.
    """
    found: list[Gene] = []
    sch, asked = Schedule(workload.program()), iter(questions)

    def note(instruction: Any, inputs: Sequence[Any], attributes: Sequence[Any], made: Any) -> Any:
        kind = instruction.kind.name
        if kind == TILE:
            loop = sch.get(inputs[0])
            found.append(Gene(f"{_block_in(loop)}: {loop.loop_var.name}", tuple(map(int, made))))
        elif kind == CHOICE:
            found.append(Gene(next(asked, "choice"), (int(attributes[0][int(made)]),)))
        elif kind == PLACE:
            found.append(Gene(f"{sch.get(inputs[0]).name_hint}: at loop", (int(made),)))
        return made

    trace.apply_to_schedule(sch, remove_postproc=False, decision_provider=note)
    return tuple(found)


def _block_in(loop: Any) -> str:
    """Name of the first block inside a loop."""
    statement = loop.body
    while not hasattr(statement, "block"):
        statement = statement.seq[0] if hasattr(statement, "seq") else statement.body
    return str(statement.block.name_hint)


def mutated(trace: Any, rng: random.Random) -> Any:
    """The trace with one tile changed: a prime factor moves from one of its loops to another.

    All tiles of the loop still multiply to its length, so the new trace replays. Raises
    ``UsageError`` for a trace in which no tile can change.
    """
    changes = [
        (instruction, other)
        for instruction, made in trace.decisions.items()
        if instruction.kind.name == TILE
        for other in neighbours(tuple(map(int, made)), int(instruction.attrs[1]))
    ]
    if not changes:
        raise UsageError(
            "mutated: this trace holds no tile that could change",
            expected="a decision of sample_perfect_tile with two factors or more",
            got=f"{len(trace.decisions)} decisions",
        )
    instruction, other = rng.choice(changes)
    return trace.with_decision(instruction, list(other), remove_postproc=False)


def neighbours(tile: tuple[int, ...], most_innermost: int) -> list[tuple[int, ...]]:
    """Tiles of the same loop that differ by one prime factor moved from one place to another."""
    found = set()
    for source, factor in enumerate(tile):
        for prime in _primes(factor):
            for target in range(len(tile)):
                if target != source:
                    moved = list(tile)
                    moved[source], moved[target] = factor // prime, moved[target] * prime
                    found.add(tuple(moved))
    return sorted(each for each in found if each[-1] <= most_innermost)


def _primes(number: int) -> set[int]:
    """The prime factors of a number, each once."""
    found, prime = set(), 2
    while prime * prime <= number:
        if number % prime:
            prime += 1
        else:
            found.add(prime)
            number //= prime
    return found | ({number} if number > 1 else set())
