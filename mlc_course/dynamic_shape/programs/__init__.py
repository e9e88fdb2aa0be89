"""Which programs with unknown sizes are known? Ten pieces of a transformer, as text files.

The files are in ``modules/``; ``catalogue`` reads them by name.
"""

from mlc_course.dynamic_shape.programs.catalogue import NAMES, program

__all__ = ["NAMES", "program"]
