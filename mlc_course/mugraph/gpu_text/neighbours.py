"""Are neighbours along an axis neighbours in memory, and do they begin where a vector can?"""

from __future__ import annotations

from mlc_course.mugraph.kernels import ONE, Buffer, Expr, linear_form, variables


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
        factor % width == 0 and (term == ONE or name not in variables(term))
        for term, factor in form.items()
    )
