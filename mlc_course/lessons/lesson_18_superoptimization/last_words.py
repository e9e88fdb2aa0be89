"""The last words of lesson 18, with what the lesson counted."""

from __future__ import annotations

from textwrap import fill

from mlc_course.lessons.lesson_18_superoptimization.searches import Grown, Search, power_of_ten
from mlc_course.mugraph.search import Found

WIDTH = 84


def proof(found: Found) -> str:
    """Say that a graph was verified, and what that leaves."""
    bound = found.verdict.error_bound
    return (
        f"{found.how}: equal to the program, by finite fields\n"
        f"(a difference would be missed with probability at most {bound:.0e})"
    )


def last_sentence(search: Search, found: Found, bank: Grown, graphs: float) -> str:
    """Return the last sentence: a bank in place of a tree of ``graphs``, and what was found."""
    return fill(
        "The search never walks a tree of graphs; the tree of RMSNorm has about "
        f"{power_of_ten(graphs)} of nine operators. It grows banks of values: {len(bank.values)} "
        f"for that nest, and {search.values} in all {len(search.tried)} banks for attention, in "
        f"{search.seconds:.0f} s. What is no part of the goal can never become it, because nothing "
        "cancels, and what is equal to a value adds nothing to it. Online softmax was read off a "
        f"bank, with the cheapest of {found.instances:,} grids and extents, and verified: a wrong "
        f"graph would pass with probability at most {found.verdict.error_bound:.0e}. What the "
        "search did not find may still exist, beyond its rules or beyond a limit, and I can name "
        "both.",
        WIDTH,
    )
