"""How far does one step after the other lead? Ladders of rungs, each checked, timed, recorded.

Read ``rungs`` first, then ``matmul_exp_matmul``, the article's ladder, and ``micro_kernels``, where
its last rungs come from. ``against_numpy`` races programs of your own.
"""

from mlc_course.tensor_program.ladders import (
    against_numpy,
    conv2d,
    matmul_exp_matmul,
    record,
    roofline,
    rungs,
    single_product,
    softmax,
)
from mlc_course.tensor_program.ladders.against_numpy import (
    Contest,
    contest,
    race,
    speedup,
    standings,
)
from mlc_course.tensor_program.ladders.catalogue import (
    LADDERS,
    MATMUL,
    PRODUCTS,
    QUICK_SIZES,
    ladder,
)
from mlc_course.tensor_program.ladders.micro_kernels import (
    RegisterTile,
    micro_kernel,
    register_tile,
    tile_for,
    why_tile,
)
from mlc_course.tensor_program.ladders.record import (
    Record,
    headline,
    ladder_record,
    load,
    made_on,
    provenance,
    ratio_interval,
    recorded,
    recording_file,
    recordings,
    save,
    timed_part,
)
from mlc_course.tensor_program.ladders.roofline import Point, counted, is_counted, points, roofs_of
from mlc_course.tensor_program.ladders.rungs import Climbed, Rung, checked, climb, scheduled, select

__all__ = [
    "against_numpy",
    "Climbed",
    "Contest",
    "LADDERS",
    "MATMUL",
    "PRODUCTS",
    "Point",
    "QUICK_SIZES",
    "Record",
    "RegisterTile",
    "Rung",
    "checked",
    "climb",
    "contest",
    "conv2d",
    "counted",
    "headline",
    "is_counted",
    "ladder",
    "ladder_record",
    "load",
    "made_on",
    "matmul_exp_matmul",
    "micro_kernel",
    "points",
    "provenance",
    "race",
    "ratio_interval",
    "record",
    "recorded",
    "recording_file",
    "recordings",
    "register_tile",
    "roofline",
    "roofs_of",
    "rungs",
    "save",
    "scheduled",
    "select",
    "single_product",
    "softmax",
    "speedup",
    "standings",
    "tile_for",
    "timed_part",
    "why_tile",
]
