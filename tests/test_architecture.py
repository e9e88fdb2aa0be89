"""Imports inside ``mlc_course`` point one way, and modules stay short enough to read in one go."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "mlc_course"

# Every module, in the order in which to read them. A module imports only what stands above it.
# A pattern stands for modules that do not import each other; a name wins over a pattern.
# "" is mlc_course/__init__.py, and a package's name is its __init__.py.
READING_ORDER = (
    "",
    "errors",
    "background",
    "workers",
    "machine",
    "neighbours",
    "tensor_program",
    "tensor_program.tvm_names",
    "measure",
    "tensor_program.problems",
    "tensor_program.problems.workload",
    "tensor_program.graphs",
    "tensor_program.graphs.relax_names",
    "tensor_program.problems.expressions",
    "tensor_program.problems.pointwise",
    "tensor_program.problems.workloads",
    "tensor_program.problems.loads",
    "tensor_program.problems.row_sums",
    "tensor_program.model",
    "tensor_program.model.network",
    "tensor_program.names",
    "tensor_program.step",
    "tensor_program.steps",
    "tensor_program.staging",
    "tensor_program.memory",
    "tensor_program.memory.roofs",
    "tensor_program.vector_math",
    "tensor_program.problems.streams",
    "tensor_program.reading",
    "tensor_program.reading.walk",
    "tensor_program.reading.outline",
    "tensor_program.reading.accesses",
    "tensor_program.admission",
    "tensor_program.admission.integers",
    "tensor_program.admission.scalar_types",
    "tensor_program.admission.bounds",
    "tensor_program.admission.admit",
    "tensor_program.legality.verdicts",
    "tensor_program.legality.forms",
    "tensor_program.legality.instances",
    "tensor_program.legality.runs",
    "tensor_program.legality.matching",
    "tensor_program.legality",
    "tensor_program.legality.unchecked",
    "tensor_program.problems.small_programs",
    "tensor_program.blocks",
    "tensor_program.blocks.inspection",
    "tensor_program.blocks.remarks",
    "tensor_program.blocks.freedom",
    "tensor_program.blocks.judges",
    "tensor_program.once",
    "tensor_program.orders",
    "tensor_program.visits",
    "tensor_program.reading.addresses",
    "tensor_program.threads",
    "tensor_program.threads.tasks",
    "tensor_program.threads.shared_lines",
    "tensor_program.threads.task_clock",
    "tensor_program.memory.cache",
    "tensor_program.memory.probes",
    "tensor_program.memory.address_stream",
    "tensor_program.memory.reuse",
    "tensor_program.memory.theatre",
    "tensor_program.memory.ledger",
    "tensor_program.memory.traffic",
    "tensor_program.memory.tiles",
    "tensor_program.work",
    "tensor_program.staged",
    "tensor_program.staged_problems",
    "tensor_program.assembly",
    "tensor_program.chains",
    "tensor_program.model.numpy_forms",
    "tensor_program.model.loop_forms",
    "tensor_program.model.tensor_functions",
    "tensor_program.stage",
    "tensor_program.graphs.graph",
    "tensor_program.graphs.graph_reader",
    "tensor_program.graphs.fusion",
    "tensor_program.graphs.partition",
    "tensor_program.graphs.layers",
    "tensor_program.trace",
    "tensor_program.ladder",
    "tensor_program.record",
    "tensor_program.model.alone",
    "tensor_program.model.alone.*",
    "tensor_program.model.deployment",
    "tensor_program.memory.roofline",
    "tensor_program.ladders.gebp",
    "tensor_program.ladders.*",
    "tensor_program.ladders",
    "tensor_program.picture",
    "tensor_program.contest",
    "tensor_program.graphs.graph_race",
    "tensor_program.threads.scaling",
    "tensor_program.memory.tile_map",
    "tensor_program.vector_targets",
    "tensor_program.vector_forms",
    "tensor_program.draw",
    "tensor_program.draw.side_by_side",
    "tensor_program.draw.*",
    "tensor_program.graphs.passes",
    "tensor_program.table",
    "tensor_program.report",
    "tensor_program.search",
    "tensor_program.search.spaces",
    "tensor_program.search.genome",
    "tensor_program.search.live",
    "tensor_program.search.cost",
    "tensor_program.search.trial",
    "tensor_program.search.tune",
    "tensor_program.search.recorded",
    "tensor_program.search.report",
    "tensor_program.search.draw",
    "tensor_program.search.draw_scope",
    "tensor_program.search.exo_kernel",
    "tensor_program.search.exo_schedule",
    "mugraph",
    "mugraph.constants",
    "mugraph.arithmetic",
    "mugraph.shapes",
    "mugraph.ops",
    "mugraph.ir",
    "mugraph.attributes",
    "mugraph.check",
    "mugraph.write",
    "mugraph.kernel",
    "mugraph.value",
    "mugraph.build",
    "mugraph.text",
    "mugraph.floats",
    "mugraph.interpret",
    "mugraph.json_form",
    "mugraph.mirage_operators",
    "mugraph.mirage_file",
    "mugraph.workloads",
    "mugraph.published",
    "mugraph.examples",
    "mugraph.primes",
    "mugraph.field",
    "mugraph.growth",
    "mugraph.bounds",
    "mugraph.error",
    "mugraph.shrink",
    "mugraph.witness",
    "mugraph.both",
    "mugraph.verify",
    "mugraph.verdicts",
    "mugraph.mutations",
    "mugraph.mutate",
    "mugraph.refusals",
    "mugraph.report",
    "mugraph.traffic",
    "mugraph.target",
    "mugraph.cost",
    "mugraph.search",
    "mugraph.search.expr",
    "mugraph.search.abstract",
    "mugraph.search.labels",
    "mugraph.search.prune",
    "mugraph.search.rules",
    "mugraph.search.iterated",
    "mugraph.search.values",
    "mugraph.search.names",
    "mugraph.search.segments",
    "mugraph.search.bank",
    "mugraph.search.grow",
    "mugraph.search.nest",
    "mugraph.search.terms",
    "mugraph.search.part",
    "mugraph.search.candidates",
    "mugraph.search.levels",
    "mugraph.search.tree",
    "mugraph.search.opened",
    "mugraph.search.audit",
    "mugraph.search.ways",
    "mugraph.search.structure",
    "mugraph.search.threads",
    "mugraph.search.read_off",
    "mugraph.search.instances",
    "mugraph.search.rank",
    "mugraph.search.task",
    "mugraph.search.work",
    "mugraph.search.confirm",
    "mugraph.search.events",
    "mugraph.search.store",
    "mugraph.search.admission",
    "mugraph.search.superoptimize",
    "mugraph.search.report",
    "mugraph.difference",
    "mugraph.tiny_primes",
    "mugraph.evidence",
    "mugraph.near_misses",
    "mugraph.meter",
    "mugraph.fixed_field",
    "mugraph.formula",
    "mugraph.tiles",
    "mugraph.draw.svg",
    "mugraph.draw.agreement",
    "mugraph.draw.axes",
    "mugraph.draw.choices",
    "mugraph.draw.evidence",
    "mugraph.draw.zeros",
    "mugraph.draw.tower",
    "mugraph.draw.meter",
    "mugraph.draw.layout",
    "mugraph.draw.nodes",
    "mugraph.draw.labels",
    "mugraph.draw.scenes",
    "mugraph.draw.graph",
    "mugraph.draw.panels",
    "mugraph.draw.tiles",
    "mugraph.draw.grid",
    "mugraph.draw.search_tree",
    "mugraph.draw.search_growth",
    "mugraph.draw",
    "grading",
    "grading.values",
    "grading.finding",
    "grading.answers",
    "grading.bench",
    "grading.examined",
    "grading.correctness",
    "grading.counted",
    "grading.mugraph_text",
    "grading.mugraphs",
    "grading.prediction",
    "grading.pruning",
    "grading.ratio",
    "grading.problems",
    "grading.check",
    "exercise",
    "grading.child",
    "grading.sandbox",
    "grading.student_process",
    "grading.bench_process",
    "grading.remote",
    "grading.exam",
    "grading.submission",
    "grading.grade",
    "grading.store",
    "grading.feedback",
    "grading.batch",
    "grading.release",
    "grading.gradebook",
    "grading.report",
    "widgets",
    "widgets.page",
    "widgets.pace",
    "widgets.*",
    "installation",
    "doctor",
    "lab",
    "cli",
)

# Module -> why it may have more lines than LONGEST.
LONG_MODULES: dict[str, str] = {}
LONGEST = 300


def modules(package: Path) -> dict[str, Path]:
    """The files of a package by module name without the package's own: ``tensor_program.steps``."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def rank(module: str, order: Sequence[str]) -> int | None:
    """The place of ``module`` in the reading order, or None."""
    if module in order:
        return order.index(module)
    matches = (place for place, entry in enumerate(order) if fnmatchcase(module, entry))
    return next(matches, None)


def imports(module: str, package: Path, files: Mapping[str, Path]) -> Iterator[tuple[int, str]]:
    """(line, imported module) for every import of the package by itself, wherever it stands."""
    root = package.name
    path = files[module]
    own_package = [root, *path.relative_to(package).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = own_package[: len(own_package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name == root or name.startswith(f"{root}."):
                yield node.lineno, _module_of(name.removeprefix(root).lstrip("."), files)


def _module_of(name: str, files: Mapping[str, Path]) -> str:
    """``errors.CourseError`` -> ``errors``: the longest part of a dotted name that is a module."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name


def faults(
    package: Path, order: Sequence[str], long_modules: Mapping[str, str], longest: int = LONGEST
) -> Iterator[str]:
    """What breaks the rules in ``package``, one sentence each."""
    files = modules(package)
    ranks = {module: rank(module, order) for module in files}
    for module, path in files.items():
        place = path.relative_to(package.parent)
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > longest and module not in long_modules:
            yield f"{place}: {lines} lines are more than {longest}, and LONG_MODULES has no reason"
        own = ranks[module]
        if own is None:
            yield f"{place}: not in READING_ORDER"
            continue
        for line, imported in imports(module, package, files):
            other = ranks[imported]
            if other is not None and other >= own:
                yield f"{place}:{line}: imports {imported}, which does not stand above {module}"
    for entry in order:
        if not any(fnmatchcase(module, entry) for module in files):
            yield f"READING_ORDER: {entry} is no module"
    for module in long_modules.keys() - files.keys():
        yield f"LONG_MODULES: {module} is no module"


def test_imports_point_one_way_and_modules_stay_short() -> None:
    found = list(faults(PACKAGE, READING_ORDER, LONG_MODULES))
    assert not found, "\n".join(found)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of three modules that keeps the rules with ``ORDER``."""
    texts = {
        "house/__init__.py": "",
        "house/ground.py": "import os\n",
        "house/part/__init__.py": "",
        "house/part/wall.py": "from ..ground import stone\n",
        "house/roof.py": "import house.part.wall\nfrom house import ground\n",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "house"


ORDER = ("", "ground", "part", "part.*", "roof")


def test_a_package_that_keeps_the_rules_is_accepted(package: Path) -> None:
    assert list(faults(package, ORDER, {})) == []


@pytest.mark.parametrize(
    "statement",
    [
        "import house.roof",
        "from house import roof",
        "from house.roof import tile as t",
        "from ..roof import tile",
        "from .. import roof",
        "def f():\n    from house.roof import tile",
        "from house.part import door",
    ],
)
def test_an_import_that_points_back_is_refused(package: Path, statement: str) -> None:
    (package / "part" / "door.py").write_text("", encoding="utf-8")
    (package / "part" / "wall.py").write_text(statement, encoding="utf-8")
    (fault,) = faults(package, ORDER, {})
    assert "part/wall.py" in fault
    assert "does not stand above part.wall" in fault


def test_an_unlisted_module_is_refused(package: Path) -> None:
    (package / "shed.py").write_text("", encoding="utf-8")
    assert list(faults(package, ORDER, {})) == ["house/shed.py: not in READING_ORDER"]


def test_a_listed_module_that_does_not_exist_is_refused(package: Path) -> None:
    assert list(faults(package, (*ORDER, "attic"), {})) == ["READING_ORDER: attic is no module"]


def test_a_long_module_needs_a_reason(package: Path) -> None:
    (package / "roof.py").write_text("\n" * 11, encoding="utf-8")
    (fault,) = faults(package, ORDER, {}, longest=10)
    assert "11 lines are more than 10" in fault
    assert not list(faults(package, ORDER, {"roof": "it is all tiles"}, longest=10))
