"""The search explorer: open the tree of a search of graphs, with each pruning on or off."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import traitlets

from mlc_course.errors import UsageError
from mlc_course.lessons.kit import Widget, one_of, table
from mlc_course.lessons.lesson_18_superoptimization.growth_picture import growth_svg
from mlc_course.lessons.lesson_18_superoptimization.opened_tree import SHORT, Opened, Place, parsed
from mlc_course.lessons.lesson_18_superoptimization.tree_picture import tree_svg
from mlc_course.mugraph.enumeration import ANOTHER_ORDER, LIMIT, PRUNINGS, Level, Tree, values
from mlc_course.mugraph.expressions import Pruner, said
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.programs import workload
from mlc_course.mugraph.search import CANCELS, EQUAL, NO_CHANGE, NO_PART, NO_VALUE, Nest

NESTS = {"lora": Nest(), "rms_norm_matmul": Nest(("d",))}
MOST, DEEP = {"lora": 4}, 9  # operators of a graph, of other programs
AT_ONCE = 1_500  # nodes that are opened to count, before one asks for more
WHY = {
    NO_PART: "the pruner that was given says so",
    EQUAL: "on random inputs it is equal to a value that the graph has already",
    ANOTHER_ORDER: "the same operators make the same graph elsewhere in the tree",
    CANCELS: "what is added to itself, or taken away from itself, has no expression",
    NO_CHANGE: "it is the same in every iteration, there is nothing to add up",
    NO_VALUE: "the random inputs give it no value, such as a quotient by zero",
}
HEAD = ("operators", "alive", "no part", "equal", "other order", "other reasons", "solutions")


class SearchExplorer(Widget):
    """A tree, one place of it chosen; ``tree`` and ``opened`` are what is shown.

    ``program`` is "lora", "rms_norm_matmul", or the name of the program that was given; ``order``,
    ``equal`` and ``expressions`` say which prunings there are; ``selected`` is a place, see
    ``opened.py``. Raises ``UsageError`` for what is not there.
    """

    program = traitlets.Unicode("").tag(sync=True)
    order = traitlets.Bool(True).tag(sync=True)
    equal = traitlets.Bool(True).tag(sync=True)
    expressions = traitlets.Bool(True).tag(sync=True)
    selected = traitlets.Unicode("root").tag(sync=True)

    programs: Any = traitlets.List().tag(sync=True)
    moves: Any = traitlets.Dict().tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)
    graph = traitlets.Unicode("").tag(sync=True)
    counts = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        program: str | KernelGraph = "lora",
        nest: Nest | None = None,
        prunings: Collection[str] = PRUNINGS,
        *,
        most: int | None = None,
        pruner: Pruner | None = None,
        seed: int = 0,
    ) -> None:
        given = workload(program) if isinstance(program, str) else program
        known = {name: (workload(name), each) for name, each in NESTS.items()}
        known[given.name] = given, nest or NESTS.get(given.name, Nest())
        self._trees = {
            name: Tree(
                *each,
                prunings,
                most=MOST.get(name, DEEP) if most is None else most,
                pruner=pruner,
                seed=seed,
            )
            for name, each in known.items()
        }
        self._levels = dict[tuple[str, frozenset[str]], list[Level]]()
        self.tree, self.opened = self._trees[given.name], Opened(self._trees[given.name])
        labels = [[name, f"{name}, {nest}"] for name, (_, nest) in known.items()]
        super().__init__(programs=labels, **{each: each in prunings for each in PRUNINGS})
        self.program = given.name

    # --- what may be chosen ---------------------------------------------------------------------

    @traitlets.validate("program")
    def _check_program(self, proposal: Any) -> str:
        return one_of("program", list(self._trees), proposal.value)

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> str:
        return str(Opened(self.tree, proposal.value).at)

    @traitlets.observe("program", "order", "equal", "expressions")
    def _change_tree(self, change: Any) -> None:
        if not self.program:
            return
        whole = self._trees[self.program]
        self.tree = whole.pruned(self._chosen(), whole.pruner)
        place = "root" if change.name == "program" else _nearest(self.tree, self.selected)
        if place == self.selected:
            self._show()
        self.selected = place
        self.counts = _table(self._counted(self._chosen()))

    @traitlets.observe("selected")
    def _show(self, change: object = None) -> None:
        opened = self.opened = Opened(self.tree, self.selected)
        with self.hold_sync():
            self.moves = opened.moves
            self.svg = tree_svg(opened)
            self.graph = _graph(self.tree, opened)
            self.status = _said(opened)

    def _chosen(self) -> frozenset[str]:
        return frozenset(each for each in PRUNINGS if getattr(self, each))

    # --- counting -------------------------------------------------------------------------------

    def _counted(self, prunings: frozenset[str]) -> list[Level]:
        """The levels of the tree, as far as they are quick to count or ``measure`` came."""
        key = self.program, prunings
        if key not in self._levels:
            whole = self._trees[self.program]
            self._levels[key] = whole.pruned(prunings, whole.pruner).count(AT_ONCE)
        return self._levels[key]

    def measure(self) -> None:
        """Count deeper; an interrupt keeps the depths that are done."""
        known = self._counted(self._chosen())
        found: list[Level] = []
        self.busy, self.status = True, "Counting ..."
        try:
            for level in self.tree.levels(LIMIT):
                found.append(level)
                self.status = f"Counting ... {level.alive:,} graphs of {level.depth} operators"
        except KeyboardInterrupt:
            pass
        finally:
            best = max(known, found, key=lambda each: sum(level.complete for level in each))
            self._levels[self.program, self._chosen()] = best
            self.counts, self.status, self.busy = _table(best), _said(self.opened), False

    # --- where no widgets run -------------------------------------------------------------------

    def static_html(self) -> str:
        """The tree opened at a solution, and how it grows without each of the prunings."""
        solutions = (key for level in self._counted(self._chosen()) for key in level.solutions)
        solution = next(solutions, None)
        opened = Opened(self.tree, str(Place(solution))) if solution else self.opened
        curves: dict[str, Sequence[Level]] = {"all three": self._counted(frozenset(PRUNINGS))}
        for each in PRUNINGS:
            curves[f"without {each}"] = self._counted(frozenset(PRUNINGS) - {each})
        curves["none of them"] = self._counted(frozenset())
        curves["values, by depth"] = values(self.tree.program, self.tree.nest)
        return (
            f'<div class="mlc-chart">{tree_svg(opened)}</div><p>{html.escape(_said(opened))}</p>'
            f'{_graph(self.tree, opened)}<div class="mlc-chart">{growth_svg(curves)}</div>'
        )


def _nearest(tree: Tree, place: str) -> str:
    """The place, or what is left of the way to it."""
    key = parsed(place).key
    for known in (place, *(str(Place(key[:n])) for n in range(len(key), 0, -1))):
        try:
            return Opened(tree, known).chosen
        except UsageError:
            continue
    return "root"


# --- in words -------------------------------------------------------------------------------------


def _said(opened: Opened) -> str:
    """The chosen place in a sentence or two."""
    tree, last = opened.tree, opened.columns[-1]
    if opened.at.group is not None:
        cut = last.groups[opened.at.group][1]
        many = "1 candidate is" if len(cut) == 1 else f"{len(cut)} candidates are"
        return f"{many} cut: {_reason(opened.reason)}. The right arrow shows which."
    if not opened.path:
        return f"The inputs, and no operator yet: {_below(opened)}."
    child = opened.path[-1]
    made = (
        f"{child.step.text} makes {child.step.expression}" if child.step.terms else child.step.text
    )
    if child.reason:
        why = tree.why(child) or WHY.get(child.reason, "")
        because = f", because {why}" if why else ""
        return f"{made}. Cut: {_reason(child.reason)}{because}."
    if child.found:
        return f"{made}: a solution. It is equal to the goal on random inputs."
    return f"{made}: {_below(opened)}."


def _reason(reason: str) -> str:
    return SHORT.get(reason, reason)


def _below(opened: Opened) -> str:
    column = opened.columns[-1]
    cut = sum(len(each) for _, each in column.groups)
    if not column.alive and not cut:
        return f"{opened.tree.most} operators, no more are tried"
    return f"of {len(column.alive) + cut} candidates for the next operator {cut} are cut"


def _graph(tree: Tree, opened: Opened) -> str:
    """The graph so far, the goal, and the sizes."""
    inputs = " ".join(each.name for each in tree.program.inputs)
    steps = [child.step for child in opened.path]
    rows = [("inputs", inputs), *((step.text, step.expression) for step in steps)]
    rows += [("goal", said(goal)) for goal in tree.goals]
    wide = max(len(text) for text, _ in rows) + 3
    lines = [f"{text:<{wide}}{made}" for text, made in rows]
    sizes = ", ".join(f"{dim} = {size}" for dim, size in tree.sizes.items())
    turns = "" if not tree.nest.loops else f" in a tile ({tree.nest})"
    note = f"Sizes{turns}: {sizes}. A coefficient says what was summed over."
    text = html.escape("\n".join(lines))
    return f'<pre class="mlc-form">{text}</pre><p class="mlc-status">{html.escape(note)}</p>'


def _table(levels: Sequence[Level]) -> str:
    """Return a table of what is alive and what is cut, depth by depth."""
    note = ""
    if levels and not levels[-1].complete:
        note = "<p>The last row is not complete: there are more.</p>"
    rows = [tuple(_cells(level)) for level in levels[1:]]
    return table(HEAD, rows, kind="mlc-runs mlc-loads") + note


def _cells(level: Level) -> Iterator[str]:
    least = "" if level.complete else "≥ "
    known = (NO_PART, EQUAL, ANOTHER_ORDER)
    rest = sum(many for reason, many in level.cut.items() if reason not in known)
    yield str(level.depth)
    numbers = (level.alive, *(level.cut.get(each, 0) for each in known), rest, level.found)
    yield from (f"{least}{each:,}" for each in numbers)
