"""What do lessons share? The base class of widgets, predictions, a stepper, programs side by side.

Read ``widget`` first if you write one.
"""

from mlc_course.lessons.kit.bar_chart import above, race_bars, race_words
from mlc_course.lessons.kit.blank import Blank, Judged, asks
from mlc_course.lessons.kit.comparison import one_program, program_lines, side_by_side
from mlc_course.lessons.kit.first_values import begun
from mlc_course.lessons.kit.heat_map import HeatMap, Place, heat_map_svg
from mlc_course.lessons.kit.loads import LOADS, column_sums, columns_of, scores
from mlc_course.lessons.kit.lru_cache import Access, accesses
from mlc_course.lessons.kit.prediction import predict, review
from mlc_course.lessons.kit.race_picture import Bar, bars_svg, race_svg, shown
from mlc_course.lessons.kit.repeated_work import MOST_WORK, check_work
from mlc_course.lessons.kit.single_run import run_once
from mlc_course.lessons.kit.stepper import Stepper
from mlc_course.lessons.kit.tiles import (
    KS,
    NS,
    SIZES,
    Sizes,
    Tile,
    best_for,
    fetched_lines,
    grid,
    moved,
    multiply_adds,
    tiled,
    untiled,
)
from mlc_course.lessons.kit.widget import (
    INTERRUPT,
    STYLE,
    Choice,
    Widget,
    charts,
    in_range,
    one_of,
    script,
    table,
)

__all__ = [
    "MOST_WORK",
    "check_work",
    "Access",
    "Bar",
    "Blank",
    "above",
    "accesses",
    "race_bars",
    "race_words",
    "race_svg",
    "Choice",
    "HeatMap",
    "INTERRUPT",
    "Judged",
    "KS",
    "NS",
    "Place",
    "SIZES",
    "STYLE",
    "script",
    "Sizes",
    "LOADS",
    "Stepper",
    "Tile",
    "Widget",
    "asks",
    "begun",
    "bars_svg",
    "best_for",
    "charts",
    "column_sums",
    "columns_of",
    "fetched_lines",
    "grid",
    "heat_map_svg",
    "in_range",
    "moved",
    "multiply_adds",
    "one_of",
    "one_program",
    "predict",
    "program_lines",
    "review",
    "run_once",
    "scores",
    "shown",
    "side_by_side",
    "table",
    "tiled",
    "untiled",
]
