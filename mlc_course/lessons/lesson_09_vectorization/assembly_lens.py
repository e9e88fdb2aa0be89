"""The assembly lens: a program, what LLVM made of its hot loop, and what that costs."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Mapping
from typing import Any

import traitlets

from mlc_course.lessons.kit import INTERRUPT, Widget, charts, one_of
from mlc_course.lessons.lesson_09_vectorization.assembly_picture import (
    hot_loop_html,
    lens_svg,
    program_html,
)
from mlc_course.lessons.lesson_09_vectorization.vector_forms import Problem, problems
from mlc_course.machine import describe
from mlc_course.measure import Comparison
from mlc_course.tensor_program.ladders import race
from mlc_course.tensor_program.processor import Assembly, assembly
from mlc_course.tensor_program.tir import Schedule, outline

BUDGET_S = 1.5  # of timing, for all forms of a problem together
Race = Callable[..., Mapping[str, Comparison]]
UNMEASURED = "The instructions are counted; press Measure here for times."


def here() -> dict[str, Problem]:
    """Return the problems, in the forms that suit this machine's registers."""
    return problems(describe().lanes, describe().vector_registers)


@functools.cache
def compiled(problem: str, form: str) -> tuple[str, Assembly]:
    """Return the outline and the hot loop of a form; each is compiled once, then remembered."""
    chosen = here()[problem]
    sch = Schedule(chosen.workload.program())
    chosen.form(form).apply(sch)
    return outline(sch), assembly(sch)


class AssemblyLens(Widget):
    """A few small problems, each in several forms, beside the instructions of their hot loops.

    ``problem`` is one of ``problems``, ``form`` one of its forms; setting them changes ``program``,
    ``code``, ``svg`` and ``reason``. ``measure`` times all forms of the problem against NumPy.
    Raises ``UsageError`` for values that it cannot show.
    """

    problem = traitlets.Unicode("row sums").tag(sync=True)
    form = traitlets.Unicode("").tag(sync=True)

    problems: Any = traitlets.List().tag(sync=True)
    forms: Any = traitlets.List().tag(sync=True)
    program = traitlets.Unicode("").tag(sync=True)
    code = traitlets.Unicode("").tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    reason = traitlets.Unicode("").tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)
    status = traitlets.Unicode(UNMEASURED).tag(sync=True)

    def __init__(
        self, problem: str = "row sums", form: str | None = None, *, race: Race = race
    ) -> None:
        self._race = race
        self._known = here()
        self.found: dict[str, Mapping[str, Comparison]] = {}
        chosen = self._known[one_of("problem", tuple(self._known), problem)]
        names = [each.name for each in chosen.forms]
        first = one_of("form", names, names[0] if form is None else form)
        self._shown = ("", "")
        super().__init__(problems=list(self._known), forms=names)
        with self.hold_trait_notifications():
            self.problem, self.form = problem, first
        self._draw()

    @property
    def chosen(self) -> Problem:
        """Return the problem that is shown."""
        return self._known[self.problem]

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("problem")
    def _check_problem(self, proposal: Any) -> str:
        return one_of("problem", tuple(self._known), proposal.value)

    @traitlets.validate("form")
    def _check_form(self, proposal: Any) -> str:
        known = [each.name for each in self.chosen.forms]
        return one_of("form", known, proposal.value)

    # --- what is shown --------------------------------------------------------------------------

    @traitlets.observe("problem", "form")
    def _change_choice(self, change: Any) -> None:
        names = [each.name for each in self.chosen.forms]
        if self.form not in names:
            self.form = names[0]  # comes back here
        elif self._shown != (self.problem, self.form):
            self._draw()

    def _draw(self) -> None:
        """Write the texts and draw the picture of the problem and the form that are chosen."""
        self._shown = (self.problem, self.form)
        text, found = compiled(self.problem, self.form)
        with self.hold_sync():
            self.forms = [each.name for each in self.chosen.forms]
            self.program, self.code = program_html(text), hot_loop_html(found)
            self.reason = self.chosen.form(self.form).why
            self.said = str(found)
            self._draw_picture()

    def _draw_picture(self) -> None:
        self.svg = self._picture(self.problem, self.form)

    def _picture(self, problem: str, form: str) -> str:
        return self.once((problem, form), lambda: self._drawn_now(problem, form))

    def _drawn_now(self, problem: str, form: str) -> str:
        _, found = compiled(problem, form)
        raced, unit = self.found.get(problem, {}), self._known[problem].unit
        flops = self._known[problem].workload.flops
        return lens_svg(
            found,
            max(describe().vector_bits, found.vector_bits),
            unit=unit,
            operations=flops // 2 if unit == "multiply-add" else flops,
            raced=raced if form in raced else None,
            selected=form,
        )

    def draw_all(self) -> None:
        """Compile and draw every form beforehand, so that a choice is answered at once."""
        self.draw_ahead(
            functools.partial(self._picture, name, form.name)
            for name, problem in self._known.items()
            for form in problem.forms
        )

    def static_html(self) -> str:
        """Return the chosen form, and for every other one what its hot loop consists of."""
        lines = (
            f"<li><b>{html.escape(form.name)}</b> {html.escape(form.why)} "
            f"<i>{html.escape(str(compiled(self.problem, form.name)[1]))}</i></li>"
            for form in self.chosen.forms
        )
        return (
            f'<div class="mlc-beside">{self.program}{self.code}</div>'
            f"{charts(self.svg)}<ul>{''.join(lines)}</ul>"
        )

    # --- measuring ------------------------------------------------------------------------------

    def measure(self) -> None:
        """Time every form of the problem and NumPy in turn, here, now, on one thread.

        An interrupt keeps the rounds that are done, and what was measured before if none is.
        """
        problem = self.problem
        forms = {each.name: each.apply for each in self.chosen.forms}
        with self.measuring(f"{len(forms)} forms of {problem} ... {INTERRUPT}."):
            found = self._race(self.chosen.workload, forms, budget_s=BUDGET_S)
        self.found[problem] = found
        names = [form.name for form in self.chosen.forms]
        for name in names:
            self._drawn.pop((problem, name), None)
        self.draw_ahead(functools.partial(self._picture, problem, name) for name in names)
        self.status = f"{problem}, measured here, one thread: {_summary(found)}"
        self._draw_picture()


def _summary(found: Mapping[str, Comparison]) -> str:
    fast = min(found, key=lambda name: found[name].timing.median_s)
    return f"{fast} is the fastest, at {found[fast]:.2f} x NumPy's speed."
