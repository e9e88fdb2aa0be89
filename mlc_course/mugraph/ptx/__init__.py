"""Does the text do on a GPU what it should? Its PTX is run, instruction by instruction, on a CPU.

Read ``execution`` first: blocks, threads that part and meet again, barriers. ``ptx_text`` reads the
text, ``arithmetic``, ``accesses`` and ``matrices`` have the instructions, written from NVIDIA's
documentation and not from what our kernels need. ``memory`` finds races in shared memory, reads of
what nobody wrote and copies not awaited; ``transactions`` counts what the hardware has to move.
``programs`` runs the kernels of a whole graph.
"""

from mlc_course.mugraph.ptx.execution import Module, Order, load
from mlc_course.mugraph.ptx.memory import Landing
from mlc_course.mugraph.ptx.programs import run_plan
from mlc_course.mugraph.ptx.reports import Counts, Fault, Report, Traffic

__all__ = [
    "Counts",
    "Fault",
    "Landing",
    "Module",
    "Order",
    "Report",
    "Traffic",
    "load",
    "run_plan",
]
