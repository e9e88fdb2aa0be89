"""Remarks on an inspected block, a sentence each: which elements the iterations of a loop share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlc_course.tensor_program.legality import ALL, Element, Inspection, Moment, place, touched

ONE = "this iteration"  # in place of a loop: nothing moves


def remark(inspection: Inspection, moved: str, at: Mapping[str, int]) -> str:
    """Say what happens at ``at`` while a loop is moved: ``ONE``, the name of a loop, or ``ALL``.

    Raises ``AxisError`` for what is not there.
    """
    if moved == ONE:
        return _one(inspection.moment(at))
    if moved == ALL:
        return _every(inspection)
    return _along(inspection, moved, inspection.along(moved, at))


def _one(moment: Moment) -> str:
    fresh = [element for element in dict.fromkeys(moment.reads) if element != moment.writes]
    read = ", ".join(place(*element) for element in fresh)
    axes = ", ".join(f"{name} = {value}" for name, value in moment.axes.items())
    does = f"adds to {moment.place}" if moment.writes in moment.reads else f"writes {moment.place}"
    first = ", which init sets to its first value before" if moment.init else ""
    return f"At {axes} the block reads {read} and {does}{first}."


def _along(inspection: Inspection, loop: str, moments: Sequence[Moment]) -> str:
    axes = inspection.moving(loop)
    names = " and ".join(axis.name for axis in axes) or "no axis"
    _, written = touched(moments)
    told = f"Loop {loop} moves {names}: {len(moments)} iterations write {_elements(written)}."
    if any(axis.kind == "R" for axis in axes):
        return f"{told} {_reduction(len(written), len(moments))}"
    if len(written) < len(moments):
        one, other = _pair(moments)
        return f"{told} Declared spatial, but {one} and {other} both write {one.place}."
    end = " But look at all iterations." if inspection.collision else ""
    return f"{told} Spatial: these may run in any order, and at the same time.{end}"


def _reduction(elements: int, iterations: int) -> str:
    if elements == 1:
        return "A reduction: these may run in any order, one after the other, init first."
    if elements < iterations:
        return "Declared a reduction, and it moves what is written, too."
    return "Declared a reduction, but no two of them share an element: nothing is summed."


def _every(inspection: Inspection) -> str:
    _, written = touched(inspection.moments)
    often = sorted(set(written.values()))
    told = f"All {len(inspection.moments)} iterations write {_elements(written)}, {_times(often)}."
    found = inspection.collision
    if found:
        told += f" Collision: {found[0]} and {found[1]} both write {found[0].place}."
    if missed := inspection.missed:
        told += f" Never written: {', '.join(place(*element) for element in missed)}."
    if not found and not missed:
        told += " No collision, and nothing is left out."
    return told


def _times(often: Sequence[int]) -> str:
    if len(often) > 1:
        return f"{often[0]} to {often[-1]} times each"
    return "once each" if often[0] == 1 else f"{often[0]} times each"


def _elements(written: Mapping[Element, int]) -> str:
    return "1 element" if len(written) == 1 else f"{len(written)} different elements"


def _pair(moments: Sequence[Moment]) -> tuple[Moment, Moment]:
    """The first two that write the same element."""
    first: dict[Element, Moment] = {}
    for moment in moments:
        other = first.setdefault(moment.writes, moment)
        if other is not moment:
            return other, moment
    raise AssertionError("all of them write different elements")
