"""TVMScript from a file, admitted before TVM reads it.

TVM's reader evaluates a program's expressions in Python, so that a file could do anything. Here
only a closed list of words may stand in it: one function of loops, blocks and integer arithmetic,
with no name but ``T``, ``range``, its parameters and its loops. Nothing of the file is executed
before that is known.
"""

from __future__ import annotations

import ast
from typing import NoReturn

from mlc_course.errors import TextError
from mlc_course.tensor_program.tir import PrimFunc, read_script

LONGEST = 1 << 16  # characters
LARGEST = 1 << 64
_WORDS = {
    *("prim_func", "Buffer", "grid", "serial", "sblock", "init", "reads", "writes", "axis"),
    *("cast", "Cast", "min", "max", "Select", "if_then_else", "bool"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}
_AXES = {"spatial", "reduce", "remap", "S", "R"}
_ARGUMENTS = {"s_tir", "dtype", "offset_factor"}
_NODES = (
    *(ast.FunctionDef, ast.arguments, ast.arg, ast.For, ast.With, ast.withitem, ast.Assign),
    *(ast.Expr, ast.Tuple, ast.List, ast.Load, ast.Store, ast.Subscript, ast.Slice, ast.Name),
    *(ast.Constant, ast.Attribute, ast.Call, ast.keyword, ast.Compare, ast.BinOp, ast.UnaryOp),
    *(ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Div, ast.LShift, ast.RShift),
    *(ast.BitAnd, ast.BitOr, ast.BitXor, ast.USub, ast.Invert),
    *(ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
)
_IMPORTS = {"from tvm.script import tirx as T", "from tvm.tirx.layout import Axis"}


def read_admitted(text: str) -> PrimFunc:
    """Return the function that a text in TVMScript holds.

    Raises:
        TextError: it holds something else than one ``@T.prim_func`` of loops, blocks and integer
            arithmetic, or TVM cannot read it; the message names the line.
    """
    if len(text) > LONGEST:
        raise TextError("a program", expected=f"up to {LONGEST:,} characters", got=f"{len(text):,}")
    try:
        statements = [each for each in ast.parse(text).body if ast.unparse(each) not in _IMPORTS]
    except SyntaxError as error:
        raise TextError(
            f"line {error.lineno}, column {error.offset} of a program",
            expected="TVMScript",
            got=error.msg,
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise TextError("a program", expected="TVMScript", got=type(error).__name__) from None
    if len(statements) != 1 or not isinstance(statements[0], ast.FunctionDef):
        raise TextError(
            "a program is one function",
            expected="@T.prim_func(s_tir=True), then def main(A: T.Buffer(...), ...):",
            got=", ".join(type(each).__name__ for each in statements) or "nothing",
        )
    function = statements[0]
    _check(function)
    decorator = ast.parse("T.prim_func(s_tir=True)", mode="eval").body
    function.decorator_list = [decorator]
    function.returns = None
    try:
        return read_script(ast.unparse(function))
    except Exception as error:  # TVM has many kinds
        said = next((x for x in str(error).splitlines() if x.strip()), type(error).__name__)
        raise TextError(
            "TVM cannot read the program", expected="TVMScript", got=said.removeprefix("error: ")
        ) from None


def _check(function: ast.FunctionDef) -> None:
    if [ast.unparse(each).partition("(")[0] for each in function.decorator_list] != ["T.prim_func"]:
        _refuse(function, "the decorator @T.prim_func(s_tir=True), and no other")
    own = {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
    for each in ast.walk(function):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            own.add(each.id)
    if "T" in own:
        _refuse(function, "T as the name of TVMScript only")
    for each in ast.walk(function):
        _check_node(each, {"T", "range", *own})


def _check_node(each: ast.AST, names: set[str]) -> None:
    if not isinstance(each, _NODES):
        _refuse(each, "loops, blocks, stores and integer arithmetic")
    match each:
        case ast.Name() if each.id not in names:
            _refuse(each, "T, range, parameters and loops")
        case ast.Attribute() if not _is_word(each):
            _refuse(each, f"T.axis.{' | '.join(sorted(_AXES))}, T.{' | '.join(sorted(_WORDS))}")
        case ast.Call(func=function):
            plain = isinstance(function, ast.Name) and function.id == "range"
            if not (plain or isinstance(function, ast.Attribute)):
                _refuse(each, "calls of T's functions")
        case ast.keyword() if each.arg not in _ARGUMENTS:
            _refuse(each.value, " | ".join(f"{x}=" for x in sorted(_ARGUMENTS)))
        case ast.Constant(value=bool()):
            return
        case ast.Constant(value=int(number)) if abs(number) <= LARGEST:
            return
        case ast.Constant(value=str(text)) if text.isidentifier():
            return
        case ast.Constant():
            _refuse(each, "integers of 64 bits, and names")
        case ast.BinOp(op=ast.LShift()) if not any(
            isinstance(x, ast.Name) for x in ast.walk(each.left)
        ):
            _refuse(each, "a shift of something that is read")


def _is_word(each: ast.Attribute) -> bool:
    if not isinstance(each.ctx, ast.Load):
        return False
    match each.value:
        case ast.Name(id="T"):
            return each.attr in _WORDS
        case ast.Attribute(value=ast.Name(id="T"), attr="axis"):
            return each.attr in _AXES
    return False


def _refuse(each: ast.AST, expected: str) -> NoReturn:
    got = ast.unparse(each) if isinstance(each, ast.expr) else type(each).__name__
    raise TextError(
        f"line {getattr(each, 'lineno', 1)} of a program: it holds what no specification has",
        expected=expected,
        got=got[:120],
    )
