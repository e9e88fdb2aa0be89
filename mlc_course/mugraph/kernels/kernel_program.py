"""Kernel programs: what each block of a grid does, statement by statement.

A kernel program lies between a block graph and the text of a target. Everything is decided in it:
which loops there are and in which order, what is kept in registers, where buffers lie, where
threads wait for each other. A *dialect* only spells it: TensorIR, CUDA C++ and OpenCL C, and the
interpreters that check it (``execution``), follow from the statements below.

It is block-synchronous: control flow above ``Threads`` is the same for all threads of a block;
inside it each thread runs alone; a value that crosses threads needs a ``Barrier`` on its way.
Numbers have no type yet: a dialect says what ``+`` is, in float32 or in a finite field.

Most statements are ``Compute``: one formula for all elements of a tile. A tile that is loaded or
stored, an element computation, a product and a sum differ only in their formula::

    xg[i, j] = X[i, 16*k + j] * G[0, 16*k + j]    over i < 16, j < 16 by 16
    sums[r, c] += xg[r, l] * W[16*k + l, c]    over l < 16, r < 8 unrolled, c < 32 unrolled by 16
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from mlc_course.mugraph.ir import Axes, KernelGraph, Number, Shape
from mlc_course.mugraph.kernels.index_expressions import ZERO, Expr, ExprLike, expr

Scope = Literal["global", "shared", "private", "registers"]
# What tensors are kept in, and what sums are; or a type of its own, whatever a dialect stores.
Role = Literal["storage", "sum", "float16", "int64", "int32", "int8", "bool"]
Order = Literal["serial", "unrolled", "any"]
Combine = Literal["", "add", "max", "min"]
Side = Literal["rows", "columns"]  # of a product
LINE = 64  # bytes of a cache line
SUM_BYTES = 4  # of what sums are kept in
LARGEST = 1 << 128  # from here on, numbers are infinite in float32


@dataclass(frozen=True)
class Buffer:
    """Memory for a tensor or a tile, addressed by *logical* indices.

    ``scope`` says whose it is: everybody's (an argument), the block's, or one thread's. ``role`` is
    no machine type: a dialect chooses one for storage and one for sums. ``strides`` are in
    elements, row-major if none are given; ``swizzle`` (chunk, chunks) exchanges chunks of a row by
    XOR with the row's number. Layouts are applied in ``flat`` alone, so that a checker sees when a
    layout differs between who writes and who reads.
    """

    name: str
    shape: Shape
    scope: Scope = "shared"
    role: Role = "sum"
    strides: tuple[int, ...] = ()
    swizzle: tuple[int, int] | None = None

    @property
    def steps(self) -> tuple[int, ...]:
        """Strides in elements."""
        if self.strides:
            return self.strides
        found, step = list[int](), 1
        for extent in reversed(self.shape):
            found.append(step)
            step *= extent
        return tuple(reversed(found))

    @property
    def size(self) -> int:
        """Elements from the first to the last, gaps included."""
        return 1 + sum((n - 1) * s for n, s in zip(self.shape, self.steps, strict=True))

    def flat(self, index: Sequence[ExprLike]) -> Expr:
        """Return the place of an element in this memory."""
        assert len(index) == len(self.shape), (self, index)
        at = [expr(each) for each in index]
        if self.swizzle:
            chunk, chunks = self.swizzle
            row, column = at[-2:]
            at[-1] = ((column // chunk) ^ (row % chunks)) * chunk + column % chunk
        total = ZERO
        for each, step in zip(at, self.steps, strict=True):
            total = total + each * step
        return total

    def __str__(self) -> str:
        kept = f" with strides {list(self.strides)}" if self.strides else ""
        swizzled = f" swizzled by {self.swizzle[0]} x {self.swizzle[1]}" if self.swizzle else ""
        return f"{self.name}[{', '.join(map(str, self.shape))}]{kept}{swizzled}"


# ---- values


@dataclass(frozen=True)
class Constant:
    """An exact number."""

    number: Number


@dataclass(frozen=True)
class Read:
    """An element of a buffer."""

    buffer: Buffer
    index: tuple[Expr, ...]


@dataclass(frozen=True)
class Apply:
    """``name`` is add, sub, mul, div, max, min, exp, or a function such as sqrt.

    less, equal and not give 1 or 0, and ``choose`` one of two values by such a number.
    """

    name: str
    args: tuple[Value, ...]


@dataclass(frozen=True)
class Select:
    """One of two values, by a condition on indices; the other is not read."""

    when: Expr
    then: Value
    otherwise: Value


@dataclass(frozen=True)
class Count:
    """An index as a number to compute with."""

    at: Expr


@dataclass(frozen=True)
class Lookup:
    """Element ``rest`` of a row of a table with rows of ``width``; data says which row it is.

    Who launches the kernel sees to it that the table has the row.
    """

    table: Buffer
    row: Value
    width: Expr
    rest: Expr


Value: TypeAlias = Constant | Read | Apply | Select | Count | Lookup


# ---- statements


@dataclass(frozen=True)
class Axis:
    """An axis of a statement: ``lanes`` neighbours at a time, in a loop or ``unrolled``.

    What is left of an extent that the lanes do not divide is done one by one.
    """

    name: str
    extent: int
    lanes: int = 1
    unrolled: bool = False

    def __str__(self) -> str:
        lanes = f" by {self.lanes}" if self.lanes > 1 else ""
        return f"{self.name} < {self.extent}{' unrolled' * self.unrolled}{lanes}"


@dataclass(frozen=True)
class Fragments:
    """The axes of a product that a warp computes on its matrix unit (``matrix_unit``).

    ``side`` is that of the product of which an instruction takes 16. ``inner`` is the axis that is
    added up. ``rows`` and ``columns`` are a thread's turns, "" where there is one; ``neighbour``
    are the two columns that a thread has in a turn.
    """

    side: Side
    thread: str
    inner: str
    rows: str
    columns: str
    neighbour: str


@dataclass(frozen=True)
class Compute:
    """``target[index] = value`` for all points of ``axes``, the last axis fastest.

    With ``combine`` (add, max or min) the value is combined with what the element has; axes that
    are not in ``index`` are reduced so. No point may read what another one writes.

    A product with ``fragments`` is computed by the threads of a warp together, on a matrix unit.
    Its meaning is the same: each thread gets the sums of its own elements.
    """

    target: Buffer
    index: tuple[Expr, ...]
    value: Value
    axes: tuple[Axis, ...] = ()
    combine: Combine = ""
    fragments: Fragments | None = None


@dataclass(frozen=True)
class Fetch:
    """Ask for the cache lines of some elements, which a later statement will read."""

    ahead: tuple[Read, ...]


@dataclass(frozen=True)
class Loop:
    """``serial``: one after the other; ``unrolled`` too, written out; ``any``: in any order."""

    name: str
    extent: int
    body: Body
    order: Order = "serial"


@dataclass(frozen=True)
class Repeat:
    """A loop of as many turns as sizes say, for a kernel of all sizes (``SizedKernel``)."""

    name: str
    extent: Expr
    body: Body
    order: Order = "serial"


@dataclass(frozen=True)
class Threads:
    """Each of ``count`` threads, numbered by ``name``, runs the body; no barrier is inside."""

    name: str
    count: int
    body: Body


@dataclass(frozen=True)
class Guard:
    """The body runs where a condition on indices holds, ``otherwise`` runs where it does not."""

    when: Expr
    body: Body
    otherwise: Body = ()


@dataclass(frozen=True)
class Allocate:
    """Registers or private memory of each thread, from here to the end of the enclosing body."""

    buffer: Buffer


@dataclass(frozen=True)
class Barrier:
    """All threads of the block are here, and see what all have written."""


@dataclass(frozen=True)
class Copy:
    """``width`` neighbouring elements at once, on their way until an ``AwaitCopies``."""

    target: Buffer
    index: tuple[Expr, ...]
    source: Buffer
    source_index: tuple[Expr, ...]
    width: int


@dataclass(frozen=True)
class CommitCopies:
    """Close a group of copies of this thread."""


@dataclass(frozen=True)
class AwaitCopies:
    """Wait until at most ``pending`` groups of this thread's copies are under way."""

    pending: int


@dataclass(frozen=True)
class Remark:
    """Which equation of the graph the statements after it come from."""

    text: str


Statement: TypeAlias = (
    Compute
    | Fetch
    | Loop
    | Repeat
    | Threads
    | Guard
    | Allocate
    | Barrier
    | Copy
    | CommitCopies
    | AwaitCopies
    | Remark
)
Body: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True)
class Kernel:
    """One launch: every block of ``grid`` runs ``body`` with ``threads`` threads.

    ``shared`` are the block's buffers. ``offsets`` are their places in its shared memory of
    ``shared_bytes``, as a plan has them for elements of ``storage_bytes``; without a plan each has
    a place of its own. ``reasons`` say why the layouts are as they are.
    """

    name: str
    grid: Axes
    threads: int
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    shared: tuple[Buffer, ...]
    body: Body
    offsets: tuple[tuple[str, int], ...] = ()
    shared_bytes: int = 0
    storage_bytes: int = 2
    reasons: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return kernel_text(self)

    def bytes_of(self, role: Role) -> int:
        """Return the size of an element that the plan counts on."""
        return self.storage_bytes if role == "storage" else SUM_BYTES

    @property
    def grid_text(self) -> str:
        """The grid's axes, as the text form has them."""
        return ", ".join(f"{name} < {extent}" for name, extent in self.grid)

    @property
    def blocks(self) -> int:
        return math.prod(extent for _, extent in self.grid)


@dataclass(frozen=True)
class KernelProgram:
    """Kernels that run one after the other, for one call.

    ``graph`` is what they were lowered from, block graph by block graph. ``inputs`` and ``outputs``
    are in its order; ``temporaries`` are what one kernel leaves for another.
    """

    graph: KernelGraph
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    temporaries: tuple[Buffer, ...]
    kernels: tuple[Kernel, ...]

    def __str__(self) -> str:
        return program_text(self)


# ---- walking and rewriting


def bodies(statement: Statement) -> tuple[Body, ...]:
    """Return the bodies inside a statement."""
    match statement:
        case Loop() | Repeat() | Threads():
            return (statement.body,)
        case Guard():
            return statement.body, statement.otherwise
    return ()


def walk(body: Body) -> Iterator[Statement]:
    """Yield every statement in the order of the text, each before those inside it."""
    for each in body:
        yield each
        for inner in bodies(each):
            yield from walk(inner)


def rewritten(body: Body, change: Callable[[Statement], Body]) -> Body:
    """Return a body with ``change(statement)`` in place of each, the inner ones changed before."""
    found: list[Statement] = []
    for each in body:
        match each:
            case Loop() | Repeat() | Threads():
                each = replace(each, body=rewritten(each.body, change))
            case Guard():
                each = replace(
                    each,
                    body=rewritten(each.body, change),
                    otherwise=rewritten(each.otherwise, change),
                )
        found += change(each)
    return tuple(found)


def with_indices(x: Any, change: Callable[[Expr], Expr]) -> Any:
    """Return a statement, a value or a tuple of them with every index expression changed."""
    if isinstance(x, Expr):
        return change(x)
    if isinstance(x, tuple):
        return tuple(with_indices(each, change) for each in x)
    match x:
        case (
            Read()
            | Apply()
            | Select()
            | Count()
            | Lookup()
            | Compute()
            | Fetch()
            | Loop()
            | Repeat()
            | Threads()
            | Guard()
            | Copy()
        ):
            return replace(x, **{n: with_indices(v, change) for n, v in vars(x).items()})
    return x


def reads(value: Value) -> Iterator[Read]:
    """Yield every read of a value whose index is known."""
    match value:
        case Read():
            yield value
        case Apply():
            for each in value.args:
                yield from reads(each)
        case Select():
            yield from reads(value.then)
            yield from reads(value.otherwise)
        case Lookup():
            yield from reads(value.row)


# ---- the text form

INFIX = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2)}
SIGNS = {"": "=", "add": "+=", "max": "max=", "min": "min="}
ORDERS = {"serial": "", "unrolled": " unrolled", "any": " in any order"}
INDENT = "  "


def program_text(program: KernelProgram) -> str:
    """Return all kernels of a program, with what they leave for each other."""
    kept = [f"between kernels: {', '.join(map(str, program.temporaries))}"]
    parts = [*(kept if program.temporaries else []), *map(kernel_text, program.kernels)]
    return "\n\n".join(parts)


def kernel_text(kernel: Kernel) -> str:
    """Return a kernel, one statement a line."""
    inputs = ", ".join(map(str, kernel.inputs))
    outputs = ", ".join(map(str, kernel.outputs))
    threads = f", {kernel.threads} threads each" if kernel.threads > 1 else ""
    lines = [
        f"kernel {kernel.name}({inputs}) -> {outputs}",
        f"{INDENT}blocks {kernel.grid_text}{threads}",
    ]
    places = dict(kernel.offsets)
    for buffer in kernel.shared:
        at = f" at byte {places[buffer.name]}" if buffer.name in places else ""
        lines.append(f"{INDENT}shared {buffer}{at}")
    lines += (f"{INDENT}# {reason}" for reason in kernel.reasons)
    lines += body_lines(kernel.body, INDENT)
    return "\n".join(lines)


def body_lines(body: Body, indent: str = "") -> Iterator[str]:
    """Yield the lines of statements."""
    for each in body:
        yield from _lines(each, indent)


def _lines(statement: Statement, indent: str) -> Iterator[str]:
    inner = indent + INDENT
    match statement:
        case Compute(target, index, value, axes, combine, fragments):
            over = f"    over {', '.join(map(str, axes))}" if axes else ""
            over += " on the matrix unit" if fragments else ""
            left = value_text(Read(target, index))
            yield f"{indent}{left} {SIGNS[combine]} {value_text(value)}{over}"
        case Fetch(ahead):
            yield f"{indent}fetch {', '.join(map(value_text, ahead))}"
        case Loop(name, extent, body, order) | Repeat(name, extent, body, order):
            yield f"{indent}for {name} < {extent}{ORDERS[order]}:"
            yield from body_lines(body, inner)
        case Threads(name, count, body):
            yield f"{indent}threads {name} < {count}:"
            yield from body_lines(body, inner)
        case Guard(when, body, otherwise):
            yield f"{indent}if {when}:" if body else f"{indent}unless {when}:"
            yield from body_lines(body or otherwise, inner)
            if body and otherwise:
                yield f"{indent}else:"
                yield from body_lines(otherwise, inner)
        case Allocate(buffer):
            yield f"{indent}{buffer.scope} {buffer}"
        case Barrier():
            yield f"{indent}barrier"
        case Copy(target, index, source, source_index, width):
            left, right = value_text(Read(target, index)), value_text(Read(source, source_index))
            yield f"{indent}copy {left} <- {right}, {width} elements"
        case CommitCopies():
            yield f"{indent}commit copies"
        case AwaitCopies(pending):
            yield f"{indent}await copies, all but {pending} groups"
        case Remark(text):
            yield f"{indent}# {text}"


def value_text(value: Value, binds: int = 0) -> str:
    """Return a formula as text, in parentheses if it binds less tightly than asked."""
    match value:
        case Constant(number):
            roots = "".join(f"*sqrt({n})" for n in number.roots)
            return f"{_fraction(number.coefficient)}{roots}"
        case Read(buffer, index):
            return f"{buffer.name}[{', '.join(map(str, index))}]"
        case Select(when, then, otherwise):
            return f"({value_text(then)} if {when} else {value_text(otherwise)})"
        case Count(at):
            return f"number({at})"
        case Lookup(table, row, width, rest):
            return f"{table.name}[{value_text(row)} * ({width}) + {rest}]"
        case Apply(name, (a, b)) if name in INFIX:
            sign, own = INFIX[name]
            text = f"{value_text(a, own)} {sign} {value_text(b, own + 1)}"
            return f"({text})" if own < binds else text
        case Apply(name, args):
            return f"{name}({', '.join(map(value_text, args))})"


def _fraction(number: Fraction) -> str:
    if abs(number) > LARGEST:
        return "inf" if number > 0 else "-inf"
    if number.denominator == 1 or number.denominator < 1 << 16:
        return str(number)
    return repr(float(number))
