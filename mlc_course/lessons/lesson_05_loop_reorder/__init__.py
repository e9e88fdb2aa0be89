"""Lesson 5: which of six loop orders is fast? The loop-order dial."""

from mlc_course.lessons.lesson_05_loop_reorder import blanks, checks
from mlc_course.lessons.lesson_05_loop_reorder.conflict_picture import iterations_svg
from mlc_course.lessons.lesson_05_loop_reorder.loop_order_dial import LoopOrderDial
from mlc_course.lessons.lesson_05_loop_reorder.loop_order_pictures import (
    beside,
    counts_svg,
    orders_svg,
    small_misses_svg,
    visits_svg,
)
from mlc_course.lessons.lesson_05_loop_reorder.loop_orders import (
    LAYOUTS,
    ORDERS,
    fitting,
    hot_loop,
    in_order,
    jumps,
    misses,
    product,
    visits,
)
from mlc_course.lessons.lesson_05_loop_reorder.sentences import (
    ONE_CAUSE,
    SLOWEST,
    causes_said,
    column_said,
    columns_said,
    fits_said,
    layout_said,
    not_only_lines_said,
    pairs_said,
    registers_said,
    rule_said,
    vectors_said,
)

__all__ = [
    "LAYOUTS",
    "LoopOrderDial",
    "ONE_CAUSE",
    "ORDERS",
    "SLOWEST",
    "beside",
    "blanks",
    "causes_said",
    "checks",
    "column_said",
    "columns_said",
    "counts_svg",
    "fits_said",
    "fitting",
    "hot_loop",
    "in_order",
    "iterations_svg",
    "jumps",
    "layout_said",
    "misses",
    "not_only_lines_said",
    "orders_svg",
    "pairs_said",
    "product",
    "registers_said",
    "rule_said",
    "small_misses_svg",
    "vectors_said",
    "visits",
    "visits_svg",
]
