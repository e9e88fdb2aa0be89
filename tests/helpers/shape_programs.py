"""Programs on unknown sizes, in few words or of any length."""

from __future__ import annotations

import re

from mlc_course.dynamic_shape.ir import (
    BY_NAME,
    Equation,
    Function,
    Input,
    Module,
    SymbolicDim,
    Type,
    parse,
)

# Sizes of the ten programs of the course.
SMALL = {
    "append_to_cache": {"B": 2, "A": 3, "P": 4, "D": 5, "S": 2, "Q": 4, "K": 6, "V": 6},
    "bias_gelu": {"T": 6, "F": 5, "B": 2, "S": 3},
    "embedding_layer_norm": {"V": 7, "H": 5, "B": 2, "S": 3, "T": 6},
    "gated_quantize": {"T": 6, "F": 5, "B": 2, "S": 3, "R": 6},
    "masked_softmax": {"B": 2, "S": 3, "K": 5, "R": 72},
    "residual_layer_norm": {"T": 6, "H": 5, "B": 2, "S": 3},
    "residual_rms_norm": {"B": 2, "S": 3, "H": 5, "T": 6},
    "rotary_embedding": {"B": 2, "S": 3, "A": 2, "D": 8, "S2": 3, "E": 4},
    "shifted_loss": {"B": 2, "S": 4, "V": 5, "S1": 3, "S2": 3, "M": 6},
    "split_heads": {"B": 2, "S": 3, "W": 24, "A": 2, "D": 4, "W0": 8, "W1": 8, "W2": 8},
}

SIZE = re.compile(r"\[(.*?)\](i8|i32|i64|i1|f64|f16)?")


def _type(found: re.Match[str]) -> str:
    names = [name.strip() for name in found[1].split(",") if name.strip()]
    dtype = found[2] or "f32"
    if not names:
        return f"tensor<{dtype}>"
    sizes = "".join(f"{name}x" if name.isdigit() else "?x" for name in names)
    symbols = ", ".join(name if name.isdigit() else f"@{name}" for name in names)
    return f"tensor<{sizes}{dtype}, [{symbols}]>" if "@" in symbols else f"tensor<{sizes}{dtype}>"


def program_of(inputs: str, lines: str, results: str, stated: str = "") -> Module:
    """Return a program: inputs ``x [N]; y [N, 4]``, a line for each value, results, constraints.

    Constraints are lines of the text form in which a dimension goes by its name.
    """
    signature = ", ".join(
        f"%{name}: {SIZE.sub(_type, type_)}"
        for name, type_ in (each.strip().split(" ", 1) for each in inputs.split(";"))
    )
    body = []
    for line in filter(None, map(str.strip, lines.splitlines())):
        left, _, type_ = line.rpartition(" : ")
        body.append(f"  {left} : {SIZE.sub(_type, type_)}\n")
    types = re.findall(r"@(\w+)", signature + "".join(body))
    dims = list(dict.fromkeys(types))
    symbols = "".join(
        f"SymbolicDim @{name} {{\n  symbolic_shape_graph: @shape_constraint_graph\n}}\n"
        for name in dims
    )
    bound = "".join(f"  %{at} = dim() {{ref: @{name}}} : index\n" for at, name in enumerate(dims))
    number = {name: f"%{at}" for at, name in enumerate(dims)}
    ties = re.sub(r"\b[A-Z]\w*\b", lambda name: number[name[0]], stated)
    lines_ = "".join(f"  {line.strip()}\n" for line in ties.splitlines() if line.strip())
    return parse(
        f"func @main({signature}) {{\n{''.join(body)}  return {results}\n}}\n"
        f"{symbols}func @shape_constraint_graph() {{\n{bound}{lines_}}}\n"
    )


def layers(count: int) -> Module:
    """A chain of normalizations, products and gates, of 20 operators each."""
    hidden = Type("f32", ("T", "H"))
    row = Type("f32", ("T",))
    equations: list[Equation] = []

    def add(name: str, operands: tuple[int, ...], type_: Type, **given: object) -> int:
        equations.append(Equation(BY_NAME[name], operands, type_, tuple(given.items())))  # type: ignore[arg-type]
        return 1 + len(equations)

    x = 0
    for _ in range(count):
        total = add("reduce_sum", (x,), row, axes=(1,))
        mean = add("broadcast", (add("neg", (total,), row),), hidden, dims=(0,))
        centred = add("add", (x, mean), hidden)
        squares = add("reduce_sum", (add("square", (centred,), hidden),), row, axes=(1,))
        scale = add("broadcast", (add("rsqrt", (squares,), row),), hidden, dims=(0,))
        normal = add("mul", (centred, scale), hidden)
        out = add("matmul", (normal, 1), hidden)
        for name in ("exp", "tanh", "neg", "sigmoid", "abs", "square", "sin", "cos", "sqrt"):
            out = add(name, (out,), hidden)
        x = add("add", (out, x), hidden)
    inputs = (Input("x", hidden), Input("w", Type("f32", ("H", "H"))))
    function = Function("layers", inputs, tuple(equations), (x,))
    return Module(function, (SymbolicDim("T"), SymbolicDim("H")))


def aliases(count: int) -> Module:
    """A chain of exponentials, in which each value has a size of its own name."""
    names = [f"S{at}" for at in range(count + 1)]
    types = [Type("f32", (name,)) for name in names]
    equations = tuple(Equation(BY_NAME["exp"], (at,), types[at + 1]) for at in range(count))
    function = Function("aliases", (Input("x", types[0]),), equations, (count,))
    return Module(function, tuple(map(SymbolicDim, names)))


def row_sums(count: int) -> Module:
    """A chain in which each element becomes the sum of its row, again and again."""
    hidden, row = Type("f32", ("T", "H")), Type("f32", ("T",))
    equations = []
    for at in range(0, count, 2):
        equations.append(Equation(BY_NAME["reduce_sum"], (at,), row, (("axes", (1,)),)))
        equations.append(Equation(BY_NAME["broadcast"], (at + 1,), hidden, (("dims", (0,)),)))
    function = Function("row_sums", (Input("x", hidden),), tuple(equations), (len(equations),))
    return Module(function, (SymbolicDim("T"), SymbolicDim("H")))
