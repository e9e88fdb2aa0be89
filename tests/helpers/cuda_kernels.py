"""CUDA kernels written by hand, for what runs their PTX: right ones, to be broken by a change."""

from __future__ import annotations

SUMS = """
extern "C" __global__ void sums(const float* x, float* out, int n) {
  __shared__ float part[128];
  const int t = threadIdx.x;
  float s = 0;
  for (int i = blockIdx.x * n + t; i < (blockIdx.x + 1) * n; i += 128) s += x[i];
  part[t] = s;
  __syncthreads();  // filled
  for (int k = 64; k > 0; k /= 2) {
    if (t < k) part[t] += part[t + k];
    __syncthreads();  // halved
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
"""

TILED = """
extern "C" __global__ void tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float x[16][16], y[16][16];
  const int i = threadIdx.y, j = threadIdx.x;
  const int row = blockIdx.y * 16 + i, column = blockIdx.x * 16 + j;
  float s = 0;
  for (int k = 0; k < n; k += 16) {
    x[i][j] = a[row * n + k + j];
    y[i][j] = b[(k + i) * n + column];
    __syncthreads();  // filled
    for (int l = 0; l < 16; ++l) s += x[i][l] * y[l][j];
    __syncthreads();  // read
  }
  c[row * n + column] = s;
}
"""

# Three stages of 128 threads times 16 bytes; a barrier for both: landed, and the readers are done.
RING = """
__device__ void copy(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
extern "C" __global__ void ring(const float* x, float* out, int steps) {
  extern __shared__ float4 stages[];
  float* values = reinterpret_cast<float*>(stages);
  const int t = threadIdx.x;
  float s = 0;
  for (int n = 0; n < 2; ++n) {
    if (n < steps) copy(&stages[128 * n + t], x + 512 * n + 4 * t);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (int k = 0; k < steps; ++k) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();  // landed
    if (k + 2 < steps) copy(&stages[128 * ((k + 2) % 3) + t], x + 512 * (k + 2) + 4 * t);
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (int i = 0; i < 4; ++i) s += (k + 1) * values[512 * (k % 3) + 511 - (4 * t + i)];
  }
  out[t] = s;
}
"""

# C = A B for 16 x 16 by 16 x 8, one warp: A by rows, B by rows (transposed on the way) or columns.
MATRIX = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void matrix(const TYPE* a, const TYPE* b, float* c) {
  __shared__ __align__(16) TYPE x[16][24], y[16][24];
  const int t = threadIdx.x;
  for (int i = t; i < 256; i += 32) x[i / 16][i % 16] = a[i];
  for (int i = t; i < 128; i += 32) y[i / COLUMNS][i % COLUMNS] = b[i];
  __syncthreads();
  unsigned p[4], q[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
    : "=r"(p[0]), "=r"(p[1]), "=r"(p[2]), "=r"(p[3])
    : "r"((unsigned)__cvta_generic_to_shared(&x[t % 16][t / 16 * 8])) : "memory");
  asm volatile("ldmatrix.sync.aligned.m8n8.x2TRANS.shared.b16 {%0, %1}, [%2];"
    : "=r"(q[0]), "=r"(q[1])
    : "r"((unsigned)__cvta_generic_to_shared(&y[ROW][COLUMN])) : "memory");
  float s[4] = {1, 1, 1, 1};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.KIND.KIND.f32 {%0, %1, %2, %3}, "
    "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
    : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "r"(q[0]), "r"(q[1]));
  for (int i = 0; i < 4; ++i) c[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = s[i];
}
"""


def matrix_text(kind: str, by_rows: bool) -> str:
    """The product of matrices of a kind, with B given by rows or by columns."""
    of = {"TYPE": {"f16": "half", "bf16": "__nv_bfloat16"}[kind], "KIND": kind}
    of["TRANS"] = ".trans" if by_rows else ""
    of["COLUMNS"] = "8" if by_rows else "16"
    of["ROW"] = "t % 16" if by_rows else "t % 8"
    of["COLUMN"] = "0" if by_rows else "t / 8 % 2 * 8"
    text = MATRIX
    for name in ("TYPE", "KIND", "TRANS", "COLUMNS", "COLUMN", "ROW"):
        text = text.replace(name, of[name])
    return text
