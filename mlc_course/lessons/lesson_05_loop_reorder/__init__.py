"""Lesson 5: which of six loop orders is fast? The loop-order dial."""

from mlc_course.lessons.lesson_05_loop_reorder.conflict_picture import iterations_svg
from mlc_course.lessons.lesson_05_loop_reorder.loop_order_dial import LoopOrderDial
from mlc_course.lessons.lesson_05_loop_reorder.loop_order_pictures import orders_svg, visits_svg
from mlc_course.lessons.lesson_05_loop_reorder.loop_orders import ORDERS, in_order, product, visits

__all__ = [
    "LoopOrderDial",
    "ORDERS",
    "in_order",
    "iterations_svg",
    "orders_svg",
    "product",
    "visits",
    "visits_svg",
]
