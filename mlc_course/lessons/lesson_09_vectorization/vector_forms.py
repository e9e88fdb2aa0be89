"""The same few problems in several forms: scalar, in vectors, in more vectors, in too many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mlc_course.errors import SizeError, UsageError, check_known
from mlc_course.lessons.kit import column_sums
from mlc_course.lessons.lesson_09_vectorization.row_problems import add_one, overlapping_sums
from mlc_course.tensor_program.problems import Workload, matmul
from mlc_course.tensor_program.schedule import data_steps, lookup, steps
from mlc_course.tensor_program.tir import Schedule

Apply = Callable[[Schedule], None]


@dataclass(frozen=True)
class Form:
    """One way to run a problem: its name, what is to be seen in its code, and the steps."""

    name: str
    why: str
    apply: Apply


@dataclass(frozen=True)
class Problem:
    """A problem and its forms, simplest first. ``unit`` is what one operation is called."""

    name: str
    unit: str
    workload: Workload
    forms: tuple[Form, ...]

    def form(self, name: str) -> Form:
        """Return a form by its name; raises ``UsageError`` for a name that is not there."""
        known = {form.name: form for form in self.forms}
        check_known("no such form", name, known)
        return known[name]


# --- the schedules --------------------------------------------------------------------------------


def as_written(sch: Schedule) -> None:
    """Leave the program unchanged: LLVM does what it does by itself."""


def in_sums(count: int) -> Apply:
    """Compute each sum S[m] over k in ``count`` sums side by side, as lanes.

    At the end of a row they are added up one by one. ``count`` must divide the loop k.
    """

    def apply(sch: Schedule) -> None:
        lanes = steps.several_sums(sch, "S", "k", count)
        steps.compute_per_iteration(sch, lanes, of="S", at="m")
        lane, _, k = lookup.loops(sch, lanes)[1:]
        steps.reorder(sch, lanes, k, lane)
        steps.vectorize(sch, lanes, lane)
        steps.hoist_init(sch, lanes, k)

    return apply


def unrolled(count: int) -> Apply:
    """Write out ``count`` terms of the loop k; there is still one sum."""

    def apply(sch: Schedule) -> None:
        steps.split(sch, "S", "k", count)
        steps.unroll(sch, "S", "k_1")
        steps.hoist_init(sch, "S", "k_0")

    return apply


def columns_at_once(count: int) -> Apply:
    """Compute the column sums S[j] over k for ``count`` columns side by side, as lanes."""

    def apply(sch: Schedule) -> None:
        steps.split(sch, "S", "j", count)
        steps.reorder(sch, "S", "j_0", "k", "j_1")
        steps.vectorize(sch, "S", "j_1")
        steps.hoist_init(sch, "S", "k")

    return apply


def along_a_row(count: int) -> Apply:
    """Run an elementwise block Y with ``count`` neighbours of a row as lanes."""

    def apply(sch: Schedule) -> None:
        steps.split(sch, "Y", "n", count)
        steps.vectorize(sch, "Y", "n_1")

    return apply


def down_a_column(count: int) -> Apply:
    """Run an elementwise block Y with ``count`` neighbours of a column as lanes."""

    def apply(sch: Schedule) -> None:
        steps.split(sch, "Y", "m", count)
        steps.reorder(sch, "Y", "m_0", "n", "m_1")
        steps.vectorize(sch, "Y", "m_1")

    return apply


def register_tile(rows: int, columns: int, *, unroll: bool = True) -> Apply:
    """Compute a product's block C in tiles of rows x columns sums, each summed in one go over k.

    The rows of a tile are written out, or left to LLVM as a loop.
    """

    def apply(sch: Schedule) -> None:
        steps.tile(sch, "C", m=rows, n=columns)
        steps.reorder(sch, "C", "k", "m_1", "n_1")
        writer = data_steps.accumulate_locally(sch, "C", at="n_0")
        steps.vectorize(sch, "C", "n_1")
        steps.hoist_init(sch, "C", "k")
        for block in ("C_init", "C_update", writer):
            *_, row, column = lookup.loops(sch, block)
            if unroll:
                steps.unroll(sch, block, row)
            if block == writer:
                steps.vectorize(sch, block, column)

    return apply


def in_a_row(terms: int, sums: int) -> int:
    """Count the additions of a row that wait for each other: those of one sum, then one a sum.

    Raises ``SizeError`` unless ``sums`` divides ``terms``.
    """
    if terms < 1 or sums < 1 or terms % sums:
        raise SizeError(
            "the sums do not share the terms evenly",
            expected=f"a number that divides {terms}",
            got=sums,
        )
    return terms // sums + sums


def tile_registers(rows: int, vectors: int) -> int:
    """Return how many vector registers a tile needs: its sums, the vectors of B, and one of A."""
    return rows * vectors + vectors + 1


# --- the problems ---------------------------------------------------------------------------------


def problems(lanes: int, registers: int = 32) -> dict[str, Problem]:
    """Return the problems to look at, by name, for so many vector registers of so many float32.

    Raises ``UsageError`` for registers that no machine of ``machine.VECTOR_REGISTERS`` has.
    """
    if lanes not in (4, 8, 16) or registers not in (16, 32):
        raise UsageError(
            "no such registers",
            expected="16 | 32 registers of 4 | 8 | 16 lanes",
            got=f"{registers} of {lanes}",
        )
    found = (_row_sums(lanes), _column_sums(lanes), _add_one(lanes), _tiles(lanes, registers))
    return {each.name: each for each in found}


def _row_sums(lanes: int) -> Problem:
    full, half = lanes, lanes // 2
    return Problem(
        "row sums",
        "addition",
        overlapping_sums(),
        (
            Form(
                "1 sum",
                "Every addition waits for the one before. LLVM may not regroup them, "
                "so they stay scalar, and all add to one register.",
                as_written,
            ),
            Form(
                "1 sum, unrolled",
                "The loop is longer, and there is still one sum: the same register, the same wait.",
                unrolled(8),
            ),
            Form(
                f"{half} sums",
                "Half a register: each instruction does as many additions as there are sums.",
                in_sums(half),
            ),
            Form(
                f"{full} sums",
                "A whole register of sums; the loop is still one chain, now of vectors.",
                in_sums(full),
            ),
            Form(
                f"{2 * full} sums",
                "Two registers: while an addition is under way, the other chain can begin one.",
                in_sums(2 * full),
            ),
            Form(
                f"{4 * full} sums",
                "Four registers. Look at the final sum, too: all sums are added up one by one.",
                in_sums(4 * full),
            ),
            Form(
                f"{16 * full} sums",
                "Enough registers for the loop; but the final sum is a long chain now.",
                in_sums(16 * full),
            ),
        ),
    )


def _column_sums(lanes: int) -> Problem:
    return Problem(
        "column sums",
        "addition",
        column_sums(128, 128),
        (
            Form(
                "as written",
                "One column after the other, down through memory: one sum, and a "
                "new line at every step.",
                as_written,
            ),
            Form(
                "rows inside",
                "Along the rows: neighbours are different sums. LLVM makes "
                "vectors by itself, but every sum is loaded and stored at every step.",
                lambda sch: steps.reorder(sch, "S", "k", "j"),
            ),
            Form(
                f"{lanes} at once",
                "The sums stay in one register: no stores in the loop, but one chain.",
                columns_at_once(lanes),
            ),
            Form(
                f"{4 * lanes} at once",
                "Four registers of sums: four chains.",
                columns_at_once(4 * lanes),
            ),
        ),
    )


def _add_one(lanes: int) -> Problem:
    few = max(2, lanes // 4)
    return Problem(
        "add one",
        "addition",
        add_one(),
        (
            Form(
                "as written",
                "No element waits for another, and neighbours in the loop are neighbours in "
                "memory: LLVM makes vectors by itself.",
                as_written,
            ),
            Form(f"{lanes} in a row", "The same vectors, made by hand.", along_a_row(lanes)),
            Form(
                f"{few} in a row",
                "Most of each register is empty: more instructions for the same elements.",
                along_a_row(few),
            ),
            Form(
                f"{lanes} in a column",
                "Lanes from different rows are collected one by one, and stored one by one.",
                down_a_column(lanes),
            ),
        ),
    )


def _tiles(lanes: int, registers: int) -> Problem:
    wide = 4 if registers == 32 else 2  # vectors in a row of the largest tile that fits
    sizes = ((1, 1), (4, 1), (4, wide), (16, 4))
    whys = (
        "One vector of sums is one chain of multiply-adds, and each of them needs two loads.",
        "Four rows, four chains: a vector of B serves four multiply-adds.",
        f"{4 * wide} registers of sums, which still fit: the fewest loads for a multiply-add.",
        "More sums than registers: some are stored to the stack and loaded again.",
    )
    forms = (
        Form(f"{rows} x {vectors * lanes}", why, register_tile(rows, vectors * lanes))
        for (rows, vectors), why in zip(sizes, whys, strict=True)
    )
    return Problem("matmul tile", "multiply-add", matmul(64, 64, 64), tuple(forms))
