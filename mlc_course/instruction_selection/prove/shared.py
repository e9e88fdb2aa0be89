"""Parts that both sides compute become one variable, where they have fewer values than inputs.

Like a variable for a sum, this proves and never refutes.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlc_course.instruction_selection.integers import (
    Formula,
    substituted,
    var,
    variables,
    walk,
)
from mlc_course.instruction_selection.prove.inputs import count_inputs


def without_shared(x: Formula, y: Formula) -> Iterator[tuple[Formula, Formula]]:
    """Yield two formulas with variables for the nodes that both have: the outermost, the innermost.

    Equality of such a pair for all values implies that of ``x`` and ``y``.
    """
    both = set(walk(x)) & set(walk(y))
    narrow = [
        each
        for each in walk(x)
        if each in both
        and each.op not in ("var", "const")
        and each.hi - each.lo + 1 < count_inputs(variables(each))
    ]
    if not narrow:
        return
    taken = {str(each) for each in variables(x, y)}
    fresh: dict[Formula, Formula] = {}
    for each in narrow:
        name = f"part {len(fresh)}"
        while name in taken:
            name += "'"
        fresh[each] = var(name, each.lo, each.hi)
    first, second = substituted([x, y], fresh)
    yield first, second
    inner = {
        each: made for each, made in fresh.items() if not set(walk(each)) & fresh.keys() - {each}
    }
    if len(inner) < len(fresh):
        first, second = substituted([x, y], inner)
        yield first, second
