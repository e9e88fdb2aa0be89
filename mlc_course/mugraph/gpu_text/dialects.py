"""The differences of two dialects of C, CUDA C++ and OpenCL C, as data.

``pieces`` are functions that a kernel's text may call. Those that it does call come before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SINGLE, HALF, BRAIN = "float32", "float16", "bfloat16"
STORAGE_BYTES = {SINGLE: 4, HALF: 2, BRAIN: 2}


@dataclass(frozen=True)
class Dialect:
    """A dialect of C for kernels.

    ``types`` are those of storage. ``%s`` stands for a name, a type or a size. ``has_vectors``:
    arithmetic is on vectors of floats as it is on floats; without it a vector is loaded or stored
    at once, and computed element by element.
    """

    name: str
    types: Mapping[str, str]
    own_types: Mapping[str, str]  # of whole numbers and truth values
    includes: Mapping[str, str]  # by storage
    kernel: str  # the head: threads, name, parameters
    input: str
    output: str
    shared: str  # the declaration of all shared memory: bytes
    shared_pointer: str  # type, name, type, first byte
    thread: str
    block: str  # number of a grid axis
    barrier: str
    long: str
    infinity: str
    functions: Mapping[str, str]
    quick_functions: Mapping[str, str]  # for storage of two bytes
    pieces: Mapping[str, str]
    has_vectors: bool
    waits_after_loops: bool  # a barrier more behind each loop with barriers
    widths: tuple[int, ...]  # of neighbours that are loaded and stored at once
    most_blocks: tuple[int, int, int]


MOST_THREADS = 1024  # of a block, on every NVIDIA GPU; OpenCL devices say theirs

# A NaN on either side comes out: fmax would drop it.
CUDA_PIECES = {
    "as_float": """\
__device__ __forceinline__ float as_float(float value) { return value; }
""",
    "as_float:float16": """\
__device__ __forceinline__ float as_float(half value) { return __half2float(value); }
""",
    "as_float:bfloat16": """\
__device__ __forceinline__ float as_float(__nv_bfloat16 value) { return __bfloat162float(value); }
""",
    "put": """\
__device__ __forceinline__ void put(float& place, float value) { place = value; }
""",
    "put:float16": """\
__device__ __forceinline__ void put(half& place, float value) { place = __float2half(value); }
""",
    "put:bfloat16": """\
__device__ __forceinline__ void put(__nv_bfloat16& place, float value) {
  place = __float2bfloat16(value);
}
""",
    "Neighbours": """\
// N neighbours, which are loaded and stored at once.
template <typename T, int N> struct alignas(sizeof(T) * N) Neighbours { T value[N]; };
""",
    "load": """\
template <int N, typename T>
__device__ __forceinline__ void load(float (&values)[N], const T* from) {
  const auto loaded = *reinterpret_cast<const Neighbours<T, N>*>(from);
#pragma unroll
  for (int n = 0; n < N; ++n) values[n] = as_float(loaded.value[n]);
}
""",
    "store": """\
template <int N, typename T>
__device__ __forceinline__ void store(T* to, const float (&values)[N]) {
  Neighbours<T, N> stored;
#pragma unroll
  for (int n = 0; n < N; ++n) put(stored.value[n], values[n]);
  *reinterpret_cast<Neighbours<T, N>*>(to) = stored;
}
""",
    "largest": """\
__device__ __forceinline__ float largest(float a, float b) {  // NaN if one of them is
  return a > b || a != a ? a : b;
}
""",
    "smallest": """\
__device__ __forceinline__ float smallest(float a, float b) {  // NaN if one of them is
  return a < b || a != a ? a : b;
}
""",
    "address": """\
__device__ __forceinline__ unsigned address(const void* place) {  // in shared memory
  return static_cast<unsigned>(__cvta_generic_to_shared(place));
}
""",
    "copy_async": """\
// BYTES are on their way from global to shared memory until their group is awaited.
template <int BYTES> __device__ __forceinline__ void copy_async(void* to, const void* from) {
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 ::"r"(address(to)), "l"(__cvta_generic_to_global(from)) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 ::"r"(address(to)), "l"(__cvta_generic_to_global(from)), "n"(BYTES) : "memory");
  }
}
""",
    "commit_copies": """\
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
""",
    "await_copies": """\
// All groups of this thread's copies but the last PENDING have landed.
template <int PENDING> __device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
""",
    "load_matrices": """\
// Four or two matrices of 8 x 8, one row at the address that each thread of the warp gives.
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}
__device__ __forceinline__ void load_matrices(unsigned (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(address(row)) : "memory");
}
""",
    "load_transposed": """\
__device__ __forceinline__ void load_transposed(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}
__device__ __forceinline__ void load_transposed(unsigned (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(address(row)) : "memory");
}
""",
    "multiply_add:float16": """\
// A 16 x 16 tile by a 16 x 8 tile, added to sums in float32; a warp's threads have parts of each.
__device__ __forceinline__ void multiply_add(
    float& s0, float& s1, float& s2, float& s3, const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
""",
    "multiply_add:bfloat16": """\
// A 16 x 16 tile by a 16 x 8 tile, added to sums in float32; a warp's threads have parts of each.
__device__ __forceinline__ void multiply_add(
    float& s0, float& s1, float& s2, float& s3, const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
""",
}

CUDA = Dialect(
    name="CUDA C++",
    types={SINGLE: "float", HALF: "half", BRAIN: "__nv_bfloat16"},
    own_types={"int64": "long long", "int32": "int", "int8": "signed char", "bool": "bool"},
    includes={SINGLE: "", HALF: "#include <cuda_fp16.h>\n", BRAIN: "#include <cuda_bf16.h>\n"},
    kernel='extern "C" __global__ void __launch_bounds__(%s, 1)\n%s(%s) {',
    input="const %s* __restrict__ %s",
    output="%s* __restrict__ %s",
    shared="extern __shared__ __align__(128) unsigned char shared_memory[];  // %s bytes",
    shared_pointer="%s* const %s = reinterpret_cast<%s*>(shared_memory + %s);",
    thread="threadIdx.x",
    block="blockIdx.%s",
    barrier="__syncthreads();",
    long="long long",
    infinity="__int_as_float(0x7f800000)",
    functions={
        "exp": "expf",
        "sqrt": "sqrtf",
        "log": "logf",
        "erf": "erff",
        "tanh": "tanhf",
        "sin": "sinf",
        "cos": "cosf",
        "abs": "fabsf",
        "round": "rintf",
        "pow": "powf",
        "max": "largest",
        "min": "smallest",
    },
    quick_functions={"exp": "__expf"},
    pieces=CUDA_PIECES,
    has_vectors=False,
    waits_after_loops=False,
    widths=(2, 4),
    most_blocks=(2**31 - 1, 65_535, 65_535),
)

OPENCL_PIECES = {
    f"{name}{width or ''}": f"""\
{kind} {name}{width or ""}({kind} a, {kind} b) {{  // NaN if one of them is
  return a {sign} b || a != a ? a : b;
}}
"""
    if not width
    else f"""\
{kind} {name}{width}({kind} a, {kind} b) {{  // NaN if one of them is
  return (a {sign} b) | (a != a) ? a : b;
}}
"""
    for name, sign in (("largest", ">"), ("smallest", "<"))
    for width, kind in ((0, "float"), *((n, f"float{n}") for n in (2, 4, 8, 16)))
}

OPENCL = Dialect(
    name="OpenCL C",
    types={SINGLE: "float", HALF: "half"},
    own_types={"int64": "long", "int32": "int", "int8": "char", "bool": "uchar"},
    includes={SINGLE: "", HALF: ""},
    kernel="__kernel __attribute__((reqd_work_group_size(%s, 1, 1)))\nvoid %s(%s) {",
    input="__global const %s* restrict %s",
    output="__global %s* restrict %s",
    shared="__local uchar shared_memory[%s] __attribute__((aligned(128)));",
    shared_pointer="__local %s* const %s = (__local %s*)(shared_memory + %s);",
    thread="get_local_id(0)",
    block="get_group_id(%s)",
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    long="long",
    infinity="INFINITY",
    functions={
        "exp": "exp",
        "sqrt": "sqrt",
        "log": "log",
        "erf": "erf",
        "tanh": "tanh",
        "sin": "sin",
        "cos": "cos",
        "abs": "fabs",
        "round": "rint",
        "pow": "pow",
        "max": "largest",
        "min": "smallest",
    },
    quick_functions={},
    pieces=OPENCL_PIECES,
    has_vectors=True,
    # PoCL 3.0 mixes up sums of threads that a loop of two turns leaves behind, without this.
    waits_after_loops=True,
    widths=(2, 4, 8, 16),
    most_blocks=(2**31 - 1, 2**31 - 1, 2**31 - 1),
)
