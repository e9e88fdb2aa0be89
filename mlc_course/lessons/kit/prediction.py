"""Commit to an answer before you see it: one click, which the lesson comes back to."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from mlc_course.extras import brought_by

with brought_by("lab"):
    import traitlets
    from IPython.display import HTML

from mlc_course.errors import UsageError
from mlc_course.lessons.kit.widget import Widget, one_of, table
from mlc_course.words import tr


class Prediction(Widget):
    """A question with a few answers; ``guess`` is the chosen one, empty until then."""

    question = traitlets.Unicode("").tag(sync=True)
    choices: Any = traitlets.List().tag(sync=True)
    guess = traitlets.Unicode("").tag(sync=True)

    def __init__(self, question: str, choices: Mapping[str, float] | Sequence[str]) -> None:
        if len(choices) < 2:
            raise UsageError("predict: a question needs two answers or more", got=list(choices))
        self._values = dict(choices) if isinstance(choices, Mapping) else {}
        self.outcome = ""
        super().__init__(question=question, choices=list(choices))

    @traitlets.validate("guess")
    def _check_guess(self, proposal: Any) -> Any:
        return one_of("guess", ("", *self.choices), proposal.value)

    def reveal(self, answer: str | float, because: str = "") -> HTML:
        """Guess and answer in one line. A number stands for the nearest answer, by ratio.

        Raises ``UsageError`` for an answer that was not to choose from.
        """
        right = self._nearest(answer) if isinstance(answer, int | float) else answer
        one_of("answer", self.choices, right)
        measured = f"{right} ({_number(answer)})" if isinstance(answer, int | float) else right
        self.outcome = measured
        if not self.guess:
            none = tr("You made no prediction.")
            unasked = f'<span class="mlc-unasked">{none}</span> '
            said = unasked + tr("The answer is: {answer}.", answer=_bold(measured))
        elif self.guess == right:
            said = tr("{answer}, as you said.", answer=_bold(measured))
        else:
            guess = html.escape(self.guess)
            said = tr("{answer}, you said {guess}.", answer=_bold(measured), guess=guess)
        text = f'<p data-testid="reveal">{said} {html.escape(because)}</p>'
        return HTML(text)  # type: ignore[no-untyped-call]

    def _nearest(self, answer: float) -> str:
        if not self._values:
            raise UsageError("reveal: these answers are words", expected=" | ".join(self.choices))
        return min(self._values, key=lambda text: abs(math.log(answer / self._values[text])))

    def static_html(self) -> str:
        """The question and its answers."""
        answers = "".join(f"<li>{html.escape(choice)}</li>" for choice in self.choices)
        return f"<p><b>{html.escape(self.question)}</b></p><ul>{answers}</ul>"


def _bold(words: str) -> str:
    return f"<b>{html.escape(words)}</b>"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def review(*predictions: Prediction) -> HTML:
    """Show each prediction beside its outcome, for the end of a lesson.

    Raises ``UsageError`` for a prediction whose outcome has not been revealed.
    """
    rows = []
    for each in predictions:
        if not each.outcome:
            raise UsageError(
                "review: not revealed yet",
                expected="reveal(...) of each prediction before",
                got=each.question,
            )
        rows.append((each.question, each.guess or tr("no prediction"), each.outcome))
    shown = table((tr("question"), tr("you said"), tr("it was")), rows, kind="mlc-review")
    return HTML(f'<div class="mlc" data-testid="review">{shown}</div>')  # type: ignore[no-untyped-call]


def predict(question: str, choices: Mapping[str, float] | Sequence[str]) -> Prediction:
    """Ask; ``choices`` are the answers, with the number that each stands for if it has one."""
    return Prediction(question, choices)
