"""Instructions that compute: integers, floats, bits, predicates, conversions, moves.

Each is bound to the threads' registers once and is then a function of the mask of threads that
execute it. ``OPERATIONS`` has, for each opcode, how it is bound and which modifiers it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.ptx.float_formats import (
    APPROXIMATE,
    BITS,
    flushed,
    fused,
    saturated,
    sum_with_error,
    to_bits,
    widened,
)
from mlc_course.mugraph.ptx.memory import LOCAL_WINDOW, SHARED_WINDOW
from mlc_course.mugraph.ptx.ptx_text import (
    WIDTHS,
    Immediate,
    Symbol,
    Vector,
    halves_of,
    refused,
)
from mlc_course.mugraph.ptx.reports import Site
from mlc_course.mugraph.ptx.threads import Mask, Run, Threads, dtype_of, written

Bind = Callable[[Threads, Site], Run]

FLOATS = {
    "f16": "f16",
    "bf16": "bf16",
    "f16x2": "f16",
    "bf16x2": "bf16",
    "f32": "f32",
    "f64": "f64",
}
ROUNDING = frozenset({"rn", "rz", "rm", "rp"})
FLOAT_MODIFIERS = ROUNDING | {"ftz", "sat", "approx", "full", *FLOATS}
WORDS = frozenset({"s16", "u16", "s32", "u32", "s64", "u64", "b16", "b32", "b64"})
INTEGERS = WORDS | {"lo", "hi", "wide", "wrap", "clamp", "l", "r", "pred"}


def kind_of(site: Site) -> str:
    """Return the type of an instruction, its last modifier."""
    return site.instruction.modifiers[-1]


def _sources(threads: Threads, site: Site, kind: str, count: int) -> list[Array]:
    operands = site.instruction.operands
    if len(operands) != count + 1:
        raise refused(
            f"expected {count + 1} operands", site.instruction.line, site.instruction.text
        )
    return [threads.source(each, kind, site) for each in operands[1:]]


# ---- floats


def _float_results(name: str, kind: str, mode: str, values: list[Array]) -> Array:
    """Return the bits of a result of floats, rounded once."""
    if name in APPROXIMATE:
        return to_bits(APPROXIMATE[name](np.asarray(values[0], np.float64)), kind, mode)
    if name == "fma":
        return fused(values[0], values[1], values[2], kind, mode)
    if name in ("min", "max"):
        raise AssertionError("computed from bits")
    wide = [np.asarray(each, np.float64) for each in values]
    if name in ("add", "sub"):
        total, error = sum_with_error(wide[0], wide[1] if name == "add" else -wide[1])
        return to_bits(total, kind, mode, error)
    if name == "mul":
        return to_bits(wide[0] * wide[1], kind, mode)  # exact but of float64
    assert name == "div"
    return to_bits(wide[0] / wide[1], kind, mode)


def _extreme(name: str, kind: str, nan: bool, bits: list[Array]) -> Array:
    """The smaller or larger number; one that is no number is passed over, or is the result."""
    a, b = np.broadcast_arrays(*bits)
    x, y = widened(a.copy(), kind), widened(b.copy(), kind)
    least = name == "min"
    chosen = np.where((x < y) == least, a, b)
    chosen = np.where(x == y, a | b if least else a & b, chosen)  # zeros: -0 is below +0
    canonical = to_bits(np.array([np.nan]), kind)[0]
    if kind == "f32":
        canonical = np.uint32(0x7FFFFFFF)
    none_x, none_y = np.isnan(x), np.isnan(y)
    if nan:
        return np.where(none_x | none_y, canonical, chosen)
    chosen = np.where(none_x, b, np.where(none_y, a, chosen))
    return np.where(none_x & none_y, canonical, chosen)


QUICK: Mapping[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
}  # fmt: skip


def _float(name: str, count: int) -> Bind:
    """An operation of ``count`` floats."""

    def bind(threads: Threads, site: Site) -> Run:
        ins = site.instruction
        kind = kind_of(site)
        modes = [each for each in ins.modifiers if each in ROUNDING]
        mode = modes[0] if modes else "rn"
        flush, clip, nan = ins.has("ftz"), ins.has("sat"), ins.has("NaN")
        number = FLOATS[kind]
        if number == "f64" and mode != "rn":
            raise refused(f"float64 is not rounded {mode} here", ins.line, ins.text)
        if number in ("f32", "f64") and name in QUICK and mode == "rn" and not (flush or clip):
            target = threads.target(ins.operands[0], kind, site)
            quick, values = QUICK[name], _sources(threads, site, kind, count)
            return lambda mask: quick(*values, out=target, where=mask)
        if name == "fma" and number == "f32" and mode == "rn" and not (flush or clip):
            a, b, c = _sources(threads, site, kind, 3)
            result = threads.target(ins.operands[0], "u32", site)
            return lambda mask: written(result, fused(a, b, c, "f32"), mask)
        if kind.endswith("x2"):
            inputs = _sources(threads, site, "b32", count)
            output = threads.target(ins.operands[0], "b32", site)
        else:
            inputs = [each.view(BITS[number]) for each in _sources(threads, site, kind, count)]
            output = threads.target(ins.operands[0], kind, site).view(BITS[number])

        def compute(bits: list[Array]) -> Array:
            if flush:
                bits = [flushed(each, number) for each in bits]
            if name in ("min", "max"):
                found = _extreme(name, number, nan, bits)
            else:
                values = [widened(each, number) for each in bits]
                found = _float_results(name, number, mode, values)
            found = flushed(found, number) if flush else found
            return saturated(found, number) if clip else found

        if not kind.endswith("x2"):
            return lambda mask: written(output, compute(inputs), mask)

        def run(mask: Mask) -> None:
            halves = [
                np.ascontiguousarray(np.broadcast_to(each, threads.count)).view(np.uint16)
                for each in inputs
            ]
            written(output, np.ascontiguousarray(compute(halves)).view(np.uint32), mask)

        return run

    return bind


def _float_sign(name: str) -> Bind:
    """The opposite or the absolute value of a float: a change of its sign's bit."""

    def bind(threads: Threads, site: Site) -> Run:
        kind = kind_of(site)
        bits = {"f32": "b32", "f64": "b64", "f16": "b16", "bf16": "b16"}.get(kind, "b32")
        (value,) = _sources(threads, site, bits, 1)
        target = threads.target(site.instruction.operands[0], bits, site)
        whole = WIDTHS[bits]
        signs = (1 << 31 | 1 << 15) if kind.endswith("x2") else 1 << (whole - 1)
        sign = np.array([signs], target.dtype)
        flush = site.instruction.has("ftz") and not kind.endswith("x2")

        def run(mask: Mask) -> None:
            found = value ^ sign if name == "neg" else value & ~sign
            written(target, flushed(found, kind) if flush else found, mask)

        return run

    return bind


def _testp(threads: Threads, site: Site) -> Run:
    kind = kind_of(site)
    (value,) = _sources(threads, site, kind, 1)
    target = threads.target(site.instruction.operands[0], "pred", site)
    tests: Mapping[str, Callable[[Array], Array]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
    }
    test = tests[site.instruction.modifiers[0]]
    return lambda mask: written(target, test(value), mask)


def _copysign(threads: Threads, site: Site) -> Run:
    kind = kind_of(site)
    sign, value = _sources(threads, site, kind, 2)
    target = threads.target(site.instruction.operands[0], kind, site)
    return lambda mask: written(target, np.copysign(value, sign), mask)


# ---- integers


def _plain(operation: Any, count: int, boolean: Any = None) -> Bind:
    """An operation that NumPy has for the type itself."""

    def bind(threads: Threads, site: Site) -> Run:
        kind = kind_of(site)
        values = _sources(threads, site, kind, count)
        target = threads.target(site.instruction.operands[0], kind, site)
        function = boolean if kind == "pred" and boolean else operation
        return lambda mask: function(*values, out=target, where=mask)

    return bind


def _high(a: Array, b: Array, kind: str) -> Array:
    """The upper half of products, as the type itself."""
    bits = WIDTHS[kind]
    if bits < 64:
        wide: Any = np.int64 if kind[0] == "s" else np.uint64
        product = a.astype(wide) * b.astype(wide)
        upper: Array = (product >> product.dtype.type(bits)).astype(dtype_of(kind))
        return upper
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    x, y = a.view(np.uint64), b.view(np.uint64)
    lows = (x & low) * (y & low)
    middle = (x >> shift) * (y & low) + (lows >> shift)
    other = (x & low) * (y >> shift) + (middle & low)
    high = (x >> shift) * (y >> shift) + (middle >> shift) + (other >> shift)
    if kind[0] == "s":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    found: Array = high.view(dtype_of(kind))
    return found


def _product(threads: Threads, site: Site) -> Run:
    """``mul`` and ``mad`` of integers: the low half, the high half, or twice as wide."""
    ins = site.instruction
    kind, adds = kind_of(site), ins.opcode == "mad"
    a, b = (threads.source(each, kind, site) for each in ins.operands[1:3])
    wide = f"{kind[0]}{2 * WIDTHS[kind]}" if ins.has("wide") else kind
    target = threads.target(ins.operands[0], wide, site)
    c = threads.source(ins.operands[3], wide, site) if adds else None
    made = dtype_of(wide)

    def run(mask: Mask) -> None:
        found = _high(a, b, kind) if ins.has("hi") else np.multiply(a, b, dtype=made)
        written(target, found if c is None else found + c, mask)

    return run


def _quotient(remainder: bool) -> Bind:
    """Division of integers, which cuts towards zero; all bits are set where the divisor is 0."""

    def bind(threads: Threads, site: Site) -> Run:
        kind = kind_of(site)
        a, b = _sources(threads, site, kind, 2)
        target = threads.target(site.instruction.operands[0], kind, site)

        def run(mask: Mask) -> None:
            safe = np.where(b == 0, b.dtype.type(1), b)
            quotient = a // safe
            rest = a - quotient * safe
            if kind[0] == "s":
                quotient = quotient + ((rest != 0) & ((a < 0) != (safe < 0)))
            found = a - quotient * safe if remainder else np.where(b == 0, ~(b * 0), quotient)
            written(target, found, mask)

        return run

    return bind


def _negative(threads: Threads, site: Site) -> Run:
    return _plain(np.negative if site.instruction.opcode == "neg" else np.abs, 1)(threads, site)


def _shift(threads: Threads, site: Site) -> Run:
    """Shift by a number of bits; a number larger than the width counts as the width."""
    ins = site.instruction
    kind = kind_of(site)
    value = threads.source(ins.operands[1], kind, site)
    by = threads.source(ins.operands[2], "u32", site)
    target = threads.target(ins.operands[0], kind, site)
    width = WIDTHS[kind]
    function = np.left_shift if ins.opcode == "shl" else np.right_shift
    if isinstance(ins.operands[2], Immediate) and ins.operands[2].value < width:
        step = by.astype(value.dtype)
        return lambda mask: function(value, step, out=target, where=mask)
    signed = kind[0] == "s"

    def run(mask: Mask) -> None:
        most = np.minimum(by, width - 1).astype(value.dtype)
        found = function(value, most)
        if not (signed and ins.opcode == "shr"):
            found = np.where(by >= width, value.dtype.type(0), found)
        written(target, found, mask)

    return run


def _funnel(threads: Threads, site: Site) -> Run:
    """``shf``: shift two words as one of 64 bits, and keep the upper or the lower."""
    ins = site.instruction
    low, high, by = _sources(threads, site, "u32", 3)
    target = threads.target(ins.operands[0], "u32", site)

    def run(mask: Mask) -> None:
        count = by & np.uint32(31) if ins.has("wrap") else np.minimum(by, np.uint32(32))
        both = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
        steps = count.astype(np.uint64)
        found = both << steps >> np.uint64(32) if ins.has("l") else both >> steps
        written(target, found & np.uint64(0xFFFFFFFF), mask)

    return run


def _bit_field(threads: Threads, site: Site) -> Run:
    """``bfe``: take ``c`` bits from bit ``b`` on, with the sign of the uppermost if signed."""
    ins = site.instruction
    kind = kind_of(site)
    width = WIDTHS[kind]
    value = threads.source(ins.operands[1], kind, site)
    start, length = (threads.source(each, "u32", site) for each in ins.operands[2:4])
    target = threads.target(ins.operands[0], kind, site)

    def run(mask: Mask) -> None:
        first, count = (start & 0xFF).astype(np.int64), (length & 0xFF).astype(np.int64)
        bits = value.view(dtype_of(f"u{width}")).astype(np.uint64)
        taken = np.where(first < 64, bits >> np.minimum(first, 63).astype(np.uint64), np.uint64(0))
        all_bits = np.uint64(0xFFFFFFFFFFFFFFFF)
        some = ~(all_bits << np.minimum(count, 63).astype(np.uint64))
        ones = np.where(count >= width, all_bits, some)
        taken = taken & ones
        if kind[0] == "s":
            top = np.minimum(first + count - 1, width - 1)
            sign = (bits >> np.maximum(top, 0).astype(np.uint64)) & np.uint64(1)
            held = np.minimum(count, np.maximum(width - first, 0))
            filled = np.where(
                held >= 64, np.uint64(0), all_bits << np.minimum(held, 63).astype(np.uint64)
            )
            taken = np.where((count > 0) & (sign == 1), taken | filled, taken)
        written(target, taken, mask)

    return run


def _insert_field(threads: Threads, site: Site) -> Run:
    """``bfi``: put the low ``d`` bits of ``a`` into ``b``, from bit ``c`` on."""
    ins = site.instruction
    kind = kind_of(site)
    width = WIDTHS[kind]
    inserted, into = (threads.source(each, kind, site) for each in ins.operands[1:3])
    start, length = (threads.source(each, "u32", site) for each in ins.operands[3:5])
    target = threads.target(ins.operands[0], kind, site)

    def run(mask: Mask) -> None:
        first, count = (start & 0xFF).astype(np.uint64), (length & 0xFF).astype(np.uint64)
        all_bits = np.uint64(0xFFFFFFFFFFFFFFFF)
        some = ~(all_bits << np.minimum(count, np.uint64(63)))
        ones = np.where(count >= 64, all_bits, some)
        at = np.minimum(first, np.uint64(63))
        where = np.where(first >= width, np.uint64(0), ones << at)
        put = (inserted.astype(np.uint64) << at) & where
        written(target, (into.astype(np.uint64) & ~where) | put, mask)

    return run


def _permute(threads: Threads, site: Site) -> Run:
    """``prmt``: choose four of the eight bytes of two words, or spread a byte's sign."""
    ins = site.instruction
    if kind_of(site) != "b32" or len(ins.modifiers) != 1:
        raise refused("prmt has no modes here", ins.line, ins.text)
    a, b, selector = _sources(threads, site, "u32", 3)
    target = threads.target(ins.operands[0], "u32", site)

    def run(mask: Mask) -> None:
        both = a.astype(np.uint64) | b.astype(np.uint64) << np.uint64(32)
        found = np.zeros(1, np.uint64)
        for byte in range(4):
            choice = (selector >> np.uint32(4 * byte)).astype(np.uint64)
            chosen = both >> ((choice & np.uint64(7)) * np.uint64(8)) & np.uint64(0xFF)
            sign = np.where(chosen & np.uint64(0x80), np.uint64(0xFF), np.uint64(0))
            chosen = np.where(choice & np.uint64(8), sign, chosen)
            found = found | chosen << np.uint64(8 * byte)
        written(target, found, mask)

    return run


def _lop3(threads: Threads, site: Site) -> Run:
    """``lop3``: a table of truth for three words."""
    ins = site.instruction
    words = [threads.source(each, "b32", site) for each in ins.operands[1:4]]
    table = ins.operands[4]
    if not isinstance(table, Immediate):
        raise refused("a table of truth is a number", ins.line, ins.text)
    target = threads.target(ins.operands[0], "b32", site)

    def run(mask: Mask) -> None:
        a, b, c = words
        found = np.zeros(1, np.uint32)
        for row in range(8):
            if table.value >> row & 1:
                term = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
                found = found | term
        written(target, found, mask)

    return run


def _count_bits(threads: Threads, site: Site) -> Run:
    ins = site.instruction
    kind = kind_of(site)
    (value,) = _sources(threads, site, kind, 1)
    width = WIDTHS[kind]
    target = threads.target(ins.operands[0], kind if ins.opcode == "brev" else "u32", site)

    def run(mask: Mask) -> None:
        bits = (value[:, None] >> np.arange(width).astype(value.dtype)) & value.dtype.type(1)
        if ins.opcode == "popc":
            found = bits.sum(axis=1)
        elif ins.opcode == "clz":
            found = np.where(bits.any(axis=1), bits[:, ::-1].argmax(axis=1), width)
        else:
            powers = value.dtype.type(1) << np.arange(width)[::-1].astype(value.dtype)
            found = (bits * powers).sum(axis=1, dtype=value.dtype)
        written(target, found, mask)

    return run


# ---- predicates and choices

COMPARISONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "lo": np.less, "ls": np.less_equal, "hi": np.greater,
    "hs": np.greater_equal,
}  # fmt: skip
COMBINATIONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
}  # fmt: skip


def _compare(name: str, floats: bool) -> Callable[[Array, Array], Array]:
    """A comparison; of floats, one that is not a number makes it false, or true with a ``u``."""
    if name in ("num", "nan"):
        if name == "nan":
            return lambda a, b: np.isnan(a) | np.isnan(b)
        return lambda a, b: ~(np.isnan(a) | np.isnan(b))
    if name.endswith("u") and name[:-1] in COMPARISONS:
        ordered = COMPARISONS[name[:-1]]
        return lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)
    if name == "ne" and floats:
        return lambda a, b: (a != b) & ~(np.isnan(a) | np.isnan(b))
    return COMPARISONS[name]


def _set_predicate(threads: Threads, site: Site) -> Run:
    ins = site.instruction
    kind = kind_of(site)
    number = FLOATS.get(kind)
    name = ins.modifiers[0]
    known = {*COMPARISONS, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}
    if name not in known or kind.endswith("x2"):
        raise refused("this comparison is not known", ins.line, ins.text)
    compare = _compare(name, number is not None)
    a, b = (threads.source(each, kind, site) for each in ins.operands[1:3])
    combined = next((COMBINATIONS[each] for each in ins.modifiers if each in COMBINATIONS), None)
    other = threads.predicate(ins.operands[3], site) if combined else None
    first, second = halves_of(ins.operands[0])
    target = threads.target(first, "pred", site)
    opposite = threads.target(second, "pred", site) if second else None
    flush = ins.has("ftz")

    def run(mask: Mask) -> None:
        x, y = a, b
        if number in ("f16", "bf16"):
            x, y = widened(x, number), widened(y, number)
        elif flush:
            x, y = (flushed(each.view(np.uint32), "f32").view(np.float32) for each in (x, y))
        found, rest = compare(x, y), None
        if opposite is not None:
            rest = ~found
        if combined and other:
            found = combined(found, other())
            rest = None if rest is None else combined(rest, other())
        written(target, found, mask)
        if opposite is not None and rest is not None:
            written(opposite, rest, mask)

    return run


def _select(threads: Threads, site: Site) -> Run:
    ins = site.instruction
    kind = kind_of(site)
    a, b = (threads.source(each, kind, site) for each in ins.operands[1:3])
    chosen = threads.predicate(ins.operands[3], site)
    target = threads.target(ins.operands[0], kind, site)
    return lambda mask: written(target, np.where(chosen(), a, b), mask)


def _not(threads: Threads, site: Site) -> Run:
    return _plain(np.invert, 1, np.logical_not)(threads, site)


# ---- moves and conversions


def _move(threads: Threads, site: Site) -> Run:
    ins = site.instruction
    kind = kind_of(site)
    target, source = ins.operands
    if isinstance(source, Vector):
        part = f"b{WIDTHS[kind] // len(source.parts)}"
        parts = [threads.source(each, part, site) for each in source.parts]
        whole = threads.target(target, f"u{WIDTHS[kind]}", site)

        def pack(mask: Mask) -> None:
            found = np.zeros(1, whole.dtype)
            for place, each in enumerate(parts):
                found = found | each.astype(whole.dtype) << whole.dtype.type(place * WIDTHS[part])
            written(whole, found, mask)

        return pack
    if isinstance(target, Vector):
        part = f"b{WIDTHS[kind] // len(target.parts)}"
        pieces = [threads.target(each, part, site) for each in target.parts]
        held = threads.source(source, f"u{WIDTHS[kind]}", site)

        def unpack(mask: Mask) -> None:
            now = held.copy()
            for place, each in enumerate(pieces):
                written(each, now >> now.dtype.type(place * WIDTHS[part]), mask)

        return unpack
    if isinstance(source, Symbol) and source.name in threads.special and WIDTHS[kind] != 32:
        # Special registers are read as numbers of other widths too.
        values, wide = threads.special[source.name], threads.target(target, kind, site)
        return lambda mask: written(wide, values, mask)
    values, narrow = threads.source(source, kind, site), threads.target(target, kind, site)
    return lambda mask: written(narrow, values, mask)


def _to_generic(threads: Threads, site: Site) -> Run:
    """``cvta``: addresses of global memory are generic ones, those of shared memory are moved."""
    ins = site.instruction
    known = ("shared", "local", "global")
    space = next((each for each in known if each in ins.modifiers[:-1]), "")
    if not space:
        raise refused("this address space is not known", ins.line, ins.text)
    kind = kind_of(site)
    target = threads.target(ins.operands[0], kind, site)
    value = threads.source(ins.operands[1], kind, site)
    if space == "global":
        return lambda mask: written(target, value, mask)
    if kind != "u64":
        raise refused("generic addresses have 64 bits", ins.line, ins.text)
    window = np.uint64(SHARED_WINDOW if space == "shared" else LOCAL_WINDOW)
    if ins.has("to"):
        return lambda mask: written(target, np.where(value >= window, value - window, value), mask)
    return lambda mask: written(target, value + window, mask)


ROUNDED_TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
CONVERTED = frozenset(WIDTHS) | ROUNDING | set(ROUNDED_TO_INTEGER) | {"sat", "ftz"}


def _convert(threads: Threads, site: Site) -> Run:
    ins = site.instruction
    to, kind = ins.modifiers[-2:]
    if to in ("f16x2", "bf16x2"):
        return _convert_pair(threads, site)
    get = threads.low(ins.operands[1], kind, site)
    target = threads.wide_target(ins.operands[0], to, site)
    modes = [each for each in ins.modifiers if each in ROUNDING]
    mode = modes[0] if modes else "rn"
    whole = next((each for each in ins.modifiers if each in ROUNDED_TO_INTEGER), None)
    clip, flush = ins.has("sat"), ins.has("ftz")
    if to in FLOATS:
        if FLOATS[to] == "f64" and kind in ("s64", "u64") and mode != "rn":
            raise refused("this rounding is not known", ins.line, ins.text)
        bits_of = target.view(BITS[to])
        if kind in FLOATS:
            of: Any = BITS[kind]

            def to_float(mask: Mask) -> None:
                bits = get().view(of)
                bits = flushed(bits, kind) if flush and kind == "f32" else bits
                value = np.asarray(widened(bits, kind), np.float64)
                if whole:
                    value = ROUNDED_TO_INTEGER[whole](value)
                found = to_bits(value, to, mode)
                found = flushed(found, to) if flush and to == "f32" else found
                written(bits_of, saturated(found, to) if clip else found, mask)

            return to_float

        def from_integer(mask: Mask) -> None:
            value = get()
            near = value.astype(np.float64)
            if WIDTHS[kind] == 64:
                # What float64 does not hold of an integer decides how it is rounded.
                upper = (value >> value.dtype.type(32)).astype(np.float64) * 2.0**32
                lower = (value & value.dtype.type(0xFFFFFFFF)).astype(np.float64)
                near, rest = sum_with_error(upper, lower)
                written(bits_of, to_bits(near, to, mode, rest), mask)
            else:
                written(bits_of, to_bits(near, to, mode), mask)

        return from_integer
    limits = np.iinfo(dtype_of(to))
    if kind in FLOATS:
        round_to = ROUNDED_TO_INTEGER[whole or "rzi"]

        def to_integer(mask: Mask) -> None:
            bits = get().view(BITS[kind])
            bits = flushed(bits, kind) if flush and kind == "f32" else bits
            value = np.asarray(widened(bits, kind), np.float64)
            near = round_to(value)
            inside = np.clip(near, float(limits.min), float(limits.max))
            found = np.where(np.isnan(near), 0.0, inside)
            high = found >= float(limits.max)
            cut = np.where(high, 0.0, found).astype(dtype_of(to))
            result = np.where(high, dtype_of(to)(limits.max), cut)
            if kind == "f64" or WIDTHS[to] == 64:
                none = dtype_of(f"u{WIDTHS[to]}")(1 << (WIDTHS[to] - 1)).view(dtype_of(to))
                result = np.where(np.isnan(near), none, result)
            written(target, result, mask)

        return to_integer
    if clip:

        def clipped(mask: Mask) -> None:
            value = get()
            low = max(limits.min, np.iinfo(value.dtype).min)
            high = min(limits.max, np.iinfo(value.dtype).max)
            written(target, np.clip(value, low, high).astype(dtype_of(to)), mask)

        return clipped
    made = dtype_of(to)
    return lambda mask: written(target, get().astype(made), mask)


def _convert_pair(threads: Threads, site: Site) -> Run:
    """Two floats as a pair of 16 bits each: the first operand is the upper half."""
    ins = site.instruction
    to, kind = FLOATS[ins.modifiers[-2]], ins.modifiers[-1]
    if kind != "f32" or len(ins.operands) != 3:
        raise refused("this conversion is not known", ins.line, ins.text)
    high, low = _sources(threads, site, kind, 2)
    target = threads.target(ins.operands[0], "u32", site)
    mode = next((each for each in ins.modifiers if each in ROUNDING), "rn")

    def run(mask: Mask) -> None:
        upper, lower = (to_bits(each, to, mode).astype(np.uint32) for each in (high, low))
        written(target, upper << np.uint32(16) | lower, mask)

    return run


# ---- by opcode


def _by_kind(floats: Bind, others: Bind) -> Bind:
    def bind(threads: Threads, site: Site) -> Run:
        return (floats if kind_of(site) in FLOATS else others)(threads, site)

    return bind


_SIGN = {name: _by_kind(_float_sign(name), _negative) for name in ("neg", "abs")}
OPERATIONS: Mapping[str, tuple[Bind, frozenset[str]]] = {
    "add": (_by_kind(_float("add", 2), _plain(np.add, 2)), FLOAT_MODIFIERS | WORDS),
    "sub": (_by_kind(_float("sub", 2), _plain(np.subtract, 2)), FLOAT_MODIFIERS | WORDS),
    "mul": (_by_kind(_float("mul", 2), _product), FLOAT_MODIFIERS | INTEGERS),
    "mad": (_by_kind(_float("fma", 3), _product), FLOAT_MODIFIERS | INTEGERS),
    "fma": (_float("fma", 3), FLOAT_MODIFIERS),
    "div": (_by_kind(_float("div", 2), _quotient(False)), FLOAT_MODIFIERS | WORDS),
    "rem": (_quotient(True), WORDS),
    "min": (_by_kind(_float("min", 2), _plain(np.minimum, 2)), FLOAT_MODIFIERS | WORDS | {"NaN"}),
    "max": (_by_kind(_float("max", 2), _plain(np.maximum, 2)), FLOAT_MODIFIERS | WORDS | {"NaN"}),
    "neg": (_SIGN["neg"], FLOAT_MODIFIERS | WORDS),
    "abs": (_SIGN["abs"], FLOAT_MODIFIERS | WORDS),
    **{name: (_float(name, 1), FLOAT_MODIFIERS) for name in APPROXIMATE},
    "testp": (_testp, frozenset(FLOATS) | {"finite", "infinite", "number", "notanumber"}),
    "copysign": (_copysign, frozenset({"f32", "f64"})),
    "and": (_plain(np.bitwise_and, 2, np.logical_and), INTEGERS),
    "or": (_plain(np.bitwise_or, 2, np.logical_or), INTEGERS),
    "xor": (_plain(np.bitwise_xor, 2, np.logical_xor), INTEGERS),
    "not": (_not, INTEGERS),
    "shl": (_shift, WORDS),
    "shr": (_shift, WORDS),
    "shf": (_funnel, INTEGERS),
    "bfe": (_bit_field, WORDS),
    "bfi": (_insert_field, WORDS),
    "prmt": (_permute, WORDS),
    "lop3": (_lop3, WORDS),
    "popc": (_count_bits, WORDS),
    "clz": (_count_bits, WORDS),
    "brev": (_count_bits, WORDS),
    "setp": (
        _set_predicate,
        FLOAT_MODIFIERS | WORDS | set(COMPARISONS) | set(COMBINATIONS)
        | {"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"},
    ),
    "selp": (_select, WORDS | frozenset(FLOATS)),
    "mov": (_move, frozenset(WIDTHS)),
    "cvta": (_to_generic, frozenset({"to", "global", "shared", "local", "u64"})),
    "cvt": (_convert, CONVERTED),
}  # fmt: skip
