"""What do all pictures share? Colours, SVG text, logarithmic scales, and where boxes of a graph go.

Read ``theme`` first. It holds the colours of ours, NumPy and the roof for matplotlib; ``svg`` holds
the same ones as variables that a page may set.
"""

from mlc_course.drawing import svg, theme
from mlc_course.drawing.layered_layout import GAP, Layout, place
from mlc_course.drawing.log_scale import DASHED, Decades, line, path, power
from mlc_course.drawing.svg import (
    AMBER,
    GREEN,
    PAGE_INK,
    PAGE_OURS,
    PAGE_PAPER,
    PAGE_TINT,
    SMALL,
    Point,
    document,
    rect,
    text,
    width,
)
from mlc_course.drawing.theme import (
    INK,
    NUMPY,
    OURS,
    PAPER,
    ROOF,
    STYLE,
    THEME,
    TINT,
    UNDATED,
    WIDTH_IN,
    round_numbers,
    round_ticks,
    svg_text,
)

__all__ = [
    "AMBER",
    "DASHED",
    "Decades",
    "GAP",
    "GREEN",
    "INK",
    "Layout",
    "NUMPY",
    "OURS",
    "PAGE_INK",
    "PAGE_OURS",
    "PAGE_PAPER",
    "PAGE_TINT",
    "PAPER",
    "Point",
    "ROOF",
    "SMALL",
    "STYLE",
    "THEME",
    "TINT",
    "UNDATED",
    "WIDTH_IN",
    "document",
    "line",
    "path",
    "place",
    "power",
    "rect",
    "round_numbers",
    "round_ticks",
    "svg",
    "svg_text",
    "text",
    "theme",
    "width",
]
