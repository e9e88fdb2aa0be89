"""Are neighbours along an axis neighbours in memory, and do they begin where a vector can?"""

from __future__ import annotations

from mlc_course.mugraph.kernels import CONST, Buffer, Expr, const, variables

ONE_TERM = const(1)  # what the constant part of a sum is a multiple of


def linear_form(e: Expr) -> dict[Expr, int]:
    """Return an index as a sum of multiples; what is no sum and no multiple stays whole."""
    if e.op == CONST:
        return {ONE_TERM: int(e.args[0])}
    if e.op == "+":
        found = linear_form(e.args[0])
        for term, factor in linear_form(e.args[1]).items():
            found[term] = found.get(term, 0) + factor
        return found
    if e.op == "*" and e.args[1].op == CONST:
        factor = int(e.args[1].args[0])
        return {term: each * factor for term, each in linear_form(e.args[0]).items()}
    return {e: 1}


def are_neighbours(buffer: Buffer, index: tuple[Expr, ...], axis: Expr, width: int) -> bool:
    """Tell whether ``width`` elements along an axis lie side by side, from a multiple of it on.

    ``axis`` is a variable that counts from 0 to ``width``.
    """
    if not index:
        return False
    name = axis.args[0]
    *before, last = index
    if any(name in variables(each) for each in before):
        return False
    if buffer.steps[-1] != 1 or any(step % width for step in buffer.steps[:-1]):
        return False
    if buffer.swizzle and buffer.swizzle[0] % width:
        return False
    form = linear_form(last)
    if form.pop(axis, 0) != 1:
        return False
    return all(
        factor % width == 0 and (term == ONE_TERM or name not in variables(term))
        for term, factor in form.items()
    )
