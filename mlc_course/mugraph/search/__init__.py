"""Which fused graphs compute a program? The superoptimizer: values first, graphs read off them.

Read ``superoptimizer`` first; then ``loop_nests`` (which loops to try), ``residue_bank`` (all the
values of a nest, deduplicated), ``graph_extraction`` (graphs read off values) and
``grids_and_extents`` (ranked by cost).
"""

from mlc_course.mugraph.search.dimensions import NONE, Dims, fit, met, result_dims
from mlc_course.mugraph.search.graph_extraction import Structure, derivations, read_off, weigher
from mlc_course.mugraph.search.grids_and_extents import Choice, choices, graph, stage_counts
from mlc_course.mugraph.search.loop_nests import Nest, Problem, Start, expressions, negates, start
from mlc_course.mugraph.search.residue_bank import (
    COMMUTATIVE,
    EQUALITY,
    EXPRESSIONS,
    ORDER,
    OUT_OF_TIME,
    PRUNINGS,
    Limits,
    Watch,
    fingerprint,
    grow,
)
from mlc_course.mugraph.search.result_store import Store, default_folder
from mlc_course.mugraph.search.superoptimizer import (
    Ended,
    Event,
    Found,
    Pruned,
    Started,
    Tried,
    Unverified,
    superoptimize,
)
from mlc_course.mugraph.search.value_facts import (
    CANCELS,
    EQUAL,
    NO_CHANGE,
    NO_PART,
    NO_VALUE,
    NOT_RESCALED,
    Facts,
    Kept,
    Made,
    Refused,
    Use,
    applied,
    carried,
    meet,
)
from mlc_course.mugraph.search.value_names import Names

__all__ = [
    "CANCELS",
    "COMMUTATIVE",
    "Choice",
    "Dims",
    "EQUAL",
    "EQUALITY",
    "EXPRESSIONS",
    "Ended",
    "Event",
    "Facts",
    "Found",
    "Kept",
    "Limits",
    "Made",
    "NONE",
    "NOT_RESCALED",
    "NO_CHANGE",
    "NO_PART",
    "NO_VALUE",
    "ORDER",
    "OUT_OF_TIME",
    "PRUNINGS",
    "Names",
    "Nest",
    "Problem",
    "Pruned",
    "Refused",
    "Start",
    "Started",
    "Store",
    "Structure",
    "Tried",
    "Unverified",
    "Use",
    "Watch",
    "applied",
    "carried",
    "choices",
    "default_folder",
    "derivations",
    "expressions",
    "fingerprint",
    "fit",
    "graph",
    "grow",
    "meet",
    "met",
    "negates",
    "read_off",
    "result_dims",
    "stage_counts",
    "start",
    "superoptimize",
    "weigher",
]
