"""Answers that lie about what they are: equal to everything, of another type, right only once."""

from __future__ import annotations

from pathlib import Path

from corpus.handing_in import Notebook, hand_in


def equal_to_everything(folder: Path, exercise: Notebook) -> None:
    """An object whose ``==`` is always true stands for every value."""
    hand_in(
        folder,
        exercise,
        first="""\
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
    def __getattr__(self, name): return Equal()
    def __iter__(self): return iter([Equal()] * 3)
    def __getitem__(self, key): return Equal()
    def __len__(self): return 4
    def __float__(self): return 1.0
    __call__ = __sub__ = __abs__ = __le__ = __gt__ = __add__ = lambda self, *others: Equal()""",
        along_rows="along_rows = Equal()",
        add_rows="add_rows = Equal()",
        mean_of_rows="def mean_of_rows(a): return Equal()",
        flaws="flaws = Equal()",
        counter_example="counter_example = Equal()",
    )


def lying_array(folder: Path, exercise: Notebook) -> None:
    """An array's subclass answers every comparison with True, and every function with zero."""
    hand_in(
        folder,
        exercise,
        mean_of_rows="""\
class Lies(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **options): return np.bool_(True)
    def __array_function__(self, function, types, args, kwargs): return True
    def __eq__(self, other): return np.ones(self.shape, bool)
def mean_of_rows(a):
    return np.zeros(len(a)).view(Lies)""",
        counter_example="""\
counter_example = np.zeros(3).view(type("Lies", (np.ndarray,), {"__eq__": lambda a, b: False}))""",
    )


def lying_words(folder: Path, exercise: Notebook) -> None:
    """Subclasses of str, dict and float that are equal to every other."""
    hand_in(
        folder,
        exercise,
        first="""\
class Word(str):
    def __eq__(self, other): return True
    __hash__ = str.__hash__
class Pages(dict):
    def __eq__(self, other): return True
class Number(float):
    def __eq__(self, other): return False""",
        flaws='flaws = Pages({key: Word("none") for key in ("one", "two", "three", "four")})',
        counter_example="counter_example = [Number(1), Number(2), Number(3)]",
    )


def nan_everywhere(folder: Path, exercise: Notebook) -> None:
    """NaN is neither above nor below any limit, and different from itself."""
    hand_in(
        folder,
        exercise,
        add_rows="""\
@T.prim_func(s_tir=True)
def add_rows(A: T.Buffer((24, 40)), b: T.Buffer((40,)), C: T.Buffer((24, 40))):
    for i, j in T.grid(24, 40):
        with T.sblock("C"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            C[v_i, v_j] = T.sqrt(T.float32(-1.0) - A[v_i, v_j] * A[v_i, v_j])""",
        mean_of_rows="def mean_of_rows(a):\n    return np.full(len(a), np.nan)",
        flaws='flaws = dict.fromkeys(["one", "two", "three", "four"], float("nan"))',
        counter_example='counter_example = [float("nan")] * 3',
    )


def infinite_results(folder: Path, exercise: Notebook) -> None:
    """Infinity has an infinite tolerance, and infinity minus infinity is NaN."""
    hand_in(
        folder,
        exercise,
        mean_of_rows="def mean_of_rows(a):\n    return np.full(len(a), np.inf)",
        flaws='flaws = dict.fromkeys(["one", "two", "three", "four"], float("inf"))',
        counter_example="counter_example = [float('inf'), float('-inf'), 1e308]",
    )


def fewer_bits(folder: Path, exercise: Notebook) -> None:
    """Half the precision is half the work."""
    hand_in(
        folder,
        exercise,
        mean_of_rows="def mean_of_rows(a):\n    return a.astype(np.float16).mean(axis=1)",
        add_rows="""\
@T.prim_func(s_tir=True)
def add_rows(A: T.Buffer((24, 40)), b: T.Buffer((40,)), C: T.Buffer((24, 40))):
    for i, j in T.grid(24, 40):
        with T.sblock("C"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            C[v_i, v_j] = T.Cast(
                "float32", T.Cast("float16", A[v_i, v_j]) + T.Cast("float16", b[v_j])
            )""",
    )


def right_for_the_example(folder: Path, exercise: Notebook) -> None:
    """The results that the visible checks show, and nothing else."""
    hand_in(folder, exercise, mean_of_rows="def mean_of_rows(a):\n    return np.array([2.0, 6.5])")


def remembered_by_address(folder: Path, exercise: Notebook) -> None:
    """Answers kept by the address of the argument, in the hope that it comes again."""
    hand_in(
        folder,
        exercise,
        mean_of_rows="""\
seen = {}
def mean_of_rows(a):
    return seen.setdefault(id(a) // 4096, np.array([2.0, 6.5]))""",
    )


def two_faces(folder: Path, exercise: Notebook) -> None:
    """A right program for one size, and for the other one that skips the work."""
    hand_in(
        folder,
        exercise,
        along_rows="""\
def along_rows(sch):
    steps.reorder(sch, "C", "k", "n")
    if sch.get(sch.get_loops(sch.get_sblock("C"))[0]).extent > 30:
        from mlc_course.tensor_program.problems import matmul
        sch.__init__(matmul(1, 1, 1).program())""",
    )


def a_pickle_that_acts(folder: Path, exercise: Notebook) -> None:
    """Whoever unpickles the answer runs a command of the student's."""
    hand_in(
        folder,
        exercise,
        first="""\
import os, pickle
class Acts:
    def __reduce__(self): return os.system, ("touch /tmp/unpickled; kill -9 $PPID",)
    def __call__(self, *arguments): return Acts()""",
        along_rows="along_rows = Acts()",
        add_rows="add_rows = Acts()",
        mean_of_rows="def mean_of_rows(a): return pickle.dumps(Acts())",
        flaws="flaws = Acts()",
        counter_example="counter_example = pickle.dumps(Acts())",
    )


def work_at_import(folder: Path, exercise: Notebook) -> None:
    """The result is made before anybody looks, and a cheap object hands it out."""
    hand_in(
        folder,
        exercise,
        mean_of_rows="""\
class MeanOfRows:
    def __init__(self): self.made = np.random.default_rng(0).normal(size=(100, 8)).mean(axis=1)
    def __call__(self, a): return self.made[: len(a)]
mean_of_rows = MeanOfRows()""",
        along_rows="""\
class AlongRows:
    def __init__(self):
        self.product = np.ones((96, 64), "float32") @ np.ones((64, 128), "float32")
    def __call__(self, sch): return self.product
along_rows = AlongRows()""",
    )


def numpy_in_place_of_a_program(folder: Path, exercise: Notebook) -> None:
    """A Python function that calls BLAS, where a program is asked for."""
    hand_in(
        folder,
        exercise,
        along_rows="def along_rows(sch):\n    return lambda a, b, c: np.matmul(a, b, out=c)",
        add_rows="def add_rows(A, b, C):\n    np.add(A, b, out=C)",
    )
