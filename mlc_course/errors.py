"""Every error the course raises on purpose: one base class, one message layout.

An error says what went wrong, what was expected, what it got instead, and a way out. Inner code
says what it knows; the border adds the place with ``add_note``. Nothing branches on the text.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


class CourseError(Exception):
    """Base of all errors that ``mlc_course`` raises on purpose.

    The message reads::

        SizeError: split(k, 8): the factor does not divide the loop
          expected  8 divides |k|
          got       |k| = 1999
          hint      pad the loop first: steps.pad_to_tiles(sch, block, ...)
    """

    def __init__(
        self, what: str, *, expected: object = None, got: object = None, hint: str | None = None
    ) -> None:
        self.what = what
        self.expected = expected
        self.got = got
        self.hint = hint
        parts = (("expected", expected), ("got", got), ("hint", hint))
        lines = [what, *(f"  {label:<9} {value}" for label, value in parts if value is not None)]
        super().__init__("\n".join(lines))

    def __str__(self) -> str:
        return str(self.args[0])


class BlockError(CourseError):
    """A schedule step names a block that the program does not have, or of the wrong kind."""


class AxisError(CourseError):
    """A schedule step needs an axis of another kind, number or place."""


class SizeError(CourseError):
    """A size does not fit: a factor that does not divide, an extent below one."""


class StepError(CourseError):
    """TVM refuses a schedule step on this program for a reason of its own."""


class WrongResult(CourseError):
    """A transformed program computes something else than its NumPy reference."""


class ShapeError(CourseError):
    """An operator of a mu-graph is given tensors whose shapes do not fit, or an axis they lack."""


class GraphError(CourseError):
    """A mu-graph that is not well formed: a map, a name, an accumulator, a text."""


class Undecided(CourseError):
    """Two mu-graphs of which the verifier can say neither that they are equal nor that not."""


class Contradiction(CourseError):
    """Constraints on sizes that no sizes keep."""


class TextError(CourseError):
    """A text that cannot be read, with the line and the column."""


class UnmetCheck(CourseError):
    """An answer does not do what a check asks of it."""


class TooNoisy(CourseError):
    """A time that cannot be told on this machine now."""


class UnsafeProgram(CourseError):
    """A program from elsewhere does something that a grader must not run."""


class RefusedText(CourseError):
    """The text of a kernel does not compile."""


class UsageError(CourseError):
    """A command, a function or a file was given something that it cannot use."""


class MachineError(CourseError):
    """This machine or its installation lacks something that is needed."""


class MissingPackage(MachineError, ImportError):
    """A package that one of the course's extras brings is not installed."""


def did_you_mean(name: object, known: Collection[object]) -> str | None:
    """Return a hint that names the most similar of ``known``, or None where none is similar.

    Capitals do not count, and a name is similar to its parts: ``gauss`` to ``gauss_121_u8``.
    """
    asked, texts = str(name).casefold(), {str(each).casefold(): str(each) for each in known}
    similar = get_close_matches(asked, texts, n=1)
    if not similar and len(asked) > 1:
        similar = [text for text in texts if asked in text]
    return f"did you mean {texts[similar[0]]}?" if similar else None


def check_known(
    what: str, name: object, known: Collection[object], error: type[CourseError] = UsageError
) -> None:
    """Raise an error unless ``name`` is one of ``known``; its hint is the most similar of them.

    ``what`` is the message up to the name, such as ``no workload``.
    """
    if name not in known:
        raise error(
            f"{what} {name!r}",
            expected=" | ".join(map(str, known)) or "none",
            got=name,
            hint=did_you_mean(name, known),
        )
