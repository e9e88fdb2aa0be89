"""Instructions of PTX that compute, each against whole numbers and fractions of Python."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from ptx_texts import results, text_of

from mlc_course.errors import RefusedText
from mlc_course.mugraph.ptx import load

THREADS = 512
EDGES_32 = [0, 1, 2, 31, 32, 33, 0x7F, 0x80, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]


def integers(bits: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    found = random.integers(0, 1 << 63, THREADS, dtype=np.uint64) * np.uint64(3)
    found >>= random.integers(0, 64, THREADS, dtype=np.uint64)
    found[: len(EDGES_32)] = random.permutation(EDGES_32).astype(np.uint64)
    return found.astype(f"u{bits // 8}")


def signed(value: int, bits: int) -> int:
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def floats(seed: int, spread: float = 20) -> np.ndarray:
    """Floats of all sizes, with zeros of both signs, infinities, what is no number, small ones."""
    random = np.random.default_rng(seed)
    found = (random.normal(size=THREADS) * 2.0 ** random.normal(0, spread, THREADS)).astype("f4")
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754942e-38, 3.4e38, 1.0]
    found[:100] = random.choice(np.array(special, "f4"), 100)
    return found


# ---- integers

INTEGER_CASES: list[tuple[str, str, Callable[..., int]]] = [
    ("add.s32", "u32", lambda a, b: a + b),
    ("sub.u64", "u64", lambda a, b: a - b),
    ("add.s16", "u16", lambda a, b: a + b),
    ("mul.lo.s32", "u32", lambda a, b: a * b),
    ("mul.hi.u32", "u32", lambda a, b: a * b >> 32),
    ("mul.hi.s32", "u32", lambda a, b: signed(a, 32) * signed(b, 32) >> 32),
    ("mul.hi.u64", "u64", lambda a, b: a * b >> 64),
    ("mul.hi.s64", "u64", lambda a, b: signed(a, 64) * signed(b, 64) >> 64),
    ("min.s32", "u32", lambda a, b: min(signed(a, 32), signed(b, 32))),
    ("max.u32", "u32", max),
    ("and.b32", "u32", operator.and_),
    ("or.b64", "u64", operator.or_),
    ("xor.b16", "u16", operator.xor),
]


@pytest.mark.parametrize(
    ("opcode", "kind", "exact"),
    INTEGER_CASES,
    ids=[f"{opcode}-{kind}" for opcode, kind, _ in INTEGER_CASES],
)
def test_integers_are_computed_modulo_their_width(
    opcode: str, kind: str, exact: Callable[..., int]
) -> None:
    bits = int(kind[1:])
    a, b = integers(bits, 1), integers(bits, 2)
    got = results(f"{opcode} %out_, %a_, %b_;", [kind, kind], kind, a, b)
    expected = [exact(int(x), int(y)) % (1 << bits) for x, y in zip(a, b, strict=True)]
    assert got.tolist() == expected


def test_wide_products_have_all_bits() -> None:
    a, b = integers(32, 1), integers(32, 2)
    for kind, of in (("u32", int), ("s32", lambda x: signed(int(x), 32))):
        got = results(f"mul.wide.{kind} %out_, %a_, %b_;", ["u32", "u32"], "u64", a, b)
        assert got.tolist() == [of(x) * of(y) % (1 << 64) for x, y in zip(a, b, strict=True)]
        c = integers(64, 3)
        text = f"mad.wide.{kind} %out_, %a_, %b_, %c_;"
        got = results(text, ["u32", "u32", "u64"], "u64", a, b, c)
        expected = [(of(x) * of(y) + int(z)) % (1 << 64) for x, y, z in zip(a, b, c, strict=True)]
        assert got.tolist() == expected


def test_division_cuts_towards_zero() -> None:
    a, b = integers(32, 1), integers(32, 2)
    b[b == 0] = 7
    for name, of in (("div", 0), ("rem", 1)):
        got = results(f"{name}.s32 %out_, %a_, %b_;", ["u32", "u32"], "u32", a, b)
        for x, y, z in zip(a, b, got, strict=True):
            x, y = signed(int(x), 32), signed(int(y), 32)
            quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            assert int(z) == (quotient, x - quotient * y)[of] % (1 << 32)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_beyond_the_width_leave_nothing_but_the_sign(bits: int) -> None:
    a = integers(bits, 1)
    by = np.random.default_rng(0).integers(0, 80, THREADS).astype("u4")
    by[:3] = 0xFFFFFFFF
    kinds, kind = [f"u{bits}", "u32"], f"u{bits}"
    whole = 1 << bits
    left = results(f"shl.b{bits} %out_, %a_, %b_;", kinds, kind, a, by)
    assert left.tolist() == [
        (int(x) << min(int(n), bits)) % whole for x, n in zip(a, by, strict=True)
    ]
    right = results(f"shr.u{bits} %out_, %a_, %b_;", kinds, kind, a, by)
    assert right.tolist() == [int(x) >> min(int(n), bits) for x, n in zip(a, by, strict=True)]
    arithmetic = results(f"shr.s{bits} %out_, %a_, %b_;", kinds, kind, a, by)
    assert arithmetic.tolist() == [
        (signed(int(x), bits) >> min(int(n), bits)) % whole for x, n in zip(a, by, strict=True)
    ]


def extracted(value: int, start: int, count: int, bits: int, sign: bool) -> int:
    """``bfe``, as the loop over bits in the PTX ISA."""
    start, count = start & 0xFF, count & 0xFF
    top = min(start + count - 1, bits - 1)
    fill = 0 if not sign or count == 0 else value >> top & 1
    return sum(
        (value >> (start + n) & 1 if n < count and start + n < bits else fill) << n
        for n in range(bits)
    )


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_bit_fields_are_taken_and_put(kind: str) -> None:
    bits = int(kind[1:])
    random = np.random.default_rng(5)
    a, b = integers(bits, 1), integers(bits, 2)
    start, count = (random.integers(0, 80, THREADS).astype("u4") for _ in range(2))
    kinds = [f"u{bits}", "u32", "u32"]
    got = results(f"bfe.{kind} %out_, %a_, %b_, %c_;", kinds, f"u{bits}", a, start, count)
    every = list(zip(map(int, a), map(int, start), map(int, count), strict=True))
    assert got.tolist() == [extracted(*each, bits, kind[0] == "s") for each in every]
    kinds = [f"u{bits}", f"u{bits}", "u32", "u32"]
    text = f"bfi.b{bits} %out_, %a_, %b_, %c_, %d_;"
    got = results(text, kinds, f"u{bits}", a, b, start, count)
    for x, y, n, m, z in zip(a, b, start, count, got, strict=True):
        expected = int(y)
        for i in range(int(m)):
            if n + i < bits:
                at = int(n) + i
                expected = expected & ~(1 << at) | (int(x) >> i & 1) << at
        assert int(z) == expected


def test_bytes_are_permuted() -> None:
    a, b, c = (integers(32, n) for n in (1, 2, 3))
    got = results("prmt.b32 %out_, %a_, %b_, %c_;", ["u32"] * 3, "u32", a, b, c)
    for x, y, s, z in zip(a, b, c, got, strict=True):
        held = struct.pack("<II", x, y)
        chosen = []
        for n in range(4):
            choice = int(s) >> 4 * n & 15
            byte = held[choice & 7]
            chosen.append((0xFF if byte & 0x80 else 0) if choice & 8 else byte)
        assert int(z) == int.from_bytes(bytes(chosen), "little")


def test_three_words_by_a_table_of_truth() -> None:
    a, b, c = (integers(32, n) for n in (1, 2, 3))
    for table in (0x80, 0x96, 0xE8, 0x1D):
        got = results(f"lop3.b32 %out_, %a_, %b_, %c_, {table};", ["u32"] * 3, "u32", a, b, c)
        for x, y, w, z in zip(a, b, c, got, strict=True):
            bits = [
                table >> (4 * (int(x) >> n & 1) + 2 * (int(y) >> n & 1) + (int(w) >> n & 1)) & 1
                for n in range(32)
            ]
            assert int(z) == sum(bit << n for n, bit in enumerate(bits))


def test_bits_are_counted_and_turned() -> None:
    a = integers(32, 1)
    kinds = ["u32"]
    assert results("popc.b32 %out_, %a_;", kinds, "u32", a).tolist() == [
        int(x).bit_count() for x in a
    ]
    assert results("clz.b32 %out_, %a_;", kinds, "u32", a).tolist() == [
        32 - int(x).bit_length() for x in a
    ]
    assert results("brev.b32 %out_, %a_;", kinds, "u32", a).tolist() == [
        int(f"{int(x):032b}"[::-1], 2) for x in a
    ]


def test_two_words_are_shifted_as_one() -> None:
    a, b = integers(32, 1), integers(32, 2)
    by = np.random.default_rng(0).integers(0, 40, THREADS).astype("u4")
    for side, mode in (("l", "wrap"), ("r", "wrap"), ("l", "clamp"), ("r", "clamp")):
        text = f"shf.{side}.{mode}.b32 %out_, %a_, %b_, %c_;"
        got = results(text, ["u32"] * 3, "u32", a, b, by)
        for x, y, n, z in zip(a, b, by, got, strict=True):
            count = int(n) & 31 if mode == "wrap" else min(int(n), 32)
            both = int(y) << 32 | int(x)
            expected = (both << count >> 32 if side == "l" else both >> count) & 0xFFFFFFFF
            assert int(z) == expected


# ---- floats, rounded once


def nearest(exact: Fraction, digits: int, least: int) -> Fraction:
    """The nearest number with so many binary digits, ties to even."""
    if not exact:
        return exact
    size = abs(exact)
    power = size.numerator.bit_length() - size.denominator.bit_length()
    power -= Fraction(2) ** power > size
    unit = Fraction(2) ** max(power - digits + 1, least)
    return round(exact / unit) * unit


LARGEST = Fraction(float(np.finfo(np.float32).max))


def toward(exact: Fraction, digits: int, least: int, mode: str) -> Fraction:
    if not exact:
        return exact
    size = abs(exact)
    power = size.numerator.bit_length() - size.denominator.bit_length()
    power -= Fraction(2) ** power > size
    unit = Fraction(2) ** max(power - digits + 1, least)
    down, up = exact / unit // 1 * unit, -(-exact / unit // 1) * unit
    wanted = {"rm": down, "rp": up, "rz": down if exact > 0 else up}[mode]
    return max(-LARGEST, min(LARGEST, wanted))


def pairs(
    a: np.ndarray, b: np.ndarray, got: np.ndarray
) -> Iterator[tuple[Fraction, Fraction, float]]:
    for x, y, z in zip(a, b, got, strict=True):
        if np.isfinite(x) and np.isfinite(y) and np.isfinite(z):
            yield Fraction(float(x)), Fraction(float(y)), float(z)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_sums_and_products_are_rounded_as_asked(name: str, mode: str) -> None:
    a, b = floats(1), floats(2)
    exact = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}[name]
    got = results(f"{name}.{mode}.f32 %out_, %a_, %b_;", ["f32"] * 2, "f32", a, b).view("f4")
    checked = 0
    for x, y, z in pairs(a, b, got):
        value = exact(x, y)
        wanted = nearest(value, 24, -149) if mode == "rn" else toward(value, 24, -149, mode)
        assert Fraction(z) == wanted, (float(x), float(y))
        checked += 1
    assert checked > THREADS // 2


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_a_product_with_a_sum_is_rounded_once(mode: str) -> None:
    a, b, c = floats(1, 4), floats(2, 4), floats(3, 8)
    a[200:300] = 1 + 2.0**-23  # halfway between two float32, but for a last bit far below
    b[200:300] = 1 + 2.0**-24 * np.arange(100)
    c[200:300] = 2.0**-60 * np.where(np.arange(100) % 2, 1, -1)
    got = results(f"fma.{mode}.f32 %out_, %a_, %b_, %c_;", ["f32"] * 3, "f32", a, b, c).view("f4")
    for x, y, w, z in zip(a, b, c, got, strict=True):
        if np.isfinite([x, y, w, z]).all():
            value = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(w))
            wanted = nearest(value, 24, -149) if mode == "rn" else toward(value, 24, -149, mode)
            assert Fraction(float(z)) == wanted


def test_halves_are_rounded_once() -> None:
    random = np.random.default_rng(0)
    a, b, c = (random.integers(0, 1 << 16, 1024).astype("u2") for _ in range(3))
    for kind, digits, least, of in (
        ("f16", 11, -24, np.float16),
        ("bf16", 8, -133, ml_dtypes.bfloat16),
    ):
        text = f"fma.rn.{kind} %out_, %a_, %b_, %c_;"
        got = results(text, [kind] * 3, kind, a, b, c)
        with np.errstate(invalid="ignore"):
            x, y, z, got = (each.view(of).astype(float) for each in (a, b, c, got))
        fine = np.isfinite([x, y, z, got]).all(axis=0)
        assert fine.sum() > 300
        for p, q, r, s in zip(x[fine], y[fine], z[fine], got[fine], strict=True):
            assert Fraction(s) == nearest(Fraction(p) * Fraction(q) + Fraction(r), digits, least)


def test_pairs_of_halves_are_computed_apart() -> None:
    random = np.random.default_rng(0)
    a, b = (random.normal(size=(64, 2)).astype("f2") for _ in range(2))
    words = (a.view("u4")[:, 0], b.view("u4")[:, 0])
    got = results("add.f16x2 %out_, %a_, %b_;", ["f16x2"] * 2, "f16x2", *words)
    assert np.array_equal(got.view("f2").reshape(64, 2), a + b)


@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_pass_over_what_is_no_number_unless_asked(name: str) -> None:
    a = np.array([1, np.nan, 2, np.nan, -0.0, 0.0, -np.inf], "f4")
    b = np.array([2, 3, np.nan, np.nan, 0.0, -0.0, 5], "f4")
    got = results(f"{name}.f32 %out_, %a_, %b_;", ["f32"] * 2, "f32", a, b).view("f4")
    wanted = [1, 3, 2, np.nan, -0.0, -0.0, -np.inf] if name == "min" else [2, 3, 2, np.nan, 0, 0, 5]
    assert np.array_equal(got, np.array(wanted, "f4"), equal_nan=True)
    assert np.array_equal(np.signbit(got[4:6]), [name == "min"] * 2)
    got = results(f"{name}.NaN.f32 %out_, %a_, %b_;", ["f32"] * 2, "f32", a, b).view("f4")
    assert np.isnan(got[1:4]).all() and not np.isnan(got[[0, 4, 5, 6]]).any()


def test_small_numbers_are_flushed_if_asked() -> None:
    a = np.array([1e-40, -1e-40, 2e-38, 1], "f4")
    half = np.full(4, 0.5, "f4")
    got = results("mul.ftz.f32 %out_, %a_, %b_;", ["f32"] * 2, "f32", a, half).view("f4")
    assert got.tolist() == [0, 0, 0, 0.5] and np.signbit(got).tolist() == [
        False,
        True,
        False,
        False,
    ]
    got = results("mul.f32 %out_, %a_, %b_;", ["f32"] * 2, "f32", a, half).view("f4")
    assert (got != 0).all()


@pytest.mark.parametrize(
    ("name", "function"),
    [("rcp.approx", np.reciprocal), ("sqrt.rn", np.sqrt),
     ("rsqrt.approx", lambda x: 1 / np.sqrt(x)),
     ("ex2.approx", np.exp2), ("lg2.approx", np.log2), ("rcp.rn", np.reciprocal),
     ("neg", np.negative), ("abs", np.abs), ("tanh.approx", np.tanh)],
)  # fmt: skip
def test_functions_of_one_float(name: str, function: Callable[[np.ndarray], np.ndarray]) -> None:
    a = floats(1, 3)
    got = results(f"{name}.f32 %out_, %a_;", ["f32"], "f32", a).view("f4")
    with np.errstate(all="ignore"):
        wanted = function(a.astype("f8")).astype("f4")
    assert np.array_equal(got, wanted, equal_nan=True)


# ---- comparisons, conversions, moves


@pytest.mark.parametrize(
    "name", ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "geu", "nan"]
)
def test_comparisons_of_floats_know_what_is_no_number(name: str) -> None:
    a, b = floats(1), floats(2)
    a[100:150] = b[100:150]
    text = f"setp.{name}.f32 %q, %a_, %b_;\nselp.u32 %out_, 1, 0, %q;"
    got = results(text, ["f32"] * 2, "u32", a, b)
    none = np.isnan(a) | np.isnan(b)
    if name == "nan":
        wanted = none
    else:
        plain = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
        wanted = (plain[name[:2]] & ~none) | (none & name.endswith("u"))
    assert np.array_equal(got, wanted)


def test_comparisons_of_integers_have_a_sign_or_none() -> None:
    a, b = integers(32, 1), integers(32, 2)
    for kind, x, y in (("s32", a.view("i4"), b.view("i4")), ("u32", a, b)):
        text = f"setp.lt.{kind} %q, %a_, %b_;\nselp.u32 %out_, 1, 0, %q;"
        assert np.array_equal(results(text, ["u32"] * 2, "u32", a, b), x < y)
    text = ".reg .pred %o;\nsetp.gt.u32 %o, %a_, 5;\nsetp.lt.and.u32 %q, %a_, %b_, !%o;\n"
    text += "selp.u32 %out_, 1, 0, %q;"
    assert np.array_equal(results(text, ["u32"] * 2, "u32", a, b), (a < b) & ~(a > 5))


def test_floats_become_halves_to_nearest_even() -> None:
    a = floats(1, 6)
    a[100:400] = 1 + 2.0**-11 * np.arange(300)  # among them every tie of float16
    for kind, of in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
        got = results(f"cvt.rn.{kind}.f32 %out_, %a_;", ["f32"], kind, a).view(of)
        with np.errstate(over="ignore"):
            assert np.array_equal(got.astype("f4"), a.astype(of).astype("f4"), equal_nan=True)
        assert (got.view("u2")[np.isnan(a)] == 0x7FFF).all()
        back = results(f"cvt.f32.{kind} %out_, %a_;", [kind], "f32", got.view("u2")).view("f4")
        assert np.array_equal(back, got.astype("f4"), equal_nan=True)


def test_the_first_of_a_pair_is_the_upper_half() -> None:
    a, b = np.array([1.5], "f4"), np.array([-2], "f4")
    got = results("cvt.rn.f16x2.f32 %out_, %a_, %b_;", ["f32"] * 2, "f16x2", a, b)
    assert got.view("f2").tolist() == [-2, 1.5]


def test_floats_become_integers_within_their_range() -> None:
    a = np.array([1.5, 2.5, -1.5, 3e9, -3e9, np.nan, np.inf, 0.5], "f4")
    nearest_even = results("cvt.rni.s32.f32 %out_, %a_;", ["f32"], "u32", a).view("i4")
    assert nearest_even.tolist() == [2, 2, -2, 2**31 - 1, -(2**31), 0, 2**31 - 1, 0]
    cut = results("cvt.rzi.u32.f32 %out_, %a_;", ["f32"], "u32", a)
    assert cut.tolist() == [1, 2, 0, 3_000_000_000, 0, 0, 2**32 - 1, 0]
    whole = results("cvt.rmi.f32.f32 %out_, %a_;", ["f32"], "f32", a[:3]).view("f4")
    assert whole.tolist() == [1, 2, -2]
    clipped = results("cvt.sat.f32.f32 %out_, %a_;", ["f32"], "f32", a).view("f4")
    assert clipped.tolist() == [1, 1, 0, 1, 0, 0, 1, 0.5]


def test_integers_become_floats_rounded_once() -> None:
    a = integers(64, 1)
    got = results("cvt.rn.f32.u64 %out_, %a_;", ["u64"], "f32", a).view("f4")
    for x, z in zip(a, got, strict=True):
        assert Fraction(float(z)) == nearest(Fraction(int(x)), 24, -149)
    b = integers(32, 1)
    got = results("cvt.rn.f32.s32 %out_, %a_;", ["u32"], "f32", b).view("f4")
    assert np.array_equal(got, b.view("i4").astype("f4"))


def test_integers_are_widened_by_the_sign_of_their_source() -> None:
    a = integers(32, 1)
    got = results("cvt.s64.s32 %out_, %a_;", ["u32"], "u64", a)
    assert np.array_equal(got.view("i8"), a.view("i4"))
    assert np.array_equal(results("cvt.u64.u32 %out_, %a_;", ["u32"], "u64", a), a)
    assert np.array_equal(results("cvt.u32.u16 %out_, %a_;", ["u32"], "u32", a), a & 0xFFFF)
    got = results("cvt.s32.s8 %out_, %a_;", ["u32"], "u32", a)
    assert np.array_equal(got.view("i4"), a.astype("i1"))
    got = results("cvt.sat.u8.s32 %out_, %a_;", ["u32"], "u32", a)
    assert np.array_equal(got, np.clip(a.view("i4"), 0, 255))


def test_words_are_packed_and_unpacked_low_half_first() -> None:
    a = integers(32, 1)
    text = "{ .reg .b16 lo, hi;\nmov.b32 {lo, hi}, %a_;\nmov.b32 %out_, {hi, lo}; }"
    got = results(text, ["u32"], "u32", a)
    assert np.array_equal(got, a >> 16 | a << 16)
    text = "{ .reg .b16 h; cvt.u16.u32 h, %a_; mov.b32 %out_, {0, h}; }"
    assert np.array_equal(results(text, ["u32"], "u32", a), a << 16)


# ---- refusals


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("frobnicate.u32 %out_, %a_;", "not known"),
        ("add.rq.f32 %out_, %a_, %a_;", "add with rq"),
        ("setp.foo.f32 %q, %a_, %a_;", "setp with foo"),
        ("cp.async.bulk.shared.global [%t], [%p], 16;", "cp with bulk"),
        ("wgmma.fence.sync.aligned;", "not known"),
        ("atom.global.add.u32 %out_, [%p], 1;", "not known"),
        ("add.u64 %out_, %a_, %a_;", "a register of 32 bits as u64"),
        ("mov.u32 %out_, %nothing;", "not known"),
        ("bra $nowhere;", "no such label"),
    ],
)
def test_what_is_not_known_is_refused_with_its_line(line: str, said: str) -> None:
    text = text_of(line, ["u32"], "u32")
    number = text[: text.index(line)].count("\n") + 1
    with pytest.raises(RefusedText, match=rf"PTX, line {number}: .*{said}"):
        load(text).launch("one", 1, 32, 0, [np.zeros(32, "u4"), np.zeros(32, "u4")])


def test_what_is_no_ptx_is_refused() -> None:
    for text in ("hello", ".visible .entry k(", ".visible .entry k() { add.u32 %a"):
        with pytest.raises(RefusedText, match="PTX, line 1"):
            load(text)
