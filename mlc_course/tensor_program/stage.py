"""A stage: a program on its way through a pipeline, with the reason why it looks so now."""

from __future__ import annotations

from dataclasses import dataclass

from mlc_course.errors import UsageError


@dataclass(frozen=True)
class Stage:
    """The program after one step or pass; ``picture`` is SVG text, or empty.

    Raises ``UsageError`` for a stage without a name.
    """

    name: str
    reason: str
    program: str
    picture: str = ""

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise UsageError("a stage needs a name", expected="a word or two", got=repr(self.name))
