"""Formulas as bit-vector terms of z3, each as narrow as its interval allows: an oracle of tests."""

from __future__ import annotations

from typing import Any

import z3

from mlc_course.instruction_selection.integers import Formula, IntType, bits_for, walk


class Terms:
    """Terms of formulas; ``ranges`` are what the intervals of variables demand."""

    def __init__(self) -> None:
        self.variables: dict[Formula, Any] = {}
        self.ranges: list[Any] = []
        self._known: dict[tuple[Formula, int], Any] = {}

    def low(self, each: Formula, bits: int) -> Any:
        """Return the low bits of a formula; all of it with its sign, where that many hold it."""
        key = (each, bits)
        if key not in self._known:
            self._known[key] = self._low(each, bits)
        return self._known[key]

    def whole(self, each: Formula) -> Any:
        return self.low(each, bits_for(each.lo, each.hi))

    def _low(self, each: Formula, bits: int) -> Any:
        own, a, p = bits_for(each.lo, each.hi), each.operands, each.params
        match each.op:
            case "const":
                return z3.BitVecVal(each.lo, bits)
            case "add":
                return self.low(a[0], bits) + self.low(a[1], bits)
            case "sub":
                return self.low(a[0], bits) - self.low(a[1], bits)
            case "mul":
                return self.low(a[0], bits) * self.low(a[1], bits)
        if bits > own:
            return z3.SignExt(bits - own, self.low(each, own))
        match each.op:
            case "var":
                if each not in self.variables:
                    made = self.variables[each] = z3.BitVec(str(p[0]), own)
                    self.ranges += [made >= each.lo, made <= each.hi]
                return _fit(self.variables[each], bits)
            case "shr":
                x = self.whole(a[0])
                return _fit(x >> min(int(str(p[0])), x.size() - 1), bits)
            case "and" | "or" | "xor":
                x, y = (self.low(each, bits) for each in a)
                return {"and": x & y, "or": x | y, "xor": x ^ y}[each.op]
            case "min" | "max" | "eq" | "gt":
                wide = max(bits_for(x.lo, x.hi) for x in a)
                x, y = (self.low(each, wide) for each in a)
                if each.op == "min":
                    return _fit(z3.If(x <= y, x, y), bits)
                if each.op == "max":
                    return _fit(z3.If(x >= y, x, y), bits)
                holds = x == y if each.op == "eq" else x > y
                return z3.If(holds, z3.BitVecVal(1, bits), z3.BitVecVal(0, bits))
            case "where":
                return z3.If(self.whole(a[0]) != 0, self.low(a[1], bits), self.low(a[2], bits))
            case "wrap":
                of = p[0]
                assert isinstance(of, IntType)
                return _extended(self.low(a[0], of.bits), of, bits)
            case "slice":
                index, size = (int(str(x)) for x in p)
                x = self.low(a[0], (index + 1) * size)
                part = z3.Extract((index + 1) * size - 1, index * size, x)
                return _extended(part, IntType(signed=False, bits=size), bits)
            case "concat":
                of = p[0]
                assert isinstance(of, IntType)
                parts = [self.low(x, of.bits // len(a)) for x in reversed(a)]
                return _extended(z3.Concat(*parts) if len(parts) > 1 else parts[0], of, bits)
        raise AssertionError(each.op)


def _extended(x: Any, of: IntType, bits: int) -> Any:
    if bits <= of.bits:
        return _fit(x, bits)
    return (z3.SignExt if of.signed else z3.ZeroExt)(bits - of.bits, x)


def _fit(x: Any, bits: int) -> Any:
    size = x.size()
    if bits == size:
        return x
    return z3.Extract(bits - 1, 0, x) if bits < size else z3.SignExt(bits - size, x)


def solver_difference(
    x: Formula, y: Formula, *, seconds: float = 5.0
) -> dict[Formula, int] | bool | None:
    """Return an input on which two formulas differ, ``True`` where there is none.

    ``None`` means that the solver gave up.
    """
    terms = Terms()
    bits = max(bits_for(each.lo, each.hi) for each in (x, y))
    solver = z3.SolverFor("QF_BV")
    solver.set("timeout", int(seconds * 1000))
    solver.add(terms.low(x, bits) != terms.low(y, bits), *terms.ranges)
    match solver.check():
        case z3.unsat:
            return True
        case z3.sat:
            model = solver.model()
            return {
                each: model.eval(term, model_completion=True).as_signed_long()
                for each, term in terms.variables.items()
            } | {each: each.lo for each in walk(x, y) if each.op == "var" and each.lo == each.hi}
    return None
