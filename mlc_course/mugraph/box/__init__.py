"""How does a GPU run a kernel? Thread by thread in a box, with every access seen.

Read ``python_kernels`` first: a kernel is a Python function that is called once for each thread.
The box finds ``faults`` (races, bad indices, barriers that some threads miss), and counts
``warp_requests`` by transaction: sectors of device memory, wavefronts of shared memory's banks.
"""

from mlc_course.mugraph.box.access_log import Memory, Place, Table
from mlc_course.mugraph.box.access_pictures import (
    banks_svg,
    banks_words,
    lines_svg,
    lines_words,
    steps_svg,
    steps_words,
)
from mlc_course.mugraph.box.faults import Fault, KernelFault
from mlc_course.mugraph.box.program_kernels import KernelRun, run_kernel, thread_turns
from mlc_course.mugraph.box.python_kernels import Run, Thread, launch
from mlc_course.mugraph.box.schedule import Order
from mlc_course.mugraph.box.warp_requests import (
    CACHE_LINE,
    SECTOR,
    Request,
    Requests,
    Traffic,
    lane_addresses,
)

__all__ = [
    "CACHE_LINE",
    "Fault",
    "KernelFault",
    "KernelRun",
    "Memory",
    "Order",
    "Place",
    "Request",
    "Requests",
    "Run",
    "SECTOR",
    "Table",
    "Thread",
    "Traffic",
    "banks_svg",
    "banks_words",
    "lane_addresses",
    "launch",
    "lines_svg",
    "lines_words",
    "run_kernel",
    "steps_svg",
    "steps_words",
    "thread_turns",
]
