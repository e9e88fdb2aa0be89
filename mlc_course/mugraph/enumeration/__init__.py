"""Why not enumerate graphs? The tree that Mirage's search walks, and how large it is.

Read ``tree`` first. ``pruning_audit`` says whether a known graph would have been pruned.
"""

from mlc_course.mugraph.enumeration.levels import Key, Level, values
from mlc_course.mugraph.enumeration.pruning_audit import audit
from mlc_course.mugraph.enumeration.tree import ANOTHER_ORDER, LIMIT, Child, Node, Step, Tree
from mlc_course.mugraph.search import PRUNINGS

__all__ = [
    "ANOTHER_ORDER",
    "Child",
    "Key",
    "LIMIT",
    "Level",
    "Node",
    "PRUNINGS",
    "Step",
    "Tree",
    "audit",
    "values",
]
