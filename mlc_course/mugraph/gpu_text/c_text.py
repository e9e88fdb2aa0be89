"""The text of kernels in a dialect of C: what every statement of a kernel program is spelled as.

One statement is one line or one nest of loops. Neighbours that lie together are loaded and stored
at once. Names stay those of the kernel program, unless C has another use for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from mlc_course.errors import GraphError, SizeError, UsageError, check_known
from mlc_course.mugraph.gpu_text.dialects import HALF, MOST_THREADS, STORAGE_BYTES, Dialect
from mlc_course.mugraph.gpu_text.matrix_text import matrix_lines
from mlc_course.mugraph.gpu_text.neighbours import are_neighbours
from mlc_course.mugraph.gpu_text.reserved_names import DEFINED, RESERVED
from mlc_course.mugraph.kernels import (
    CONST,
    VAR,
    Allocate,
    Apply,
    AwaitCopies,
    Axis,
    Barrier,
    Body,
    Buffer,
    CommitCopies,
    Compute,
    Constant,
    Copy,
    Count,
    Expr,
    Fetch,
    Guard,
    Kernel,
    Lookup,
    Loop,
    Read,
    Remark,
    Repeat,
    Select,
    SizedKernel,
    Statement,
    Threads,
    Value,
    body_lines,
    const,
    linear_form,
    reads,
    substituted,
    var,
    variables,
    walk,
    with_indices,
)

INDENT = "  "
# A loop over what a thread has in registers is written out; one of more steps goes over memory, and
# a compiler works for minutes on thousands of copies.
MOST_UNROLLED, UNROLLED_PART = 128, 8
WIDE_PLACES = 1 << 31  # a tensor with so many elements needs longer indices
BINDS = {"&": 0, "^": 1, "==": 2, "<": 3, "+": 4, "*": 5, "//": 5, "%": 5}  # as in C
SIGNS = {"&": "&&", "//": "/"}
INFIX = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2)}
WRAPPING = ("int64", "int32")
Spelled = Callable[[Read], str]


@dataclass(frozen=True)
class Source:
    """The text of some kernels, and the name of each in it."""

    text: str
    names: tuple[str, ...]


def source_of(kernels: Sequence[Kernel], dialect: Dialect, storage: str) -> Source:
    """Return the text of kernels, with what they call.

    Raises ``UsageError`` for a storage that the dialect lacks, or that the kernels were not planned
    for, ``SizeError`` for more blocks or threads than there can be, and ``GraphError`` for a
    function of elements that the dialect does not have.
    """
    check_known(f"no storage in {dialect.name}", storage, dialect.types)
    for each in kernels:
        if each.shared and each.storage_bytes != STORAGE_BYTES[storage]:
            raise UsageError(
                f"{each.name}: bytes of an element in storage",
                expected=f"{STORAGE_BYTES[storage]}, those of {storage}",
                got=f"a memory plan for {each.storage_bytes}",
                hint="lower for this storage (Gpu.storage_bytes)",
            )
    taken = set(RESERVED)
    names = tuple(_unused(f"{each.name}_kernel", taken) for each in kernels)
    writers = [
        _Writer(kernel, name, dialect, storage) for kernel, name in zip(kernels, names, strict=True)
    ]
    bodies = ["\n".join(each.lines()) for each in writers]
    kept = {storage, *(HALF for each in writers if each.has_halves)}
    parts = [*_called("\n".join(bodies), dialect, kept), *bodies]
    heading = [dialect.includes[each].rstrip() for each in sorted(kept) if dialect.includes[each]]
    return Source("\n\n".join([*heading, *parts]) + "\n", names)


def launch_grid(kernel: Kernel, dialect: Dialect) -> tuple[int, int, int]:
    """Return the blocks along the three axes of a launch.

    A grid with more blocks along an axis than the dialect has is launched along the first one.
    """
    x, y, z = (*(extent for _, extent in kernel.grid), 1, 1, 1)[:3]
    fits = all(n <= most for n, most in zip((x, y, z), dialect.most_blocks, strict=True))
    if fits:
        return x, y, z
    if x * y * z > dialect.most_blocks[0]:
        raise SizeError(
            f"{kernel.name}: blocks", expected=f"at most {dialect.most_blocks[0]:,}", got=x * y * z
        )
    return x * y * z, 1, 1


def _called(text: str, dialect: Dialect, kept: Collection[str]) -> list[str]:
    """The pieces that a text calls, and those that these call, in the order of the dialect."""
    wanted = set[str]()
    words = set(re.findall(r"\w+", re.sub("//.*", "", text)))
    while words:
        found = {name for name in dialect.pieces if name.partition(":")[0] in words} - wanted
        found = {name for name in found if name.partition(":")[2] in ("", *kept)}
        wanted |= found
        words = {word for name in found for word in re.findall(r"\w+", dialect.pieces[name])}
    return [dialect.pieces[name].rstrip() for name in dialect.pieces if name in wanted]


def _unused(wish: str, taken: set[str]) -> str:
    """Return a name in C that nothing else has, as near to a wish as can be."""
    plain = re.sub(r"\W", "_", wish, flags=re.ASCII) or "_"
    plain = f"_{plain}" if plain[0].isdigit() else plain
    plain = plain.strip("_") or "value" if "__" in plain or plain[0] == "_" else plain
    plain = re.sub("__+", "_", plain)
    plain = f"v{plain}" if plain[0].isdigit() else plain
    plain = f"{plain}_value" if DEFINED.match(plain) else plain
    found, number = plain, 1
    while found in taken:
        number += 1
        found = f"{plain}_{number}"
    taken.add(found)
    return found


class _Writer:
    def __init__(self, kernel: Kernel, name: str, dialect: Dialect, storage: str) -> None:
        self.kernel, self.name, self.dialect, self.storage = kernel, name, dialect, storage
        self.taken = {*RESERVED, name}
        self.buffers: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self.depth = 1
        self.functions = dict(dialect.functions)
        if STORAGE_BYTES[storage] == 2:
            self.functions |= dialect.quick_functions
        if kernel.threads > MOST_THREADS:
            raise SizeError(
                f"{kernel.name}: threads of a block",
                expected=f"at most {MOST_THREADS}",
                got=kernel.threads,
            )

    # ---- the whole kernel

    def lines(self) -> list[str]:
        kernel, dialect = self.kernel, self.dialect
        parameters = [
            form % (self.type_of(each), self.named(each))
            for form, buffers in ((dialect.input, kernel.inputs), (dialect.output, kernel.outputs))
            for each in buffers
        ]
        for size in kernel.sizes if isinstance(kernel, SizedKernel) else ():
            self.variables[size] = _unused(size, self.taken)
            parameters.append(f"const {dialect.long} {self.variables[size]}")
        grid = kernel.grid_text or "one"
        head = f"// blocks {grid}; {kernel.threads} threads each"
        head += f"; {kernel.shared_bytes} bytes of shared memory" * bool(kernel.shared)
        found = [head]
        listed = ", ".join(parameters)
        if len(listed) + len(self.name) > 90:
            listed = "".join(f"\n{INDENT}{INDENT}{each}," for each in parameters).rstrip(",")
        found += (dialect.kernel % (kernel.threads, self.name, listed)).split("\n")
        found += (f"{INDENT}// {reason}" for reason in kernel.reasons)
        found += (f"{INDENT}{line}" for line in self._shared())
        found += (f"{INDENT}{line}" for line in self._numbers())
        found += self.body(kernel.body)
        return [*found, "}"]

    def _shared(self) -> Iterator[str]:
        kernel, dialect = self.kernel, self.dialect
        if not kernel.shared:
            return
        places = dict(kernel.offsets)
        yield dialect.shared % kernel.shared_bytes
        for each in kernel.shared:
            kind = self.type_of(each)
            line = dialect.shared_pointer % (kind, self.named(each), kind, places[each.name])
            yield f"{line}  // {str(each).removeprefix(each.name)}"

    def unused(self, wish: str) -> str:
        """Return a name that nothing around has."""
        return _unused(wish, set(self.taken) | set(self.variables.values()))

    def _numbers(self) -> Iterator[str]:
        """The numbers of thread and block."""
        kernel, dialect = self.kernel, self.dialect
        names = {each.name for each in walk(kernel.body) if isinstance(each, Threads)}
        for name in sorted(names):
            self.variables[name] = _unused(name, self.taken)
            yield f"const int {self.variables[name]} = {dialect.thread};"
        own = [extent for _, extent in kernel.grid]
        axes = "xyz" if "%s" in dialect.block and "Idx" in dialect.block else "012"
        flat = tuple(own) != launch_grid(kernel, dialect)[: len(own)]
        if flat:
            left = _unused("block", self.taken)
            yield f"int {left} = {dialect.block % axes[0]};"
        steps = list(enumerate(kernel.grid))
        for place, (axis, extent) in reversed(steps) if flat else steps:
            self.variables[axis] = _unused(f"block_{axis}", self.taken)
            if flat:
                yield f"const int {self.variables[axis]} = {left} % {extent};"
                yield f"{left} /= {extent};"
            else:
                yield f"const int {self.variables[axis]} = {dialect.block % axes[place]};"

    def type_of(self, buffer: Buffer) -> str:
        if buffer.role == HALF:
            return self.dialect.types[HALF]
        if buffer.role in self.dialect.own_types:
            return self.dialect.own_types[buffer.role]
        return self.dialect.types[self.storage] if buffer.role == "storage" else "float"

    def named(self, buffer: Buffer) -> str:
        if buffer.name not in self.buffers:
            self.buffers[buffer.name] = made = self.unused(buffer.name)
            self.taken.add(made)
        return self.buffers[buffer.name]

    def is_converted(self, buffer: Buffer) -> bool:
        return buffer.role in ("storage", HALF) and self.type_of(buffer) != "float"

    @property
    def has_halves(self) -> bool:
        """Tell whether a tensor is in float16, whatever the storage."""
        return any(each.role == HALF for each in (*self.kernel.inputs, *self.kernel.outputs))

    # ---- indices and values

    def index(self, e: Expr, binds: int = 0, *, is_wide: bool = False) -> str:
        """Return an index as text, in parentheses if it binds less tightly than asked."""
        if e.op == CONST:
            return str(e.args[0])
        if e.op == VAR:
            name = self.variables[e.args[0]]
            return f"({self.dialect.long}){name}" if is_wide else name
        a, b = e.args
        own = BINDS[e.op]
        if e.op == "*" and b.op == CONST:  # 16*k reads better than k*16
            a, b = b, a
        left = self.index(a, own, is_wide=is_wide)
        if e.op == "+" and b.op == CONST and b.args[0] < 0:
            text = f"{left} - {-b.args[0]}"
        else:
            right = self.index(b, own + (e.op != "+"), is_wide=is_wide)
            sign = SIGNS.get(e.op, e.op)
            text = f"{left}{sign}{right}" if sign == "*" else f"{left} {sign} {right}"
        return f"({text})" if own < binds else text

    def place(self, read: Read) -> str:
        """Return the number of an element in its buffer's memory."""
        buffer = read.buffer
        return self.index(buffer.flat(read.index), is_wide=buffer.size > WIDE_PLACES)

    def address(self, read: Read) -> str:
        """Return a pointer to an element."""
        place = self.place(read)
        return self.named(read.buffer) + (f" + {place}" if place != "0" else "")

    def cell(self, read: Read) -> str:
        """Return an element as a place that can be assigned to."""
        return f"{self.named(read.buffer)}[{self.place(read)}]"

    def element(self, read: Read) -> str:
        """Return the value of an element, as a float."""
        if not self.is_converted(read.buffer):
            return self.cell(read)
        if self.dialect.has_vectors:
            return f"vload_half({self.place(read)}, {self.named(read.buffer)})"
        return f"as_float({self.cell(read)})"

    def value(self, value: Value, read: Spelled, binds: int = 0, width: int = 1) -> str:
        """Return a formula as text; ``read`` says how its elements are spelled."""
        match value:
            case Constant(number):
                return self._constant(float(number))
            case Read():
                return read(value)
            case Count(at):
                return f"({self.index(at, is_wide=True)})"
            case Lookup(table, row, long, rest):
                place = f"({self.dialect.long}){self.value(row, read, 6)}*({self.index(long)})"
                cell = f"{self.named(table)}[{place} + {self.index(rest, is_wide=True)}]"
                if not self.is_converted(table):
                    return cell
                half = f"vload_half(0, &{cell})" if self.dialect.has_vectors else ""
                return half or f"as_float({cell})"
            case Apply("less" | "equal" as name, (a, b)):
                sign = "<" if name == "less" else "=="
                texts = [self.value(each, read, 1) for each in (a, b)]
                return f"({f' {sign} '.join(texts)} ? 1.0f : 0.0f)"
            case Apply("not", (a,)):
                return f"({self.value(a, read, 1)} == 0.0f ? 1.0f : 0.0f)"
            case Apply("choose", (when, then, otherwise)):
                texts = [self.value(each, read, 1) for each in (when, then, otherwise)]
                return f"({texts[0]} != 0.0f ? {texts[1]} : {texts[2]})"
            case Select(when, then, otherwise):
                parts = [self.value(each, read, 1, width) for each in (then, otherwise)]
                if width > 1:
                    parts = [f"(float{width})({each})" for each in parts]
                return f"({self.index(when)} ? {' : '.join(parts)})"
            case Apply(name, (Read(buffer) as a, b)) if name in INFIX and buffer.role in WRAPPING:
                # in unsigned numbers, since a compiler takes signed ones to stay in their range
                kind = self.dialect.own_types[buffer.role]
                sides = [f"(unsigned {kind}){self.value(each, read, 3)}" for each in (a, b)]
                return f"({kind})({f' {INFIX[name][0]} '.join(sides)})"
            case Apply(name, (a, b)) if name in INFIX:
                sign, own = INFIX[name]
                left, right = self.value(a, read, own, width), self.value(b, read, own + 1, width)
                text = f"{left} {sign} {right}"
                return f"({text})" if own < binds else text
            case Apply(name, args):
                check_known(
                    f"no spelling in {self.dialect.name} for", name, self.functions, GraphError
                )
                inner = [self.value(each, read, 0, width) for each in args]
                if width == 1:
                    return f"{self.functions[name]}({', '.join(inner)})"
                wide = f"float{width}"
                inner = [f"({wide})({each})" for each in inner]
                own_width = str(width) if self.functions[name] in self.dialect.pieces else ""
                return f"{self.functions[name]}{own_width}({', '.join(inner)})"

    def _constant(self, number: float) -> str:
        with np.errstate(over="ignore"):
            rounded = float(np.float32(number))
        if np.isinf(rounded):
            return self.dialect.infinity if rounded > 0 else f"(-{self.dialect.infinity})"
        shortest = str(np.float32(rounded))
        text = shortest if "." in shortest or "e" in shortest else f"{shortest}.0"
        return f"{text}f" if rounded >= 0 else f"({text}f)"

    # ---- statements

    def say(self, text: str) -> str:
        return INDENT * self.depth + text

    def body(self, body: Body) -> list[str]:
        return [line for each in body for line in self.statement(each)]

    def block(self, head: str, lines: Callable[[], list[str]]) -> list[str]:
        """Lines in braces, or none where there are none."""
        self.depth += 1
        inner = lines()
        self.depth -= 1
        return [self.say(f"{head}{{"), *inner, self.say("}")] if inner else []

    @contextmanager
    def counting(self, name: str) -> Iterator[str]:
        """A variable of a loop, under a name that nothing around it has."""
        before = self.variables.get(name)
        self.variables[name] = made = self.unused(name)
        yield made
        del self.variables[name]
        if before is not None:
            self.variables[name] = before

    def loop(
        self, name: str, extent: int, lines: Callable[[], list[str]], *, unrolled: bool
    ) -> list[str]:
        with self.counting(name) as counter:
            found = self.block(
                f"for (int {counter} = 0; {counter} < {extent}; ++{counter}) ", lines
            )
        if not unrolled or not found:
            return found
        part = f" {UNROLLED_PART}" * (extent > MOST_UNROLLED)
        return [self.say(f"#pragma unroll{part}"), *found]

    def statement(self, statement: Statement) -> list[str]:
        match statement:
            case Remark(text):
                return [self.say(f"// {' '.join(text.split())}")]
            case Allocate(buffer):
                return [self.say(f"{self.type_of(buffer)} {self.named(buffer)}[{buffer.size}];")]
            case Compute():
                return self.compute(statement)
            case Repeat(name, turns, body):
                with self.counting(name) as counter:
                    end = self.index(turns, BINDS["<"] + 1)
                    count = f"{self.dialect.long} {counter} = 0"
                    head = f"for ({count}; {counter} < {end}; ++{counter}) "
                    return self.block(head, lambda: self.body(body))
            case Loop(name, extent, body, order):
                unrolled = order == "unrolled"
                found = self.loop(name, extent, lambda: self.body(body), unrolled=unrolled)
                if self.dialect.waits_after_loops and any(
                    isinstance(s, Barrier) for s in walk(body)
                ):
                    found.append(self.say(self.dialect.barrier))
                return found
            case Threads(name, count, body):
                if count < self.kernel.threads:
                    return self.block(
                        f"if ({self.variables[name]} < {count}) ", lambda: self.body(body)
                    )
                return self.body(body)
            case Guard():
                return self.guard(statement)
            case Barrier():
                return [self.say(self.dialect.barrier)]
            case Copy():
                return [self.say(self.copy(statement))]
            case CommitCopies():
                return [] if self.dialect.has_vectors else [self.say("commit_copies();")]
            case AwaitCopies(pending):
                return [] if self.dialect.has_vectors else [self.say(f"await_copies<{pending}>();")]
            case Fetch():
                return []

    def guard(self, guard: Guard) -> list[str]:
        when = self.index(guard.when, is_wide=isinstance(self.kernel, SizedKernel))
        if not guard.body:
            return self.block(f"if (!({when})) ", lambda: self.body(guard.otherwise))
        here = self.block(f"if ({when}) ", lambda: self.body(guard.body))
        there = self.block("else ", lambda: self.body(guard.otherwise)) if guard.otherwise else []
        if not here or not there:
            return (
                here
                or [line.replace("else ", f"if (!({when})) ", 1) for line in there[:1]] + there[1:]
            )
        return [*here[:-1], self.say("} else {"), *there[1:]]

    def copy(self, s: Copy) -> str:
        to, source = Read(s.target, s.index), Read(s.source, s.source_index)
        size = s.width * STORAGE_BYTES[self.storage]
        if not self.dialect.has_vectors:
            return f"copy_async<{size}>({self.address(to)}, {self.address(source)});"
        words = {4: "uint", 8: "uint2", 16: "uint4"}[size]
        left = f"*(__local {words}*)({self.address(to)})"
        return f"{left} = *(__global const {words}*)({self.address(source)});"

    # ---- one formula at all points

    def compute(self, s: Compute) -> list[str]:
        if s.fragments:
            if f"multiply_add:{self.storage}" not in self.dialect.pieces:
                raise GraphError(
                    f"no matrix unit in {self.dialect.name} for {self.storage}",
                    got=next(body_lines((s,))),
                    hint="lower without one (Gpu.matrix_unit)",
                )
            return [self.say(line) for line in matrix_lines(s, self)]
        if self._adds_up_vectors(s):
            return self._sums_of_vectors(s)
        in_loop = len(s.axes) > 1
        self.depth += not in_loop
        found = self._over(s, s.axes)
        self.depth -= not in_loop
        if in_loop or not any(_declares(line) for line in found):
            return found if in_loop else [line.removeprefix(INDENT) for line in found]
        return [self.say("{"), *found, self.say("}")]

    def _over(self, s: Compute, axes: Sequence[Axis]) -> list[str]:
        if not axes:
            return [self.say(self._assigned(s, self.element))]
        axis, *inner = axes
        if not inner and axis.lanes in self.dialect.widths and axis.extent % axis.lanes == 0:
            return self._vectors(s, axis)
        return self.loop(
            axis.name, axis.extent, lambda: self._over(s, inner), unrolled=axis.unrolled
        )

    def _assigned(self, s: Compute, read: Spelled) -> str:
        """One element: what it is assigned."""
        target = Read(s.target, s.index)
        value, sign = s.value, "="
        if s.combine == "add" and not self.is_converted(s.target):
            sign = "+="
        elif s.combine:
            value = Apply(s.combine, (target, s.value))
        text = self.value(value, read)
        if not self.is_converted(s.target):
            return f"{self.cell(target)} {sign} {text};"
        if self.dialect.has_vectors:
            return f"vstore_half({text}, {self.place(target)}, {self.named(s.target)});"
        return f"put({self.cell(target)}, {text});"

    def _vectors(self, s: Compute, axis: Axis) -> list[str]:
        """The last axis, some neighbours at once."""
        count, width = axis.extent // axis.lanes, axis.lanes
        if count > 1:
            step = f"{axis.name}_step"
            moved = {axis.name: var(step) * width + var(axis.name)}
            inner = _moved(s, moved)
            one = replace(axis, extent=width)
            return self.loop(step, count, lambda: self._vectors(inner, one), unrolled=axis.unrolled)
        if self.dialect.has_vectors:
            return self._in_vector_arithmetic(s, axis)
        return self._element_by_element(s, axis)

    def _in_vector_arithmetic(self, s: Compute, axis: Axis) -> list[str]:
        width = axis.lanes
        if not _is_of_vectors(s, axis) or not self._is_of_floats(s):
            scalar = replace(axis, lanes=1)
            return self._over(s, (scalar,))

        target = Read(s.target, s.index)
        value = Apply(s.combine, (target, s.value)) if s.combine else s.value
        text = self._vector_value(value, axis)
        first = _at_lane(target, axis.name, 0)
        store = f"vstore_half{width}" if self.is_converted(s.target) else f"vstore{width}"
        return [self.say(f"{store}({text}, 0, {self.address(first)});")]

    def _is_of_floats(self, s: Compute) -> bool:
        """Tell whether a statement is about floats alone; vectors of two types do not mix."""
        buffers = [s.target, *(each.buffer for each in reads(s.value))]
        is_mixed = any(each.role in self.dialect.own_types for each in buffers)
        return not is_mixed and not _has_one_by_one(s.value)

    def _vector_value(self, value: Value, axis: Axis) -> str:
        """Return a formula on all lanes of an axis at once."""

        def read(x: Read) -> str:
            if _uses(x, axis.name):
                return self._vector(_at_lane(x, axis.name, 0), axis.lanes)
            return self.element(x)

        text = self.value(value, read, width=axis.lanes)
        if any(_uses(each, axis.name) for each in reads(value)):
            return text
        return f"(float{axis.lanes})({text})"

    def _vector(self, first: Read, width: int) -> str:
        load = f"vload_half{width}" if self.is_converted(first.buffer) else f"vload{width}"
        return f"{load}(0, {self.address(first)})"

    def _adds_up_vectors(self, s: Compute) -> bool:
        """Tell whether it adds vectors up along its first axis, to sums of the thread itself."""
        if not self.dialect.has_vectors or s.combine != "add" or len(s.axes) < 2:
            return False
        first, *_, last = s.axes
        target = Read(s.target, s.index)
        return (
            s.target.scope in ("registers", "private")
            and not self.is_converted(s.target)
            and not _uses(target, first.name)
            and last.extent == last.lanes in self.dialect.widths
            and s.target.size % last.lanes == 0
            and _is_of_vectors(s, last)
        )

    def _sums_of_vectors(self, s: Compute) -> list[str]:
        """Sums that are vectors for the time of a loop, so that no step goes through memory."""
        *outer, last = s.axes
        width, count = last.lanes, s.target.size // last.lanes
        taken = set(self.taken) | set(self.variables.values())
        sums, counter = _unused(f"{self.named(s.target)}_sums", taken), _unused("v", taken)
        array = self.named(s.target)
        place = _divided(
            s.target.flat(_at_lane(Read(s.target, s.index), last.name, 0).index), width
        )

        def lines(axes: Sequence[Axis]) -> list[str]:
            if not axes:
                added = self._vector_value(s.value, last)
                return [self.say(f"{sums}[{self.index(place)}] += {added};")]
            axis, *inner = axes
            return self.loop(axis.name, axis.extent, lambda: lines(inner), unrolled=axis.unrolled)

        def each_vector(line: str) -> list[str]:
            head = f"for (int {counter} = 0; {counter} < {count}; ++{counter}) "
            return [self.say("#pragma unroll"), *self.block(head, lambda: [self.say(line)])]

        return self.block(
            "",
            lambda: [
                self.say(f"float{width} {sums}[{count}];"),
                *each_vector(f"{sums}[{counter}] = vload{width}({counter}, {array});"),
                *lines(outer),
                *each_vector(f"vstore{width}({sums}[{counter}], {counter}, {array});"),
            ],
        )

    def _element_by_element(self, s: Compute, axis: Axis) -> list[str]:
        """Loads and stores of neighbours at once, and arithmetic on each."""
        lane, width = var(axis.name), axis.lanes

        def is_wide(x: Read) -> bool:
            outside = x.buffer.scope in ("global", "shared")
            outside &= x.buffer.role not in self.dialect.own_types
            return outside and are_neighbours(x.buffer, x.index, lane, width)

        target = Read(s.target, s.index)
        loads = list(dict.fromkeys(each for each in _always_read(s.value) if is_wide(each)))
        stores = is_wide(target)
        if not loads and not stores:
            return self._over(s, (replace(axis, lanes=1),))
        value: Value = s.value
        if stores and s.combine:
            loads = list(dict.fromkeys([target, *loads]))
            value = Apply(s.combine, (target, s.value))
        taken = set(self.taken) | set(self.variables.values())
        names = {each: _unused(f"{self.named(each.buffer)}_part", taken) for each in loads}
        made = _unused(f"{self.named(s.target)}_part", taken)

        def lines() -> list[str]:
            found = []
            for each, name in names.items():
                first = self.address(_at_lane(each, axis.name, 0))
                found.append(self.say(f"float {name}[{width}];"))
                found.append(self.say(f"load({name}, {first});"))
            if stores:
                found.append(self.say(f"float {made}[{width}];"))
            found += self.loop(axis.name, width, one, unrolled=True)
            if stores:
                first = self.address(_at_lane(target, axis.name, 0))
                found.append(self.say(f"store({first}, {made});"))
            return found

        def read(x: Read) -> str:
            return f"{names[x]}[{self.variables[axis.name]}]" if x in names else self.element(x)

        def one() -> list[str]:
            if stores:
                text = self.value(value, read)
                return [self.say(f"{made}[{self.variables[axis.name]}] = {text};")]
            return [self.say(self._assigned(s, read))]

        return lines()


def _declares(line: str) -> bool:
    return line.lstrip().startswith("float ")


def _is_of_vectors(s: Compute, axis: Axis) -> bool:
    """Tell whether all that a formula reads and writes along an axis are vectors in memory."""
    target, lane = Read(s.target, s.index), var(axis.name)
    along = [each for each in (target, *reads(s.value)) if _uses(each, axis.name)]
    return (
        _uses(target, axis.name)
        and all(are_neighbours(each.buffer, each.index, lane, axis.lanes) for each in along)
        and not any(axis.name in variables(when) for when in _conditions(s.value))
    )


def _divided(e: Expr, by: int) -> Expr:
    """Return an index divided by a number that divides all its terms."""
    total = const(0)
    for term, factor in linear_form(e).items():
        total = total + term * (factor // by)
    return total


def _uses(read: Read, name: str) -> bool:
    return any(name in variables(each) for each in read.index)


def _at_lane(read: Read, name: str, number: int) -> Read:
    index = tuple(substituted(each, {name: const(number)}) for each in read.index)
    return replace(read, index=index)


def _always_read(value: Value) -> Iterator[Read]:
    """The reads of a value that no condition decides about."""
    match value:
        case Read():
            yield value
        case Apply(_, args):
            for each in args:
                yield from _always_read(each)


def _has_one_by_one(value: Value) -> bool:
    """Tell whether a part of a value is spelled for one element alone."""
    match value:
        case Count() | Lookup() | Apply("less" | "equal" | "not" | "choose"):
            return True
        case Apply(_, args):
            return any(map(_has_one_by_one, args))
        case Select(_, then, otherwise):
            return _has_one_by_one(then) or _has_one_by_one(otherwise)
    return False


def _conditions(value: Value) -> Iterator[Expr]:
    match value:
        case Apply(_, args):
            for each in args:
                yield from _conditions(each)
        case Select(when, then, otherwise):
            yield when
            yield from _conditions(then)
            yield from _conditions(otherwise)


def _moved(s: Compute, numbers: Mapping[str, Expr]) -> Compute:
    found: Compute = with_indices(s, lambda e: substituted(e, numbers))
    return found
