"""Names that a kernel's text may not give to a buffer or a number: C and its dialects have them."""

from __future__ import annotations

from mlc_course.mugraph.gpu_text.dialects import CUDA_PIECES, OPENCL_PIECES

KEYWORDS = """
alignas alignof and asm auto bitand bitor bool break case catch char class compl concept const
const_cast consteval constexpr constinit continue co_await co_return co_yield decltype default
delete do double dynamic_cast else enum explicit export extern false float for friend goto if
inline int long mutable namespace new noexcept not nullptr operator or private protected public
register reinterpret_cast requires restrict return short signed sizeof static static_assert
static_cast struct switch template this thread_local throw true try typedef typeid typename typeof
union unsigned using virtual void volatile wchar_t while xor global local constant kernel
read_only write_only read_write uniform pipe
"""
KNOWN = """
main NULL threadIdx blockIdx blockDim gridDim warpSize half dim3 uchar ushort uint ulong size_t
ptrdiff_t intptr_t uintptr_t event_t sampler_t image2d_t shared_memory unix linux assert printf
clock min max barrier mem_fence select clamp mix step sign dot cross distance length normalize
degrees radians mad mad24 mul24 isnan isinf isfinite isequal any all as_int as_uint prefetch
shuffle abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc exp
exp10 exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn ldexp lgamma log
log10 log1p log2 logb maxmag minmag modf nan nextafter norm norm3d norm4d norm3df norm4df pow pown
powr rcbrt remainder rhypot rint rnorm round rsqrt sin sincos sincospi sinh sinpi sqrt tan tanh
tgamma trunc y0 y1 yn expf exp2f logf sqrtf INFINITY NAN HUGE_VAL MAXFLOAT index
"""
KINDS = "char uchar short ushort int uint long ulong longlong ulonglong float double half"
COUNTED = f"{KINDS} vload vstore vload_half vstore_half"
RESERVED = frozenset(
    [
        *KEYWORDS.split(),
        *KNOWN.split(),
        *(f"{name}{count}" for name in COUNTED.split() for count in ("", 1, 2, 3, 4, 8, 16)),
        *(name.partition(":")[0] for name in (*CUDA_PIECES, *OPENCL_PIECES)),
    ]
)
