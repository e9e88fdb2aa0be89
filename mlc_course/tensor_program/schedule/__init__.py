"""How is a program transformed? Steps, one function each, on blocks and loops found by name.

Read ``steps`` first: reorder, tile, fuse, vectorize. ``data_steps`` move memory: stage, pack, sum
locally. A step is done whole or refused (``atomic``); a ``trace`` replays the steps that were done.
"""

from mlc_course.tensor_program.schedule import data_steps, lookup, steps, trace
from mlc_course.tensor_program.schedule.atomic import unchecked
from mlc_course.tensor_program.schedule.data_steps import polynomial_exp
from mlc_course.tensor_program.schedule.lookup import axes, divisor
from mlc_course.tensor_program.schedule.steps import (
    hoist_init,
    pad,
    reorder,
    split,
    tile,
    vectorize,
)
from mlc_course.tensor_program.schedule.trace import Stage, replayed

__all__ = [
    "Stage",
    "axes",
    "data_steps",
    "divisor",
    "hoist_init",
    "lookup",
    "pad",
    "polynomial_exp",
    "reorder",
    "replayed",
    "split",
    "steps",
    "tile",
    "trace",
    "unchecked",
    "vectorize",
]
