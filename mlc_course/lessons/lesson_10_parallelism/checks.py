"""Demands of the check cells of this lesson's exercises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np

from mlc_course.exercise import (
    Program,
    UnmetCheck,
    breaks,
    called,
    check,
    check_parts,
    computes,
    given,
    holds,
    returns,
    scheduled,
    shown,
)
from mlc_course.grading.checks import Examined
from mlc_course.lessons.kit import check_work, column_sums
from mlc_course.tensor_program.processor import (
    flops_by_worker,
    grouped,
    simulate,
    writes_by_worker,
)
from mlc_course.tensor_program.tir import Access, Loop, accesses

LOOPS = {
    "even": [10] * 240,
    "triangle": [i + 1 for i in range(240)],
    "peak": [400 if i == 100 else 5 for i in range(240)],
}
HOWS, GRAINS = ("static", "dynamic"), (1, 2, 5, 15, 30, 60, 120)
WORKERS, TAKE = 8, 12
FEWEST_TASKS = 4
MOST_ADDITIONS = 1.5  # for each element of X: as many sums as rows / 2 are added at the end


# --- 1. Choose a grain ----------------------------------------------------------------------------


def grains(mine: Any) -> None:
    """Check the sharing and the grain of each loop: nothing else ends earlier."""
    check(given(mine), holds(done_first, kind="counted"))


def done_first(answer: Any) -> str:
    """Return that no other choice ends earlier, and no larger grain as early."""
    _check_form(answer)
    faults = {name: fault for name in LOOPS if (fault := _fault(name, answer[name]))}
    if faults:
        name, (what, got, hint) = next(iter(faults.items()))
        raise UnmetCheck(
            f"{len(LOOPS) - len(faults)} of {len(LOOPS)} are right; {name}: {what}",
            expected="the earliest end of all fourteen, with the largest grain that has it",
            got=got,
            hint=hint,
        )
    return "for each loop, no other choice ends earlier"


def _fault(name: str, choice: list[Any]) -> tuple[str, str, str] | None:
    """Return what is wrong with a choice, what it is, and a hint; None for the best one."""
    ends = {
        (how, grain): simulate(
            grouped(LOOPS[name], grain), WORKERS, how=how, take=TAKE if how == "dynamic" else 0
        ).end
        for how in HOWS
        for grain in GRAINS
    }
    end, best = ends[choice[0], choice[1]], min(ends.values())
    if end > best:
        late = f"{choice} ends {end / best - 1:.1%} later than the best"
        return "another choice ends earlier", late, "who is the last worker, and with what?"
    if choice[1] < max(grain for (_, grain), each in ends.items() if each == best):
        return "a larger grain ends as early", f"{choice}", "try the next larger grain"
    return None


def _check_form(answer: Any) -> None:
    check_parts(answer, LOOPS)
    for name, choice in answer.items():
        if type(choice) is not list or len(choice) != 2:
            raise UnmetCheck(f"{name}: not a choice", expected='["static", 30]', got=shown(choice))
        if choice[0] not in HOWS or choice[1] not in GRAINS:
            raise UnmetCheck(
                f"{name}: not one of the choices",
                expected=f"{' | '.join(HOWS)}, and {' | '.join(map(str, GRAINS))}",
                got=shown(choice),
            )


# --- 2. How many workers? -------------------------------------------------------------------------


def workers(share_of: Any, workers_for: Any) -> None:
    """Check Amdahl's law the other way: a share from two times, a number from a wish."""
    check(
        called(share_of),
        returns(10.0, 5.0, 2, result=0.0, hint="twice as fast on two: nothing is serial"),
        returns(10.0, 10.0, 4, result=1.0, hint="four workers bring nothing: all of it is serial"),
        returns(8.0, 5.0, 2, result=0.25),
        ExplainsTimes(),
    )
    check(
        called(workers_for),
        returns(0.0, 4.0, result=4),
        returns(0.25, 2.0, result=3, hint="with 3 workers: 1 / (0.25 + 0.75 / 3)"),
        returns(0.25, 4.0, result=None, hint="4 is what an endless number of workers approaches"),
        returns(0.5, 1.0, result=1),
        FulfilsWishes(),
    )


def times_on_two(rng: np.random.Generator) -> tuple[float, float, int]:
    """Return measured times on one and on p threads, made from a share."""
    p, serial = int(rng.integers(2, 33)), float(rng.uniform(0.01, 0.9))
    one = float(rng.uniform(0.1, 100))
    return one, one * (serial + (1 - serial) / p), p


@dataclass(frozen=True)
class ExplainsTimes:
    """The share explains the two times by Amdahl's law, which is all that is compared.

    So nothing here computes a share, and there is no answer to import.
    """

    count: int = 20
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        """Ask for shares; raises ``UnmetCheck`` for one that explains other times."""
        assert answer.call is not None
        rng = answer.rng()
        for _ in range(self.count):
            one, many, p = times_on_two(rng)
            found = answer.call(one, many, p)
            if not isinstance(found, int | float) or not math.isfinite(found):
                raise UnmetCheck("not a share", expected="a number", got=found)
            explained = one * (found + (1 - found) / p)
            if abs(explained - many) > 1e-5 * many:
                raise UnmetCheck(
                    f"a wrong share for ({one:g}, {many:g}, {p})",
                    expected=f"{many:g} s on {p} threads by Amdahl's law",
                    got=f"{explained:g} s, with a share of {found:g}",
                    hint="the share is of the work on one thread",
                )
        return f"right in {self.count} cases"


def a_wish(rng: np.random.Generator) -> tuple[float, float]:
    """Return a share, and a wish that is not on the border between two numbers of workers."""
    serial = float(rng.uniform(0.01, 0.5))
    bound = 1 / serial
    wish = float(rng.uniform(1.05, min(bound * 1.3, 40)))
    return (serial, wish) if abs(wish / bound - 1) > 0.01 else (serial, bound * 1.2)


@dataclass(frozen=True)
class FulfilsWishes:
    """With so many workers Amdahl's law fulfils a wish, and with one fewer it does not."""

    count: int = 20
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        """Ask for workers; raises ``UnmetCheck`` for too few, or more than are needed."""
        assert answer.call is not None
        rng = answer.rng()
        for _ in range(self.count):
            serial, wish = a_wish(rng)
            found = answer.call(serial, wish)
            if found is None and wish * serial >= 1:
                continue
            if type(found) is not int or found < 1 or wish * serial >= 1:
                raise UnmetCheck(
                    f"no number of workers, for ({serial:.4g}, {wish:.4g})",
                    expected="None" if wish * serial >= 1 else "a whole number, 1 or more",
                    got=shown(found),
                    hint="how fast is a program of this share on endlessly many workers?",
                )
            for workers, enough in ((found, True), (found - 1, False)):
                if workers and (_times_as_fast(serial, workers) >= wish) != enough:
                    raise UnmetCheck(
                        f"a wrong number of workers, for ({serial:.4g}, {wish:.4g})",
                        expected=f"{wish:.4g} times as fast, and not with one worker fewer",
                        got=f"{workers} workers are {_times_as_fast(serial, workers):.4g} times",
                        hint="one worker fewer must not do, and this many must",
                    )
        return f"right in {self.count} cases"


def _times_as_fast(serial: float, workers: int) -> float:
    return 1 / (serial + (1 - serial) / workers)


# --- 3. Bug hunt: now and then --------------------------------------------------------------------


def repaired(mine: Any) -> None:
    """Check the parallel sum: X is shared out, and nothing is written by two workers."""
    check(
        scheduled(mine, column_sums(64, 16)),
        computes(),
        holds(x_is_shared_out),
        holds(nothing_is_shared, kind="counted"),
    )


def x_is_shared_out(program: Program) -> str:
    """Return that X is read in a parallel loop of four tasks or more, each reading another part.

    What one thread reads alone is at most half as much as X: the sums of as many workers as there
    may be. 8 workers read 128 numbers for 64 rows of X, 16 workers 256; one thread that sums all
    rows reads 1,024, from X or from a copy of it.
    """
    alone = 0
    for each in accesses(program.module):
        if each.writes:
            continue
        found = [pair for pair in each.turning if pair[0].kind == "parallel"]
        if each.buffer == "X":
            _check_parallel(each, found)
        elif not found and each.buffer != program.problem.result.name:
            alone += prod(loop.extent for loop in each.loops)
    most = prod(program.problem.operands[0].shape) // 2
    if alone > most:
        raise UnmetCheck(
            "one thread does most of the work",
            expected=f"at most {most:,} numbers that are read outside of parallel loops",
            got=f"{alone:,}",
            hint="the sums belong into the parallel loop, and not only a copy of X",
        )
    _check_shares(program)
    return "X is read in parallel"


def _check_shares(program: Program) -> None:
    """Raise ``UnmetCheck`` where one of four workers does most of the additions."""
    check_work(program, MOST_ADDITIONS)
    done = flops_by_worker(program.module, FEWEST_TASKS)
    if max(done) * 2 > sum(done):
        raise UnmetCheck(
            "one worker does most of the work",
            expected=f"at most half of {sum(done):,} additions for one of {FEWEST_TASKS} workers",
            got=f"{max(done):,}",
            hint="does each task have as many rows of X as the others?",
        )


def _check_parallel(each: Access, found: list[tuple[Loop, int | None]]) -> None:
    """Raise ``UnmetCheck`` unless the first parallel loop around a read of X shares X out."""
    if not found:
        loops = ", ".join(f"{loop.name} ({loop.kind})" for loop in each.loops)
        raise UnmetCheck(
            "X is not read in parallel",
            expected="a parallel loop around every read of X",
            got=f"the loops {loops}",
            hint='steps.parallel(sch, "S_rf", ...) on the loop that counts the workers',
        )
    loop, stride = found[0]
    if loop.extent < FEWEST_TASKS or stride == 0:
        raise UnmetCheck(
            "fewer than four workers share X",
            expected="four tasks or more, each with other elements of X",
            got=f"loop {loop.name}, {loop.extent} tasks, X moves by {stride}",
        )


def nothing_is_shared(program: Program) -> str:
    """Return that neither an element nor a line is written by two of four workers."""
    lines = 0
    for each in writes_by_worker(program.module, 4):
        if each.raced_elements:
            raise UnmetCheck(
                f"a race: workers of loop {each.loop} write the same elements of {each.buffer}",
                expected="0 elements written by more than one of 4 workers",
                got=each.raced_elements,
                hint="every worker needs sums of its own",
            )
        if each.shared_lines:
            raise UnmetCheck(
                f"false sharing: workers of loop {each.loop} write the same lines of {each.buffer}",
                expected="0 lines written by more than one of 4 workers",
                got=f"{each.shared_lines} of {each.lines}",
                hint="are the sums of one worker neighbours, or is every fourth element its own?",
            )
        lines += each.lines
    return f"{lines} lines are written, each by one worker"


# --- 4. Counter-example: the third worker ---------------------------------------------------------


def third(mine: Any) -> None:
    """Check the costs for which three workers need longer than two."""
    check(given(mine), breaks("a third worker never hurts", three_are_no_slower))


def three_are_no_slower(costs: Any) -> str | None:
    """Return why the claim holds for these costs, or None where it is broken."""
    whole = type(costs) is list and all(type(each) is int and each >= 0 for each in costs)
    if not whole or not 1 <= len(costs) <= 12:
        raise UnmetCheck(
            "not the costs of tasks", expected="1 to 12 whole numbers, none below 0", got=costs
        )
    if not any(costs):
        return "tasks that cost nothing are done at once"
    two, three = (simulate(costs, count).end for count in (2, 3))
    return None if three > two else f"two workers need {two:g}, three need {three:g}"
