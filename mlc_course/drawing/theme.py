"""Colours, type, SVG text and round numbers, which every picture of the course shares.

Ours is always blue, NumPy vermilion, the machine's roof green and dashed; they are three of Okabe
and Ito's colours, which the colour-blind can tell apart. A page may set ink, paper, tint and
our blue itself, for a dark theme.
"""

from __future__ import annotations

import io
import math
import warnings
from html import escape
from typing import TYPE_CHECKING, Any

from mlc_course.extras import on_demand

if TYPE_CHECKING:
    import matplotlib as mpl
    from matplotlib import ticker
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
else:
    mpl, ticker = on_demand("matplotlib", "bench"), on_demand("matplotlib.ticker", "bench")

OURS, NUMPY, ROOF = "#0072b2", "#d55e00", "#009e73"  # blue, vermilion, green
INK, PAPER, TINT = "#222221", "#fffffe", "#e6eef5"
# In the SVG each of these is a variable of the page: see `svg_text`.
THEME = {INK: "--mlc-ink", PAPER: "--mlc-paper", TINT: "--mlc-tint", OURS: "--mlc-ours"}
STYLE: Any = {
    "font.size": 12,
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": PAPER,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.color": PAPER,
    "svg.fonttype": "none",
    "svg.hashsalt": "mlc_course",  # the same record gives the same text
}
UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
WIDTH_IN = 10.0


def svg_text(figure: Figure, said: str = "") -> str:
    """A figure as SVG text without date; the page may set what ``THEME`` names.

    ``said`` tells what is seen to those who do not see it. Only a figure whose page says it around
    the picture, with the role "img", has none.
    """
    buffer = io.StringIO()
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # The page that shows it has fonts for its own language, whatever matplotlib has here.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        figure.savefig(buffer, format="svg", metadata=UNDATED[".svg"])
    text = buffer.getvalue()
    for colour, variable in THEME.items():
        text = text.replace(colour, f"var({variable}, {colour})")
    text = text[text.index("<svg") :]  # what is before it does not belong in a page
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(said)}"', 1) if said else text


def round_ticks(axis: Axis, low: float, high: float) -> None:
    """Label a logarithmic axis with round numbers, written out (200, not 2 x 10^2)."""
    ticks = round_numbers(low, high)
    axis.set_major_locator(ticker.FixedLocator(ticks))
    axis.set_minor_locator(ticker.NullLocator())
    axis.set_ticklabels([f"{tick:,.6g}" for tick in ticks])


def round_numbers(low: float, high: float) -> list[float]:
    """Ticks for a logarithmic axis of any span, 3 to 10 of them, none close to the next."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    if high / low < 6:
        ticks: list[float] = []
        nearest = (high / low) ** 0.1
        for tick in ticker.MaxNLocator(7).tick_values(low, high)[::-1]:
            if low <= tick <= high and (not ticks or ticks[0] / tick >= nearest):
                ticks.insert(0, float(tick))
    else:
        digits = (1, 2, 5) if high / low < 60 else (1, 3)
        ticks = [digit * 10.0**decade for decade in decades for digit in digits]
    return [tick for tick in ticks if low <= tick <= high]
