"""Programs in TensorIR that do something else than compute, or nothing.

``along_rows`` should hand in what ``Schedule`` made; these cells change the function that writes it
down, so that any text goes to the grader. ``add_rows`` takes any program anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import indent

from corpus.handing_in import Notebook, hand_in_wrong

# The two programs to write, of which an attack gives the body: C (M, N) from A and B.
PROGRAMS = """\
from mlc_course.grading.process import answers as _answers
from mlc_course.tensor_program.tir import IRModule, dump_program, load_program

def matmul_program(M, K, N):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((M, K)), B: T.Buffer((K, N)), C: T.Buffer((M, N))):
{body}
    return main

def sum_program(M, K, N):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((M, N)), B: T.Buffer((N,)), C: T.Buffer((M, N))):
{body}
    return main

def written_down(make, M, K, N):
    return dump_program(IRModule({{"main": make(M, K, N).with_attr("global_symbol", "main")}}))

def by_hand(answer, program):
    shapes = [[int(size) for size in p.ty.shape] for p in load_program(program)["main"].params]
    return written_down(matmul_program, *shapes[0], shapes[1][1])

_answers.PRODUCERS["schedule"] = by_hand
_answers.PRODUCERS["program"] = lambda answer, _: written_down(sum_program, 24, 24, 40)
"""
ZEROS = """\
for i, j in T.grid(M, N):
    with T.sblock("C"):
        v_i, v_j = T.axis.remap("SS", [i, j])
        C[v_i, v_j] = T.float32(0.0)
"""


def _hand_in(folder: Path, exercise: Notebook, body: str, *others: str) -> None:
    source = PROGRAMS.format(body=indent(body, " " * 8))
    hand_in_wrong(folder, exercise, first="\n".join((source, *others)))


def no_work(folder: Path, exercise: Notebook) -> None:
    """A program that writes nothing: what stands in the result may be right by chance."""
    _hand_in(folder, exercise, 'with T.sblock("C"):\n    T.evaluate(0)')


def zeros(folder: Path, exercise: Notebook) -> None:
    """A program that walks along rows, and writes zeros."""
    _hand_in(folder, exercise, ZEROS)


def one_corner(folder: Path, exercise: Notebook) -> None:
    """A program that writes the corner that a lazy test would look at."""
    body = """\
for k in range(8):
    with T.sblock("C"):
        v = T.axis.spatial(8, k)
        C[0, v] = A[0, v]
"""
    _hand_in(folder, exercise, body)


def zeroed_inputs(folder: Path, exercise: Notebook) -> None:
    """A program that makes its inputs zero, so that zero is the right result."""
    body = """\
for i, j in T.grid(M, K):
    with T.sblock("A"):
        v_i, v_j = T.axis.remap("SS", [i, j])
        A[v_i, v_j] = T.float32(0.0)
"""
    _hand_in(folder, exercise, body + ZEROS)


def half_precision(folder: Path, exercise: Notebook) -> None:
    """The sums are in float16: a third of the bits, two thirds of the time."""
    body = """\
S = T.sblock_alloc_buffer((M, N), "float16")
for i, k, j in T.grid(M, K, N):
    with T.sblock("C"):
        v_i, v_k, v_j = T.axis.remap("SRS", [i, k, j])
        with T.init():
            S[v_i, v_j] = T.float16(0.0)
        S[v_i, v_j] = S[v_i, v_j] + T.Cast("float16", A[v_i, v_k] * B[v_k, v_j])
for i, j in T.grid(M, N):
    with T.sblock("D"):
        v_i, v_j = T.axis.remap("SS", [i, j])
        C[v_i, v_j] = T.Cast("float32", S[v_i, v_j])
"""
    _hand_in(folder, exercise, body)


def decoy_block(folder: Path, exercise: Notebook) -> None:
    """The slow loops are in a block that nobody asks for; the one that is asked for copies."""
    body = """\
S = T.sblock_alloc_buffer((M, N))
for i, j, k in T.grid(M, N, K):
    with T.sblock("S"):
        v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
        with T.init():
            S[v_i, v_j] = T.float32(0.0)
        S[v_i, v_j] = S[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]
for i, j in T.grid(M, N):
    with T.sblock("C"):
        v_i, v_j = T.axis.remap("SS", [i, j])
        C[v_i, v_j] = S[v_i, v_j]
"""
    _hand_in(folder, exercise, body)


def replay(folder: Path, exercise: Notebook) -> None:
    """The first call does the work; the next ones see a result that fits, and keep it."""
    body = """\
S = T.sblock_alloc_buffer((1,))
done = T.sblock_alloc_buffer((1,))
for k in range(K):
    with T.sblock("S"):
        v_k = T.axis.reduce(K, k)
        with T.init():
            S[0] = T.float32(0.0)
        S[0] = S[0] + A[0, v_k] * B[v_k, 0]
with T.sblock("done"):
    done[0] = T.Select(
        T.fabs(C[0, 0] - S[0]) <= T.float32(1e-3), T.float32(1.0), T.float32(0.0)
    )
for i, j, k in T.grid(M, N, K):
    with T.sblock("C"):
        v_i, v_j, v_k = T.axis.remap("SSS", [i, j, k])
        if done[0] == T.float32(0.0):
            if v_k == 0:
                C[v_i, v_j] = T.float32(0.0)
            C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]
"""
    _hand_in(folder, exercise, body)


def extern_call(folder: Path, exercise: Notebook) -> None:
    """A call of the C library's ``system``."""
    body = 'T.evaluate(T.call_extern("int32", "system", "touch /tmp/called"))\n'
    _hand_in(folder, exercise, body + ZEROS)


def packed_call(folder: Path, exercise: Notebook) -> None:
    """A call of a function of TVM's registry: BLAS, or whatever is there."""
    body = 'T.evaluate(T.call_packed("ffi.ModuleLoadFromFile", "/tmp/evil.so"))\n'
    _hand_in(folder, exercise, body + ZEROS)


def call_in_an_expression(folder: Path, exercise: Notebook) -> None:
    """The same, where a number should stand."""
    body = ZEROS.replace("T.float32(0.0)", 'T.call_pure_extern("float32", "rand")')
    _hand_in(folder, exercise, body)


def reads_outside(folder: Path, exercise: Notebook) -> None:
    """The result may lie beyond the inputs: memory of the grader's is read as if it were A."""
    _hand_in(folder, exercise, ZEROS.replace("T.float32(0.0)", "A[v_i + 4096, v_j]"))


def writes_outside(folder: Path, exercise: Notebook) -> None:
    """Memory before the buffer is overwritten."""
    _hand_in(folder, exercise, ZEROS.replace("C[v_i, v_j]", "C[v_i - 4096, v_j]"))


def data_as_an_index(folder: Path, exercise: Notebook) -> None:
    """An index that nobody can foresee."""
    index = 'T.Cast("int32", A[v_i, 0] * T.float32(1e9))'
    _hand_in(folder, exercise, ZEROS.replace("C[v_i, v_j]", f"C[{index}, v_j]"))


def endless_while(folder: Path, exercise: Notebook) -> None:
    """A loop without a number of iterations."""
    body = "while A[0, 0] == A[0, 0]:\n    A[0, 0] = A[0, 0]\n"
    _hand_in(folder, exercise, body + ZEROS)


def threads(folder: Path, exercise: Notebook) -> None:
    """Loops bound to a GPU's threads."""
    body = """\
for i in T.thread_binding(M, thread="blockIdx.x"):
    for j in T.thread_binding(N, thread="threadIdx.x"):
        with T.sblock("C"):
            v_i, v_j = T.axis.remap("SS", [i, j])
            C[v_i, v_j] = T.float32(0.0)
"""
    _hand_in(folder, exercise, body)


def endless_loops(folder: Path, exercise: Notebook) -> None:
    """10 to the 15th iterations."""
    body = ZEROS.replace("for i, j in T.grid(", "for r, i, j in T.grid(T.int64(10**12), ")
    _hand_in(folder, exercise, body)


def loops_at_the_end_of_integers(folder: Path, exercise: Notebook) -> None:
    """A loop whose variable is the largest that there is, and one more is below zero."""
    body = """\
for i in range(2**31 - 3, 2**31 - 1):
    C[0, i - (2**31 - 3)] = T.float32(0.0)
"""
    _hand_in(folder, exercise, body)


def an_index_that_overflows_on_its_way(folder: Path, exercise: Notebook) -> None:
    """In bounds as it is written; multiplied out, as TVM does it, beyond 32 bits."""
    body = """\
for i in range(2**29, 2**29 + 8):
    C[0, (i - 2**29) * 8 // 8] = T.float32(0.0)
"""
    _hand_in(folder, exercise, body)


def long_loops(folder: Path, exercise: Notebook) -> None:
    """Minutes of sines, and not one iteration more than is admitted."""
    value = "C[v_i, v_j]"
    for _ in range(16):
        value = f"T.sin({value})"
    body = f"""\
for r, i, j in T.grid(10**9 // (M * N), M, N):
    with T.sblock("C"):
        v_r, v_i, v_j = T.axis.remap("SSS", [r, i, j])
        C[v_i, v_j] = C[v_i, v_j] + {value}
"""
    _hand_in(folder, exercise, body)


def enormous_buffers(folder: Path, exercise: Notebook) -> None:
    """A terabyte of room."""
    body = """\
S = T.sblock_alloc_buffer((1 << 19, 1 << 19))
with T.sblock("S"):
    S[0, 0] = A[0, 0]
"""
    _hand_in(folder, exercise, body + ZEROS)


def enormous_code(folder: Path, exercise: Notebook) -> None:
    """A short program that unrolls into a million statements."""
    body = """\
for i in T.unroll(M):
    for j in T.unroll(N):
        for k in T.unroll(64):
            with T.sblock("C"):
                v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
                C[v_i, v_j] = T.exp(T.sin(A[v_i, 0]) + T.float32(1.0))
"""
    _hand_in(folder, exercise, body)


def enormous_vectors(folder: Path, exercise: Notebook) -> None:
    """A vector of 4,096 elements to the power of another, twenty times."""
    value = "A[i // N // M, i % 8]"
    for _ in range(20):
        value = f"T.pow({value}, A[i // N // M, i % 8])"
    _hand_in(folder, exercise, f"for i in T.vectorized(4096):\n    C[0, i % 8] = {value}\n")


def many_loops(folder: Path, exercise: Notebook) -> None:
    """Two thousand loops, one after the other: LLVM unrolls and vectorizes each."""
    body = """\
for k in T.unroll(2000):
    for i in range(M):
        C[i, k % 8] = A[i, 0]
"""
    _hand_in(folder, exercise, body)


def doubling_variables(folder: Path, exercise: Notebook) -> None:
    """Forty variables, each twice the one before: a million of millions once they are replaced."""
    lines = [
        "x0 = T.bind(A[0, 0])",
        *(f"x{n} = T.bind(x{n - 1} * x{n - 1} + x{n - 1})" for n in range(1, 40)),
    ]
    _hand_in(folder, exercise, "\n".join([*lines, "C[0, 0] = x39"]))


def doubling_indices(folder: Path, exercise: Notebook) -> None:
    """The same in an index, which TVM simplifies first."""
    lines = [f"x{n} = T.bind(T.min(x{n - 1} + x{n - 1}, x{n - 1} + 1))" for n in range(1, 30)]
    _hand_in(
        folder, exercise, "\n".join(["x0 = T.bind(T.min(M, 1))", *lines, "C[0, x29 % 8] = A[0, 0]"])
    )


def vectors_of_vectors(folder: Path, exercise: Notebook) -> None:
    """A vectorized loop in another, which TVM gives up."""
    body = """\
for i in T.vectorized(8):
    for j in T.vectorized(8):
        C[i, j] = A[i, j]
"""
    _hand_in(folder, exercise, body)


def deep_expression(folder: Path, exercise: Notebook) -> None:
    """A sum of 2,000 terms, each inside the one before: TVM reads it by recursion."""
    source = (
        PROGRAMS.format(body=indent(ZEROS, " " * 8))
        + """\
from mlc_course.tensor_program.tir import PrimFunc, tirx
def deep(answer, program):
    text = by_hand(answer, program) if program else written_down(sum_program, 24, 24, 40)
    parameters = load_program(text)["main"].params
    first = total = tirx.BufferLoad(parameters[-1], [0, 0])
    for _ in range(2000):
        total = total + first
    main = PrimFunc(parameters, tirx.BufferStore(parameters[-1], total, [0, 0]))
    return dump_program(IRModule({"main": main.with_attr("global_symbol", "main")}))
for name in _answers.PRODUCERS:
    _answers.PRODUCERS[name] = deep
"""
    )
    hand_in_wrong(folder, exercise, first=source)


def _hand_in_text(folder: Path, exercise: Notebook, texts: Sequence[str]) -> None:
    """Other text than a program's, made by these expressions in turn."""
    source = (
        PROGRAMS.format(body=indent(ZEROS, " " * 8))
        + f"""\
import itertools, json, re
def bad(answer, program):
    good = by_hand(answer, program) if program else written_down(sum_program, 24, 24, 40)
    return next(makers)(good)
makers = itertools.cycle([{", ".join(f"lambda text: {each}" for each in texts)}])
for name in _answers.PRODUCERS:
    _answers.PRODUCERS[name] = bad
"""
    )
    hand_in_wrong(folder, exercise, first=source)


def malformed_text(folder: Path, exercise: Notebook) -> None:
    """Text that is no JSON, ends too early, or has numbers where nodes should be."""
    texts = (
        "text[:-100]",
        "re.sub(r'\"root_index\":[0-9]+', '\"root_index\":99999999', text)",
        "text.replace('tirx.For', 'tirx.While')",
        "re.sub(r':[0-9]+', ':0', text)",
        "re.sub(r'\"data\":\\[[0-9]+', '\"data\":[-1', text)",
        "'[' * 1_000_000",
        'text.replace(\'"int","data":\', \'"int","data":1e308\')',
    )
    _hand_in_text(folder, exercise, texts)


def foreign_nodes(folder: Path, exercise: Notebook) -> None:
    """Nodes of TVM's that are no programs: modules of machine code, functions by their name."""
    texts = (
        'json.dumps({"root_index": 0, "nodes": [{"type": "ffi.Module", "data": "YWJj"}]})',
        'json.dumps({"root_index": 1, "nodes": [{"type": "ffi.String", "data": "ffi.SystemLib"},'
        ' {"type": "ir.EnvFunc", "data": 0}]})',
        'json.dumps({"root_index": 0, "nodes": [{"type": "ffi.Tensor", "data": "YWJj"}]})',
        'json.dumps({"root_index": 0, "nodes": [{"type": "ir.IRModule", "data": {}}]})',
    )
    _hand_in_text(folder, exercise, texts)


def enormous_text(folder: Path, exercise: Notebook) -> None:
    """A program text larger than any message, or one name that is."""
    texts = ("text + ' ' * (100 << 20)", "text.replace('\"C\"', '\"' + 'C' * (12 << 20) + '\"')")
    _hand_in_text(folder, exercise, texts)


def two_functions(folder: Path, exercise: Notebook) -> None:
    """A right-looking main beside a function that nobody checks."""
    source = (
        PROGRAMS.format(body=indent(ZEROS, " " * 8))
        + """\
def two(answer, program):
    module = load_program(by_hand(answer, program))
    return dump_program(IRModule({"main": module["main"], "other": module["main"]}))
_answers.PRODUCERS["schedule"] = _answers.PRODUCERS["program"] = two
"""
    )
    hand_in_wrong(folder, exercise, first=source.replace("= two", "= two\n_by = by_hand"))


def odd_names(folder: Path, exercise: Notebook) -> None:
    """Blocks, buffers and loops named with quotes, line ends, zeros and a path."""
    odd = r'"C\"; \n ../../etc \u0000 \ud83d\ude00 %s %n {0} <b>"'
    _hand_in_text(folder, exercise, (f"text.replace('\"C\"', {odd!r})",))


def other_parameters(folder: Path, exercise: Notebook) -> None:
    """A program of another size, which is done sooner."""
    source = (
        PROGRAMS.format(body=indent(ZEROS, " " * 8))
        + """\
_answers.PRODUCERS["schedule"] = lambda answer, _: written_down(matmul_program, 1, 1, 1)
_answers.PRODUCERS["program"] = lambda answer, _: written_down(sum_program, 1, 1, 1)
"""
    )
    hand_in_wrong(folder, exercise, first=source)
