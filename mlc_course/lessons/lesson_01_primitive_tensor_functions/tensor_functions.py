"""The network as a chain of tensor functions, from development form to deployment form.

Each function has several forms, from a line of NumPy to machine code, which compute the same.
"""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from mlc_course.errors import SizeError, check_known
from mlc_course.lessons.lesson_01_primitive_tensor_functions import loop_forms, numpy_forms
from mlc_course.tensor_program.networks import CLASSES, HIDDEN, PIXELS, Network, network
from mlc_course.tensor_program.problems import FLOAT_BYTES, Array, aligned
from mlc_course.tensor_program.processor import assembly
from mlc_course.tensor_program.schedule import lookup, steps
from mlc_course.tensor_program.tir import PrimFunc, Schedule, compile_program, shared_tensor

FORMS = ("NumPy", "low-level NumPy", "TensorIR", "machine code")
WEIGHTS = ("W1", "b1", "W2", "b2")


@dataclass(frozen=True)
class TensorFunction:
    """One function of a chain: which tensors it reads, which one it writes, and its forms.

    ``flops`` counts a multiply-add as two operations. ``program`` is None for what a framework
    offers as one call and does not take apart; then NumPy is its only form.
    """

    name: str
    reads: tuple[str, ...]
    writes: str
    flops: int
    program: PrimFunc | Schedule | None

    @property
    def forms(self) -> tuple[str, ...]:
        return FORMS if self.program is not None else FORMS[:1]

    def text(self, form: str) -> str:
        """The function in this form; raises ``UsageError`` for one that it does not have."""
        self._check(form)
        match form:
            case "NumPy":
                return _source(getattr(numpy_forms, self.name))
            case "low-level NumPy":
                return _source(getattr(loop_forms, self.name))
            case "TensorIR":
                return _script(self.program)
            case _:
                return _machine_code(self.program)

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments of a call: the tensors that it reads, then the one that it writes."""
        return *self.reads, self.writes

    def run(self, form: str, *tensors: Array) -> None:
        """Run it in this form on its operands; TensorIR runs as machine code."""
        self.prepared(form, *tensors)()

    def prepared(self, form: str, *tensors: Array) -> Callable[[], None]:
        """A call of it, in this form, on these operands."""
        self._check(form)
        if form in FORMS[:2]:
            function = getattr(numpy_forms if form == "NumPy" else loop_forms, self.name)
            return functools.partial(function, *tensors)
        return functools.partial(_compiled(self.program), *map(shared_tensor, tensors))

    def _check(self, form: str) -> None:
        check_known(f"{self.name}: no such form", form, self.forms)


@dataclass(frozen=True)
class Chain:
    """The network at one stage on its way: functions in the order in which they run.

    ``shapes`` has every tensor, ``reason`` says what changed from the stage before.
    """

    name: str
    reason: str
    functions: tuple[TensorFunction, ...]
    shapes: Mapping[str, tuple[int, ...]]

    @property
    def between(self) -> tuple[str, ...]:
        """The results that one function writes and a later one reads, in order."""
        return tuple(each.writes for each in self.functions[:-1])

    def bytes(self, *tensors: str) -> int:
        """Bytes of these tensors together."""
        return FLOAT_BYTES * sum(prod(self.shapes[name]) for name in tensors)

    def memory(self, weights: Network, x: Array) -> dict[str, Array]:
        """Every tensor by name: images, weights, and room (NaN) for what the functions write.

        Raises ``SizeError`` for images of another number or size than those of this chain.
        """
        if x.shape != self.shapes["X"]:
            raise SizeError("images for another chain", expected=self.shapes["X"], got=x.shape)
        written = {each.writes: self.shapes[each.writes] for each in self.functions}
        room = {name: aligned(np.full(shape, np.nan)) for name, shape in written.items()}
        return {"X": x, **dict(zip(WEIGHTS, weights.weights, strict=True)), **room}

    def run(self, form: str, weights: Network, x: Array) -> dict[str, Array]:
        """Every tensor by name, after the whole chain has run in this form on images ``x``."""
        values = self.memory(weights, x)
        for each in self.functions:
            each.run(form, *(values[name] for name in each.operands))
        return values

    def prepared(self, form: str, weights: Network, x: Array) -> Callable[[], Array]:
        """A call that runs the chain on ``x`` and gives Y, with its memory planned beforehand."""
        values = self.memory(weights, x)
        calls = [
            each.prepared(form, *(values[n] for n in each.operands)) for each in self.functions
        ]

        def call() -> Array:
            for each in calls:
                each()
            return values["Y"]

        return call


def chains(batch: int = 1) -> tuple[Chain, ...]:
    """The network's four stages, for this many images at a time."""
    first, second = 2 * batch * PIXELS * HIDDEN, 2 * batch * HIDDEN * CLASSES
    hidden, classes = batch * HIDDEN, batch * CLASSES
    fused = linear_relu, linear = (
        TensorFunction(
            "linear_relu",
            ("X", "W1", "b1"),
            "H",
            first + 2 * hidden,
            network.linear_relu(batch, PIXELS, HIDDEN),
        ),
        TensorFunction(
            "linear",
            ("H", "W2", "b2"),
            "Y",
            second + classes,
            network.linear(batch, HIDDEN, CLASSES),
        ),
    )
    primitive = (
        TensorFunction("matmul", ("X", "W1"), "P1", first, network.matmul(batch, PIXELS, HIDDEN)),
        TensorFunction("add", ("P1", "b1"), "S1", hidden, network.add(batch, HIDDEN)),
        TensorFunction("relu", ("S1",), "H", hidden, network.relu(batch, HIDDEN)),
        TensorFunction("matmul", ("H", "W2"), "P2", second, network.matmul(batch, HIDDEN, CLASSES)),
        TensorFunction("add", ("P2", "b2"), "Y", classes, network.add(batch, CLASSES)),
    )
    whole = TensorFunction("network", ("X", *WEIGHTS), "Y", linear_relu.flops + linear.flops, None)
    return tuple(
        Chain(name, reason, functions, _shapes(batch))
        for name, reason, functions in (
            ("one call", "Development form: what happens inside is up to the framework.", (whole,)),
            (
                "five functions",
                "Five functions. Each writes a whole tensor, and each has a loop nest that a "
                "compiler can change.",
                primitive,
            ),
            (
                "two functions",
                "The first three became one function, and the last two another. The results "
                "between them are now memory of the functions themselves.",
                fused,
            ),
            (
                "library",
                "Deployment form: both functions with the sum in the middle loop, as machine "
                "code for this processor.",
                tuple(map(along_rows, fused)),
            ),
        )
    )


def along_rows(function: TensorFunction) -> TensorFunction:
    """The same function, its bias and ReLU in one block, its sum in the middle loop.

    The innermost loop of a product then walks along the rows of the weights. A function without a
    product keeps its loops.
    """
    sch = Schedule(function.program)
    blocks = lookup.blocks(sch)
    if "S" in blocks[:-1]:
        steps.inline(sch, "S")
    if "P" in blocks and len(lookup.loops(sch, "P")) == 3:
        steps.reorder(sch, "P", "k", "n")
    return replace(function, program=sch)


def _shapes(batch: int) -> dict[str, tuple[int, ...]]:
    weights = {"W1": (PIXELS, HIDDEN), "b1": (HIDDEN,), "W2": (HIDDEN, CLASSES), "b2": (CLASSES,)}
    hidden = {name: (batch, HIDDEN) for name in ("P1", "S1", "H")}
    classes = {name: (batch, CLASSES) for name in ("P2", "Y")}
    return {"X": (batch, PIXELS), **weights, **hidden, **classes}


def _source(function: Callable[..., None]) -> str:
    """The text of a Python function, without the types that only a checker reads."""
    text = textwrap.dedent(inspect.getsource(function))
    return re.sub(r": Array| -> None", "", text).strip()


def _script(program: PrimFunc | Schedule) -> str:
    text = (program.mod["main"] if isinstance(program, Schedule) else program).script()
    return "\n".join(line for line in text.splitlines() if not line.startswith("#")).strip()


def _machine_code(program: PrimFunc | Schedule) -> str:
    found = assembly(program)
    loop = "\n".join(f"    {instruction}" for instruction in found.hot_loop)
    return f"# the innermost loop, {found}\n{loop}"


@functools.lru_cache(maxsize=64)
def _compiled(program: PrimFunc | Schedule) -> Callable[..., None]:
    return compile_program(program)
