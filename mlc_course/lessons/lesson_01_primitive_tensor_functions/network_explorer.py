"""The explorer of lesson 1: a network as a chain of tensor functions, each in all its forms."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
import traitlets

from mlc_course.lessons.kit import Choice, Widget, charts, in_range, one_of
from mlc_course.lessons.lesson_01_primitive_tensor_functions.functions_picture import chain_svg
from mlc_course.lessons.lesson_01_primitive_tensor_functions.tensor_functions import FORMS, chains
from mlc_course.tensor_program.networks import Network, digits, train


class FunctionExplorer(Widget):
    """One test image on its way through the network, stage by stage, function by function.

    ``stage`` names the chain of functions, ``selected`` is the place of one of them, ``form`` is
    how it is written and run, ``digit`` is the place of the image among the test images. Setting
    them runs the whole chain in that form and changes ``svg``, ``code`` and ``status``. Raises
    ``UsageError`` for values that it cannot show.
    """

    stage = traitlets.Unicode("five functions").tag(sync=True)
    selected = traitlets.Int(0).tag(sync=True)
    form = Choice(FORMS[0], FORMS)
    digit = traitlets.Int(0).tag(sync=True)

    stages: Any = traitlets.List().tag(sync=True)
    forms: Any = traitlets.List(list(FORMS)).tag(sync=True)
    names: Any = traitlets.List().tag(sync=True)
    last_digit = traitlets.Int(0).tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    reason = traitlets.Unicode("").tag(sync=True)
    code = traitlets.Unicode("").tag(sync=True)

    def __init__(self, weights: Network | None = None, *, stage: str | None = None) -> None:
        self._weights = train() if weights is None else weights
        self._chains = {chain.name: chain for chain in chains()}
        self._images, self._labels = digits().test_images, digits().test_labels
        names = list(self._chains)
        first = one_of("stage", names, names[1] if stage is None else stage)
        super().__init__(stages=names, last_digit=len(self._labels) - 1, stage=first)
        self._draw()

    @traitlets.validate("stage")
    def _check_stage(self, proposal: Any) -> str:
        return one_of("stage", tuple(self._chains), proposal.value)

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> int:
        last = len(self._chains[self.stage].functions) - 1
        return in_range("function", 0, last, proposal.value)

    @traitlets.validate("digit")
    def _check_digit(self, proposal: Any) -> int:
        return in_range("image", 0, len(self._labels) - 1, proposal.value)

    @traitlets.observe("stage")
    def _change_stage(self, change: Any) -> None:
        self.selected = min(self.selected, len(self._chains[self.stage].functions) - 1)
        self._draw()

    @traitlets.observe("selected", "form", "digit")
    def _change(self, change: Any) -> None:
        self._draw()

    def _draw(self) -> None:
        """Run the chain in the chosen form, and show it."""
        chain = self._chains[self.stage]
        function = chain.functions[self.selected]
        x, label = self._images[self.digit : self.digit + 1], int(self._labels[self.digit])
        known = self.form in function.forms
        values = chain.run(self.form if known else FORMS[0], self._weights, x)
        self.names = [each.name for each in chain.functions]
        self.svg = chain_svg(chain, values, self.selected, label)
        self.reason = chain.reason
        self.code = function.text(self.form) if known else ""
        self.status = self._said(known, values["Y"], x)

    def _said(self, known: bool, scores: Any, x: Any) -> str:
        if not known:
            return f"A framework's call has no {self.form} to look at. Choose the next stage."
        error = float(np.abs(scores - self._weights.numpy(x)).max())
        told = "the same scores as" if error == 0 else f"within {error:.1g} of"
        return f"Image {self.digit} ran through this stage as {self.form}: {told} NumPy's one line."

    def static_html(self) -> str:
        """The picture of every stage, its first function in the chosen form below."""
        label = int(self._labels[self.digit])
        parts = []
        for chain in self._chains.values():
            values = chain.run(FORMS[0], self._weights, self._images[self.digit : self.digit + 1])
            function = chain.functions[0]
            code = function.text(self.form if self.form in function.forms else FORMS[0])
            parts.append(
                f"<p><b>{html.escape(chain.name)}.</b> {html.escape(chain.reason)}</p>"
                f"{charts(chain_svg(chain, values, 0, label))}"
                f"<details><summary>{html.escape(function.name)}</summary>"
                f"<pre>{html.escape(code)}</pre></details>"
            )
        return "".join(parts)
