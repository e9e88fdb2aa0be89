"""A colleague's tiling of a program: right for what they tried, and wrong for other programs."""

from __future__ import annotations

from mlc_course.lessons.lesson_21_capstone.plain_programs import Line, read_program, written

ROWS, ITERATIONS = 8, 4


def colleague(text: str) -> str:
    """Return a graph of a program that begins with a matmul: one loop, summed at the very end.

    "Each iteration makes a part of the result. All parts are added up before they are stored."
    """
    program = read_program(text)
    deep = program.summed(program.lines[0])
    made, inside = {line.name for line in program.lines}, []
    for name in dict.fromkeys(o for line in program.lines for o in line.operands):
        if name not in made:
            dims = program.dims[name]
            maps = [f"imap={{x: {dims.index('b')}}}"] if "b" in dims else []
            maps += [f"fmap={{k: {dims.index(deep)}}}"] if deep in dims else []
            inside.append(f"t_{name} = load({', '.join([name, *maps])})")
    for line in program.lines:
        tiles = tuple(f"t_{name}" for name in line.operands)
        inside.append(str(Line(f"t_{line.name}", line.op, tiles, line.rest)))
    (out,) = program.outputs
    inside += [f"sums = accumulate(t_{out})", f"{out} = store(sums, omap={{x: 0}})"]
    return written(program, [(f"block grid(x={ROWS}) loop(k={ITERATIONS}):", inside)])
