"""Machines that tests write programs for, whatever they run on."""

from __future__ import annotations

from dataclasses import replace

from mlc_course.machine import VECTOR_REGISTERS, Machine, describe


def shaped(isa: str) -> Machine:
    """This machine, with the vector registers of another and a second cache of 512 KiB."""
    bits, registers = VECTOR_REGISTERS[isa]
    return replace(
        describe(), isa=isa, vector_bits=bits, vector_registers=registers, l2_bytes=512 << 10
    )


HASWELL = shaped("AVX2")
