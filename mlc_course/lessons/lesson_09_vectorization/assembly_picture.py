"""The hot loop of a compiled program: what each instruction does, and how full its registers are.

The same letters and colours mark an operation in the program and in the instructions that LLVM
made of it: load, arithmetic, store, and spill (a register that had to go to the stack or back).
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlc_course.drawing import INK, OURS, STYLE, TINT, WIDTH_IN, svg_text
from mlc_course.errors import UsageError, check_known
from mlc_course.lessons.kit import race_bars, race_words
from mlc_course.measure import Comparison
from mlc_course.tensor_program.processor import Assembly, longest_chain

LETTERS = {"load": "L", "arithmetic": "A", "store": "S", "spill": "P"}
# Okabe and Ito's orange, blue, purple and yellow. The letter says the same.
COLOURS = {"load": "#e69f00", "arithmetic": OURS, "store": "#cc79a7", "spill": "#f0e442"}
CSS = """
.mlc-code { font: 12px/1.5 var(--jp-code-font-family, monospace); margin: 0; padding: 4px 8px; }
.mlc-code div { white-space: pre-wrap; overflow-wrap: anywhere; padding-left: 7ch;
  text-indent: -7ch; }
.mlc-code .hot { background: #0072b233; }
.mlc-code b { display: inline-block; width: 5ch; margin-right: 2ch; text-indent: 0;
  font-weight: normal; }
.mlc-code i { font-style: normal; padding: 0 2px; border-bottom: 3px solid; }
""" + "".join(f".mlc-code .{kind} {{ border-color: {COLOURS[kind]}; }}\n" for kind in COLOURS)
CSS += ".mlc-code .arithmetic { border-color: var(--mlc-ours, #0072b2); }"  # as in the pictures
STATEMENT = re.compile(r"(\w+\[.*?\]) (\+?=) (.*)")
PIECE = re.compile(r"\w+\[[^\]]*\]|[-+*]")  # a buffer's element, or an operation
LOOPS = re.compile(r"\bin (\d+)")
ROW_IN, TOP_IN = 0.3, 1.95


# --- text -----------------------------------------------------------------------------------------


def program_html(outline: str) -> str:
    """Return a program's outline with its loads, arithmetic and stores marked.

    The statement that runs most often has a background.
    """
    lines = outline.splitlines()
    runs = list(map(_runs, *zip(*_nests(lines), strict=True))) if lines else []
    hot = max(range(len(lines)), key=lambda place: runs[place], default=0)
    shown = (
        f'<div class="{"hot" if place == hot else "cold"}">{_program_line(line)}</div>'
        for place, line in enumerate(lines)
    )
    return f'<style>{CSS}</style><div class="mlc-code">{"".join(shown)}</div>'


def _nests(lines: list[str]) -> list[tuple[str, tuple[int, ...]]]:
    """Return each line with the extents of the loops around it."""
    open_loops: list[tuple[int, tuple[int, ...]]] = []
    found = []
    for line in lines:
        indent = len(line) - len(line.lstrip())
        open_loops = [each for each in open_loops if each[0] < indent]
        found.append((line, tuple(n for _, extents in open_loops for n in extents)))
        if line.endswith(":"):
            open_loops.append((indent, tuple(map(int, LOOPS.findall(line)))))
    return found


def _runs(line: str, extents: tuple[int, ...]) -> int:
    """Return how often a statement runs: 0 for another line, and for one without arithmetic."""
    statement = STATEMENT.search(line)
    if not statement or not (statement[2] == "+=" or re.search(r"\] [-+*]", statement[3])):
        return 0
    total = 1
    for extent in extents:
        total *= extent
    return total


def _program_line(line: str) -> str:
    indent = "&nbsp;" * (len(line) - len(line.lstrip()))
    statement = STATEMENT.fullmatch(line.strip())
    if statement is None:
        return f"{_letters(())}{indent}{html.escape(line.strip())}"
    target, sign, value = statement.groups()
    adds = sign == "+="
    marked = PIECE.sub(lambda found: _mark_piece(found[0]), value)
    does = {"load": "[" in value, "arithmetic": adds or "<i" in marked and "arith" in marked}
    kinds = [kind for kind, is_so in does.items() if is_so] + ["store"]
    sign = _mark("arithmetic", sign) if adds else sign
    return f"{_letters(kinds)}{indent}{_mark('store', target)} {sign} {marked}"


def _mark_piece(text: str) -> str:
    return _mark("load" if "[" in text else "arithmetic", text)


def _mark(kind: str, text: str) -> str:
    return f'<i class="{kind}">{html.escape(text)}</i>'


def _letters(kinds: tuple[str, ...] | list[str]) -> str:
    marks = "".join(_mark(kind, LETTERS[kind]) for kind in kinds)
    return f"<b>{marks or '&nbsp;'}</b>"


def hot_loop_html(found: Assembly, *, first: int | None = None) -> str:
    """Return the instructions of the hot loop, or the first few, each marked with what it does.

    Raises ``UsageError`` for fewer than one.
    """
    if first is not None and first < 1:
        raise UsageError("too few instructions to show", expected="1 or more", got=first)
    lines = (
        f"<div>{_letters([kind for kind in LETTERS if kind in does])}{html.escape(text)}</div>"
        for text, does in zip(found.hot_loop[:first], found.kinds[:first], strict=True)
    )
    return f'<style>{CSS}</style><div class="mlc-code">{"".join(lines)}</div>'


# --- picture --------------------------------------------------------------------------------------


def lens_svg(
    found: Assembly,
    vector_bits: int,
    *,
    unit: str = "operation",
    operations: int = 1,
    raced: Mapping[str, Comparison] | None = None,
    selected: str = "",
) -> str:
    """Draw the instructions of each form by kind, how full a register is, and the times if given.

    Times are per operation, with NumPy as a line.

    Raises ``UsageError`` for registers that are narrower than what the program uses, and for a
    selected form that is not in the race.
    """
    found.lane_utilisation(vector_bits)
    if raced:
        check_known("no such form", selected, raced)
    below = 1.2 + ROW_IN * len(raced) if raced else 0.0
    height = TOP_IN + below
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, height))
        box = (below + 0.32) / height, (TOP_IN - 0.75) / height
        _histogram(figure.add_axes((0.11, box[0], 0.36, box[1])), found)
        _lanes(figure.add_axes((0.55, box[0], 0.43, box[1])), found, vector_bits // 32)
        if raced:
            axes = figure.add_axes((0.17, 0.62 / height, 0.81, (below - 1.0) / height))
            race_bars(
                axes,
                raced,
                selected,
                per_second=1e9 / operations,
                text=lambda seconds: f"{1e9 / operations * seconds:.3g} ns",
                of=f"ns for one {unit}",
            )
    counts = ", ".join(f"{count} {kind}" for kind, count in found.histogram().items() if count)
    used = _used(found, vector_bits // 32)
    said = f"hot loop of {found.instructions} instructions: {counts}; {used}"
    return svg_text(figure, f"{said}; {race_words(raced)}" if raced else said)


def _used(found: Assembly, lanes: int) -> str:
    return f"lanes: {found.lanes} of {lanes} in a register"


def _title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=13, fontweight="bold", pad=8)


def _histogram(axes: Axes, found: Assembly) -> None:
    counts = found.histogram()
    names = [*(kind for kind in LETTERS), "other"]
    _title(axes, f"hot loop: {found.instructions} instructions")
    axes.set_yticks(range(len(names)), labels=[f"{n} {LETTERS.get(n, '')}" for n in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, 1.15 * max(*counts.values(), 1))
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.spines[["bottom", "left"]].set_visible(False)
    for place, name in enumerate(names):
        colour = COLOURS.get(name, TINT)
        axes.barh(place, counts[name], height=0.7, color=colour, edgecolor=INK, linewidth=0.8)
        axes.annotate(
            f"{counts[name]}",
            (counts[name], place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
        )


def _lanes(axes: Axes, found: Assembly, lanes: int) -> None:
    used = found.lanes
    _title(axes, _used(found, lanes))
    for lane in range(lanes):
        full = lane < used
        patch = mpl.patches.Rectangle(
            (lane + 0.06, 0.45),
            0.88,
            0.5,
            facecolor=COLOURS["arithmetic"] if full else "none",
            edgecolor=INK,
            linewidth=1,
        )
        axes.add_patch(patch)
    arithmetic = found.histogram()["arithmetic"]
    said = (
        f"longest chain: {longest_chain(found)} of {arithmetic} arithmetic instructions\n"
        f"spills in the whole program: {found.spills}"
    )
    axes.text(0, 0.3, said, va="top")
    axes.set_xlim(0, max(lanes, 4))
    axes.set_ylim(-0.15, 1)
    axes.set_axis_off()
