"""The bench on which an answer is examined: loaded from text, admitted, compiled, run.

In a notebook the bench is an object; in the grader it is an object in a process of its own, without
the network, the seeds and the expected values. It runs no Python of the student's: a program comes
as TensorIR, and only if ``admit`` finds nothing in it but loops and arithmetic within bounds.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from mlc_course.errors import UnmetCheck, UnsafeProgram
from mlc_course.grading.admission import admit, admitted_page
from mlc_course.grading.process import values
from mlc_course.grading.process.answers import own_error
from mlc_course.machine import describe
from mlc_course.mugraph.cpu_kernels import Rates, choices, cpu_of
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.runtime import compile_graph, random_inputs
from mlc_course.tensor_program.ladders import Rung, ladder, scheduled, select
from mlc_course.tensor_program.memory import Cache, counter
from mlc_course.tensor_program.problems import Array, Workload, aligned
from mlc_course.tensor_program.processor import (
    Assembly,
    arithmetic_loops,
    flops,
    most_flops,
)
from mlc_course.tensor_program.tir import (
    IRModule,
    compile_program,
    load_program,
    main_function,
    on_one_thread,
    shared_tensor,
)

NAIVE = "naive"
YOURS, BASELINE = "yours", "baseline"
BUSY = 0.9  # the share of a program's operations that its busy loops do together
# If every condition held, a program might do so many times its operations: 1.7 where a loop of 48
# or 80 is cut by 64. More, and loops of the assembly may run far less often than their text tells.
IDLE = 2
# The share of the operations in loops whose turns can be counted: 0.99 or more in honest programs.
TOLD = 0.7
LEVELS = 1_000  # TVM reads by recursion, and some 3,000 nodes inside each other end Python


@dataclass(frozen=True)
class Program:
    """An admitted program, and the problem that it should solve."""

    module: IRModule
    problem: Workload

    @functools.cached_property
    def busy_loops(self) -> tuple[Assembly, ...]:
        """The loops that do nearly all its arithmetic, as LLVM writes them for this machine.

        The hot loop is the first. What is asked of it is asked of all of them: LLVM may have made
        several loops of one, and a loop that does a third of the work may be the hottest. Raises
        ``UnmetCheck`` for a program whose assembly does not tell how often its loops run.
        """
        done, most = flops(self.module), most_flops(self.module)
        if most > IDLE * done:
            raise UnmetCheck(
                "conditions that seldom hold",
                expected=f"at most {IDLE} times the {done:,} operations, if every condition held",
                got=f"{most:,}",
                hint="make loops shorter where you can, in place of a condition inside",
            )
        found = arithmetic_loops(on_one_thread(main_function(self.module)))
        if sum(each.flops for each in found) < TOLD * done:
            raise UnmetCheck(
                "how often the loops run cannot be told",
                expected=f"{done:,} operations in loops of a known number of turns",
                got=f"{sum(each.flops for each in found):,}",
                hint="use serial or vectorized loops whose ends depend on no other loop",
            )
        busy, left = [], BUSY * sum(each.flops for each in found)
        for each in found:
            if left > 0:
                busy.append(each)
            left -= each.flops
        return tuple(busy)


@dataclass(frozen=True)
class MadeGraph:
    """The texts of a graph that an answer has made, and of the program that it was made of."""

    graph: Any
    program: str


class Inspection(Protocol):
    """A check that looks at a program or a value where it stands.

    ``inspect`` returns what it saw, or raises ``UnmetCheck``.
    """

    def inspect(self, subject: Any) -> str: ...


def _levels(text: str) -> int:
    """Bound how many nodes of a program are inside each other, without TVM's help.

    In TVM's text a node comes after those that it refers to, by their numbers; another number in
    it, such as an alignment, is taken for one too.
    """
    levels: list[int] = []
    for node in json.loads(text)["nodes"]:
        data = node.get("data")
        parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
        inner = (levels[n] for n in parts if type(n) is int and 0 <= n < len(levels))
        levels.append(1 + max(inner, default=0))
    return max(levels)


class Bench:
    """Holds one answer at a time."""

    def __init__(self) -> None:
        self.subject: Any = None
        self.compiled: dict[str, Callable[..., object]] = {}
        self.buffers: list[Any] = []

    def load_program(self, text: str, problem: Workload) -> None:
        """Read and admit a program; raises ``UnsafeProgram`` or ``UnmetCheck``."""
        self.subject, self.compiled, self.buffers = None, {}, []
        try:
            deepest = _levels(text)
            module = load_program(text) if deepest <= LEVELS else None
        except Exception as error:
            raise UnmetCheck("a program that cannot be read", got=str(error)[:200]) from None
        if module is None:
            raise UnsafeProgram(
                "the program is nested too deeply",
                expected=f"at most {LEVELS:,} nodes inside each other",
                got=f"{deepest:,}",
                hint="write a long sum as a loop, or keep parts of it in a buffer",
            )
        admit(module, problem.program())
        self.subject = Program(module, problem)

    def load_value(self, text: str) -> None:
        """Read a value."""
        self.subject = values.from_text(text)

    def optimize(self, page: str, program: str) -> str:
        """Return, as a value's text, what a page's last function makes of a program."""
        function = admitted_page(page)
        try:
            return values.to_text(function(program))
        except Exception as error:
            raise own_error(error) from error

    def load_graph(self, text: str, program: str) -> None:
        """Read what ``optimize`` has returned."""
        self.compiled, self.buffers = {}, []
        self.subject = MadeGraph(values.from_text(text), program)

    def inspect(self, check: Inspection) -> str:
        """The answer, in the form in which a check examines it."""
        return check.inspect(self.subject)

    def run(self, inputs: list[Array]) -> Array:
        """The program's result on these inputs; elements that it never writes are NaN."""
        out: Array = self.subject.problem.output()
        buffers = [shared_tensor(aligned(each)) for each in inputs]
        self._function(YOURS)(*buffers, shared_tensor(out))
        return out

    def race(self, rung: str, inputs: list[Array]) -> None:
        """Get ready to run the program, and a rung of its problem's ladder, on these inputs.

        Raises ``UsageError`` for a program whose loops depend on data: it could see that the result
        of the last call still stands, and do nothing.
        """
        problem = self.subject.problem
        counter(self.subject.module, Cache())
        self._function(YOURS)
        first = Rung(NAIVE, "as it stands", lambda sch: None)
        chosen = first if rung == NAIVE else select(ladder(problem.name), [rung])[0]
        self.compiled[BASELINE] = compile_program(scheduled(problem, chosen))
        out = problem.output()
        self.buffers = [*(shared_tensor(aligned(each)) for each in inputs), shared_tensor(out)]

    def race_graph(self, seed: int, rates: Rates) -> None:
        """Get ready to run the graph, and its program unfused, on inputs that the seed draws.

        ``rates`` are this machine's on one thread; a sandbox does not see its caches.
        """
        program, self.buffers = parse(self.subject.program), []
        inputs = random_inputs(program, seed)
        for name, each in ((YOURS, parse(self.subject.graph)), (BASELINE, program)):
            (lowered,) = choices(each, cpu_of(describe()), rates, 1)
            self.compiled[name] = compile_graph(each, threads=1, lowered=lowered).bind(inputs)

    def repeat(self, contestant: str, times: int) -> None:
        """Call one of the two a number of times; the caller holds the clock."""
        function = self.compiled[contestant]
        for _ in range(times):
            function(*self.buffers)

    def _function(self, name: str) -> Callable[..., object]:
        if name not in self.compiled:
            self.compiled[name] = compile_program(self.subject.module)
        return self.compiled[name]
