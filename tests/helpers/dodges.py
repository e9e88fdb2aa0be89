"""Dodges: programs that compute the same, and look as if they had a structure that they lack.

Each is made by a script, out of the text of a wrong answer's program. None may earn a mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tvm.script import from_source

from mlc_course.tensor_program.tir import IRModule, PrimFunc

Change = Callable[[str], str | None]  # of a program's text; None where there is nothing to change
STEP = "    "
ROOM = "Z = T.sblock_alloc_buffer((4096,))"
LOCAL_ROOM = 'Z = T.sblock_alloc_buffer((16,), scope="local")'
BLOCK = re.compile(r'^( *)with T\.sblock\("(\w+)"\):$')
LOOPS = re.compile(r"^( *)for (.+) in (T\.grid|range)\((.+)\):$")
STORE = re.compile(r"^( *)(\w+)\[(.*?)\] = (.+)$")
DECLARED = re.compile(r"^ *T\.(reads|writes)\(.*\)$")
COMMENT = re.compile(r"^ *#")


def text_of(module: IRModule) -> str:
    """The program as TVMScript, without what blocks declare: TVM fills that in again."""
    lines = module["main"].script().splitlines()
    return "\n".join(
        each for each in lines if each.strip() and not (DECLARED.match(each) or COMMENT.match(each))
    )


def program_of(text: str) -> IRModule:
    """The program whose text this is."""
    function = from_source(text)
    assert isinstance(function, PrimFunc)
    return IRModule({"main": function.with_attr("global_symbol", "main")})


def dodged(module: IRModule, change: Change) -> IRModule | None:
    """The program after a change; None where the change finds nothing to do."""
    text = change(text_of(module))
    return None if text is None else program_of(text)


# --- lines ----------------------------------------------------------------------------------------


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def end_of(lines: list[str], first: int) -> int:
    """The line after those that are inside of line ``first``."""
    inside = indent_of(lines[first])
    rest = range(first + 1, len(lines))
    return next((n for n in rest if indent_of(lines[n]) <= inside), len(lines))


def body(text: str) -> tuple[list[str], int]:
    """The lines, and the number of the first that is no allocation."""
    lines = text.splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("def ")) + 1
    while "T.func_attr" in lines[begin] or "T.sblock_alloc_buffer" in lines[begin]:
        begin += 1
    return lines, begin


def with_rooms(text: str, *rooms: str) -> str:
    lines, begin = body(text)
    return "\n".join([*lines[:begin], *(STEP + room for room in rooms), *lines[begin:]])


def inserted(text: str, new: list[str], *, last: bool) -> str:
    """New lines before or after all that the program does."""
    lines, begin = body(text)
    at = len(lines) if last else begin
    return "\n".join([*lines[:at], *(STEP + each for each in new), *lines[at:]])


def wrapped(lines: list[str], first: int, headers: list[str]) -> list[str]:
    """The statement in line ``first`` inside of headers, each in the one before."""
    end, base = end_of(lines, first), " " * indent_of(lines[first])
    outside = [base + STEP * n + header for n, header in enumerate(headers)]
    inside = [STEP * len(headers) + line for line in lines[first:end]]
    return [*lines[:first], *outside, *inside, *lines[end:]]


def each_statement(text: str, headers: list[str]) -> str | None:
    """Every innermost block, or every store outside of blocks, inside of headers."""
    lines, begin = body(text)
    for first in reversed(places(lines, begin)):
        lines = wrapped(lines, first, headers)
    return "\n".join(lines)


def places(lines: list[str], begin: int) -> list[int]:
    """The innermost blocks and the stores outside of blocks."""
    found, inside = [], -1
    for n in range(begin, len(lines)):
        if n < inside:
            continue
        if BLOCK.match(lines[n]):
            found.append(n)
            inside = end_of(lines, n)
        elif STORE.match(lines[n]):
            found.append(n)
    return found


def stores(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """The stores that are no init, by their lines."""
    lines, begin = body(text)
    for n in range(begin, len(lines)):
        found = STORE.match(lines[n])
        if found and "T.init()" not in lines[n - 1]:
            yield n, found


def changed_stores(text: str, new: Callable[[re.Match[str]], list[str]]) -> str | None:
    """Each store in the place of which there are the new lines, at its own depth."""
    lines = text.splitlines()
    for n, found in reversed([*stores(text)]):
        lines[n : n + 1] = [found[1] + each for each in new(found)]
    return "\n".join(lines)


# --- changes --------------------------------------------------------------------------------------


def loop_inside(kind: str) -> Change:
    return lambda text: each_statement(text, [f"for u in T.{kind}(1):"])


def loop_around(turns: int) -> Change:
    def change(text: str) -> str:
        lines, begin = body(text)
        inside = [STEP + line for line in lines[begin:]]
        return "\n".join([*lines[:begin], f"{STEP}for u in range({turns}):", *inside])

    return change


def condition_inside(turns: int, kind: str = "serial") -> Change:
    return lambda text: each_statement(text, [f"for u in T.{kind}({turns}):", "if u == 0:"])


def two_conditions(text: str) -> str | None:
    return each_statement(text, ["for u, v in T.grid(2, 3):", "if u + v == 3:"])


def unit_in_grid(at: int) -> Change:
    """A loop of one turn in each grid: at the front, behind the first, or at the end."""

    def change(text: str) -> str | None:
        lines = text.splitlines()
        for n, line in enumerate(lines):
            if found := LOOPS.match(line):
                names, extents = found[2].split(", "), found[4].split(", ")
                if len(names) != len(extents):
                    continue  # a range that begins elsewhere
                place = at if at >= 0 else len(names)
                names.insert(place, "u")
                extents.insert(place, "1")
                lines[n] = f"{found[1]}for {', '.join(names)} in T.grid({', '.join(extents)}):"
        return "\n".join(lines)

    return change


def vectors(*, last: bool, room: str = ROOM, lanes: int = 16) -> Change:
    """A vectorized loop that writes what nobody reads."""

    def change(text: str) -> str:
        new = [f"for z in T.vectorized({lanes}):", f"{STEP}Z[z] = T.float32(0)"]
        return inserted(with_rooms(text, room), new, last=last)

    return change


def many_vectors(text: str) -> str:
    """A vectorized loop that is hot, and does nothing that is asked."""
    new = [
        "for y in range(4096):",
        f"{STEP}for z in T.vectorized(16):",
        f"{STEP * 2}Z[z] = Z[z] * T.float32(0.5) + T.float32(1)",
    ]
    return inserted(with_rooms(text, ROOM), new, last=True)


def vectors_beside(text: str) -> str | None:
    """A vectorized loop behind each statement, at its depth."""
    lines, begin = body(with_rooms(text, ROOM))
    for first in reversed(places(lines, begin)):
        end, base = end_of(lines, first), " " * indent_of(lines[first])
        new = [f"{base}for z in T.vectorized(16):", f"{base}{STEP}Z[z] = T.float32(0)"]
        lines = [*lines[:end], *new, *lines[end:]]
    return "\n".join(lines)


def parallel_beside(text: str) -> str:
    """A parallel loop that reads the first input, and writes what nobody reads."""
    name, ones = first_input(text)
    new = [
        "for p in T.parallel(4):",
        f"{STEP}Z[p * 16] = {name}[{', '.join('0' for _ in ones)}]",
    ]
    return inserted(with_rooms(text, ROOM), new, last=False)


def dead_store(value: str, place: str = "0") -> Change:
    def change(text: str) -> str | None:
        return changed_stores(
            with_rooms(text, ROOM), lambda store: [store[0].strip(), f"Z[{place}] = {value}"]
        )

    return change


def dead_load(text: str) -> str | None:
    """The first input is read once more, and what is read is dropped."""
    name, ones = first_input(text)
    return dead_store(f"{name}[{', '.join('0' for _ in ones)}]")(text)


def dead_code(text: str) -> str | None:
    """Each store once more where a condition is never true."""
    return changed_stores(
        with_rooms(text, ROOM),
        lambda store: [store[0].strip(), "if Z[0] > T.float32(3e38):", STEP + store[0].strip()],
    )


def stored_again(text: str) -> str | None:
    """Each store is followed by one of the same element to itself."""
    return changed_stores(text, lambda s: [s[0].strip(), f"{s[2]}[{s[3]}] = {s[2]}[{s[3]}]"])


def halves(text: str) -> str | None:
    """What is added is added in two halves."""
    found = [1 for _, s in stores(text) if s[4].startswith(f"{s[2]}[{s[3]}] + ")]

    def new(store: re.Match[str]) -> list[str]:
        kept = f"{store[2]}[{store[3]}]"
        if not store[4].startswith(f"{kept} + "):
            return [store[0].strip()]
        added = store[4].removeprefix(f"{kept} + ")
        line = f"{kept} = {kept} + ({added}) * T.float32(0.5)"
        return [line, line]

    return changed_stores(text, new) if found else None


def declared(line: str) -> Change:
    """Blocks that declare something else than they do."""

    def change(text: str) -> str | None:
        lines = with_rooms(text, ROOM).splitlines()
        for n in reversed(range(len(lines))):
            if found := BLOCK.match(lines[n]):
                after = n + 1
                while "T.axis." in lines[after] or "T.where" in lines[after]:
                    after += 1
                lines.insert(after, f"{found[1]}{STEP}{line}")
        return "\n".join(lines) if any(map(BLOCK.match, lines)) else None

    return change


def inputs_of(text: str) -> list[tuple[str, list[int]]]:
    """The parameters but for the last, with their shapes."""
    head = next(line for line in text.splitlines() if line.startswith("def "))
    found = re.findall(r"(\w+): T\.Buffer\(\(([\d, ]+)\)", head)
    return [(name, [int(n) for n in re.findall(r"\d+", shape)]) for name, shape in found][:-1]


def first_input(text: str) -> tuple[str, list[int]]:
    return inputs_of(text)[0]


def copy_lines(name: str, shape: list[int], into: str, place: str, names: list[str]) -> list[str]:
    header = f"for {', '.join(names)} in T.grid({', '.join(map(str, shape))}):"
    return [header, f"{STEP}{into}[{place}] = {name}[{', '.join(names)}]"]


def copied(*, vectorized: bool = False, parallel: bool = False, scope: str = "global") -> Change:
    """Every input is copied, well, and the work is done on the copies as before."""

    def change(text: str) -> str:
        new, rooms, replaced = [], [], text
        for name, shape in inputs_of(text):
            names = [f"c{n}" for n in range(len(shape))]
            rooms.append(f'{name}_copy = T.sblock_alloc_buffer({(*shape,)}, scope="{scope}")')
            whole = f"{name}_copy[{', '.join(names)}] = {name}[{', '.join(names)}]"
            kinds = ["serial"] * len(shape)
            kinds[0] = "parallel" if parallel else kinds[0]
            kinds[-1] = "vectorized" if vectorized and shape[-1] <= 64 else kinds[-1]
            for depth, (c, kind, n) in enumerate(zip(names, kinds, shape, strict=True)):
                new.append(f"{STEP * depth}for {c} in T.{kind}({n}):")
            new.append(STEP * len(shape) + whole)
            replaced = re.sub(rf"\b{name}\[", f"{name}_copy[", replaced)
        return inserted(with_rooms(replaced, *rooms), new, last=False)

    return change


def panels(*, read: str) -> Change:
    """Panels of the first input that are made, and not used; or read, and dropped."""

    def change(text: str) -> str | None:
        name, shape = first_input(text)
        if len(shape) != 2 or shape[0] % 16:
            return None
        room = f"P = T.sblock_alloc_buffer(({shape[0] // 16}, {shape[1]}, 16))"
        new = copy_lines(name, shape, "P", "c0 // 16, c1, c0 % 16", ["c0", "c1"])
        text = inserted(with_rooms(text, room), new, last=False)
        if read == "never":
            return text
        if read == "dropped":
            return dead_store("P[0, 0, 0]")(text)
        if read == "times zero":
            lines = text.splitlines()
            for n, found in stores(text):
                if found[2] != "P":
                    lines[n] += " + P[0, 0, 0] * T.float32(0)"
            return "\n".join(lines)
        return re.sub(
            rf"\b{name}\[(\w+), (\w+)\] \*", rf"({name}[\1, \2] + P[0, 0, 0] * 0) *", text
        )

    return change


def in_other_panels(index: str, shape: str) -> Change:
    """The first input is copied to another layout by the name of panels, and read there."""

    def change(text: str) -> str | None:
        name, extents = first_input(text)
        if len(extents) != 2 or extents[0] % 16:
            return None
        rows, depth = extents
        sizes = {"rows": rows, "depth": depth}
        room = f"A_panels = T.sblock_alloc_buffer({eval(shape, sizes)})"
        place = index.format(m="c0", k="c1", **sizes)
        new = copy_lines(name, [rows, depth], "A_panels", place, ["c0", "c1"])
        text = re.sub(
            rf"\b{name}\[(\w+), (\w+)\]",
            lambda m: f"A_panels[{index.format(m=m[1], k=m[2], **sizes)}]",
            text,
        )
        return inserted(with_rooms(text, room), new, last=False)

    return change


def decoy(text: str) -> str | None:
    """The blocks get other names, and blocks by theirs copy the result to itself."""
    lines, begin = body(text)
    names = [found[2] for line in lines if (found := BLOCK.match(line))]
    if not names:
        return None
    head = next(line for line in lines if line.startswith("def "))
    result, shape = re.findall(r"(\w+): T\.Buffer\(\(([\d, ]+)\)", head)[-1]
    sizes = re.findall(r"\d+", shape)
    text = re.sub(r'T\.sblock\("(\w+)"\)', r'T.sblock("work_\1")', text)
    new = []
    for name in dict.fromkeys(names):
        loops = [f"d{n}" for n in range(len(sizes))]
        axes = [f"e{n}" for n in range(len(sizes))]
        remap = f'T.axis.remap("{"S" * len(sizes)}", [{", ".join(loops)}])'
        place = f"{result}[{', '.join(axes)}]"
        new += [
            f"for {', '.join(loops)} in T.grid({', '.join(sizes)}):",
            f'{STEP}with T.sblock("{name}"):',
            f"{STEP * 2}{', '.join(axes)} = {remap}"
            if len(axes) > 1
            else f"{STEP * 2}{axes[0]} = T.axis.spatial({sizes[0]}, {loops[0]})",
            f"{STEP * 2}{place} = {place}",
        ]
    return inserted(text, new, last=True)


def other_kinds(old: str, new: str) -> Change:
    """Axes that are declared otherwise than they are used."""

    def change(text: str) -> str | None:
        found = text.replace(f'T.axis.remap("{old}"', f'T.axis.remap("{new}"')
        return found if found != text else None

    return change


def power(spelling: str) -> Change:
    """exp by another name: ``ARGUMENT`` stands for its argument."""

    def change(text: str) -> str | None:
        if "T.exp(" not in text:
            return None
        while (at := text.find("T.exp(")) >= 0:
            end = closing(text, at + 5)
            text = text[:at] + spelling.replace("ARGUMENT", text[at + 6 : end]) + text[end + 1 :]
        return text.replace("T.EXP", "T.exp")

    return change


def closing(text: str, at: int) -> int:
    """The parenthesis that closes the one at ``at``."""
    depth = 0
    for n in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[n], 0)
        if depth == 0:
            return n
    raise AssertionError("a parenthesis is not closed")


def polynomial(argument: str, degree: int = 8) -> str:
    """The first terms of the series of exp, as text."""
    text = "T.float32(1)"
    for n in range(degree, 0, -1):
        text = f"(T.float32(1) + ({argument}) * T.float32({1 / n}) * {text})"
    return text


QUARTER = polynomial("(ARGUMENT) * T.float32(0.25)")
SERIES = power(f"(({QUARTER} * {QUARTER}) * ({QUARTER} * {QUARTER}))")


def and_exps(text: str) -> str | None:
    """exp as a polynomial, and as many exps of something else as there should be."""
    found = SERIES(text)
    if found is None:
        return None
    if len(inputs_of(text)) < 2:
        return found
    (name, shape), (_, other) = inputs_of(text)[:2]
    new = [
        f"for c0, c1 in T.grid({shape[0]}, {other[1]}):",
        f"{STEP}Z[c0 * {other[1]} + c1] = T.exp({name}[c0, 0])",
    ]
    return inserted(with_rooms(found, ROOM), new, last=False)


DODGES: dict[str, Change] = {
    **{f"a {kind} loop of one turn inside": loop_inside(kind) for kind in
       ("serial", "unroll", "vectorized", "parallel")},
    "two loops of one turn inside": lambda t: each_statement(
        t, ["for u in range(1):", "for v in T.unroll(1):"]
    ),
    "a condition in two turns": condition_inside(2),
    "a condition in two unrolled turns": condition_inside(2, "unroll"),
    "a condition in eight turns": condition_inside(8),
    "a condition on two loops": two_conditions,
    "a loop of one turn outside": unit_in_grid(0),
    "a loop of one turn between": unit_in_grid(1),
    "a loop of one turn in the grid": unit_in_grid(-1),
    "one turn around all": loop_around(1),
    "two turns around all": loop_around(2),
    "vectors before": vectors(last=False),
    "vectors behind": vectors(last=True),
    "short vectors": vectors(last=True, lanes=4),
    "vectors in registers": vectors(last=True, room=LOCAL_ROOM),
    "hot vectors": many_vectors,
    "vectors beside": vectors_beside,
    "a parallel loop beside": parallel_beside,
    "a dead store": dead_store("T.float32(1)"),
    "a dead store of a sum": dead_store("Z[1] + T.float32(1)"),
    "a dead load": dead_load,
    "dead code": dead_code,
    "each element stored again": stored_again,
    "sums in halves": halves,
    "nothing is declared to be read": declared("T.reads()"),
    "another buffer is declared to be read": declared("T.reads(Z[0])"),
    "another buffer is declared to be written": declared("T.writes(Z[0])"),
    "copies of the inputs": copied(),
    "copies in vectors": copied(vectorized=True),
    "copies in parallel": copied(parallel=True),
    "parallel copies in vectors": copied(parallel=True, vectorized=True),
    "local copies": copied(scope="local"),
    "panels that nobody reads": panels(read="never"),
    "panels that are read and dropped": panels(read="dropped"),
    "panels times zero": panels(read="times zero"),
    "panels times zero in a factor": panels(read="factor"),
    "panels by name": in_other_panels("{m} // 16, {m} % 16, {k}", "(rows // 16, 16, depth)"),
    "panels by shape": in_other_panels(
        "0, ({m} * {depth} + {k}) // 16 % {depth}, ({m} * {depth} + {k}) % 16",
        "(rows // 16, depth, 16)",
    ),
    "decoys": decoy,
    "axes SSS": other_kinds("SSR", "SSS"),
    "axes SRR": other_kinds("SSR", "SRR"),
    "axes RSS": other_kinds("SSS", "RSS"),
    "exp2": power("T.exp2((ARGUMENT) * T.float32(1.4426950408889634))"),
    "exp10": power("T.exp10((ARGUMENT) * T.float32(0.4342944819032518))"),
    "pow": power("T.pow(T.float32(2.718281828459045), ARGUMENT)"),
    "sigmoid": power("(T.sigmoid(ARGUMENT) / T.sigmoid(T.float32(0) - (ARGUMENT)))"),
    "tanh": power("((T.float32(1) + T.tanh((ARGUMENT) / T.float32(2))) / "
                  "(T.float32(1) - T.tanh((ARGUMENT) / T.float32(2))))"),
    "sinh and cosh": power("(T.sinh(ARGUMENT) + T.cosh(ARGUMENT))"),
    "a square of exp": power("(T.EXP((ARGUMENT) * 0.5) * T.EXP((ARGUMENT) * 0.5))"),
    "a series": SERIES,
    "a series and as many exps": and_exps,
}  # fmt: skip

# Additions to a right answer that leave it right.
HARMLESS: dict[str, Change] = {
    "the text alone": lambda text: text,
    "a loop of one turn outside": unit_in_grid(0),
    "one turn around all": loop_around(1),
    "vectors before": vectors(last=False),
}
