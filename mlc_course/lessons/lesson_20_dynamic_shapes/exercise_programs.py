"""Programs of the exercises: each is small, and names the size of every axis that is new."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mlc_course.dynamic_shape.ir import Module, parse

# 1. Which sizes are equal?
TO_INFER: Mapping[str, str] = {
    "bias": """
func @bias(%x: tensor<?x?xf32, [@T, @F]>, %bias: tensor<?xf32, [@G]>) {
  %0 = broadcast(%bias) {dims = [1]} : tensor<?x?xf32, [@R, @C]>
  %1 = add(%x, %0) : tensor<?x?xf32, [@T, @F]>
  return %1
}""",
    "rows": """
func @rows(%x: tensor<?x?x?xf32, [@B, @S, @H]>) {
  %0 = reshape(%x) : tensor<?x?xf32, [@T, @H]>
  %1 = reduce_sum(%0) {axes = [1]} : tensor<?xf32, [@R]>
  return %1
}""",
    "product": """
func @product(%x: tensor<?x?x?xf32, [@B, @S, @H]>, %w: tensor<?x?x?xf32, [@E, @K, @F]>) {
  %0 = matmul(%x, %w) : tensor<?x?x?xf32, [@B, @M, @N]>
  return %0
}""",
    "cache": """
func @cache(%old: tensor<?x?xf32, [@P, @D]>, %new: tensor<?x?xf32, [@S, @E]>) {
  %0 = concat(%old, %new) {axis = 0} : tensor<?x?xf32, [@K, @D]>
  %1 = slice(%0) {axis = 0, start = 1, drop = 0} : tensor<?x?xf32, [@L, @D]>
  return %1
}""",
    "gate": """
func @gate(%x: tensor<?x?xf32, [@T, @W]>) {
  %0 = split(%x) {axis = 1, parts = 2, part = 0} : tensor<?x?xf32, [@T, @U]>
  %1 = split(%x) {axis = 1, parts = 2, part = 1} : tensor<?x?xf32, [@T, @V]>
  %2 = sigmoid(%1) : tensor<?x?xf32, [@T, @V]>
  %3 = mul(%0, %2) : tensor<?x?xf32, [@T, @U]>
  return %3
}""",
    "heads": """
func @heads(%x: tensor<?x?xf32, [@T, @W]>) {
  %0 = reshape(%x) : tensor<?x?x?x?xf32, [@B, @S, @A, @D]>
  %1 = transpose(%0) {perm = [0, 2, 1, 3]} : tensor<?x?x?x?xf32, [@B, @M, @N, @D]>
  return %1
}""",
}

# 2. Can all operators of a program be one kernel?
TO_FUSE: Mapping[str, str] = {
    "A": """
func @saved_sum(%x: tensor<?x?x?xf32, [@B, @S, @H]>, %y: tensor<?x?x?xf32, [@B, @S, @H]>) {
  %0 = add(%x, %y) : tensor<?x?x?xf32, [@B, @S, @H]>
  %1 = reshape(%0) : tensor<?x?xf32, [@T, @H]>
  %2 = reduce_max(%1) {axes = [1]} : tensor<?xf32, [@T]>
  return %0, %2
}""",
    "B": """
func @two_directions(%x: tensor<?x?xf32, [@T, @H]>) {
  %0 = reduce_sum(%x) {axes = [0]} : tensor<?xf32, [@H]>
  %1 = reduce_sum(%x) {axes = [1]} : tensor<?xf32, [@T]>
  return %0, %1
}""",
    "C": """
func @two_caches(%k: tensor<?x?xf32, [@P, @D]>, %v: tensor<?x?xf32, [@Q, @D]>,
                 %new: tensor<?x?xf32, [@S, @D]>) {
  %0 = concat(%k, %new) {axis = 0} : tensor<?x?xf32, [@K, @D]>
  %1 = concat(%v, %new) {axis = 0} : tensor<?x?xf32, [@V, @D]>
  return %0, %1
}""",
    "D": """
func @old_and_new(%k: tensor<?x?xf32, [@P, @D]>, %new: tensor<?x?xf32, [@S, @D]>) {
  %0 = neg(%k) : tensor<?x?xf32, [@P, @D]>
  %1 = concat(%k, %new) {axis = 0} : tensor<?x?xf32, [@K, @D]>
  return %0, %1
}""",
    "E": """
func @two_norms(%x: tensor<?x?x?xf32, [@B, @S, @H]>, %y: tensor<?x?xf32, [@T, @H]>) {
  %0 = square(%x) : tensor<?x?x?xf32, [@B, @S, @H]>
  %1 = reduce_sum(%0) {axes = [2]} : tensor<?x?xf32, [@B, @S]>
  %2 = square(%y) : tensor<?x?xf32, [@T, @H]>
  %3 = reduce_sum(%2) {axes = [1]} : tensor<?xf32, [@T]>
  return %1, %3
}""",
    "F": """
func @softmax_of_rows(%x: tensor<?x?xf32, [@T, @H]>) {
  %0 = exp(%x) : tensor<?x?xf32, [@T, @H]>
  %1 = reduce_sum(%0) {axes = [1]} : tensor<?xf32, [@T]>
  %2 = broadcast(%1) {dims = [0]} : tensor<?x?xf32, [@T, @H]>
  %3 = div(%0, %2) : tensor<?x?xf32, [@T, @H]>
  %4 = reshape(%3) : tensor<?x?x?xf32, [@B, @S, @H]>
  return %4
}""",
}


def with_sizes(function: str) -> Module:
    """Return the module of a function's text in which every size is declared, with no range."""
    names = dict.fromkeys(re.findall(r"@(\w+)", function.split("(", 1)[1]))
    graph = "{ symbolic_shape_graph: @shape_constraint_graph }"
    return parse("\n".join([function, *(f"SymbolicDim @{name} {graph}" for name in names)]))
