"""Does a program of blocks compute what its blocks say, at its full size? A proof, or why not.

A block says what each element is made of; loops say when. A program is *sound* when every access is
inside its buffer, every element has one definition, every sum is begun once and complete before it
is read, and what is read was written before, in every order that parallel and vectorized loops
allow. Two sound programs of the same blocks compute the same, so a schedule is right if each step
leaves a sound program that writes the same elements.

All questions are asked of sets of iterations (``polyhedra``), so none depends on the sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import islpy as isl

from mlc_course.errors import UsageError
from mlc_course.tensor_program.legality import polyhedra, verdicts
from mlc_course.tensor_program.legality.polyhedra import Expressions
from mlc_course.tensor_program.legality.statements import (
    TOGETHER,
    Statement,
    check_buffers_are_shared,
    check_kinds,
    check_lanes,
    own_loops,
    shared,
    statements,
    update_family,
)
from mlc_course.tensor_program.legality.verdicts import Illegal, Iteration, Kind, Legal, Unknown
from mlc_course.tensor_program.tir import (
    Bound,
    Expr,
    Fact,
    Repeat,
    TensorProgram,
    Touch,
    Var,
    check_flattening,
    every_step,
    formulas,
    main_function,
    undefined_vars,
    walk,
)

Fault = Illegal | Unknown


def sound(program: TensorProgram, like: TensorProgram | None = None) -> Fault | Legal:
    """Decide whether a program computes what its blocks say.

    With ``like``, it must also write the same elements of its parameters as that program.
    """
    try:
        blocks = _Blocks(program)
        for fault in blocks.faults():
            return fault
        if like is not None:
            for fault in blocks.other_results(_Blocks(like)):
                return fault
        runs = sum(prod(loop.extent for loop in each.loops) for each in blocks.statements)
        return Legal(runs, because="each reads what is complete")
    except UsageError as error:
        return verdicts.unknown(error)


@dataclass(frozen=True, eq=False)
class _Defined:
    """A buffer with the statements that give its elements their values.

    ``begins`` are stores that do not read the old value, ``update`` is the one that does. The
    buffer is used only inside the outermost ``inside`` loops, each iteration of which has one of
    its own in TVM's hands. A sum is begun and completed in each iteration of the outermost
    ``rounds`` loops of the update.
    """

    buffer: Var
    begins: tuple[Statement, ...]
    update: Statement | None
    inside: int
    rounds: int

    @property
    def name(self) -> str:
        return str(self.buffer.name)

    @property
    def writers(self) -> tuple[Statement, ...]:
        return (*self.begins, self.update) if self.update else self.begins


class _Blocks:
    """The statements of a program, and what can be wrong with them."""

    def __init__(self, program: TensorProgram) -> None:
        check_buffers_are_shared(program)
        self.program = program
        self.steps = walk(program)
        self.statements, values = statements(self.steps)
        self.parameters = list(main_function(program).params)
        self.axes = {
            each.var: each.block
            for each in every_step(self.steps)
            if isinstance(each, Bound) and each.extent is not None
        }
        self.expressions = Expressions(values)
        self.known: dict[tuple[Statement, Touch], isl.Map] = {}

    def faults(self) -> Iterator[Fault]:
        """List the faults of the program, the simplest first."""
        for each in self.statements:
            check_kinds(each)
            yield from self._opaque(each)
            yield from self._outside(each)
        defined = {}
        for buffer in dict.fromkeys(each.write.buffer for each in self.statements):
            begins, update = self._writers(buffer)
            yield from self._definitions(begins, update)
            own = self._own_loops(buffer)
            check_lanes(str(buffer.name), own)
            rounds = self._rounds(update, len(own)) if update else 0
            defined[buffer] = _Defined(buffer, begins, update, len(own), rounds)
            yield from self._sum(defined[buffer])
        for each in self.statements:
            for read, facts in each.reads:
                if read.buffer.same_as(each.write.buffer):
                    continue
                if read.buffer in defined:
                    yield from self._read(each, read, facts, defined[read.buffer])
                elif read.buffer not in self.parameters:
                    yield Unknown(f"{read.buffer.name} is read, but nothing writes it")
        check_flattening(self.program)

    # --- single statements ------------------------------------------------------------------------

    def _opaque(self, each: Statement) -> Iterator[Fault]:
        """A use of a loop around the block, which its axes do not tell."""
        conditions = [condition for condition, _ in each.facts[each.outside[1] :]]
        indices = [index for touch in each.touches for index in touch.indices]
        around = [loop.var for loop in each.loops[: each.outside[0]]]
        waiting = [var for x in (each.write.value, *indices, *conditions) for var in _variables(x)]
        while waiting and each.block:
            var = waiting.pop()
            if var in self.axes and self.axes[var] not in (each.block, each.block[: -len("_init")]):
                yield Unknown(
                    f"block {each.block} uses the axis {var.name} of block {self.axes[var]}",
                    "blocks inside blocks are not followed",
                )
                return
            if any(var.same_as(loop) for loop in around):
                yield Unknown(
                    f"block {each.block} uses the loop {var.name} beside its axes",
                    "bind it to an axis",
                )
                return
            is_axis = any(var.same_as(axis.var) for axis in each.axes)
            if var in self.expressions.values and not is_axis:
                waiting += _variables(self.expressions.values[var])

    def _outside(self, each: Statement) -> Iterator[Fault]:
        touches: list[tuple[Touch, tuple[Fact, ...]]] = [(each.write, ()), *each.reads]
        for touch, facts in touches:
            at = self._elements(each, touch, facts)
            if left := polyhedra.example(
                at.subtract_range(formulas.box([int(n) for n in touch.buffer.shape]))
            ):
                does = "writes" if touch.writes else "reads"
                where = _iteration(each, left[0], does)
                name = str(touch.buffer.name)
                yield verdicts.coverage("outside", name, tuple(left[1]), (where,))
        axes = self.expressions.over_loops(each, [axis.value for axis in each.axes], each.facts)
        if left := polyhedra.example(
            axes.subtract_range(formulas.box([axis.extent or 0 for axis in each.axes]))
        ):
            yield Unknown(
                f"block {each.block} runs outside of its domain, at {_iteration(each, left[0], '')}"
            )

    # --- what defines an element ------------------------------------------------------------------

    def _writers(self, buffer: Var) -> tuple[tuple[Statement, ...], Statement | None]:
        """The stores into a buffer that begin its elements, and the one that goes on from them."""
        writers = [each for each in self.statements if each.write.buffer.same_as(buffer)]
        updates = [each for each in writers if _reads_itself(each)]
        if len(updates) > 1 or not all(_is_update(each) for each in updates):
            raise UsageError(
                f"{buffer.name} is computed from itself",
                expected="one statement x = x + ..., or a product, a minimum, a maximum",
                got=", ".join(each.block or "a bare loop" for each in updates),
            )
        begins = tuple(each for each in writers if each not in updates)
        if any(not each.block for each in writers):
            raise UsageError(
                f"{buffer.name} is written by bare loops",
                expected="blocks, which say what each element is made of",
            )
        return begins, updates[0] if updates else None

    def _definitions(
        self, begins: Sequence[Statement], update: Statement | None
    ) -> Iterator[Fault]:
        """An element that has two definitions."""
        for each in begins:
            at = self._by_axes(each)
            if not at.is_injective():
                yield _two_definitions(each, each)
        for one, other in combinations(begins, 2):
            same = self._by_axes(one).range().intersect(self._by_axes(other).range())
            if not same.is_empty():
                yield _two_definitions(one, other)
        if update:
            at = self._by_axes(update)
            of = self.expressions.over_axes(
                update, [a.var for a in update.axes if not a.reduces], ()
            )
            from_element = at.reverse().apply_range(of)
            one_each = from_element.is_injective() or _sums_inside(update)
            if not (from_element.is_single_valued() and one_each):
                yield _two_definitions(update, update)
            if _sums_inside(update) and not all(
                each.write.block == update.write.block and not any(a.reduces for a in each.axes)
                for each in begins
            ):
                yield Unknown(f"block {update.block} sums in loops of its own")

    def _by_axes(self, each: Statement) -> isl.Map:
        """From a block's axes to the element that it writes."""
        inside = each.facts[each.outside[1] :]
        return self.expressions.over_axes(each, each.write.indices, inside)

    def _own_loops(self, buffer: Var) -> tuple[Repeat, ...]:
        """The loops each iteration of which has a buffer of its own."""
        is_parameter = any(buffer.same_as(each) for each in self.parameters)
        return () if is_parameter else own_loops(self.statements, buffer)

    # --- sums -------------------------------------------------------------------------------------

    def _rounds(self, update: Statement, inside: int) -> int:
        """The fewest outer loops in each iteration of which no term is added twice."""
        if _sums_inside(update):
            return max(inside, update.outside[0])
        terms = self._instances(update)
        for rounds in range(inside, len(update.loops) + 1):
            outer = polyhedra.prefix(len(update.loops), rounds)
            if outer.flat_range_product(terms).is_injective():
                return rounds
        raise AssertionError("an iteration is told by all its loops")

    def _instances(self, each: Statement) -> isl.Map:
        """From the iterations of a statement's block to the values of its axes."""
        values = [axis.value for axis in each.axes]
        return self.expressions.over_loops(each, values, each.facts[: each.outside[1]])

    def _sum(self, known: _Defined) -> Iterator[Fault]:
        """A sum that lacks terms, has them twice, or is begun too late or at the wrong time."""
        update = known.update
        if update is None:
            return
        yield from self._terms(known, update)
        for writer in known.writers:
            yield from self._at_once(known, writer, update)
        if not known.begins:
            if known.rounds:
                yield _bad_sum(known, update, "has its terms added in several rounds")
            return
        rounds = polyhedra.prefix(len(update.loops), known.rounds)
        runs = self.expressions.over_loops(
            update, update.write.indices, update.facts[: update.outside[1]]
        )
        summed = rounds.flat_range_product(runs).range()
        begun = isl.Set.empty(summed.get_space())
        for begin in known.begins:
            if shared(begin, update) < known.rounds:
                yield _bad_sum(known, update, "is begun once and summed several times")
                return
            outer = polyhedra.prefix(len(begin.loops), known.rounds)
            elements = self._elements(begin, begin.write)
            begun = begun.union(outer.flat_range_product(elements).range())
            late = self._same(begin, begin.write, update, update.write)
            late = late.intersect(polyhedra.agreeing(begin, update, known.rounds))
            late = late.intersect(polyhedra.ordered(begin, update, before=False))
            if found := polyhedra.example(late):
                where = self._place(begin, begin.write, found[0])
                pair = (_iteration(begin, found[0], "begins"), _iteration(update, found[1], "adds"))
                yield Illegal(
                    "flow",
                    known.name,
                    where,
                    (pair[1], pair[0]),
                    f"{pair[1]} adds to {verdicts.place(known.name, where)} before it is begun, "
                    f"which {pair[0]} does",
                )
        if not (_sums_inside(update) or begun.is_equal(summed)):
            yield _bad_sum(known, update, "is not begun where it is summed")

    def _terms(self, known: _Defined, update: Statement) -> Iterator[Fault]:
        rounds = polyhedra.prefix(len(update.loops), known.rounds)
        done = rounds.flat_range_product(self._instances(update)).range()
        reduced = [place for place, axis in enumerate(update.axes) if axis.reduces]
        whole = done
        for place in reduced:
            at = known.rounds + place
            whole = whole.project_out(isl.dim_type.set, at, 1)
            whole = whole.insert_dims(isl.dim_type.set, at, 1)
            bound = update.axes[place].extent or 0
            whole = whole.lower_bound_val(isl.dim_type.set, at, isl.Val(0))
            whole = whole.upper_bound_val(isl.dim_type.set, at, isl.Val(bound - 1))
        if not whole.is_subset(done):
            yield _bad_sum(known, update, "lacks terms")

    def _at_once(self, known: _Defined, one: Statement, other: Statement) -> Iterator[Fault]:
        """Two stores into one element of a sum at the same time."""
        same = self._same(one, one.write, other, other.write)
        same = same.intersect(polyhedra.unordered(one, other, inside=known.inside))
        if found := polyhedra.example(same):
            loop = next(
                each
                for each, x, y in zip(one.loops, *found, strict=False)
                if each.kind in TOGETHER and x != y
            )
            place = self._place(one, one.write, found[0])
            pair = _iteration(one, found[0], "writes"), _iteration(other, found[1], "writes")
            yield verdicts.race(str(loop.var.name), loop.kind, known.name, place, pair)

    # --- reads ------------------------------------------------------------------------------------

    def _read(
        self, each: Statement, read: Touch, facts: tuple[Fact, ...], known: _Defined
    ) -> Iterator[Fault]:
        """A read of an element that is not complete."""
        written = isl.Set.empty(self.expressions.iterations(each, ()).get_space())
        for writer in known.writers:
            pairs = self._same(writer, writer.write, each, read, facts)
            if known.update:
                yield from self._too_early(known, writer, each, pairs)
            here = pairs.intersect(polyhedra.ordered(writer, each, before=True))
            here = here.intersect(polyhedra.agreeing(writer, each, known.inside))
            written = written.union(here.range())
        reads = self._elements(each, read, facts)
        if found := polyhedra.example(reads.subtract_domain(written)):
            where = verdicts.place(known.name, tuple(found[1]))
            reader = _iteration(each, found[0], "reads")
            loops = ", ".join(str(loop.var.name) for loop in each.loops[: known.inside])
            own = f" (each iteration of {loops} has its own {known.name})" if loops else ""
            sentence = f"{reader} reads {where}, which may not be written yet{own}"
            yield Illegal("flow", known.name, tuple(found[1]), (reader,), sentence)

    def _too_early(
        self, known: _Defined, writer: Statement, each: Statement, pairs: isl.Map
    ) -> Iterator[Fault]:
        """A read of a sum that another round, or another iteration at the same time, goes on with.

        ``pairs`` are those of iterations of ``writer`` and ``each`` that touch one element.
        """
        round_of_both = min(known.rounds, shared(writer, each))
        late = polyhedra.ordered(writer, each, before=False)
        late = late.intersect(polyhedra.agreeing(writer, each, round_of_both))
        at_once = polyhedra.unordered(writer, each, inside=known.inside)
        own = polyhedra.agreeing(writer, each, known.inside)
        does = "updates" if writer is known.update else "writes"
        for pieces, when in ((at_once, "at the same time"), (late, "later")):
            found = polyhedra.example(pairs.intersect(pieces).intersect(own))
            if found:
                place = self._place(writer, writer.write, found[0])
                first = _iteration(each, found[1], "reads")
                second = _iteration(writer, found[0], does)
                what = verdicts.place(known.name, place)
                sentence = f"{first} reads {what}, which {second} {does} {when}"
                yield Illegal("flow", known.name, place, (first, second), sentence)

    # --- results ----------------------------------------------------------------------------------

    def other_results(self, like: _Blocks) -> Iterator[Fault]:
        """An element of a parameter that is written here and not there, or there and not here."""
        for here, there in zip(self.parameters, like.parameters, strict=True):
            ours, theirs = self._written(here), like._written(there)
            kinds: tuple[tuple[Kind, isl.Set, str], ...] = (
                ("missing", theirs.subtract(ours), "is not written any more"),
                ("extra", ours.subtract(theirs), "was not written before"),
            )
            for kind, odd, text in kinds:
                if not odd.is_empty():
                    at = tuple(polyhedra.coordinates(odd))
                    name = str(here.name)
                    yield Illegal(kind, name, at, (), f"{verdicts.place(name, at)} {text}")

    def _written(self, buffer: Var) -> isl.Set:
        found = isl.Set.empty(formulas.box([0] * len(buffer.ty.shape)).get_space())
        for each in self.statements:
            if each.write.buffer.same_as(buffer):
                found = found.union(self._elements(each, each.write).range())
        return found.coalesce()

    # --- relations --------------------------------------------------------------------------------

    def _elements(self, each: Statement, touch: Touch, facts: tuple[Fact, ...] = ()) -> isl.Map:
        """From the iterations in which a touch happens to its element."""
        if (each, touch) not in self.known:
            found = self.expressions.over_loops(each, touch.indices, (*each.facts, *facts))
            self.known[each, touch] = found
        return self.known[each, touch]

    def _same(
        self,
        one: Statement,
        write: Touch,
        other: Statement,
        touch: Touch,
        facts: tuple[Fact, ...] = (),
    ) -> isl.Map:
        """The pairs of iterations of two statements that touch one element."""
        return self._elements(one, write).apply_range(self._elements(other, touch, facts).reverse())

    def _place(self, each: Statement, touch: Touch, at: Sequence[int]) -> tuple[int, ...]:
        """The element of a touch in one iteration."""
        there = formulas.box([1] * len(at), at)
        return tuple(
            polyhedra.coordinates(self._elements(each, touch).intersect_domain(there).range())
        )


def _sums_inside(each: Statement) -> bool:
    """Tell whether a block has loops inside, so that each of its runs is a whole sum."""
    return len(each.loops) > each.outside[0]


def _variables(expr: Expr) -> list[Var]:
    """The variables of an expression; buffers are among them."""
    return list(undefined_vars(expr)) if expr is not None else []


def _reads_itself(each: Statement) -> bool:
    return any(read.buffer.same_as(each.write.buffer) for read, _ in each.reads)


def _is_update(each: Statement) -> bool:
    """Tell whether a statement is x = x + ..., with x only there."""
    own = [read for read, _ in each.reads if read.buffer.same_as(each.write.buffer)]
    return len(own) == 1 and bool(update_family(each.write))


def _iteration(each: Statement, at: Sequence[int], does: str) -> Iteration:
    names = (str(loop.var.name) for loop in each.loops)
    return Iteration(verdicts.values_of(names, at), does, each.block)


def _two_definitions(one: Statement, other: Statement) -> Unknown:
    name = one.write.buffer.name
    if one is other:
        return Unknown(f"block {one.block} computes an element of {name} more than once")
    return Unknown(f"{one.block} and {other.block} both compute an element of {name}")


def _bad_sum(known: _Defined, update: Statement, why: str) -> Illegal:
    return Illegal("flow", known.name, (), (), f"a sum of block {update.block} {why}")
