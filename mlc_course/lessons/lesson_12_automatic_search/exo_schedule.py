"""The ladder's workload scheduled in Exo: a buffer of an outer loop, filled once, by a guard.

This is what the course's article wishes for and TensorIR has no step for: allocate a buffer in an
outer loop, fill it piece by piece in an inner one, and use it again in the iterations after that.
"""

from __future__ import annotations

import ctypes
import functools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from exo import compile_procs
from exo.stdlib import scheduling as exo
from numpy.typing import NDArray

from mlc_course.errors import MachineError, SizeError, WrongResult
from mlc_course.lessons.lesson_12_automatic_search.exo_kernel import matmul_exp_matmul
from mlc_course.measure import Comparison, compare
from mlc_course.tensor_program.problems import Workload

Array = NDArray[np.float32]
ROWS, COLUMNS = 16, 64  # of a tile
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")


def naive(M: int, K: int, L: int, N: int) -> Any:
    """The procedure for these sizes. Exo could leave them open; known ones are faster to prove.

    Raises ``SizeError`` for sizes that tiles of ``ROWS`` and ``COLUMNS`` do not divide.
    """
    if M < 1 or K < 1 or M % ROWS or L % COLUMNS or N % COLUMNS or L < 1 or N < 1:
        raise SizeError(
            "naive: tiles do not fit",
            expected=f"M a multiple of {ROWS}, L and N of {COLUMNS}",
            got=f"M={M}, K={K}, L={L}, N={N}",
        )
    return matmul_exp_matmul.partial_eval(M=M, K=K, L=L, N=N)


def rows_together(p: Any) -> Any:
    """Both products share a loop over blocks of rows, and D shrinks to one block.

    before  D: [M, L];  for m: D[m, :] = ...;  for m: F[m, :] = ... D[m, :] ...
    after   for mo:  D: [16, L];  for mi: D[mi, :] = ...;  for no, mi: F[...] = ... D[mi, :] ...
    why     16 rows of D stay in cache until they are used
    exo     fission, divide_loop, fuse, sink_alloc, resize_dim, reorder_loops
    """
    p = exo.fission(p, p.find("F[_] = 0.0").after(), n_lifts=2)
    for _ in range(3):
        p = exo.divide_loop(p, "m", ROWS, ["mo", "mi"], perfect=True)
    p = exo.fuse(exo.fuse(p, "mo #0", "mo #1"), "mo #0", "mo #1")
    p = exo.resize_dim(exo.sink_alloc(p, "D"), "D", 0, ROWS, f"{ROWS} * mo")
    p = exo.divide_loop(exo.simplify(p), "n #1", COLUMNS, ["no", "ni"], perfect=True)
    return exo.reorder_loops(p, "mi no")


def fill_once(p: Any) -> Any:
    """D is filled in the loop that uses it, in its first iteration only.

    before  for mi: D[mi, :] = ...;    for no: F[:, no] = ... D ...
    after   for no:  if no == 0: (for mi: D[mi, :] = ...);   F[:, no] = ... D ...
    needs   filling D twice would change nothing: Exo proves it
    why     filled by panels (``by_panels``), a panel is used at once, and by all later ``no``
    exo     reorder_stmts, add_loop(guard=True), fuse
    """
    count = p.find_loop("no").hi().value()
    p = exo.reorder_stmts(p, p.find_loop("mi #0").expand(0, 1))
    p = exo.add_loop(p, p.find_loop("mi #1"), "no", str(count), guard=True)
    return exo.fuse(p, "no #0", "no #1")


def by_panels(p: Any) -> Any:
    """Fill 64 columns of D, use them, and go on to the next 64.

    before  for no:  if no == 0: D[:, :] = ...;                F[:, no] += D[:, :] * E[:, no]
    after   for no, lo:  if no == 0: D[:, lo] = ...;           F[:, no] += D[:, lo] * E[lo, no]
    exo     divide_loop, reorder_loops, lift_scope (the guard moves inside), fuse, fission
    """
    p = exo.divide_loop(p, "l #0", COLUMNS, ["lo", "li"], perfect=True)
    p = exo.lift_scope(exo.reorder_loops(p, "mi lo"), "lo #0")
    p = _panels_of_second(p)
    return _along_rows(exo.fuse(p, "lo #0", "lo #1"))


def beforehand(p: Any) -> Any:
    """The same tiles without a guard: all of D's 16 rows, then all of F's."""
    p = exo.divide_loop(p, "l #0", COLUMNS, ["lo", "li"], perfect=True)
    return _panels_of_second(_along_rows(exo.reorder_loops(p, "mi lo")))


def _panels_of_second(p: Any) -> Any:
    p = exo.divide_loop(p, "l #0", COLUMNS, ["lo", "li"], perfect=True)
    for loops in ("ni lo", "mi lo", "ni li"):
        p = exo.reorder_loops(p, loops)
    return p


def _along_rows(p: Any) -> Any:
    """Zeros, sums and exps of D each in loops of their own; the sums walk along rows of B."""
    p = exo.fission(p, p.find("D[_] = 0.0").after(), n_lifts=2)
    p = exo.fission(p, p.find("for k in _: _").after(), n_lifts=2)
    return exo.reorder_loops(exo.reorder_loops(p, "li k"), "mi k")


def compiler() -> str | None:
    """This machine's C compiler, which Exo's output needs, or None."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def native(p: Any) -> Callable[..., None]:
    """Exo's C, compiled: a function of float32 arrays in the procedure's order.

    Raises ``MachineError`` where there is no C compiler, or it fails; the function raises
    ``SizeError`` for arrays of other shapes, which C would read and write beyond their ends.
    """
    found = compiler()
    if found is None:
        raise MachineError("native: Exo makes C, and this machine has no compiler", got="no cc")
    with tempfile.TemporaryDirectory() as folder:
        compile_procs([p], Path(folder), "kernel.c", "kernel.h")
        words = [found, *FLAGS, "kernel.c", "-o", "kernel.so", "-lm"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise MachineError(f"native: {found} fails", got=done.stderr.strip()[-500:])
        library = ctypes.CDLL(str(Path(folder) / "kernel.so"))
    function = library[p.name()]
    pointer = ctypes.POINTER(ctypes.c_float)
    shapes = [tuple(size.value() for size in each.shape()) for each in p.args()]

    def run(*arrays: Array) -> None:
        if (got := [each.shape for each in arrays]) != shapes:
            raise SizeError(f"{p.name()}: arrays of other shapes", expected=shapes, got=got)
        function(None, *(each.ctypes.data_as(pointer) for each in arrays))

    return run


def race(
    workload: Workload, procedures: Mapping[str, Any], *, budget_s: float = 1.0
) -> dict[str, Comparison]:
    """Compile and check each procedure, then time all of them and NumPy in turn, one thread.

    Raises what ``native`` raises, and ``WrongResult`` for one that computes something else.
    """
    inputs, out = workload.inputs(), workload.output()
    reference = workload.reference(inputs)
    calls: dict[str, Callable[[], None]] = {}
    for name, procedure in procedures.items():
        run, ours = native(procedure), workload.output()
        run(*inputs, ours)
        workload.check(ours, reference)
        calls[name] = functools.partial(run, *inputs, ours)
    return compare(calls, ("NumPy", lambda: workload.numpy(*inputs, out)), budget_s=budget_s)


def refusal(step: Callable[[], object]) -> str:
    """Return Exo's message for a step it does not prove; raises ``WrongResult`` if it takes it."""
    try:
        step()
    except (exo.SchedulingError, TypeError) as error:
        said = str(error).removeprefix("<<<unknown directive>>>: ")
        return re.sub(r"at \S+?([\w.]+):(\d+):\d+", r"in line \2 of \1", said)
    raise WrongResult("refusal: Exo takes this step", expected="an error", got="a program")
