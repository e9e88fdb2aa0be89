"""Which programs with unknown sizes are known? Ten pieces of a transformer, as text files.

The files are in ``modules/``; ``catalogue`` reads them by name, and draws inputs for them.
``numpy_calls`` has any program as calls of NumPy, to be timed beside.
"""

from mlc_course.dynamic_shape.programs.catalogue import (
    NAMES,
    example_inputs,
    example_sizes,
    program,
)
from mlc_course.dynamic_shape.programs.numpy_calls import in_numpy

__all__ = ["NAMES", "example_inputs", "example_sizes", "in_numpy", "program"]
