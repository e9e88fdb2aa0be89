"""The child process of ``trial``: it compiles a text, and launches its kernels on zeros."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from mlc_course.mugraph.opencl.device import built, find_device, pyopencl
from mlc_course.mugraph.opencl.trial import REFUSED


def run_request(request: Mapping[str, Any]) -> None:
    """Compile a text, and launch its kernels one after the other."""
    cl, on = pyopencl(), find_device(request["cores"])
    context = cl.Context([on.handle])
    queue = cl.CommandQueue(context)
    program = built(request["text"], request["options"], on, context)
    for each in request["launches"]:
        kernel = cl.Kernel(program, each["kernel"])
        tensors = [_zeros(context, queue, size) for size in each["arguments"]]
        kernel.set_args(*tensors)  # which does not keep them alive
        cl.enqueue_nd_range_kernel(queue, kernel, each["everywhere"], each["in_group"])
        queue.finish()


def _zeros(context: Any, queue: Any, size: int) -> Any:
    cl = pyopencl()
    made = cl.Buffer(context, cl.mem_flags.READ_WRITE, size)
    cl.enqueue_fill_buffer(queue, made, b"\0", 0, size)
    return made


def main() -> None:
    """Run what standard input asks for; end with ``REFUSED`` where the driver refuses it."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a driver that aborts leaves no file
    try:
        run_request(json.load(sys.stdin))
    except pyopencl().Error as error:
        print(error, file=sys.stderr)
        sys.exit(REFUSED)


if __name__ == "__main__":
    main()
