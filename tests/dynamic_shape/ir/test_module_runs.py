"""A module runs at any sizes that keep its constraints, and at no others."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.dynamic_shape.ir import bind, parse, run
from mlc_course.dynamic_shape.programs import program
from mlc_course.errors import ShapeError

SOFTMAX = parse("""
func @main(%x: tensor<?x?x?xf32, [@B, @S, @K]>, %rows: tensor<?x?xf32, [@R, @K]>) {
  %0 = reshape(%x) : tensor<?x?xf32, [@R, @K]>
  %1 = add(%0, %rows) : tensor<?x?xf32, [@R, @K]>
  %2 = reduce_max(%1) {axes = [1]} : tensor<?xf32, [@R]>
  %3 = broadcast(%2) {dims = [0]} : tensor<?x?xf32, [@R, @K]>
  %4 = sub(%1, %3) : tensor<?x?xf32, [@R, @K]>
  %5 = exp(%4) : tensor<?x?xf32, [@R, @K]>
  %6 = reduce_sum(%5) {axes = [1]} : tensor<?xf32, [@R]>
  %7 = broadcast(%6) {dims = [0]} : tensor<?x?xf32, [@R, @K]>
  %8 = div(%5, %7) : tensor<?x?xf32, [@R, @K]>
  %9 = reshape(%8) : tensor<?x?x?xf32, [@B, @S, @K]>
  return %9
}
SymbolicDim @B { range list: [[1, 8]] }
SymbolicDim @S { }
SymbolicDim @K { }
SymbolicDim @R { }
""")
MOVES = parse(
    """
func @main(%x: tensor<?x?xf32, [@N, @M]>, %at: tensor<?xi64, [@I]>) {
  %0 = transpose(%x) {perm = [1, 0]} : tensor<?x?xf32, [@M, @N]>
  %1 = slice(%0) {axis = 0, start = 1, drop = 2} : tensor<?x?xf32, [@L, @N]>
  %2 = concat(%0, %1) {axis = 0} : tensor<?x?xf32, [@C, @N]>
  %3 = gather(%2, %at) : tensor<?x?xf32, [@I, @N]>
  %4 = pad(%3) {axis = 1, low = 0, high = 3, value = 7} : tensor<?x?xf32, [@I, @P]>
  %5 = split(%x) {axis = 1, parts = 2, part = 1} : tensor<?x?xf32, [@N, @W]>
  %6 = matmul(%4, %4) : tensor<?x?xf32, [@I, @P]>
  return %4, %5
}
SymbolicDim @N {} SymbolicDim @M {} SymbolicDim @I {} SymbolicDim @L {}
SymbolicDim @C {} SymbolicDim @P {} SymbolicDim @W {}
""".replace("  %6 = matmul(%4, %4) : tensor<?x?xf32, [@I, @P]>\n", "")
)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 3, 5), (8, 7, 64)])
def test_softmax_over_rows_at_several_sizes(sizes: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(sizes, dtype=np.float32)
    rows = rng.standard_normal((sizes[0] * sizes[1], sizes[2]), dtype=np.float32)
    (got,) = run(SOFTMAX, {"x": x, "rows": rows}, exact=True)
    wanted = np.exp(x.astype("f8") + rows.astype("f8").reshape(sizes))
    np.testing.assert_allclose(got, wanted / wanted.sum(-1, keepdims=True), rtol=1e-12)


def test_sizes_that_follow_from_those_of_inputs_are_found() -> None:
    sizes = bind(MOVES, {"x": (4, 6), "at": (5,)})
    assert sizes == {"N": 4, "M": 6, "I": 5, "L": 3, "C": 9, "P": 7, "W": 3}
    x = np.arange(24, dtype="f4").reshape(4, 6)
    at = np.array([0, 8, 1, 6, 2])
    gathered, half = run(MOVES, {"x": x, "at": at})
    both = np.concatenate([x.T, x.T[1:-2]])
    np.testing.assert_array_equal(gathered, np.pad(both[at], [(0, 0), (0, 3)], constant_values=7))
    np.testing.assert_array_equal(half, x[:, 3:])


@pytest.mark.parametrize(
    ("shapes", "what"),
    [
        ({"x": (2, 3, 5), "rows": (6, 4)}, "the size of K"),
        ({"x": (2, 3, 5), "rows": (7, 5)}, "a constraint does not hold"),
        ({"x": (9, 3, 5), "rows": (27, 5)}, "@B"),
        ({"x": (2, 3), "rows": (6, 5)}, "rank"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes: dict[str, tuple[int, ...]], what: str) -> None:
    with pytest.raises(ShapeError, match=what):
        bind(SOFTMAX, shapes)


def test_a_broken_constraint_names_its_own_sizes_alone() -> None:
    shapes = {f"{age}_{name}": (2, 2, 3, 4) for age in ("old", "new") for name in "kv"}
    with pytest.raises(ShapeError) as refused:
        bind(program("append_to_cache"), shapes | {"old_v": (2, 2, 5, 4)})
    assert refused.value.expected == "P == Q"
    assert refused.value.got == "P = 3, Q = 5"


def test_a_size_that_follows_from_nothing_is_named() -> None:
    open_ended = parse("""
    func @main(%x: tensor<?xf32, [@N]>) {
      %0 = reshape(%x) : tensor<?x?xf32, [@A, @B]>
      return %0
    }
    SymbolicDim @N {} SymbolicDim @A {} SymbolicDim @B {}
    """)
    with pytest.raises(ShapeError, match="@A follows from no input"):
        bind(open_ended, {"x": (6,)})


def test_a_sum_is_the_same_however_its_operand_was_moved() -> None:
    """NumPy adds in the order in which elements lie, and so rounds differently."""
    moved = parse("""
    func @main(%x: tensor<?x?xf32, [@N, @M]>) {
      %0 = transpose(%x) {perm = [1, 0]} : tensor<?x?xf32, [@M, @N]>
      %1 = exp(%0) : tensor<?x?xf32, [@M, @N]>
      %2 = reduce_sum(%1) {axes = [0, 1]} : tensor<f32>
      return %2
    }
    SymbolicDim @N {} SymbolicDim @M {}
    """)
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.standard_normal((37, 53), dtype="f4")
        (found,) = run(moved, {"x": x})
        assert found == np.exp(np.ascontiguousarray(x.T)).sum()
        assert run(moved, {"x": np.asfortranarray(x)}) == [found]
