# mypy: ignore-errors
# ruff: noqa: D103, E741, F821
"""The ladder's workload in Exo's own language, which looks like Python and is read as text.

Exo's ``@proc`` reads the source of the function below; neither Python nor its type checkers run
it. A module of its own keeps that apart from the rest.

Source: Y. Ikarashi et al., Exocompilation for Productive Programming of Hardware Accelerators,
PLDI 2022; https://exo-lang.dev.
"""

from __future__ import annotations

from exo import DRAM, proc
from exo.libs.externs import expf


@proc
def matmul_exp_matmul(
    M: size,
    K: size,
    L: size,
    N: size,
    A: f32[M, K] @ DRAM,
    B: f32[K, L] @ DRAM,
    E: f32[L, N] @ DRAM,
    F: f32[M, N] @ DRAM,
):
    D: f32[M, L] @ DRAM
    for m in seq(0, M):
        for l in seq(0, L):
            D[m, l] = 0.0
            for k in seq(0, K):
                D[m, l] += A[m, k] * B[k, l]
            D[m, l] = expf(D[m, l])
    for m in seq(0, M):
        for n in seq(0, N):
            F[m, n] = 0.0
            for l in seq(0, L):
                F[m, n] += D[m, l] * E[l, n]
