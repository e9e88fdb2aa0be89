"""How does a model from elsewhere come in? Functions of TVM's Relax, and models of ONNX.

Read ``relax_functions`` first: each of Relax's operators becomes one or several of ours. Sizes are
symbols there; ``onnx_models`` finds them in what a model computes of its shapes.
"""

from mlc_course.dynamic_shape.importers.onnx_models import from_onnx, weights_of
from mlc_course.dynamic_shape.importers.relax_functions import OPERATORS, from_relax

__all__ = ["OPERATORS", "from_onnx", "from_relax", "weights_of"]
