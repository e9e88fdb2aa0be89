"""Candidates for the next operator of a graph, each tried once, whatever graph asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.mugraph.ir import Equation, KernelGraph, Op, call, ops
from mlc_course.mugraph.search import (
    COMMUTATIVE,
    Facts,
    Kept,
    Made,
    Nest,
    Problem,
    Refused,
    Start,
    Use,
    Watch,
    fingerprint,
    fit,
    meet,
    start,
)


@dataclass(frozen=True)
class Outcome:
    """The value that a candidate made, or why a rule refuses it. Equal values have one number."""

    kept: Kept | None
    value: int = -1
    reason: str = ""


class Term:
    """An operator on terms, or an input: there is one object for all graphs that hold it."""

    def __init__(self, among: Candidates, use: Use | str, operands: tuple[Term, ...] = ()) -> None:
        self.among, self.use, self.operands = among, use, operands

    @cached_property
    def outcome(self) -> Outcome:
        return self.among.outcome(self)

    @property
    def kept(self) -> Kept:
        """The value of a term that no rule refuses."""
        assert self.outcome.kept is not None
        return self.outcome.kept

    def called(self, names: Sequence[str]) -> str:
        """``matmul(X, p)``, on operands of these names."""
        assert isinstance(self.use, Use)
        return call(Equation(self.use.op, (), self.use.attributes), names)


class Candidates:
    """All values that the operators of a program make in one nest of loops."""

    def __init__(self, program: KernelGraph, nest: Nest, seed: int) -> None:
        self._reason = ""
        self._begun = _start(program, nest, seed, self._note)
        self._numbers: dict[Any, int] = {}  # of what is equal
        self._same: dict[Any, Kept] = {}  # of what is equal and has the same facts
        self._outcomes: dict[Any, Outcome] = {}
        self._terms: dict[Any, Term] = {}
        self._pairs: dict[tuple[Term, Term], tuple[tuple[Term, bool], ...]] = {}
        self._entered = {each.ways[0].op: each for each in self._begun.bank.values}
        self.inputs = tuple(Term(self, each.name) for each in program.inputs)
        self.goal = self._begun.bank.goal
        self.outputs = {
            self._number((0, dims, None, shape, fingerprint(wanted)))
            for dims, shape, wanted in self._begun.outputs
        }

    @property
    def sizes(self) -> dict[str, int]:
        """The extent of each dimension of the inputs, of a tile where a loop cuts it."""
        facts = [term.kept.facts for term in self.inputs]
        named = (zip(each.dims, each.shape, strict=True) for each in facts)
        return dict(sorted((dim, size) for each in named for dim, size in each if dim))

    # --- which there are --------------------------------------------------------------------------

    def of(self, graph: Sequence[Term]) -> Iterator[tuple[Term, bool]]:
        """Operators on values of a graph, those on the oldest values first.

        What a graph is extended by comes after all that were there. True marks operands of a
        commutative operator the other way round.
        """
        for place, newest in enumerate(graph):
            for other in graph[: place + 1]:
                key = other, newest
                if key not in self._pairs:
                    self._pairs[key] = tuple(self._made_of(other, newest))
                yield from self._pairs[key]

    def _made_of(self, a: Term, b: Term) -> Iterator[tuple[Term, bool]]:
        """Operators whose operands are both of these."""
        x, y, offer = a.kept.facts, b.kept.facts, self._begun.offer
        if a is b:
            for use in (*offer.unary, *self._along(x), *self._carried(x)):
                yield self._term(use, a), False
        for use in offer.binary if meet(x, y) else ():
            if fit(use.op, x.dims, y.dims):
                yield self._term(use, a, b), False
            if a is not b and fit(use.op, y.dims, x.dims):
                yield self._term(use, b, a), use.op in COMMUTATIVE

    def _along(self, x: Facts) -> Iterator[Use]:
        for use in self._begun.offer.along:
            for axis, extent in enumerate(x.shape):
                maxima = self._begun.offer.maxima
                if extent > 1 and (use.op is not ops.reduce_max or x.dims[axis] in maxima):
                    yield use.along(axis)

    def _carried(self, x: Facts) -> Iterator[Use]:
        return (Use(op) for op in self._begun.offer.carried if x.level and op.operands == 1)

    def _term(self, use: Use, *operands: Term) -> Term:
        key = use.op, use.attributes, operands
        if key not in self._terms:
            self._terms[key] = Term(self, use, operands)
        return self._terms[key]

    # --- what they make ---------------------------------------------------------------------------

    def outcome(self, term: Term) -> Outcome:
        """Return a term's outcome, which is computed once for equal operands."""
        if isinstance(term.use, str):
            return self._known(self._entered[term.use])
        operands = [each.kept for each in term.operands]
        key = term.use.op, term.use.attributes, tuple(each.number for each in operands)
        if key not in self._outcomes:
            self._outcomes[key] = self._tried(term.use, operands)
        return self._outcomes[key]

    def _tried(self, use: Use, operands: Sequence[Kept]) -> Outcome:
        bank = self._begun.bank
        carried = use.op in self._begun.offer.carried
        kept = bank.carry(use.op, operands) if carried else bank.apply(use, operands)
        return Outcome(None, reason=self._reason) if kept is None else self._known(kept)

    def _known(self, kept: Kept) -> Outcome:
        """The first that is equal and has the same facts stands for all of them."""
        facts, residues = kept.facts, fingerprint(kept.residues)
        same = self._same.setdefault((facts, kept.running_of, residues), kept)
        reference = "own" if facts.reference == "own" else same.reference
        return Outcome(
            same, self._number((facts.level, facts.dims, reference, facts.shape, residues))
        )

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _note(self, made: Made, reason: str) -> None:
        self._reason = reason


def _start(program: KernelGraph, nest: Nest, seed: int, watch: Watch) -> Start:
    """A bank that keeps all there is; raises ``UsageError`` for what has none."""
    if not all(isinstance(equation.op, Op) for equation in program.equations):
        raise UsageError(
            f"{program.name}: it has block graphs",
            expected="a program of predefined operators",
            hint="give the program that this graph computes",
        )
    problem = Problem(program)
    unknown = [dim for loop in nest.loops for dim in loop if dim not in problem.reduced]
    if unknown:
        known = ", ".join(problem.reduced) or "none, no operator adds up"
        raise UsageError(
            f"{program.name}: a loop over {', '.join(unknown)}",
            expected=f"dimensions that it adds up along: {known}",
        )
    try:
        return start(problem, nest, seed=str(seed), prunings=frozenset(), watch=watch)
    except Refused as refused:
        raise UsageError(
            f"{program.name}: it has no abstract expression: {refused.reason}",
            hint="write the program without what cancels",
        ) from None
