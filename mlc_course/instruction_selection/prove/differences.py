"""Is a polynomial over atoms zero for all inputs? Its parts without common variables, one by one.

A sum of parts that share no variable is zero for all inputs exactly if each part is constant and
the constants add up to zero. So the four products of a dot product are four small questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mlc_course.instruction_selection.integers import Formula, IntType, const, wrap
from mlc_course.instruction_selection.prove.inputs import (
    Row,
    count_inputs,
    first_difference,
    run_of,
)
from mlc_course.instruction_selection.prove.normal_form import NormalForm, Value
from mlc_course.instruction_selection.prove.polynomials import (
    Monomial,
    Terms,
    built,
    constant,
    plus,
    variable_part,
)


@dataclass(frozen=True)
class Difference:
    """The difference of two values, modulo 2**bits where ``bits`` is given."""

    terms: Mapping[Monomial, int]
    bits: int | None = None

    @property
    def nothing(self) -> bool:
        return not self.terms


@dataclass(frozen=True)
class Zero:
    """The difference is zero for all inputs; ``inputs`` were computed, in ``parts`` parts."""

    inputs: int
    parts: int


@dataclass(frozen=True)
class Rows:
    """Inputs, at least one of which makes the difference other than zero."""

    rows: tuple[Row, ...]


def difference(form: NormalForm, wanted: Value, found: Value) -> Difference:
    """Return the difference of two values of one normal form.

    - x mod 2**b = y for a y that lies in 0 .. 2**b - 1 exactly if x - y is zero modulo 2**b. What
      is added on both sides is gone then, even inside the wrap.
    - The same holds for a common multiple of two wraps.
    """
    for one, other in ((wanted, found), (found, wanted)):
        wrapped = variable_part(one.terms)
        c = one.terms.get((), 0)
        ((monomial, factor), *more) = wrapped.items() or [((), 0)]
        atom = form.inner.get(monomial[0]) if len(monomial) == 1 and not more else None
        if (
            atom
            and atom.op == "wrap"
            and factor == 1
            and other.lo >= c
            and other.hi - c < 1 << atom.number
        ):
            inside = plus(plus(atom.terms, other.terms, -1), constant(c))
            return _modulo(form, inside, atom.number)
    terms = plus(wanted.terms, found.terms, -1)
    atoms = [form.inner.get(m[0]) if len(m) == 1 else None for m in terms]
    if len(terms) == 2 and sum(terms.values()) == 0:
        a, b = atoms
        if a and b and a.op == b.op == "wrap" and a.number == b.number:
            return _modulo(form, plus(a.terms, b.terms, -1), a.number)
    return Difference(form.with_sums(terms))


def _modulo(form: NormalForm, terms: Terms, bits: int) -> Difference:
    return Difference(form.with_sums(form.low_terms(terms, bits)), bits)


def decide(form: NormalForm, asked: Difference, most_inputs: int) -> Zero | Rows | None:
    """Return whether a difference is zero, or ``None`` where a part has more inputs than that.

    Where the normal form has a cut, rows are values of its fresh variables, and prove nothing.

    Raises:
        SizeError: no NumPy integer type holds every intermediate value.
        OutOfTime: the deadline has passed.
    """
    parts = _parts(form, asked)
    formulas = [_formula(part, asked.bits) for part, _ in parts]
    if any(count_inputs(inputs) > most_inputs for _, inputs in parts):
        return None
    start: Row = {x: x.lo for _, inputs in parts for x in inputs}
    total = asked.terms.get((), 0)
    for formula, (_, inputs) in zip(formulas, parts, strict=True):
        (values,) = run_of((formula,), inputs)(*(np.array([x.lo]) for x in inputs))
        value = int(values.flat[0])
        total += value
        other = first_difference(formula, const(value), inputs)
        if other is not None:
            return Rows((start, start | other))
    if total % (1 << asked.bits) if asked.bits else total:
        return Rows((start,))
    return Zero(sum(count_inputs(inputs) for _, inputs in parts), len(parts))


def _formula(part: Terms, bits: int | None) -> Formula:
    made = built(part)
    return made if bits is None else wrap(IntType(signed=False, bits=bits), made)


def _parts(form: NormalForm, asked: Difference) -> list[tuple[Terms, tuple[Formula, ...]]]:
    """Return groups of terms that share no variables, each with its variables."""
    groups: list[tuple[Terms, frozenset[Formula]]] = []
    for monomial, c in variable_part(asked.terms).items():
        terms: Terms = {monomial: c}
        reads = frozenset[Formula]().union(*map(form.variables, monomial))
        apart = []
        for other, others in groups:
            if reads & others:
                terms, reads = other | terms, reads | others
            else:
                apart.append((other, others))
        groups = [*apart, (terms, reads)]
    return [(terms, tuple(sorted(reads, key=lambda x: x.serial))) for terms, reads in groups]
