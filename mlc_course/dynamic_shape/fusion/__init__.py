"""Which operators of a program can share a kernel, and which fact does each merge rest on?

Read ``knowledge`` first: facts that a planner may use, and what they answer. ``flow`` has the
operators without what costs nothing, ``kernel_forms`` which of them fit one, ``order`` keeps
kernels in an order without cycles, and ``planner`` merges. ``drawn_levels`` draws it.
``simplify`` is for before: with what is known, less is left to plan.
"""

from mlc_course.dynamic_shape.fusion.drawn_levels import levels_picture
from mlc_course.dynamic_shape.fusion.flow import Flow
from mlc_course.dynamic_shape.fusion.kernel_forms import Kernel, Obstacle, form
from mlc_course.dynamic_shape.fusion.knowledge import LEVELS, Knowledge, Level
from mlc_course.dynamic_shape.fusion.planner import Merge, Plan, Refusal, plan
from mlc_course.dynamic_shape.fusion.simplify import simplified

__all__ = [
    "Flow",
    "Kernel",
    "Knowledge",
    "LEVELS",
    "Level",
    "Merge",
    "Obstacle",
    "Plan",
    "Refusal",
    "form",
    "levels_picture",
    "plan",
    "simplified",
]
