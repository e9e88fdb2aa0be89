"""A guide in the form of Intel's, with operations in words of our own, for every row of x86.

The guide itself may not be handed on. ``guide_text`` writes the XML; ``changes`` puts faults into
the operations or operands of single intrinsics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

WIDTHS = (128, 256, 512)
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
LETTERS = {8: "b", 16: "w", 32: "d", 64: "q"}


@dataclass(frozen=True)
class Shape:
    """One intrinsic: ``operands`` are names with types of lanes, ``a:UI8 b:SI8``."""

    mnemonic: str
    operands: str
    lane: int  # bits of a lane of the result
    body: str
    widths: tuple[int, ...] = WIDTHS
    result: str = "UI"
    name: str = ""
    operand_bits: int | None = None  # of its register, where that is not the result's
    whole: bool = False  # the body is all of the operation, and no loop's


def every(lane: int, right: str) -> str:
    """One assignment for each lane, at bits ``p`` and up."""
    return f"dst[p+{lane - 1}:p] := {right}"


def lane_of(name: str, bits: int) -> str:
    return f"{name}[p+{bits - 1}:p]"


def both(template: str, bits: int) -> str:
    return every(bits, template.format(a=lane_of("a", bits), b=lane_of("b", bits)))


def shapes() -> Iterator[Shape]:
    for bits in (8, 16, 32, 64):
        w, u, s = LETTERS[bits], f"UI{bits}", f"SI{bits}"
        unsigned, signed = f"a:{u} b:{u}", f"a:{s} b:{s}"
        yield Shape(f"padd{w}", unsigned, bits, both("{b} + {a}", bits))
        if bits == 64:
            continue
        yield Shape(f"psub{w}", unsigned, bits, both("{a} - {b}", bits))
        yield Shape(f"pminu{w}", unsigned, bits, both("MIN({a}, {b})", bits))
        yield Shape(f"pmaxu{w}", unsigned, bits, both("MAX({a}, {b})", bits))
        yield Shape(f"pmins{w}", signed, bits, both("{a} < {b} ? {a} : {b}", bits))
        yield Shape(f"pmaxs{w}", signed, bits, both("MAX({b}, {a})", bits))
        yield Shape(f"pabs{w}", f"a:{s}", bits, every(bits, f"ABS({lane_of('a', bits)})"))
        sign = (
            f"IF {lane_of('b', bits)} < 0\n\t{both('-({a})', bits)}\n"
            f"ELSE IF {lane_of('b', bits)} == 0\n\t{every(bits, '0')}\n"
            f"ELSE\n\t{every(bits, lane_of('a', bits))}\nFI"
        )
        yield Shape(f"psign{w}", signed, bits, sign, widths=(128, 256))
        ones = hex((1 << bits) - 1)
        for how, sign_ in (("eq", "=="), ("gt", ">")):
            compare = both("(({a} " + sign_ + " {b}) ? " + ones + " : 0)", bits)
            yield Shape(f"pcmp{how}{w}", signed, bits, compare, widths=(128, 256))
            yield Shape(f"pcmp{how}{w}", signed, 64, "k[p] := 1", widths=(512,), result="MASK")
        if bits > 8:
            limit = f"IF imm8[7:0] > {bits - 1}\n\t{every(bits, '0')}\nELSE\n\t%s\nFI"
            for name, right in (("psll", "ZeroExtend{n}({a} << imm8[7:0])"),
                                ("psrl", "ZeroExtend{n}({a} >> imm8[7:0])")):  # fmt: skip
                shifted = every(bits, right.format(n=bits, a=lane_of("a", bits)))
                yield Shape(f"{name}{w}", f"a:{u} imm8:IMM", bits, limit % shifted)
            top = every(bits, f"a[p+{bits - 1}] ? {ones} : 0")
            shifted = every(bits, f"SignExtend{bits}({lane_of('a', bits)} >> imm8[7:0])")
            body = f"IF imm8[7:0] > {bits - 1}\n\t{top}\nELSE\n\t{shifted}\nFI"
            yield Shape(f"psra{w}", f"a:{s} imm8:IMM", bits, body)
    for bits in (8, 16):
        w, u, s = LETTERS[bits], f"a:UI{bits} b:UI{bits}", f"a:SI{bits} b:SI{bits}"
        for name, sign_ in (("padd", "+"), ("psub", "-")):
            pair = "{a} " + sign_ + " {b}"
            yield Shape(f"{name}us{w}", u, bits, both(f"SaturateU{bits}({pair})", bits))
            yield Shape(f"{name}s{w}", s, bits, both(f"Saturate{bits}({pair})", bits))
        yield Shape(f"pavg{w}", u, bits, both("({a} + {b} + 1) >> 1", bits))
    yield from products()
    yield from moves()


def products() -> Iterator[Shape]:
    words = "a:SI16 b:SI16"
    wide = "t[31:0] := SignExtend32({a}) * SignExtend32({b})".format(
        a=lane_of("a", 16), b=lane_of("b", 16)
    )
    yield Shape("pmullw", words, 16, f"{wide}\n{every(16, 't[15:0]')}")
    yield Shape("pmulhw", words, 16, f"{wide}\n{every(16, 't[31:16]')}")
    yield Shape("pmulhuw", "a:UI16 b:UI16", 16, both("({a} * {b}) >> 16", 16))
    yield Shape(
        "pmulhrsw", words, 16, f"{wide}\nt[31:0] := (t[31:0] >> 14) + 1\n{every(16, 't[16:1]')}"
    )
    yield Shape(
        "pmulld", "a:SI32 b:SI32", 32, f"t[63:0] := {lane_of('a', 32)} * {lane_of('b', 32)}\n"
        f"{every(32, 't[31:0]')}",
    )  # fmt: skip
    for name, sign_ in (("pand", "AND"), ("por", "OR"), ("pxor", "XOR")):
        body = f"dst[{{top}}:0] := (a[{{top}}:0] {sign_} b[{{top}}:0])"
        yield Shape(name, "a:M b:M", 32, body, widths=(128, 256), whole=True)
        yield Shape(f"{name}d", "a:UI32 b:UI32", 32, both(f"{{a}} {sign_} {{b}}", 32), (512,))
    pairs = "Saturate16(a[p+15:p+8]*b[p+15:p+8] + \\\n\t\ta[p+7:p]*b[p+7:p])"
    yield Shape("pmaddubsw", "a:UI8 b:SI8", 16, every(16, pairs), result="SI")
    high, low = (f"SignExtend32(a[{x}]) * SignExtend32(b[{x}])" for x in ("p+31:p+16", "p+15:p"))
    yield Shape("pmaddwd", words, 32, every(32, f"{high} + {low}"), result="SI")
    differences = (
        "FOR j := 0 to {bytes}\n\tq := j*8\n\tt[q+7:q] := ABS(a[q+7:q] - b[q+7:q])\nENDFOR\n"
        "FOR j := 0 to {last}\n\tp := j*64\n\tdst[p+15:p] := "
        + " + ".join(f"t[p+{8 * i + 7}:p+{8 * i}]" for i in range(8))
        + "\n\tdst[p+63:p+16] := 0\nENDFOR"
    )
    yield Shape("psadbw", "a:UI8 b:UI8", 64, differences, whole=True)
    bytes_ = "\n".join(
        f"t{i}.word := Signed(ZeroExtend16(a.byte[4*j+{i}]) * SignExtend16(b.byte[4*j+{i}]))"
        for i in range(4)
    )
    total = "src.dword[j] + t0 + t1 + t2 + t3"
    names = "src:SI32 a:UI8 b:SI8"
    yield Shape("vpdpbusd", names, 32, f"{bytes_}\ndst.dword[j] := {total}")
    yield Shape("vpdpbusds", names, 32, f"{bytes_}\ndst.dword[j] := Saturate32({total})")
    words_ = "\n".join(
        f"t{i}.dword := SignExtend32(a.word[2*j+{i}]) * SignExtend32(b.word[2*j+{i}])"
        for i in range(2)
    )
    total = "src.dword[j] + t0 + t1"
    names = "src:SI32 a:SI16 b:SI16"
    yield Shape("vpdpwssd", names, 32, f"{words_}\ndst.dword[j] := {total}")


def moves() -> Iterator[Shape]:
    for name, of, saturated in (
        ("packuswb", "SI16", "SaturateU8"),
        ("packsswb", "SI16", "Saturate8"),
        ("packssdw", "SI32", "Saturate16"),
        ("packusdw", "SI32", "SaturateU16"),
    ):
        wide = int(of[2:])
        for width in WIDTHS:
            lines, half = [], wide // 2
            for lane in range(width // half):
                block, at = divmod(lane, 128 // half)
                operand, place = ("a", at) if at < 128 // wide else ("b", at - 128 // wide)
                low = 128 * block + wide * place
                lines.append(
                    f"dst[{lane * half + half - 1}:{lane * half}] := "
                    f"{saturated}({operand}[{low + wide - 1}:{low}])"
                )
            yield Shape(name, f"a:{of} b:{of}", half, "\n".join(lines), (width,), whole=True)
    for bits in (8, 16):
        for name, first in (("l", 0), ("h", 64)):
            body = [f"DEFINE TURNS_{name}(x[127:0], y[127:0]) {{"]
            for i in range(64 // bits):
                low = first + i * bits
                for turn, side in enumerate("xy"):
                    at = (2 * i + turn) * bits
                    body.append(f"\tr[{at + bits - 1}:{at}] := {side}[{low + bits - 1}:{low}]")
            body += ["\tRETURN r[127:0]", "}"]
            body += [
                "FOR j := 0 to {blocks}",
                "\tp := j*128",
                f"\tdst[p+127:p] := TURNS_{name}(a[p+127:p], b[p+127:p])",
                "ENDFOR",
            ]
            yield Shape(
                f"punpck{name}{LETTERS[bits]}{LETTERS[2 * bits]}",
                f"a:UI{bits} b:UI{bits}", bits, "\n".join(body), whole=True,
            )  # fmt: skip
        for width in WIDTHS:
            body_ = (
                f"FOR j := 0 to {width // bits // 2 - 1}\n\tp := j*{bits}\n\tq := j*{2 * bits}\n"
                f"\tdst[q+{2 * bits - 1}:q] := SignExtend{2 * bits}(a[p+{bits - 1}:p])\nENDFOR"
            )
            yield Shape(
                f"pmovsx{LETTERS[bits]}{LETTERS[2 * bits]}", f"a:SI{bits}", 2 * bits, body_,
                (width,), operand_bits=max(128, width // 2), whole=True,
            )  # fmt: skip


def guide_text(changes: Mapping[str, tuple[str, str]] | None = None) -> str:
    """The guide as XML; each change is of the text of one mnemonic's elements, old and new."""
    changes = dict(changes or {})
    used = set()
    found = []
    for shape in shapes():
        for width in shape.widths:
            text = _element(shape, width)
            if shape.mnemonic in changes and changes[shape.mnemonic][0] in text:
                text = text.replace(*changes[shape.mnemonic])
                used.add(shape.mnemonic)
            found.append(text)
    assert used == set(changes), "a change of nothing"
    body = "\n".join(found)
    return f'{HEAD}\n<intrinsics_list version="3.6.9">\n{body}\n</intrinsics_list>\n'


def _element(shape: Shape, width: int) -> str:
    count = width // shape.lane
    fields = {
        "{top}": str(width - 1),
        "{last}": str(count - 1),
        "{bytes}": str(width // 8 - 1),
        "{blocks}": str(width // 128 - 1),
    }
    operation = shape.body
    for field, value in fields.items():
        operation = operation.replace(field, value)
    if not shape.whole:
        body = operation.replace("\n", "\n\t")
        operation = f"FOR j := 0 to {count - 1}\n\tp := j*{shape.lane}\n\t{body}\nENDFOR"
    operation += f"\ndst[MAX:{width}] := 0"
    mask = shape.result == "MASK"
    kind = f"__mmask{count}" if mask else f"__m{width}i"
    register = {128: "xmm", 256: "ymm", 512: "zmm"}[width]
    wide = width > 128 and not shape.mnemonic.startswith("v")
    mnemonic = f"{'v' if wide else ''}{shape.mnemonic}".upper()
    name = f"_mm{'' if width == 128 else width}_{shape.mnemonic}"
    lines = [
        f'<intrinsic tech="AVX2" name="{name}">',
        "\t<type>Integer</type>",
        f'\t<return type="{kind}" varname="{"k" if mask else "dst"}" '
        f'etype="{shape.result}{"" if mask else shape.lane}"/>',
    ]
    for each in shape.operands.split():
        varname, _, etype = each.partition(":")
        of = "const int" if etype == "IMM" else f"__m{shape.operand_bits or width}i"
        etype = f"M{width}" if etype == "M" else etype
        lines.append(f'\t<parameter type="{of}" varname="{varname}" etype="{etype}"/>')
    lines += [
        "\t<description>Words of our own.</description>",
        f"\t<operation>\n{escape(operation)}\n\t</operation>",
        f"\t<instruction name={quoteattr(mnemonic)} form={quoteattr(', '.join([register] * 3))}/>",
        "</intrinsic>",
    ]
    return "\n".join(lines)
