"""What does memory cost? Misses and bytes counted on simulated caches, and this machine's limits.

Read ``cache`` first: it counts misses of a program. ``traffic_by_buffer`` charges the bytes to
buffers, ``jumps`` counts the accesses that do not walk along rows, ``reuse_distance`` tells which
cache would be large enough; ``probes`` and ``peak_and_bandwidth`` measure this machine.
"""

from mlc_course.tensor_program.memory import cache, peak_and_bandwidth, probes, reuse_distance
from mlc_course.tensor_program.memory.address_traces import AddressTrace, Placed, address_trace
from mlc_course.tensor_program.memory.cache import (
    Cache,
    Counter,
    count,
    counter,
    int64_array,
    levels,
    sequence,
)
from mlc_course.tensor_program.memory.peak_and_bandwidth import Roofs, higher, measure_roofs, roofs
from mlc_course.tensor_program.memory.probes import Probe, chase, measure_hierarchy, per_level, ring
from mlc_course.tensor_program.memory.reuse_distance import Reuse, reuse
from mlc_course.tensor_program.memory.row_jumps import Jumps, jumps
from mlc_course.tensor_program.memory.traffic_by_buffer import Traffic, traffic

__all__ = [
    "AddressTrace",
    "Cache",
    "Counter",
    "Jumps",
    "Placed",
    "Probe",
    "Reuse",
    "Roofs",
    "Traffic",
    "address_trace",
    "cache",
    "chase",
    "count",
    "counter",
    "higher",
    "int64_array",
    "jumps",
    "levels",
    "peak_and_bandwidth",
    "measure_hierarchy",
    "measure_roofs",
    "per_level",
    "probes",
    "reuse",
    "reuse_distance",
    "ring",
    "roofs",
    "sequence",
    "traffic",
]
