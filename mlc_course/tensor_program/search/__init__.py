"""Can the machine choose the schedule? Spaces, random and evolutionary search, recorded trials.

Read ``spaces`` first, then ``evolution``, a whole search in one page; ``tune`` runs MetaSchedule.
"""

from mlc_course.tensor_program.search import evolution, spaces, tune
from mlc_course.tensor_program.search.cost_model import features, fit
from mlc_course.tensor_program.search.evolution import Candidate, Gene, Space, genes, mutated
from mlc_course.tensor_program.search.recorded import (
    RECORDINGS,
    Population,
    Recording,
    Trial,
    best_so_far,
    expected_best,
    kind_folder,
    place_of_best,
    recording,
    recordings,
)
from mlc_course.tensor_program.search.spaces import STRATEGIES, strategy
from mlc_course.tensor_program.search.tune import Fleet, measure

__all__ = [
    "Candidate",
    "Fleet",
    "Gene",
    "Population",
    "RECORDINGS",
    "Recording",
    "STRATEGIES",
    "Space",
    "Trial",
    "best_so_far",
    "evolution",
    "expected_best",
    "features",
    "fit",
    "genes",
    "kind_folder",
    "measure",
    "mutated",
    "place_of_best",
    "recording",
    "recordings",
    "spaces",
    "strategy",
    "tune",
]
