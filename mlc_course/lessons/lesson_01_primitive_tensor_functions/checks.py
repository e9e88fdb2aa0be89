"""The visible checks of lesson 1's exercises, one function each."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mlc_course.exercise import UnmetCheck, boxed, called, check, given, holds, returns, shown
from mlc_course.grading.admission import admitted_function
from mlc_course.grading.checks import Examined
from mlc_course.tensor_program.problems import Array


def single(*rows: list[float]) -> Array:
    """Rows of numbers as float32."""
    return np.array(rows, dtype=np.float32)


def dirty(rows: int, columns: int) -> Array:
    """Memory that nobody has cleaned."""
    return np.full((rows, columns), np.nan, dtype=np.float32)


# --- 1. One line becomes three loops --------------------------------------------------------------

FUNCTIONS = ("range", "max", "len", "enumerate", "float", "int", "sum")
LOOPS = (ast.For, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


def low_level(linear_relu: Callable[..., Array]) -> None:
    """Check the loops by what they compute, and by what they are made of."""
    check(
        called(linear_relu),
        returns(
            single([1, 2, 3], [4, 5, 6]),
            single([1, 0], [0, 1], [1, 1]),
            np.zeros(2, np.float32),
            dirty(2, 2),
            result=single([4, 5], [10, 11]),
            hint="a plain product: return out, and look where each element gets its first value",
        ),
        returns(
            single([1, 1, 1]),
            single([1], [1], [1]),
            np.full(1, 10, np.float32),
            dirty(1, 1),
            result=single([13]),
            hint="how often is b[n] added to one element?",
        ),
        returns(
            single([1, 1, 1]),
            single([-5, 5], [2, -5], [4, -1]),
            np.zeros(2, np.float32),
            dirty(1, 2),
            result=single([1, 0]),
            hint="relu applies to the whole sum: a sum may be below zero on the way, and above "
            "zero at the end",
        ),
    )
    check(boxed(linear_relu), holds(only_loops), WritesOut())


def only_loops(source: str) -> str:
    """Refuse what is no loop over single elements, in the source of a function."""
    tree = ast.parse(source)
    if found := list(dict.fromkeys(filter(None, map(_forbidden, ast.walk(tree))))):
        raise UnmetCheck(
            "more than loops and single elements",
            expected="loops, single elements such as X[m, k], +, *, max",
            got=", ".join(found),
            hint="a compiler sees each element: write the loop that this stands for",
        )
    deepest = max(_depths(tree, 0))
    if deepest < 3:
        raise UnmetCheck(
            "too few loops inside each other",
            expected="three: rows, columns, and the sum",
            got=deepest,
            hint="which of the three does a whole row or column stand for?",
        )
    return "loops over single elements, three inside each other"


class Elements:
    """An array of which only single elements can be read and written, as in ``X[m, k]``.

    A row of it, ``X[m]``, is one more such array: nothing can be computed with it as a whole.
    """

    def __init__(self, array: Array) -> None:
        self._array = array
        self.shape = array.shape

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: Any) -> Any:
        found = self._array[index]
        return Elements(found) if isinstance(found, np.ndarray) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(self._array[index], np.ndarray) or isinstance(value, Elements):
            raise TypeError("more than one element is written at once")
        self._array[index] = value


@dataclass(frozen=True)
class WritesOut:
    """The loops write relu(X W + b) into the argument ``out``, and return this very array.

    They run as their source says, with Python's own functions, on random layers, and can reach
    single elements only.
    """

    seed: int = 0
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        """Run the source where the answer is."""
        return answer.bench.inspect(replace(self, seed=answer.seed))

    def inspect(self, source: Any) -> str:
        """Run a function, given as its source."""
        function, rng = admitted_function(source), np.random.default_rng(self.seed)
        for _ in range(5):
            rows, inner, columns = (int(n) for n in rng.integers(1, 7, 3))
            shapes = (rows, inner), (inner, columns), (columns,)
            X, W, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in shapes)
            out, given = dirty(rows, columns), [each.copy() for each in (X, W, b)]
            written = Elements(out)
            try:
                returned = function(*map(Elements, (X, W, b)), written)
            except (ArithmeticError, LookupError, NameError, TypeError, ValueError) as error:
                raise UnmetCheck(
                    "your loops raise an error",
                    expected="no error",
                    got=f"{type(error).__name__}: {error}",
                    hint="the arrays give single elements only, such as X[m, k], and no whole rows",
                ) from None
            if returned is not written:
                raise UnmetCheck(
                    "the result is in another array",
                    expected="return out, after writing each of its elements",
                    got="something else is returned",
                    hint="a compiled program writes where it is told to, and gets no new memory",
                )
            _check_written(out, np.maximum(given[0] @ given[1] + given[2], 0))
            if not all(map(np.array_equal, given, (X, W, b))):
                raise UnmetCheck("an input is written", expected="X, W and b unchanged")
        return "the result is written into out"


def _check_written(out: Array, wanted: Array) -> None:
    """Raise ``UnmetCheck`` unless ``out`` holds the result."""
    if not np.array_equal(out, wanted):
        raise UnmetCheck(
            "out does not hold the result",
            expected="relu(X W + b) in each element of out",
            got=f"{int((out != wanted).sum())} of {out.size} elements are wrong",
        )


def _forbidden(node: ast.AST) -> str | None:
    match node:
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            return "@"
        case ast.Slice():
            return "a slice"
        case ast.Attribute(attr=name) if name != "shape":
            return f".{name}"
        case ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS:
            return f"{name}(...)"
        case ast.List() | ast.ListComp() | ast.Dict() | ast.DictComp():
            return "memory of your own"
        case _:
            return None


def _depths(node: ast.AST, depth: int) -> Iterator[int]:
    yield depth
    for child in ast.iter_child_nodes(node):
        inner = depth + isinstance(node, LOOPS)
        inner += len(child.generators) if isinstance(child, COMPREHENSIONS) else 0
        yield from _depths(child, inner)


# --- 2. Split a network ---------------------------------------------------------------------------

STEPS: dict[
    str, tuple[list[int], Callable[..., Array]]
] = {  # the number of axes of each operand, and what to do
    "transpose": ([2], np.transpose),
    "matmul": ([2, 2], np.matmul),
    "add": ([2, 1], np.add),
    "relu": ([2], lambda a: np.maximum(a, 0)),
}
OPERANDS = {1: "numbers, one for each column", 2: "a matrix"}
FITS = {True: "rows", False: "numbers"}
SHAPE_HINTS = {
    "matmul": "a product has the rows of the first matrix and the columns of the second",
    "transpose": "rows become columns",
}
SHAPES = {"X": (16, 784), "W1": (128, 784), "b1": (128,), "W2": (10, 128), "b2": (10,)}


def split(network: object) -> None:
    """Check a list of steps by running it."""
    check(given(network), holds(runs_the_network))


def runs_the_network(steps: Any) -> str:
    """Run the list on random numbers, and compare Y with the formula."""
    if type(steps) is not list or not steps:
        raise UnmetCheck("not a list of steps", expected="[[function, ...], ...]", got=shown(steps))
    rng = np.random.default_rng(1)
    value = {name: rng.normal(size=shape) for name, shape in SHAPES.items()}
    X, W1, b1, W2, b2 = value.values()
    for number, step in enumerate(steps, start=1):
        _check_form(number, step)
        _run_step(number, step, value)
    if steps[-1][2] != "Y":
        raise UnmetCheck(
            "the last step writes another tensor", expected="Y", got=shown(steps[-1][2])
        )
    formula = np.maximum(X @ W1.T + b1, 0) @ W2.T + b2
    if value["Y"].shape != formula.shape or not np.allclose(value["Y"], formula):
        raise UnmetCheck(
            "the list computes something other than the network",
            expected="Y = relu(X @ W1.T + b1) @ W2.T + b2",
            got="other numbers",
            hint="put the formula together from your list, starting at Y and going back",
        )
    return f"{len(steps)} steps compute the network"


def _check_form(number: int, step: Any) -> None:
    kinds = [type(part) for part in step] if type(step) is list else []
    if kinds != [str, list, str, list] or not all(type(name) is str for name in step[1]):
        raise UnmetCheck(
            f"step {number} has another form",
            expected='["function", ["read", ...], "written", [rows, columns]]',
            got=shown(step),
        )


def _run_step(number: int, step: Any, value: dict[str, Array]) -> None:
    """Run one step on the values so far; it adds the value that it writes."""
    function, names, written, shape = step
    told = f"step {number}, {function}({', '.join(names)})"
    if function not in STEPS:
        raise UnmetCheck(f"{told}: no such function", expected=" | ".join(STEPS), got=function)
    if missing := [name for name in names if name not in value]:
        raise UnmetCheck(
            f"{told}: read before it is written",
            expected=f"one of {', '.join(value)}",
            got=", ".join(missing),
        )
    if written in value:
        raise UnmetCheck(f"{told}: written twice", expected="a new name", got=written)
    axes, run = STEPS[function]
    operands = [value[name] for name in names]
    sizes = ", ".join(f"{name} {value[name].shape}" for name in names)
    if [each.ndim for each in operands] != axes:
        raise UnmetCheck(
            f"{told}: other operands than in the table",
            expected=" and ".join(OPERANDS[n] for n in axes),
            got=sizes or "none",
        )
    if len(axes) == 2 and operands[0].shape[1] != operands[1].shape[0]:
        product = function == "matmul"
        raise UnmetCheck(
            f"{told}: the sizes do not fit",
            expected=f"as many columns in the first as the second has {FITS[product]}",
            got=sizes,
            hint="how does this framework store its weights?" if product else None,
        )
    value[written] = run(*operands)
    if list(value[written].shape) != shape:
        raise UnmetCheck(
            f"{told}: {written} has another shape",
            expected="[rows, columns] of what this step writes",
            got=shown(shape),
            hint=SHAPE_HINTS.get(function, "it keeps the shape of what it reads first"),
        )


# --- 3. Bug hunt: a softmax -----------------------------------------------------------------------


def softmax(stable_softmax: Callable[[Array], Array]) -> None:
    """Check a softmax on the matrices that tell the usual mistakes apart."""
    check(
        called(stable_softmax),
        returns(
            single([1, 2], [2, 1]),
            result=single([0.26894142, 0.73105858], [0.73105858, 0.26894142]),
            hint="the colleague's own test",
        ),
        returns(
            single([0, 0, 0, 0]),
            result=single([0.25, 0.25, 0.25, 0.25]),
            hint="each row sums to 1: along which axis is the sum taken?",
        ),
        returns(
            single([1000, 1000]),
            result=single([0.5, 0.5]),
            hint="exp(1000) is infinite: what may you subtract from a row without changing its "
            "result?",
        ),
        returns(
            single([0, -1000], [-1000, -1000]),
            result=single([1, 0], [0.5, 0.5]),
            hint="exp(-1000) is 0, and a sum of such numbers is 0 too: every row needs a number "
            "of its own",
        ),
    )


# --- 4. How much memory does a deployment need? ---------------------------------------------------


def step(writes: str, *reads: str) -> dict[str, Any]:
    """A step, as ``peak_bytes`` gets it."""
    return {"reads": list(reads), "writes": writes}


def memory(peak_bytes: Callable[..., int]) -> None:
    """Check a peak on programs that tell the usual mistakes apart."""
    ten = dict.fromkeys("ABCD", 10)
    chain = [step("A", "X"), step("B", "A"), step("C", "B"), step("D", "C")]
    twice = [step("A", "X"), step("B", "A"), step("C", "B"), step("D", "C", "A")]
    unread = [step("A", "X"), step("B", "X"), step("C", "X"), step("D", "C")]
    pictured = [
        step("P", "X", "W"),
        step("S", "P", "b"),
        step("R", "S"),
        step("Q", "X", "V"),
        step("Y", "R", "Q"),
    ]
    lesson = [
        step("P1", "X", "W1"),
        step("S1", "P1", "b1"),
        step("H", "S1"),
        step("P2", "H", "W2"),
        step("Y", "P2", "b2"),
    ]
    check(
        called(peak_bytes),
        returns(
            chain,
            ten,
            result=20,
            hint="a chain: a step needs what it reads and what it writes, and nothing else",
        ),
        returns(
            chain,
            {"A": 10, "B": 20, "C": 50, "D": 40},
            result=90,
            hint="a chain again, with results of different sizes",
        ),
        returns(
            twice,
            ten,
            result=30,
            hint="D = f(C, A): A is read twice, and needed until the second time",
        ),
        returns(
            unread,
            ten,
            result=20,
            hint="nobody reads A or B: each is alive in its own step only",
        ),
        returns(pictured, dict.fromkeys("PSRQY", 100), result=300, hint="the table above"),
        returns(
            lesson,
            {"P1": 800, "S1": 800, "H": 800, "P2": 40, "Y": 40},
            result=1600,
            hint="the lesson's five functions, for one image",
        ),
    )
