"""The last words of lesson 20, with what the lesson counted and measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from textwrap import fill

from mlc_course.dynamic_shape.codegen import Compiled
from mlc_course.lessons.lesson_20_dynamic_shapes.tables import WIDTH, Length


def last_sentence(made: Compiled, lengths: Sequence[Length], before: float, after: float) -> str:
    """Return the last sentence: kernels, divisions, and times beside one compilation a size."""
    ratio = statistics.median(each.ours_us / each.static_us for each in lengths)
    operators, kernels = made.plan.op_by_op, len(made.plan.kernels)
    (step, *_) = (each for each in made.steps if each.kernel)
    assert step.kernel is not None
    return fill(
        f"Sizes that nobody knows are no obstacle if it is known how they depend on each other. "
        f"The operators themselves say it. A solver proves what follows, so {operators} operators "
        f"became {kernels} kernel{'s' * (kernels != 1)}, and of {before:,.0f} divisions that find "
        f"elements {after:,.0f} are left. What could not be proved became guards: "
        f"{len(step.kernel.variants)} variants, of which the last is right at every size. A guard "
        f"that fails costs time, and never a wrong result. Compiled once, the program took "
        f"{ratio:.2f} times as long as when it was compiled for each size alone.",
        WIDTH,
    )
