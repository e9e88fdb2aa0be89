"""Sentences for what a proof did, where they are short and true."""

from __future__ import annotations

from collections.abc import Mapping

from mlc_course.instruction_selection.integers import Formula, variables, walk
from mlc_course.instruction_selection.prove.differences import Difference, Zero
from mlc_course.instruction_selection.prove.exact import type_of
from mlc_course.instruction_selection.prove.normal_form import NormalForm, Value
from mlc_course.instruction_selection.prove.polynomials import built, scaled, text_of
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
    if all(each.op != "wrap" for each in walk(wanted, found)):
        said.append("no intermediate value leaves its type")
    if form.factors:
        said.append(f"the common factor {max(form.factors)} comes out of the shift")
    left = list(walk(built(value.terms)))
    bits = [type_of(each).bits for each in left if each.op == "wrap"]
    if any(each.op == "max" for each in left):
        same = "both sides are linear between the same knots"
    else:
        same = "both sides are the same polynomial"
    if bits:
        same += f" modulo 2^{max(bits)}"
    return f"{' and '.join(said)}, so {same}" if said else same


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
            texts = "p - q", "q - p"
        return f"{texts[0]} and {texts[1]} are x and -x: {count}"
    text = text_of(of.terms)
    return f"{text if len(text) <= _LONGEST else 'a sum'} is one variable x: {count}"


def of_parts(zero: Zero) -> str | None:
    """Return how a difference that has few inputs only in its parts was computed."""
    if zero.parts < 2:
        return "what is the same on both sides cancels, and the rest has few inputs"
    return f"the difference has {zero.parts} parts that share no variable, and each was computed"
