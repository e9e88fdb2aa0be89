"""Which instance of one run is which of another: coverage, every instance once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.tensor_program.legality import verdicts
from mlc_course.tensor_program.legality.instances import Ints
from mlc_course.tensor_program.legality.runs import READ, UPDATE, WRITE, Run
from mlc_course.tensor_program.legality.verdicts import Illegal, Kind

Flags = NDArray[np.bool_]


def outside(run: Run) -> Illegal | None:
    """An access that leaves its buffer."""
    found = run.leaving()
    if found is None:
        return None
    instance, column = found
    part = run.parts[run.part[instance]]
    buffer, element = str(part.touches[column].buffer.name), part.indices(run.row[instance], column)
    iteration = run.iteration(instance, READ if column else WRITE)
    return verdicts.coverage("outside", buffer, element, (iteration,))


def match(old: Run, new: Run) -> Ints | Illegal:
    """For each instance of ``old`` its place in ``new``, or why there is none.

    What ``new`` computes again, with the same result, is matched where it is first computed.
    Raises ``UsageError`` where nothing can be said.
    """
    before, after = _identities(old, new, tagged=True)
    if np.array_equal(np.sort(before), np.sort(after)):
        return _places(before, after)
    before, after = _identities(old, new, tagged=False)
    kinds = max(before.max(initial=-1), after.max(initial=-1)) + 1
    more = np.bincount(after, minlength=kinds) - np.bincount(before, minlength=kinds)
    if len(old) and not np.isin(before, after).any():
        raise UsageError(
            "the two programs have no statement in common",
            expected="the same arithmetic on the same elements",
            got=f"{old.parts[0].form} before and {new.parts[0].form} after"
            if new.parts
            else "none",
        )
    known = np.bincount(before, minlength=kinds) > 0
    doubled = (more > 0) & known & ~_harmless(new, after, kinds)
    _check_not_from_init_on(new, doubled[after])
    if doubled.any():
        return _uncovered("twice", new, doubled[after], after)
    if (more < 0).any():
        return _uncovered("missing", old, (more < 0)[before])
    if (~known).any():
        return _uncovered("extra", new, ~known[after])
    return _places(before, after)


def _identities(old: Run, new: Run, *, tagged: bool) -> tuple[Ints, Ints]:
    """A number for each instance; the same instances have the same.

    What is done several times, the same each time, is told apart by its ``tags`` where they agree.
    """
    signatures: dict[str, int] = {}
    width = max(old.width, new.width)
    depth = max(old.depth, new.depth) if tagged else 0
    tables = [np.hstack([run.keys(signatures, width), run.tags(depth)]) for run in (old, new)]
    _, numbers = np.unique(np.concatenate(tables), axis=0, return_inverse=True)
    numbers = numbers.reshape(-1).astype(np.int64)
    return numbers[: len(old)], numbers[len(old) :]


def _places(before: Ints, after: Ints) -> Ints:
    """The nth instance of a kind is matched with the nth."""
    old_order, new_order = (np.argsort(each, kind="stable") for each in (before, after))
    kinds = before[old_order]
    nth = np.arange(before.size) - np.searchsorted(kinds, kinds)
    places = np.empty_like(before)
    places[old_order] = new_order[np.searchsorted(after[new_order], kinds) + nth]
    return places


def _harmless(run: Run, numbers: Ints, kinds: int) -> Flags:
    """Kinds of instances that may be done again: the same value, to an element of their own.

    They do not read what they write, no other kind writes it, and what they read is not written
    after they were first done.
    """
    touches = run.touches()
    kind, writes = numbers[touches.instances], touches.modes != READ
    size = int(touches.elements.max(initial=-1)) + 1
    lowest, highest, last = np.full(size, kinds), np.full(size, -1), np.full(size, -1)
    np.minimum.at(lowest, touches.elements[writes], kind[writes])
    np.maximum.at(highest, touches.elements[writes], kind[writes])
    np.maximum.at(last, touches.elements[writes], touches.instances[writes])
    first = np.full(kinds, len(run))
    np.minimum.at(first, numbers, np.arange(len(run)))
    shared = (lowest != highest)[touches.elements]
    rewrites = writes & (shared | (touches.modes != WRITE))
    stale = ~writes & (last[touches.elements] > first[kind])
    harmless = np.ones(kinds, np.bool_)
    harmless[kind[rewrites | stale]] = False
    return harmless


def _check_not_from_init_on(run: Run, doubled: Flags) -> None:
    """A sum that is computed again with its init may be right; that is not followed."""
    touches = run.touches()
    again = doubled[touches.instances]
    begun, updated = (
        np.unique(touches.elements[again & mode])
        for mode in (touches.modes == WRITE, touches.modes >= UPDATE)
    )
    both = np.intersect1d(begun, updated)
    if both.size:
        raise UsageError(
            f"{verdicts.place(*run.element(int(both[0])))} is computed again from its init on",
            expected="each sum computed once",
            hint="move the loop that its reader has more of inside",
        )


def _uncovered(kind: Kind, run: Run, odd: Flags, same: Ints | None = None) -> Illegal:
    """The first odd instance; with ``same``, which numbers its copies, the next copy as well."""
    first = int(odd.argmax())
    found = [first] if same is None else np.nonzero(same == same[first])[0][:2].tolist()
    number, mode = run.store(first)
    buffer, element = run.element(number)
    return verdicts.coverage(
        kind, buffer, element, tuple(run.iteration(each, mode) for each in found)
    )
