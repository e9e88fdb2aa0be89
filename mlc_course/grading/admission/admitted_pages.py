"""Pages: whole programs of students that a grader may run, of a closed list of forms and names.

A page is the source of functions that fit on a page. It imports names of a short list, never a
module, reads no attribute that leads out of plain values, and defines no class. So it can reach
neither files nor the parts of this package that are not on the list, and it is too short to bring
them along: the package's own search takes four times as many characters when it is compressed.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import itertools
import linecache
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mlc_course.errors import UnmetCheck, UnsafeProgram, check_known

LONGEST = 14_000  # characters of a page
LESSON = "mlc_course.lessons.lesson_21_capstone"
OFFERED: Mapping[str, tuple[str, ...]] = {
    "collections": ("Counter", "defaultdict", "deque"),
    "functools": ("cache", "lru_cache", "partial", "reduce"),
    "itertools": (
        *("accumulate", "chain", "combinations", "count", "groupby", "islice", "pairwise"),
        *("permutations", "product", "repeat", "takewhile", "zip_longest"),
    ),
    "math": ("ceil", "floor", "gcd", "inf", "isqrt", "log2", "prod", "sqrt"),
    "random": ("Random",),
    "re": ("findall", "fullmatch", "match", "search", "split", "sub"),
    LESSON: ("Line", "measured", "passes", "read_program", "written"),
}
FUNCTIONS = (
    *("abs", "all", "any", "bool", "chr", "dict", "divmod", "enumerate", "filter", "float"),
    *("frozenset", "hash", "int", "isinstance", "iter", "len", "list", "map", "max", "min", "next"),
    *("ord", "pow", "print", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str"),
    *("sum", "tuple", "zip", "Exception", "AssertionError", "IndexError", "KeyError"),
    *("NotImplementedError", "RuntimeError", "StopIteration"),
    *("TypeError", "ValueError", "ZeroDivisionError"),
)
NODES = (
    *(ast.Module, ast.ImportFrom, ast.alias, ast.FunctionDef, ast.Lambda, ast.arguments, ast.arg),
    *(ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.For, ast.While, ast.If),
    *(ast.Raise, ast.Try, ast.ExceptHandler, ast.Assert, ast.Nonlocal, ast.Expr, ast.Pass),
    *(ast.Break, ast.Continue, ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.IfExp),
    *(ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.comprehension, ast.Yield, ast.YieldFrom, ast.Compare, ast.Call, ast.keyword),
    *(ast.FormattedValue, ast.JoinedStr, ast.Constant, ast.Attribute, ast.Subscript, ast.Starred),
    *(ast.Name, ast.List, ast.Tuple, ast.Slice),
    *(ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop),
)
# Attributes of functions, generators, frames and tracebacks; and a text that reads attributes. The
# methods of named tuples, such as a Line, lead nowhere.
LEADS_OUT = re.compile(
    r"_(?!(replace|asdict)$).*|(gi|cr|ag|tb|f|co|func)_.*|format|format_map|mro|with_traceback"
)
_numbers = itertools.count(1)


def offered_as(value: object) -> tuple[str, str] | None:
    """Return the module and the name under which a page may import a value, or None."""
    for module, names in OFFERED.items():
        for name in names:
            if getattr(importlib.import_module(module), name) is value:
                return module, name
    return None


def admitted_page(source: object) -> Callable[..., Any]:
    """Return the last function of a page: ``page`` writes what it calls above it.

    Raises ``UnsafeProgram`` for a form or a name that is not on the list, and ``UnmetCheck`` for a
    text that is no page.
    """
    if not isinstance(source, str) or len(source) > LONGEST:
        raise UnmetCheck(
            "a superoptimizer that does not fit on a page",
            expected=f"at most {LONGEST:,} characters, with all functions that it calls",
            got=f"{len(source):,}" if isinstance(source, str) else source,
        )
    try:
        tree = ast.parse(source)
        for fault in _faults(tree):
            raise fault
        namespace: dict[str, Any] = {
            "__builtins__": {each: getattr(builtins, each) for each in FUNCTIONS},
            "__name__": "__main__",
            **_imported(tree),
        }
        tree.body = [each for each in tree.body if not isinstance(each, ast.ImportFrom)]
        file = f"<page {next(_numbers)}>"
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
        exec(compile(tree, file, "exec"), namespace)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise UnmetCheck("a page that cannot be read", got=str(error)[:200]) from None
    names = [each.name for each in tree.body if isinstance(each, ast.FunctionDef)]
    made = namespace.get(names[-1]) if names else None
    if not callable(made):
        raise UnmetCheck("not a function", expected="def ...(text):", got=type(made).__name__)
    function: Callable[..., Any] = made
    return function


def _imported(tree: ast.Module) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in tree.body:
        if isinstance(each, ast.ImportFrom):
            module = importlib.import_module(str(each.module))
            found |= {name.asname or name.name: getattr(module, name.name) for name in each.names}
    return found


def _faults(tree: ast.Module) -> Iterator[Exception]:
    """Yield what is not admitted."""
    modules = ", ".join(each for each in OFFERED if each != LESSON)
    top = {id(each) for each in tree.body}
    known = {*FUNCTIONS, *_defined(tree)}
    for node in ast.walk(tree):
        if not isinstance(node, NODES):
            yield _refused(node, "functions, loops, comprehensions and plain values")
        match node:
            case ast.ImportFrom(module, names, level):
                if level or id(node) not in top or module not in OFFERED:
                    yield _refused(node, f"from MODULE import NAME, at the top: {modules}")
                for each in names:
                    check_known(
                        f"from {module} a page may not import",
                        each.name,
                        OFFERED[str(module)],
                        UnsafeProgram,
                    )
            case ast.Name(name) if name not in known or name.startswith("__"):
                yield _refused(node, "the page's own names, and plain functions", name)
            case ast.Attribute(attr=attr) if LEADS_OUT.fullmatch(attr):
                hint = "write an f-string" if attr == "format" else None
                yield _refused(node, "attributes and methods of plain values", f".{attr}", hint)
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                yield _refused(node, "attributes that are read")
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.alias(asname=str(name)):
                if name.startswith("__"):
                    yield _refused(node, "names without __", name)


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a page gives to something, anywhere."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id, ast.Store()):
                yield id
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.alias(name=name, asname=alias):
                yield alias or name


def _refused(node: ast.AST, expected: str, got: str = "", hint: str | None = None) -> UnsafeProgram:
    line = getattr(node, "lineno", 1)
    said = got or ast.unparse(node).splitlines()[0][:80]
    return UnsafeProgram(
        f"line {line} of your page: a page has no such thing",
        expected=expected,
        got=said,
        hint=hint,
    )
