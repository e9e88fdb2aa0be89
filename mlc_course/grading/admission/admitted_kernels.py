"""The kernels and loops that a grader may run: Python functions of a closed list of forms.

A kernel is handed in as its source. What is admitted has assignments, conditions, loops, arithmetic
on numbers, its own arguments, and what a thread of the box offers. It names no module, no attribute
but those of a thread and an array's shape, and no function but a few on numbers. Its loops count
their turns, so that none goes on for ever.
"""

from __future__ import annotations

import ast
import itertools
import linecache
from collections.abc import Callable, Iterator
from typing import Any

from mlc_course.deadline import check_time
from mlc_course.errors import UnmetCheck, UnsafeProgram

MOST_TURNS = 200_000  # of all loops of all threads, in all runs


def bounded_range(*ends: int) -> range:
    """Return a range of so few numbers that looking at all of them comes to an end."""
    found = range(*ends)
    if found and abs(found[-1] - found[0]) // abs(found.step) >= MOST_TURNS:
        raise UnmetCheck(
            "a range that is too long",
            expected=f"at most {MOST_TURNS:,} numbers, as many as there may be turns of loops",
            got=found,
        )
    return found


FUNCTIONS: dict[str, Any] = {
    "range": bounded_range,
    **{each.__name__: each for each in (len, min, max, abs, int, float, round)},
}
MORE_FUNCTIONS: dict[str, Any] = {"sum": sum, "enumerate": enumerate}  # of plain functions
OF_A_THREAD = ("block", "thread", "blocks", "threads")
AXES = ("x", "y", "z")
CALLS = ("shared", "barrier")
LONGEST = 20_000  # letters
NODES = (
    ast.FunctionDef,
    ast.arg,
    ast.Return,
    ast.Assign,
    ast.AugAssign,
    ast.For,
    ast.While,
    ast.If,
    ast.IfExp,
    ast.Expr,
    ast.Pass,
    ast.Break,
    ast.Continue,
    ast.Yield,
    ast.Name,
    ast.Attribute,
    ast.Call,
    ast.keyword,
    ast.Subscript,
    ast.Slice,
    ast.Tuple,
    ast.List,
    ast.Constant,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
)
OPERATORS = (
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.RShift,
    ast.BitAnd,
    ast.BitOr,
    ast.BitXor,
)
GENERATORS = (ast.GeneratorExp, ast.comprehension)  # in plain functions, besides NODES
TURN = "turn of a loop"  # no name that a program could have
_numbers = itertools.count(1)


def admitted_kernel(source: object) -> Callable[..., Any]:
    """Return the kernel whose source this is; its first argument is the thread.

    Raises ``UnsafeProgram`` for a form that is not on the list, ``UnmetCheck`` for a text that is
    no function or an empty exercise.
    """
    return _admitted(source, FUNCTIONS, has_thread=True)


def admitted_function(source: object) -> Callable[..., Any]:
    """Return the plain function on arrays whose source this is.

    It has the forms of a kernel but for those of a thread, and may sum what it generates. Raises
    what ``admitted_kernel`` raises.
    """
    return _admitted(source, FUNCTIONS | MORE_FUNCTIONS, has_thread=False)


def _admitted(source: object, functions: dict[str, Any], *, has_thread: bool) -> Callable[..., Any]:
    if not isinstance(source, str) or len(source) > LONGEST:
        raise UnmetCheck("not a function", expected="one that begins with def", got=source)
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnmetCheck("a function that cannot be read", got=str(error)[:200]) from None
    if len(tree.body) != 1 or not isinstance(function := tree.body[0], ast.FunctionDef):
        raise UnmetCheck("not a function", expected="one that begins with def, and nothing else")
    names = [each.arg for each in function.args.args]
    for fault in _faults(function, names, functions, has_thread=has_thread):
        raise fault
    tree = ast.fix_missing_locations(_Counted().visit(tree))
    file = f"<kernel {next(_numbers)}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    namespace: dict[str, Any] = {"__builtins__": {}, **functions, TURN: _Turns()}
    exec(compile(tree, file, "exec"), namespace)
    made: Callable[..., Any] = namespace[function.name]
    return made


class _Turns:
    """Counts the turns of loops, and ends those without an end."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1
        if self.count > MOST_TURNS:
            raise UnmetCheck(
                "the kernel runs too long",
                expected=f"at most {MOST_TURNS:,} turns of loops, of all threads in all orders",
                hint="is there a loop whose condition stays true?",
            )
        if self.count % 1024 == 0:
            check_time()


class _Counted(ast.NodeTransformer):
    """Puts a call that counts at the beginning of every loop's body."""

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._loop(node)

    def _loop(self, node: ast.For | ast.While) -> ast.AST:
        self.generic_visit(node)
        call = ast.Expr(ast.Call(ast.Name(TURN, ast.Load()), [], []))
        node.body.insert(0, ast.copy_location(call, node))
        return node


def _faults(
    function: ast.FunctionDef, names: list[str], functions: dict[str, Any], *, has_thread: bool
) -> Iterator[Exception]:
    """Yield what is not admitted, in the order of the source."""
    rest = function.args
    if function.decorator_list or rest.vararg or rest.kwarg or rest.kwonlyargs or rest.defaults:
        yield _refused(function, "a function with plain arguments, and no decorator")
    if not names:
        yield _refused(
            function,
            "arguments" if not has_thread else "an argument t, the thread, and then the arrays",
        )
    known = {*names, *functions}
    known |= {
        each.id
        for each in ast.walk(function)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    thread = names[0] if names and has_thread else ""
    nodes = NODES if has_thread else (*NODES, *GENERATORS)
    for node in _in_order(function):
        if isinstance(node, ast.Raise):
            yield UnmetCheck(
                "there is no answer yet",
                expected="your own kernel in the cell above",
                got="the empty exercise",
                hint="open the first hint if you do not know where to begin",
            )
        if not isinstance(node, nodes) or isinstance(node, ast.FunctionDef) and node != function:
            yield _refused(node, "assignments, if, for, while, and arithmetic")
        match node:
            case ast.BinOp(op=op) | ast.AugAssign(op=op) if not isinstance(op, OPERATORS):
                yield _refused(node, "+ - * / // % >> & | ^")
            case ast.Name(id) if id not in known:
                expected = f"the kernel's own names: {', '.join(names)}"
                yield _refused(node, expected, f"{id}, which is not one of them")
            case ast.Name(id, ast.Store()) if id in functions or id == thread:
                yield _refused(node, "another name", f"{id}, which means something already")
            case ast.Attribute() if not _is_known(node, thread):
                of_thread = f"{thread}.block.x, {thread}.thread.x, or " if thread else ""
                yield _refused(node, f"{of_thread}an array's .shape")
            case ast.Call(ast.Name(id)) if id not in functions:
                yield _refused(node, ", ".join(functions))
            case ast.Call(func) if not isinstance(func, ast.Name | ast.Attribute):
                yield _refused(node, ", ".join(functions))


def _in_order(function: ast.FunctionDef) -> list[ast.AST]:
    """Return all nodes that have a line, by line; the others are parts of these."""
    found = [each for each in ast.walk(function) if hasattr(each, "lineno")]
    return sorted(found, key=lambda each: int(getattr(each, "lineno", 0)))


def _is_known(node: ast.Attribute, thread: str) -> bool:
    """Tell whether an attribute is of the thread, of one of its triples, or a shape."""
    if isinstance(node.ctx, ast.Store):
        return False
    match node.value:
        case ast.Name(id) if id == thread:
            return node.attr in (*OF_A_THREAD, *CALLS)
        case ast.Name():
            return node.attr == "shape"
        case ast.Attribute(ast.Name(id), attr) if id == thread and attr in OF_A_THREAD:
            return node.attr in AXES
    return False


def _refused(node: ast.AST, expected: str, got: str = "") -> UnsafeProgram:
    line = getattr(node, "lineno", 1)
    what = f"line {line}: the functions of this exercise have no such thing"
    return UnsafeProgram(what, expected=expected, got=got or ast.unparse(node).splitlines()[0][:80])
