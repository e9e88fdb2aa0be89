"""Answers of the lessons' blanks, each with one small change, in the cells that ask for them."""

from __future__ import annotations

import ast
import copy
import importlib
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = Path(__file__).parents[2] / "mlc_course" / "lessons"
JUDGED = re.compile(r"(?:lesson\.)?blanks\.(\w+)\((.+)\)")
OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.Div),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitXor: (ast.BitOr,),
}
ORDERS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE),
    ast.In: (ast.NotIn,),
}
SMALL = 1000  # a constant that one more or less makes wrong
Change = Callable[[Any], ast.expr | None]


@dataclass(frozen=True)
class Asked:
    """A cell of a lesson with three dots, and the call in the cell below that judges it."""

    lesson: str
    blank: str
    cell: str
    written: str

    def __str__(self) -> str:
        return f"{self.lesson}-{self.blank}"

    def filled(self, answer: str) -> str:
        """The cell with an answer in place of its dots; raises ``ValueError`` where it has none."""
        lines = self.cell.splitlines()
        (dots,) = (n for n, each in enumerate(lines) if "..." in each.partition("#")[0])
        indent = re.match(" *", lines[dots])
        assert indent
        lines[dots] = textwrap.indent(answer, indent[0])
        return "\n".join(lines)

    def judged(self, answer: str, names: dict[str, Any]) -> Any:
        """What the lesson says to this answer."""
        found = dict(names)
        exec(self.filled(answer), found)
        return getattr(face(self.lesson).blanks, self.blank)(eval(self.written, found))


def face(lesson: str) -> Any:
    (folder,) = LESSONS.glob(f"lesson_{lesson}_*")
    return importlib.import_module(f"mlc_course.lessons.{folder.name}")


def all_asked() -> Iterator[Asked]:
    """Yield every blank of every lesson whose cell has its dots in one place."""
    for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]
        for cell, below in zip(sources, sources[1:], strict=False):
            call = JUDGED.fullmatch(below.strip())
            if call and sum("..." in each.partition("#")[0] for each in cell.splitlines()) == 1:
                yield Asked(path.name[:2], call[1], cell, call[2])


def changed(answer: str) -> list[str]:
    """Every text that one small change of an answer makes, without repetition."""
    tree = ast.parse("def answer():\n" + textwrap.indent(textwrap.dedent(answer), "    "))
    texts = [
        _changed(tree, place, change)
        for place, node in enumerate(ast.walk(tree))
        for change in _changes(node)
    ]
    return sorted({_body(each) for each in texts} - {_body(tree)})


def _changes(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.BinOp():
            for operator in OPERATORS.get(type(node.op), ()):
                yield lambda each, to=operator: setattr(each, "op", to())
            yield lambda each: each.left  # type: ignore[no-any-return]
            yield lambda each: each.right  # type: ignore[no-any-return]
        case ast.Compare(ops=[only]):
            for order in ORDERS.get(type(only), ()):
                yield lambda each, to=order: setattr(each, "ops", [to()])
        case ast.Constant(value=int() | float() as value) if _is_small(value):
            yield lambda each: setattr(each, "value", each.value + 1)
            yield lambda each: setattr(each, "value", each.value - 1)
        case ast.Call(func=ast.Name(id="max" | "min" as name)):
            other = {"max": "min", "min": "max"}[name]
            yield lambda each: setattr(each.func, "id", other)
        case ast.SetComp():
            yield lambda each: ast.ListComp(each.elt, each.generators)


def _is_small(value: float) -> bool:
    return not isinstance(value, bool) and abs(value) < SMALL


def _changed(tree: ast.AST, place: int, change: Change) -> ast.AST:
    copied = copy.deepcopy(tree)
    old = list(ast.walk(copied))[place]
    new = change(old)
    if new is not None:

        class Put(ast.NodeTransformer):
            def visit(self, node: ast.AST) -> Any:
                return new if node is old else self.generic_visit(node)

        Put().visit(copied)
    return copied


def _body(tree: ast.AST) -> str:
    lines = ast.unparse(ast.fix_missing_locations(tree)).splitlines()[1:]
    return textwrap.dedent("\n".join(lines))
