"""The page of a function: its source, with all of the notebook's functions and values it uses."""

from __future__ import annotations

import ast
import dis
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, ModuleType
from typing import Any

from mlc_course.errors import UnmetCheck
from mlc_course.grading.admission import OFFERED, offered_as

PLAIN = (bool, int, float, str, type(None))


def page(function: Any) -> str:
    """Return imports, values and functions, as they can stand in a file of their own.

    ``function`` is the last of them, whatever the notebook calls it.
    Raises ``UnmetCheck`` for a function that uses what a page cannot have, such as a module.
    """
    made = _Page(inspect.unwrap(function).__globals__)
    made.add(function.__name__, function, "")
    imports = [f"from {module} import {names}" for module, names in made.imports()]
    return "\n\n\n".join(["\n".join([*imports, *made.values]), *made.functions]).strip() + "\n"


@dataclass
class _Page:
    known: Mapping[str, Any]
    seen: set[str] = field(default_factory=set)
    offered: list[tuple[str, str]] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)

    def imports(self) -> Iterator[tuple[str, str]]:
        """Yield each module with the names that are imported from it."""
        for module in dict.fromkeys(module for module, _ in self.offered):
            yield module, ", ".join(sorted(name for each, name in self.offered if each == module))

    def add(self, name: str, value: Any, user: str) -> None:
        """Put a value on the page, under the name by which ``user`` knows it."""
        if name in self.seen:
            return
        self.seen.add(name)
        inner = inspect.unwrap(value) if callable(value) else value
        if inspect.isfunction(inner) and inner.__globals__ is self.known:
            self._add_function(name, inner)
        elif place := offered_as(value):
            module, offered = place
            self.offered.append((module, offered if offered == name else f"{offered} as {name}"))
        elif _is_plain(value):
            self.values.append(f"{name} = {value!r}")
            if "inf" in _names(ast.parse(repr(value))):
                self.offered.append(("math", "inf"))
        else:
            raise UnmetCheck(
                f"{user} uses {name}, which a page cannot have",
                expected="functions of your own, plain values, and what the exercise offers",
                got=f"a {type(value).__name__}",
                hint=_way_out(value),
            )

    def _add_function(self, name: str, function: Any) -> None:
        source = textwrap.dedent(inspect.getsource(function))
        if not source.lstrip().startswith(("def ", "@")) or function.__name__ != name:
            raise UnmetCheck(
                f"{name}: not a function of its own",
                expected="a function that is defined with def, under the name that is used",
                hint="a lambda, or a function with a second name, cannot be put on a page",
            )
        for each in _read(source, function.__code__):
            if each in self.known:
                self.add(each, self.known[each], name)
        self.functions.append(source.rstrip())


def _way_out(value: Any) -> str:
    """Return what a student can do about a value that a page cannot have."""
    match value:
        case ModuleType(__name__=name) if name in OFFERED:
            return f"write `from {name} import ...`, not `import {name}`"
        case ModuleType():
            return "a page imports from " + ", ".join(each for each in OFFERED if "." not in each)
        case type():
            return "a page has no classes: a tuple or a dict can hold the same"
    return "define it on the page, or do without it"


def _read(source: str, code: CodeType) -> list[str]:
    """Return the names that a function reads from outside, in their order in its source."""
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef)
    ahead = [*definition.decorator_list, definition.args]  # read where it is defined
    ahead += [definition.returns] if definition.returns else []
    outside = {*_global_names(code), *(n for each in ahead for n in _names(each))}
    return [name for name in dict.fromkeys(_names(definition)) if name in outside]


def _names(tree: ast.AST) -> list[str]:
    return [each.id for each in ast.walk(tree) if isinstance(each, ast.Name)]


def _global_names(code: CodeType) -> Iterator[str]:
    """Yield the names in a function's code that are not its own."""
    yield from (each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL")
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _global_names(each)


def _is_plain(value: Any) -> bool:
    """Tell whether the ``repr`` of a value is that value again, where ``inf`` is known."""
    match value:
        case dict():
            return type(value) is dict and all(map(_is_plain, (*value, *value.values())))
        case list() | tuple() | set() | frozenset():
            return type(value) in (list, tuple, set, frozenset) and all(map(_is_plain, value))
        case float():
            return type(value) is float and value == value  # nan is no name
    return type(value) in PLAIN
