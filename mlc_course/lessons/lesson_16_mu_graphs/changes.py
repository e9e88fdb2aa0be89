"""Changes of a graph's text, and who notices: the checker, a run on random numbers, or nobody."""

from __future__ import annotations

from mlc_course.errors import CourseError, UsageError
from mlc_course.lessons.lesson_16_mu_graphs.examples import example
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.verify import difference

_SQUARES = "    s = square(x)"
_WHOLE = "    z = load(X, imap={y: 0})\n    g = load"
# Each change by its name: what is replaced by what, in ``one_kernel``.
CHANGES: dict[str, tuple[tuple[str, str], ...]] = {
    "W by y": (("W, imap={x: 1}", "W, imap={y: 1}"),),
    "the loop along W's columns": (("fmap={k: 0}", "fmap={k: 1}"),),
    "G whole in each iteration": (("load(G, fmap={k: 1})", "load(G)"),),
    "no sum over the loop": (("div(P, q)", "div(p, q)"),),
    "no place along y": (("omap={x: 1, y: 0}", "omap={x: 1}"),),
    "32 iterations": (("k=16", "k=32"),),
    "the mean of n numbers": (("1/d", "1/n"),),
    "the squares of z, X without the loop": (
        ("    g = load", _WHOLE),
        (_SQUARES, "    s = square(z)"),
    ),
    "8 blocks along x": (("x=4", "x=8"),),
}


def changed(name: str) -> str:
    """Return the text of ``one_kernel`` with a change of ``CHANGES``."""
    text = example("one_kernel")
    for old, new in CHANGES[name]:
        if text.count(old) != 1:
            raise UsageError(f"{name}: what is changed", expected="one place", got=text.count(old))
        text = text.replace(old, new)
    return text


def complaint(text: str) -> str:
    """Return why the checker refuses a text, with its place; empty where it does not."""
    try:
        parse(text)
    except CourseError as error:
        return "\n".join([str(error), *error.__notes__])
    return ""


def verdict(text: str) -> tuple[str, str]:
    """Return who notices that a text is not ``seven_kernels``, and what is seen.

    The first word is ``refused`` by the checker, ``wrong`` on random numbers, or ``right``.
    """
    if found := complaint(text):
        return "refused", found.splitlines()[0]
    seen = difference(parse(text), parse(example("seven_kernels")))
    return ("wrong", seen.replace("that", "the right value")) if seen else ("right", "")
