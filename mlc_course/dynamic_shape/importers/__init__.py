"""How does a model from elsewhere come in? Functions of TVM's Relax with symbolic shapes.

Read ``relax_functions``: each of Relax's operators becomes one or several of ours.
"""

from mlc_course.dynamic_shape.importers.relax_functions import OPERATORS, from_relax

__all__ = ["OPERATORS", "from_relax"]
