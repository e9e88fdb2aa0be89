"""How often the loops of LLVM's assembly run, where the text tells: from one number to another.

Integer registers and places on the stack are followed through a function, and through one iteration
of each loop, where each is a number, or so much more than another was, or unknown. Source: A. Aho
et al., Compilers, 2nd edition, sections 9.3 (data flow) and 9.4 (constants).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from functools import cached_property

from mlc_course.tensor_program.processor.control_flow import Function

Place = str  # a register, whatever its width, or a place on the stack


@dataclass(frozen=True)
class Value:
    """A number, or so much more than what was in place ``base`` before."""

    base: Place | None
    number: int


Write = tuple[Place, Value | None]  # None: unknown


@dataclass(frozen=True)
class State:
    """What places hold. Those that are not listed are unknown, or hold what they did before."""

    held: dict[Place, Value | None]
    from_before: bool

    def __getitem__(self, place: Place) -> Value | None:
        return self.held.get(place, Value(place, 0) if self.from_before else None)

    def after(self, writes: Iterable[Iterable[Write]]) -> State:
        """What places hold after some instructions."""
        held = dict(self.held)
        now = State(held, self.from_before)
        for each in writes:
            held |= {place: now.of(value) for place, value in each}
        return now

    def of(self, value: Value | None) -> Value | None:
        """A value in terms of what was before, or None."""
        if value is None or value.base is None:
            return value
        base = self[value.base]
        return base and Value(base.base, base.number + value.number)

    def joined(self, other: State) -> State:
        """What holds after either of two ways."""
        places = self.held.keys() | other.held.keys()
        same = {place: self[place] if self[place] == other[place] else None for place in places}
        return State(same, self.from_before)


Compares = Callable[[int, int], bool]
TAKEN: dict[str, Compares] = {  # the jump is taken where this holds
    **dict.fromkeys(("jne", "b.ne", "cbnz"), operator.ne),
    **dict.fromkeys(("je", "b.eq", "cbz"), operator.eq),
    **dict.fromkeys(("jl", "jb", "b.lt", "b.lo"), operator.lt),
    **dict.fromkeys(("jle", "jbe", "b.le", "b.ls"), operator.le),
    **dict.fromkeys(("jg", "ja", "b.gt", "b.hi"), operator.gt),
    **dict.fromkeys(("jge", "jae", "b.ge", "b.hs"), operator.ge),
}
OPPOSITE: dict[Compares, Compares] = {
    operator.ne: operator.eq,
    operator.eq: operator.ne,
    operator.lt: operator.ge,
    operator.ge: operator.lt,
    operator.le: operator.gt,
    operator.gt: operator.le,
}


class Counters:
    """The integers that a function counts with."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.writes = [[list(writes(text)) for text in block] for block in function.blocks]

    def iterations(self, head: int) -> int | None:
        """How often the first block of a loop runs each time that the loop is entered.

        None for a loop with several ways out, and for one that does not go from one number to
        another in equal steps.
        """
        function, loop = self.function, self.function.loops[head]
        exits = [block for block in loop if function.successors[block] - loop]
        tails = [block for block in function.before(head) if block in loop]
        if len(exits) != 1 or not self._passes(exits[0], head, loop, tails):
            return None
        ends = self._ends(loop, head, State({}, from_before=True))
        compared = self._compared(exits[0], loop, head, ends)
        counter = compared and compared[0]
        if compared is None or counter is None or counter.base is None:
            return None
        entry = self._entry(head, loop)
        steps = {ends[tail][counter.base] for tail in tails}
        step, start, end = steps.pop(), entry.of(counter), entry.of(compared[1])
        if compared[1] and compared[1].base is not None:
            kept = Value(compared[1].base, 0)
            end = end if all(ends[tail][compared[1].base] == kept for tail in tails) else None
        if steps or step is None or step.base != counter.base:
            return None
        if start is None or end is None or start.base is not None or end.base is not None:
            return None
        return _comparisons(start.number, step.number, end.number, compared[2])

    @cached_property
    def _constants(self) -> dict[int, State]:
        everywhere = set(range(len(self.function.blocks)))
        return self._ends(everywhere, 0, State({}, from_before=False))

    def _entry(self, head: int, loop: Set[int]) -> State:
        """What is known whenever a loop is entered."""
        before = [self._constants.get(n) for n in self.function.before(head) if n not in loop]
        known = [each for each in before if each is not None]  # the others are never reached
        found = known[0] if known else State({}, from_before=False)
        for each in known[1:]:
            found = found.joined(each)
        return found

    def _passes(self, block: int, head: int, loop: Set[int], tails: Iterable[int]) -> bool:
        """Tell whether every iteration of a loop runs this block."""
        seen, waiting = {block}, [head]
        while waiting:
            if (node := waiting.pop()) not in seen:
                seen.add(node)
                waiting += self.function.successors[node] & loop
        return not any(tail in seen - {block} for tail in tails)

    def _ends(self, region: Set[int], first: int, start: State) -> dict[int, State]:
        """What holds at the end of each block of a region that is entered at its first one."""
        ends: dict[int, State] = {}
        waiting = [first]
        while waiting:
            block = waiting.pop()
            end = self._begin(block, region, first, start, ends).after(self.writes[block])
            if ends.get(block) != end:
                ends[block] = end
                waiting += (self.function.successors[block] & region) - {first}
        return ends

    def _begin(
        self, block: int, region: Set[int], first: int, start: State, ends: dict[int, State]
    ) -> State:
        if block == first:
            return start
        found: State | None = None
        for each in self.function.before(block):
            if each in region and each in ends:
                found = ends[each] if found is None else found.joined(ends[each])
        return found or start

    def _compared(
        self, block: int, loop: Set[int], head: int, ends: dict[int, State]
    ) -> tuple[Value | None, Value | None, Compares] | None:
        """What the last jump of a block compares, and which comparison goes on with the loop."""
        *body, jump = self.function.blocks[block]
        name, _, rest = jump.partition(" ")
        goes_on = TAKEN.get(name)
        if goes_on is None:
            return None
        if block + 1 in loop:  # the jump leaves it
            goes_on = OPPOSITE[goes_on]
        start = self._begin(block, loop, head, State({}, from_before=True), ends)
        if name in ("cbnz", "cbz"):
            place = _place(rest.partition(",")[0])
            return (start.after(self.writes[block])[place], ZERO, goes_on) if place else None
        for at in range(len(body) - 1, -1, -1):
            if FLAGS.match(body[at]):
                if not (operands := compares(body[at])):
                    return None
                before = start.after(self.writes[block][:at])
                if operands[1] is None:  # a result, compared with zero
                    before = start.after(self.writes[block][: at + 1])
                    if goes_on not in (operator.ne, operator.eq):
                        return None
                first, second = operands[0], operands[1] or ZERO
                return before.of(first), before.of(second), goes_on
        return None


def _comparisons(first: int, step: int, end: int, goes_on: Compares) -> int | None:
    """How many comparisons of first, first + step, ... with the end there are: the last one fails.

    None if there is no last one, or if it takes an overflow.
    """
    if not goes_on(first, end):
        return 1
    if goes_on in (operator.le, operator.ge):
        end += 1 if goes_on is operator.le else -1
    way = end - first
    if step == 0 or way * step < 0 or (goes_on is operator.ne and way % step):
        return None
    return None if goes_on is operator.eq else 1 - (-way // step)


# --- instructions ---------------------------------------------------------------------------------

ZERO = Value(None, 0)
REGISTER = re.compile(r"%[re]?(ax|bx|cx|dx|si|di|bp|\d+)d?$|[xw](\d+)$")
STACK = re.compile(r"(-?\d*)\(%rsp\)$|\[sp(?:, #(\d+))?\]$")
NUMBER = re.compile(r"[$#](-?\d+)$")
SHIFT = re.compile(r"lsl #(\d+)$")
ADDRESS = re.compile(r"(-?\d*)\((%\w+)\)$")  # of x86's lea
MOVES_ON = re.compile(r"(?:ld|st).*\[(x\d+)(?:\], #(-?\d+)|, #(-?\d+)\]!)$")  # ARM
OPERANDS = re.compile(r", ?(?![^(\[{]*[)\]}])")
FLAGS = re.compile(
    r"(add|adc|sub|sbb|inc|dec|and|andn|or|xor|neg|sh[lr]|sa[lr]|imul|mul|bextr|blsr|bt)[bwlq] |"
    r"(cmp|test)[bwlq] |v?p?test|v?u?comis|call|(cmp|cmn|tst|ccmp|fcmp|fccmp|adds|subs|ands|bics) |"
    r"while|bl|pt"
)
NO_TARGET = re.compile(
    r"((cmp|test|push|bt)[bwlq]|j\w+|call\w*|ret\w*|cmn?|cmp|tst|cbn?z|tbn?z|b|bl|br|blr|b\.\w+|prfm)$"
)


def compares(instruction: str) -> tuple[Value, Value | None] | None:
    """The two integers that an instruction compares; for one that computes, its result alone."""
    name, _, rest = instruction.partition(" ")
    operands = OPERANDS.split(rest)
    if re.match(r"cmp[lq]?$", name):
        values = [_value(operands[:1]), _value(operands[1:])]
        first, second = values if name == "cmp" else values[::-1]
        return (first, second) if first and second else None
    if re.match(r"test[lq]$", name) and operands[0] == operands[1]:
        tested = _value(operands[:1])
        return (tested, ZERO) if tested else None
    if re.match(r"(add|sub|inc|dec)[lq]$|(adds|subs)$", name):
        place = _place(operands[0 if name.endswith("s") else -1])
        return (Value(place, 0), None) if place else None
    return None


def writes(instruction: str) -> Iterator[Write]:
    """What an instruction puts into integer registers and places on the stack."""
    name, _, rest = instruction.partition(" ")
    if not rest or NO_TARGET.match(name):
        return
    operands = OPERANDS.split(rest)
    if "%" in instruction:
        if target := _place(operands[-1]):
            yield target, _x86(name, operands, target)
        return
    if moved := MOVES_ON.match(instruction):
        yield moved[1][1:], Value(moved[1][1:], int(moved[2] or moved[3]))
    if name.startswith("st"):
        for number, operand in enumerate(operands[:-1]):
            if target := _place(operands[-1], later=_width(operand) * number):
                yield target, _value([operand])
        return
    loads = name in ("ldr", "ldp")
    for number, operand in enumerate(operands[:-1] if loads else operands[:1]):
        if target := _place(operand):
            source = _place(operands[-1], later=_width(operand) * number) if loads else None
            yield target, Value(source, 0) if source else _arm(name, operands)


def _x86(name: str, operands: list[str], target: Place) -> Value | None:
    number = _number(operands[:1])
    if re.match(r"(mov|movabs)[lq]$", name):
        return _value(operands[:1])
    if name in ("xorl", "xorq") and operands[0] == operands[1]:
        return ZERO
    if re.match(r"(inc|dec)[lq]$", name):
        return Value(target, 1 if name.startswith("inc") else -1)
    if re.match(r"(add|sub)[lq]$", name) and number is not None:
        return Value(target, number if name.startswith("add") else -number)
    if re.match(r"lea[lq]$", name) and (found := ADDRESS.match(operands[0])):
        place = _place(found[2])
        return Value(place, int(found[1] or 0)) if place else None
    return None


def _arm(name: str, operands: list[str]) -> Value | None:
    if name == "mov":
        return ZERO if operands[1] in ("xzr", "wzr") else _value(operands[1:])
    number, source = _number(operands[2:]), _place(operands[1]) if len(operands) > 1 else None
    if name in ("add", "adds", "sub", "subs") and number is not None and source:
        return Value(source, number if name.startswith("add") else -number)
    return None


def _place(operand: str, *, later: int = 0) -> Place | None:
    if found := REGISTER.match(operand):
        return found[1] or found[2]
    if found := STACK.match(operand):
        return f"{int(found[1] or found[2] or 0) + later}(sp)"
    return None


def _width(register: str) -> int:
    """The bytes of one of Arm's registers."""
    return {"w": 4, "s": 4, "q": 16}.get(register[0], 8)


def _value(operands: list[str]) -> Value | None:
    number = _number(operands)
    if number is not None:
        return Value(None, number)
    place = _place(operands[0]) if operands else None
    return Value(place, 0) if place else None


def _number(operands: list[str]) -> int | None:
    """The number that an operand is, or two of them with a shift."""
    if not operands or not (found := NUMBER.match(operands[0])):
        return None
    shift = SHIFT.match(operands[1]) if len(operands) > 1 else None
    return int(found[1]) << int(shift[1]) if shift else int(found[1])
