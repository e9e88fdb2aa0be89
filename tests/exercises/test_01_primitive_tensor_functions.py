"""Lesson 1's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

import pytest
from answers import Complain

ASSIGNMENT = "01_primitive_tensor_functions"


def loops(
    *,
    first: str = "out[m, n] = 0",
    step: str = "out[m, n] += X[m, k] * W[k, n]",
    last: str = "out[m, n] = max(out[m, n] + b[n], 0)",
    end: str = "return out",
) -> str:
    return f"""
def linear_relu(X, W, b, out):
    for m in range(out.shape[0]):
        for n in range(out.shape[1]):
            {first}
            for k in range(X.shape[1]):
                {step}
            {last}
    {end}
"""


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (loops(first="pass"), "where each element gets its first value"),
        (loops(step="out[m, n] += X[m, k] * W[k, n] + b[n]", last="pass"), "how often is b[n]"),
        (
            loops(step="out[m, n] = max(out[m, n] + X[m, k] * W[k, n], 0)"),
            "relu applies to the whole sum",
        ),
        (loops(last="out[m, n] += b[n]"), "relu applies to the whole sum"),
        (loops(step="out[m, n] = X[m, k] * W[k, n]"), "where each element gets its first value"),
        (loops(step="out[m, n] += X[m, k] * W[n, k]"), "your code raises an error"),
        (loops(end="pass"), "reaches no return gives None"),
        (loops(end="return out.astype('float64')"), "the right values, in float64"),
        ("linear_relu = max", "your code raises an error"),
    ],
)
def test_layers(complain: Complain, answer: str, told: str) -> None:
    assert told in complain(ASSIGNMENT, "low-level-test", answer, hidden=False)


HEAD = "import numpy as np\ndef linear_relu(X, W, b, out):\n"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (HEAD + "    out[:] = np.maximum(X @ W + b, 0)\n    return out", "a slice, .maximum, @"),
        (HEAD + "    return np.maximum(np.dot(X, W) + b, 0, out=out)", ".maximum, .dot"),
        (
            HEAD
            + "    for m in range(len(X)):\n        out[m] = b\n"
            + "        for k in range(len(W)):\n            out[m] += X[m, k] * W[k]\n"
            + "        for n in range(len(b)):\n            out[m, n] = max(out[m, n], 0)\n"
            + "    return out",
            "too few loops inside each other",
        ),
        (
            loops(
                first="S = [0]",
                step="S[0] += X[m, k] * W[k, n]",
                last="out[m, n] = max(S[0] + b[n], 0)",
            ),
            "memory of your own",
        ),
        (  # other functions by the names of Python's
            "import numpy as np\ndef sum(X, W): return X @ W\ndef max(a, b): return np.maximum(a, b)\n"
            + loops(first="pass", step="pass", last="pass", end="return max(sum(X, W) + b, 0)"),
            "your loops raise an error",
        ),
        (
            loops(
                first="pass",
                step="from numpy import matmul as sum, maximum as max",
                last="pass",
                end="return max(sum(X, W) + b, 0)",
            ),
            "no such thing",
        ),
        (  # a layer made elsewhere; out stays as it was
            "import numpy as np\nlen = lambda X, W, b: np.maximum(X @ W + b, 0)\n"
            + loops(first="pass", step="pass", last="pass", end="return len(X, W, b)"),
            "your loops raise an error",
        ),
        (
            "def max(X, W, b): return abs(X @ W + b) / 2 + (X @ W + b) / 2\n"
            + loops(first="out[m, n] = 0", step="pass", last="pass", end="return max(X, W, b)"),
            "your loops raise an error",
        ),
        (loops(end="W[0, 0] = 0.0\n    return out"), "an input is written"),
        (loops(end="return out + 0.0"), "your loops raise an error"),
        (  # whole rows, behind loops that do nothing
            """
def linear_relu(X, W, b, out):
    for m in range(len(X)):
        out[m] = b
        for k in range(len(W)):
            out[m] += X[m, k] * W[k]
        out[m] = out[m] * (out[m] > 0)
        for n in range(1):
            for z in range(1):
                pass
    return out
""",
            "whole rows",
        ),
        (  # a row that comes out of a loop over the array
            loops(first="out[m, n] = 0.0", end="for row in out:\n        row *= row > 0\n    return out"),
            "whole rows",
        ),
    ],
)
def test_what_is_no_loop_over_elements_gets_no_tick(
    complain: Complain, answer: str, told: str
) -> None:
    said = complain(ASSIGNMENT, "low-level-test", answer, hidden=False)
    assert told in said


@pytest.mark.parametrize(
    "answer",
    [
        loops(first="out[m, n] = b[n]", last="out[m, n] = max(out[m, n], 0)"),
        """
def linear_relu(X, W, b, out):
    for k in range(X.shape[1]):
        for m in range(X.shape[0]):
            for n in range(W.shape[1]):
                if k == 0:
                    out[m, n] = 0
                out[m, n] += X[m, k] * W[k, n]
    for m in range(X.shape[0]):
        for n in range(W.shape[1]):
            out[m, n] = max(out[m, n] + b[n], 0)
    return out
""",
        """
def linear_relu(X, W, b, out):
    for m in range(len(X)):
        for n, bias in enumerate(b):
            out[m, n] = max(sum(X[m, k] * W[k, n] for k in range(len(W))) + bias, 0)
    return out
""",
        """
def linear_relu(X, W, b, out):
    for m, row in enumerate(X):
        for n in range(len(b)):
            total = b[n]
            for k in range(len(row)):
                total += row[k] * W[k][n]
            out[m][n] = max(total, 0)
    return out
""",
    ],
    ids=["bias first", "k outside", "a sum of a generator", "rows of rows"],
)
def test_other_loops(complain: Complain, answer: str) -> None:
    assert not complain(ASSIGNMENT, "low-level-test", answer)


STEPS = [
    ["transpose", ["W1"], "V1", [784, 128]],
    ["matmul", ["X", "V1"], "P1", [16, 128]],
    ["add", ["P1", "b1"], "S1", [16, 128]],
    ["relu", ["S1"], "R1", [16, 128]],
    ["transpose", ["W2"], "V2", [128, 10]],
    ["matmul", ["R1", "V2"], "P2", [16, 10]],
    ["add", ["P2", "b2"], "Y", [16, 10]],
]
WITHOUT_RELU = [*STEPS[:3], *STEPS[4:5], ["matmul", ["S1", "V2"], "P2", [16, 10]], STEPS[6]]
RELU_FIRST = [
    *STEPS[:2],
    ["relu", ["P1"], "R0", [16, 128]],
    ["add", ["R0", "b1"], "R1", [16, 128]],
    *STEPS[4:],
]


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([["matmul", ["X", "W1"], "P1", [16, 128]]], "matmul(X, W1): the sizes do not fit"),
        ([STEPS[0], ["matmul", ["X", "V1"], "P1", [784, 16]]], "P1 has another shape"),
        ([["linear", ["X", "W1", "b1"], "S1", [16, 128]]], "no such function"),
        ([STEPS[1]], "read before it is written"),
        ([STEPS[0], ["transpose", ["W2"], "V1", [128, 10]]], "written twice"),
        ([["add", ["X", "W1"], "S1", [16, 784]]], "other operands than in the table"),
        ([["add", ["X", "b1"], "S1", [16, 784]]], "in the first as the second has numbers"),
        ([["transpose", ["W1"], "V1", [128, 784]]], "rows become columns"),
        ([["relu", ["X"], "R", [784, 16]]], "it keeps the shape of what it reads first"),
        ([["matmul", ["X", "W1.T"], "P1", [16, 128]]], "one of X, W1, b1, W2, b2"),
        ([["matmul", "X", "V1", "P1"]], "step 1 has another form"),
        ([["relu", ["X"], "R", (16.5,)]], "R has another shape"),
        (STEPS[:4], "the last step writes another tensor"),
        (WITHOUT_RELU, "computes something other than the network"),
        (RELU_FIRST, "computes something other than the network"),
        ([*STEPS[:6], ["add", ["P2", "b2"], "Z", [16, 10]]], "writes another tensor"),
        ([], "not a list of steps"),
        ("relu(X @ W1.T + b1)", "not a list of steps"),
        ([None], "step 1 has another form"),
    ],
)
def test_splits(complain: Complain, steps: object, told: str) -> None:
    assert told in complain(ASSIGNMENT, "split-test", f"network = {steps!r}", hidden=False)


def test_other_splits(complain: Complain) -> None:
    both_first = [STEPS[0], STEPS[4], *STEPS[1:4], *STEPS[5:]]
    tuples = tuple((f, tuple(reads), written, tuple(shape)) for f, reads, written, shape in STEPS)
    assert not complain(ASSIGNMENT, "split-test", f"network = {both_first!r}")
    assert not complain(ASSIGNMENT, "split-test", f"network = {tuples!r}")


def softmax(*lines: str) -> str:
    return "def stable_softmax(x):\n" + "\n".join(f"    {line}" for line in lines)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (softmax("e = np.exp(x)", "return e / e.sum(axis=0)"), "along which axis"),
        (softmax("e = np.exp(x)", "return e / e.sum(axis=1, keepdims=True)"), "is infinite"),
        (
            softmax("e = np.exp(x - x.max())", "return e / e.sum(axis=1, keepdims=True)"),
            "a number of its own",
        ),
        (
            softmax(
                "e = np.exp(x - x.max(axis=1, keepdims=True))",
                "return np.nan_to_num(e / e.sum(axis=0))",
            ),
            "along which axis",
        ),
        (
            softmax(
                "e = np.exp(np.minimum(x, 80))",
                "return np.nan_to_num(e / e.sum(axis=1, keepdims=True))",
            ),
            "a number of its own",
        ),
        (
            softmax("x = x - x.max(axis=1)", "e = np.exp(x)", "return e / e.sum(axis=1)"),
            "a number of its own",
        ),
        (
            softmax(
                "e = np.exp(x.astype(float) - x.max(axis=1, keepdims=True))",
                "return e / e.sum(axis=1, keepdims=True)",
            ),
            "the right values, in float64",
        ),
        (softmax("return x.softmax()"), "your code raises an error"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the wrong ones overflow
def test_softmaxes(complain: Complain, answer: str, told: str) -> None:
    assert told in complain(ASSIGNMENT, "softmax-test", answer, hidden=False)


@pytest.mark.parametrize(
    "answer",
    [
        softmax(
            "out = np.empty_like(x)",
            "for m, row in enumerate(x):",
            "    e = np.exp(row - max(row))",
            "    out[m] = e / sum(e)",
            "return out",
        ),
        softmax("e = np.exp(x.T - x.max(axis=1))", "return (e / e.sum(axis=0)).T"),
    ],
    ids=["row by row", "transposed"],
)
def test_other_softmaxes(complain: Complain, answer: str) -> None:
    assert not complain(ASSIGNMENT, "softmax-test", answer)


def peak(*lines: str) -> str:
    return "def peak_bytes(steps, sizes):\n" + "\n".join(f"    {line}" for line in lines)


FIRST_READ_FREES = peak(
    "alive, most = set(), 0",
    "for step in steps:",
    "    alive.add(step['writes'])",
    "    most = max(most, sum(sizes[name] for name in alive))",
    "    alive -= set(step['reads'])",
    "return most",
)
IN_PLACE = peak(
    "last = {name: t for t, step in enumerate(steps) for name in step['reads']}",
    "alive, most = set(), 0",
    "for t, step in enumerate(steps):",
    "    alive = {name for name in alive if last.get(name, t) > t} | {step['writes']}",
    "    most = max(most, sum(sizes[name] for name in alive))",
    "return most",
)
NEVER_FREED = peak(
    "last = {name: t for t, step in enumerate(steps) for name in step['reads']}",
    "alive, most = set(), 0",
    "for t, step in enumerate(steps):",
    "    alive.add(step['writes'])",
    "    most = max(most, sum(sizes[name] for name in alive))",
    "    alive = {name for name in alive if last.get(name, len(steps)) > t}",
    "return most",
)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (peak("return sum(sizes.values())"), "and nothing else"),
        (peak("return max(sizes.values())"), "what it reads and what it writes"),
        (IN_PLACE, "what it reads and what it writes"),
        (peak("return 2 * max(sizes.values())"), "results of different sizes"),
        (FIRST_READ_FREES, "needed until the second time"),
        (NEVER_FREED, "alive in its own step only"),
        (peak("return sum(sizes[name] for name in steps[0]['reads'])"), "KeyError: 'X'"),
        (peak("print(300)"), "None"),
    ],
)
def test_memories(complain: Complain, answer: str, told: str) -> None:
    assert told in complain(ASSIGNMENT, "memory-test", answer, hidden=False)


def test_another_memory(complain: Complain) -> None:
    backwards = peak(
        "needed, most = set(), 0",
        "for step in reversed(steps):",
        "    needed |= {step['writes']} | {name for name in step['reads'] if name in sizes}",
        "    most = max(most, sum(sizes[name] for name in needed))",
        "    needed.remove(step['writes'])",
        "return np.int64(most)",
    )
    assert not complain(ASSIGNMENT, "memory-test", backwards)
