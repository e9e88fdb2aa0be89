"""The rooms of the library, in the order in which to read them, as the tests keep it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


def rooms() -> Iterator[tuple[str, str, str]]:
    """Yield each room's module, its name on paper, and the question that it answers."""
    test = ast.parse((ROOT / "tests" / "test_architecture.py").read_text(encoding="utf-8"))
    (modules,) = (
        ast.literal_eval(each.value)
        for each in test.body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "ROOMS"
    )
    for module in modules[1:]:
        path = ROOT / module.replace(".", "/")
        if path.is_dir():
            source, name = path / "__init__.py", str(path.relative_to(ROOT / "mlc_course"))
        elif (source := path.with_suffix(".py")).exists():
            name = str(source.relative_to(ROOT / "mlc_course"))
        else:
            continue  # a pattern, for the folders of lessons
        said = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
        yield module, name, said.splitlines()[0].replace("``", "`")
