"""Rooms import each other one way, and through their faces."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Every room in the order in which to read them: a room imports only from those above it. A room is
# a folder with the modules in it, or one module that stands by itself.
ROOMS = (
    "mlc_course",
    "mlc_course.errors",
    "mlc_course.extras",
    "mlc_course.course_files",
    "mlc_course.words",
    "mlc_course.deadline",
    "mlc_course.units",
    "mlc_course.machine",
    "mlc_course.provenance",
    "mlc_course.parallel",
    "mlc_course.progress",
    "mlc_course.drawing",
    "mlc_course.tensor_program",
    "mlc_course.tensor_program.tir",
    "mlc_course.measure",
    "mlc_course.tensor_program.problems",
    "mlc_course.tensor_program.legality",
    "mlc_course.tensor_program.schedule",
    "mlc_course.tensor_program.memory",
    "mlc_course.tensor_program.ladders",
    "mlc_course.tensor_program.plots",
    "mlc_course.tensor_program.processor",
    "mlc_course.tensor_program.networks",
    "mlc_course.tensor_program.search",
    "mlc_course.instruction_selection",
    "mlc_course.instruction_selection.integers",
    "mlc_course.instruction_selection.isa",
    "mlc_course.instruction_selection.spec",
    "mlc_course.instruction_selection.prove",
    "mlc_course.instruction_selection.search",
    "mlc_course.instruction_selection.lower",
    "mlc_course.instruction_selection.insert",
    "mlc_course.instruction_selection.compare",
    "mlc_course.instruction_selection.tvm_intrinsics",
    "mlc_course.instruction_selection.intel_guide",
    "mlc_course.instruction_selection.semantics",
    "mlc_course.mugraph",
    "mlc_course.mugraph.ir",
    "mlc_course.mugraph.programs",
    "mlc_course.mugraph.cost",
    "mlc_course.mugraph.verify",
    "mlc_course.mugraph.mutants",
    "mlc_course.mugraph.expressions",
    "mlc_course.mugraph.search",
    "mlc_course.mugraph.kernels",
    "mlc_course.mugraph.codegen",
    "mlc_course.mugraph.kernel_checks",
    "mlc_course.mugraph.cpu_kernels",
    "mlc_course.mugraph.thread_kernels",
    "mlc_course.mugraph.gpu_text",
    "mlc_course.mugraph.cuda",
    "mlc_course.mugraph.ptx",
    "mlc_course.mugraph.opencl",
    "mlc_course.mugraph.box",
    "mlc_course.mugraph.runtime",
    "mlc_course.mugraph.symbolic",
    "mlc_course.mugraph.enumeration",
    "mlc_course.mugraph.picture",
    "mlc_course.dynamic_shape",
    "mlc_course.dynamic_shape.ir",
    "mlc_course.dynamic_shape.programs",
    "mlc_course.dynamic_shape.importers",
    "mlc_course.dynamic_shape.solve",
    "mlc_course.dynamic_shape.fusion",
    "mlc_course.dynamic_shape.codegen",
    "mlc_course.grading",
    "mlc_course.grading.admission",
    "mlc_course.grading.process",
    "mlc_course.grading.checks",
    "mlc_course.grading.course",
    "mlc_course.grading.handed_in",
    "mlc_course.grading.reports",
    "mlc_course.grading.nbgrader",
    "mlc_course.exercise",
    "mlc_course.lessons",
    "mlc_course.lessons.kit",
    "mlc_course.lessons.lesson_*",  # none imports another
    "mlc_course.lecture",
    "mlc_course.start",
    "mlc_course.commands.output",
    "mlc_course.commands.marks",
    "mlc_course.commands",
)
LESSON = re.compile(r"mlc_course\.lessons\.lesson_\w+")
FACE_LINES = range(1, 11)  # of a face's docstring


def module_of(path: Path, root: Path = ROOT) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def sources(root: Path = ROOT) -> dict[str, str]:
    """The text of every module of the package, by the module's name."""
    paths = sorted((root / "mlc_course").rglob("*.py"))
    return {module_of(path, root): path.read_text(encoding="utf-8") for path in paths}


@cache
def imports(source: str) -> tuple[tuple[str, str], ...]:
    """Each module that is named after ``from``, or ``import``, with each name taken from it."""
    found: list[tuple[str, str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found += ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            found += ((alias.name, "") for alias in node.names)
    return tuple(found)


def target(module: str, name: str, modules: Iterable[str]) -> str:
    """The module that an import loads: ``from a import b`` may mean ``a.b``."""
    return f"{module}.{name}" if f"{module}.{name}" in set(modules) else module


def room_of(module: str, rooms: Sequence[str] = ROOMS) -> str:
    """The longest room that the module is in; a lesson is a room of its own."""
    if lesson := LESSON.match(module):
        return lesson[0]
    held = [room for room in rooms if module == room or module.startswith(f"{room}.")]
    return max(held, key=len)


def place(room: str, rooms: Sequence[str] = ROOMS) -> int:
    return rooms.index("mlc_course.lessons.lesson_*" if LESSON.match(room) else room)


def faults(modules: Mapping[str, str], rooms: Sequence[str] = ROOMS) -> Iterator[str]:
    """Imports that go up the list, sideways between lessons, or past a face; one sentence each."""
    for module, source in modules.items():
        own = room_of(module, rooms)
        for named, name in imports(source):
            if named.split(".")[0] != "mlc_course":
                continue
            found = target(named, name, modules)
            other = room_of(found, rooms)
            if other == own:
                continue
            if place(other, rooms) >= place(own, rooms):
                yield f"{module} imports {found}, which is not above it"
            if named != other and not (named == other.rpartition(".")[0] and found == other):
                yield f"{module} imports {named}: not the face of {other}"


def circles(modules: Mapping[str, str]) -> list[str]:
    """Modules of one room that import each other in a circle, each named once."""
    graph = {
        module: {
            found
            for named, name in imports(source)
            if (found := target(named, name, modules)) in modules and found != module
        }
        for module, source in modules.items()
    }
    found, done = set(), set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        if module in path:
            found.add(" -> ".join((*path[path.index(module) :], module)))
        elif module not in done:
            for other in sorted(graph[module]):
                visit(other, (*path, module))
            done.add(module)

    for module in sorted(graph):
        visit(module, ())
    return sorted(found)


def test_rooms_import_down_the_list_and_through_faces() -> None:
    assert not list(faults(sources()))


def test_no_room_is_a_circle() -> None:
    assert not circles(sources())


def test_the_list_has_every_room_and_no_other() -> None:
    held = {room_of(module) for module in sources()}
    named = {room for room in held if not LESSON.match(room)}
    assert named == set(ROOMS) - {"mlc_course.lessons.lesson_*"}


SMALL = {
    "mlc_course": "",
    "mlc_course.errors": "",
    "mlc_course.drawing": "from mlc_course.drawing.svg import box",
    "mlc_course.drawing.svg": "from mlc_course.errors import CourseError",
    "mlc_course.mugraph": "",
    "mlc_course.mugraph.ir": "from mlc_course.mugraph.ir.ops import exp",
    "mlc_course.mugraph.ir.ops": "from mlc_course.drawing import box",
}


def test_a_sound_house_is_accepted() -> None:
    assert not list(faults(SMALL)) and not circles(SMALL)


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("mlc_course.errors", "from mlc_course.drawing import box", "not above it"),
        ("mlc_course.mugraph.ir.ops", "from mlc_course.drawing.svg import box", "not the face"),
        ("mlc_course.mugraph.ir.ops", "import mlc_course.drawing.svg", "not the face"),
        (
            "mlc_course.lessons.lesson_01_a.b",
            "from mlc_course.lessons.lesson_02_b import c",
            "not above it",
        ),
    ],
)
def test_an_import_up_or_past_a_face_is_refused(module: str, source: str, fault: str) -> None:
    (said,) = faults({**SMALL, module: source})
    assert fault in said


def test_a_circle_inside_a_room_is_found() -> None:
    around = {
        "mlc_course.drawing.svg": "from mlc_course.drawing.boxes import box",
        "mlc_course.drawing.boxes": "from mlc_course.drawing import svg",
    }
    (found,) = circles({**SMALL, **around})
    assert found.count("drawing") == 3


def test_a_module_that_imports_its_own_face_is_in_a_circle() -> None:
    found = circles({**SMALL, "mlc_course.drawing.svg": "from mlc_course.drawing import box"})
    assert found == ["mlc_course.drawing -> mlc_course.drawing.svg -> mlc_course.drawing"]


@cache
def faces() -> list[str]:
    return sorted(
        module
        for module in sources()
        if (ROOT / module.replace(".", "/") / "__init__.py").is_file() and module != "mlc_course"
    )


@pytest.mark.parametrize("module", faces())
def test_a_face_says_what_question_its_room_answers(module: str) -> None:
    said = ast.get_docstring(ast.parse(sources()[module])) or ""
    assert len(said.splitlines()) in FACE_LINES
    first = said.splitlines()[0]
    assert first.endswith((".", "?")) and len(first.split()) > 3


def test_a_face_exports_what_it_names() -> None:
    for module in faces():
        tree = ast.parse(sources()[module])
        taken = {
            alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        named = [ast.literal_eval(n.value) for n in tree.body if isinstance(n, ast.Assign)]
        assert set().union(*map(set, named)) == taken, module


def test_a_name_of_a_face_is_not_also_that_of_another_module() -> None:
    clashes = [
        f"{module}.{name}"
        for module in faces()
        for named, name in imports(sources()[module])
        if named != module and f"{module}.{name}" in sources()
    ]
    assert not clashes


def cells(path: Path) -> str:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    return re.sub(r"^\s*[%!].*$", "", "\n".join(code), flags=re.MULTILINE)


def behind_faces(source: str, rooms: Sequence[str] = ROOMS) -> list[str]:
    """Modules that are named after ``from`` and are not rooms."""
    return [
        named
        for named, _ in imports(source)
        if named.startswith("mlc_course") and named not in rooms and not LESSON.fullmatch(named)
    ]


def not_exported(source: str) -> list[str]:
    """Names that are taken from a room whose face does not have them in ``__all__``."""
    return [
        f"{named}.{name}"
        for named, name in imports(source)
        if named in faces() and name not in exported(named) and f"{named}.{name}" not in faces()
    ]


@cache
def exported(face: str) -> frozenset[str]:
    tree = ast.parse(sources()[face])
    lists = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    return frozenset().union(*lists)


NOTEBOOKS = sorted((*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "solutions").rglob("*.ipynb")))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_notebooks_import_from_rooms(path: Path) -> None:
    assert not behind_faces(cells(path))
    assert not not_exported(cells(path))


def test_a_notebook_that_looks_behind_a_face_is_refused() -> None:
    assert behind_faces("from mlc_course.mugraph.ir.ops import exp") == [
        "mlc_course.mugraph.ir.ops"
    ]
    assert not behind_faces("from mlc_course.mugraph.ir import exp")
    assert not_exported("from mlc_course.mugraph.ir import printer, ops") == [
        "mlc_course.mugraph.ir.printer"
    ]


def names_in(face: str) -> set[str]:
    """Names in double backticks in a face's docstring."""
    return set(re.findall(r"``([a-z_]\w*)``", ast.get_docstring(ast.parse(face)) or ""))


@pytest.mark.parametrize("module", faces())
def test_a_face_names_modules_that_are_there(module: str) -> None:
    known = {name.removeprefix(f"{module}.").split(".")[0] for name in sources()}
    exported = {name for _, name in imports(sources()[module])}
    assert names_in(sources()[module]) <= known | exported


def test_names_in_a_face_are_found() -> None:
    assert names_in('"""Read ``ops`` first, then ``mlc-course`` and ``A``."""') == {"ops"}


def test_no_two_test_files_have_one_name() -> None:  # pytest would import only one of them
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names))
