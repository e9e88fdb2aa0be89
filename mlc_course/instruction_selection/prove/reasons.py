"""Sentences for what a proof did, where they are short and true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlc_course.instruction_selection.integers import Formula, variables, walk
from mlc_course.instruction_selection.prove.differences import Difference, Zero
from mlc_course.instruction_selection.prove.exact import type_of
from mlc_course.instruction_selection.prove.normal_form import Atom, NormalForm, Value
from mlc_course.instruction_selection.prove.polynomials import (
    Monomial,
    built,
    scaled,
    text_of,
    trailing_zeros,
    variable_part,
)
from mlc_course.instruction_selection.prove.sums import Sum

_LONGEST = 60  # characters of a sum that a sentence repeats


def of_normal_form(form: NormalForm, value: Value, wanted: Formula, found: Formula) -> str:
    """Return why two formulas have the normal form ``value``."""
    if form.undone:
        first = form.undone[0]
        return (
            f"{first.value} becomes {first.of.wrapped(first.value)} in {first.of},"
            f" and adding {first.added} takes that back to {first.value + first.added}"
        )
    said = []
    if not any(map(_overflows, walk(wanted, found))):
        said.append("no intermediate value leaves its type")
    if form.factors:
        said.append(f"the common factor {max(form.factors)} comes out of the shift")
    same = _what_is_the_same(form, value)
    return f"{' and '.join(said)}, so {same}" if said else same


def _overflows(each: Formula) -> bool:
    return each.op == "wrap" or (each.op == "concat" and type_of(each).signed)


def _what_is_the_same(form: NormalForm, value: Value) -> str:
    """Return in what sense one normal form is one polynomial.

    Atoms are its letters; what a reader would not guess of them is said.
    """
    same = "both sides are the same polynomial"
    left = list(walk(built(value.terms)))
    if any(each.op == "wrap" for each in left):
        ((monomial, c), *more) = variable_part(value.terms).items()
        atom = form.inner.get(monomial[0]) if len(monomial) == 1 and not more else None
        if atom is None or atom.op != "wrap" or any(_overflows(each) for each in _inside(atom)):
            return f"{same} of the same parts"
        return f"{same} modulo 2^{atom.number + trailing_zeros(c)}"
    if any(each.op == "max" for each in left):
        if _is_piecewise_linear(form, value.terms):
            return "both sides are linear between the same knots"
        return f"{same} of the same parts"
    return same


def _inside(atom: Atom) -> Iterator[Formula]:
    return walk(built(atom.terms))


def _is_piecewise_linear(form: NormalForm, terms: Mapping[Monomial, int]) -> bool:
    """Return whether positive parts are added alone, and are such of sums that are so, too."""
    bent = [m for m in terms if any(each.op == "max" for each in walk(*m))]
    atoms = [form.inner.get(m[0]) if len(m) == 1 else None for m in bent]
    return all(
        atom is not None and atom.op == "positive" and _is_piecewise_linear(form, atom.terms)
        for atom in atoms
    )


def of_sums(sums: Mapping[Formula, Sum], asked: Difference) -> str | None:
    """Return what the variables stand for in a proof that has one for each sum."""
    used = [x for x in variables(*(x for m in asked.terms for x in m)) if x in sums]
    if len(used) != 1:
        values = " * ".join(f"{x.hi - x.lo + 1:,}" for x in used)
        return f"each of {len(used)} sums is one variable: {values} values" if used else None
    (x,) = used
    count = f"{x.hi - x.lo + 1:,} values of x"
    of = sums[x]
    if len(of.signs) == 2:
        texts = text_of(of.terms), text_of(scaled(of.terms, -1))
        if max(map(len, texts)) > _LONGEST:
            texts = "a sum", "its negative"
        return f"{texts[0]} and {texts[1]} are x and -x: {count}"
    text = text_of(of.terms)
    return f"{text if len(text) <= _LONGEST else 'a sum'} is one variable x: {count}"


def of_parts(zero: Zero) -> str | None:
    """Return how a difference that has few inputs only in its parts was computed."""
    if zero.parts < 2:
        return "what is the same on both sides cancels, and the rest has few inputs"
    return f"the difference has {zero.parts} parts that share no variable, and each was computed"
