"""This machine as a target of the search: its measured roofs in the terms of a GPU."""

from __future__ import annotations

from mlc_course.machine import Machine
from mlc_course.mugraph.cost import Target
from mlc_course.mugraph.cpu_kernels.cpu_cost import FORK, INSTRUCTIONS, STATEMENT
from mlc_course.mugraph.cpu_kernels.cpu_lowering import cpu_of
from mlc_course.tensor_program.memory import Roofs

FLOAT_BYTES = 4
LARGE = 256  # rows and columns of a product that is not skinny


def cpu_target(machine: Machine, roofs: Roofs) -> Target:
    """Return a target for the search: a core is a multiprocessor, its caches are shared memory.

    A block may fill the second cache and the core's part of the third one; ``matrix_tile`` is the
    register tile of a product.
    """
    cores = roofs.threads
    caches = [1e9 * each for each in roofs.caches] or [1e9 * roofs.gbytes_per_s]
    near = machine.l2_bytes + machine.l3_bytes // max(1, machine.cores)
    rows, columns = cpu_of(machine).register_tile(LARGE, LARGE)
    flops = 1e9 * roofs.gflops
    return Target(
        name="cpu",
        source=f"measured on {machine}, {cores} threads",
        multiprocessors=cores,
        shared_bytes=near or 1 << 20,
        shared_bytes_per_sm=near or 1 << 20,
        blocks_per_sm=1,
        most_blocks=2**31 - 1,
        memory_bytes_per_s=1e9 * roofs.gbytes_per_s,
        near_bytes_per_s=caches[-1],
        shared_bytes_per_s=2 * caches[0],
        matrix_flops=flops,
        element_flops=flops / 2,
        special_per_s=flops / 2 / INSTRUCTIONS["exp"],
        barrier_s=STATEMENT,
        launch_s=FORK,
        matrix_tile=(rows, columns, 1),
        itemsize=FLOAT_BYTES,
    )
