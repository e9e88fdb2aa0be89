"""How do kernels run on OpenCL? With real work-groups, local memory and barriers.

Read ``launches`` first: kernels are compiled, and launched on arrays. ``device`` finds PoCL, or
another platform. ``trial`` compiles each text in a child process first, since some drivers end the
process on a text that they cannot compile. ``unknown_processor`` helps an old PoCL on a new
processor.
"""

from mlc_course.mugraph.opencl.device import Device, find_device
from mlc_course.mugraph.opencl.gpu_of_device import gpu_of
from mlc_course.mugraph.opencl.launches import Launches, check_limits, compile_kernels

__all__ = ["Device", "Launches", "check_limits", "compile_kernels", "find_device", "gpu_of"]
