"""Names that a kernel's text may not give to a buffer or a number: C and its dialects have them."""

from __future__ import annotations

import re

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
# Macros of OpenCL C, and functions that PoCL renames by macros: a kernel's name must not be one.
IN_OPENCL = """
get_local_id get_group_id get_global_id get_local_size get_global_size get_num_groups get_work_dim
get_global_offset get_local_linear_id get_global_linear_id get_fence to_addr CLK_LOCAL_MEM_FENCE
CLK_GLOBAL_MEM_FENCE abs_diff acospi add_sat asinpi atan2pi atanpi atom_add atom_and atom_cmpxchg
atom_dec atom_inc atom_max atom_min atom_or atom_sub atom_xchg atom_xor bitselect clz ctz
fast_length fast_normalize fast_distance fract hadd isgreater isgreaterequal isless islessequal
islessgreater isnormal isnotequal isordered isunordered kernel_exec lgamma_r mad_hi mad_sat
memory_order memory_scope mul_hi popcount remquo rhadd rootn rotate shuffle2 signbit smoothstep
sub_sat tanpi upsample vec_step wait_group_events CHAR_BIT CHAR_MAX CHAR_MIN DBL_DIG DBL_EPSILON
DBL_MANT_DIG DBL_MAX DBL_MAX_10_EXP DBL_MAX_EXP DBL_MIN DBL_MIN_10_EXP DBL_MIN_EXP DBL_RADIX FLT_DIG
FLT_EPSILON FLT_MANT_DIG FLT_MAX FLT_MAX_10_EXP FLT_MAX_EXP FLT_MIN FLT_MIN_10_EXP FLT_MIN_EXP
FLT_RADIX FP_ILOGB0 FP_ILOGBNAN HALF_DIG HALF_EPSILON HALF_MANT_DIG HALF_MAX HALF_MIN HALF_RADIX
HUGE_VALF INT_MAX INT_MIN LONG_MAX LONG_MIN M_1_PI M_1_PI_F M_2_PI M_2_PI_F M_2_SQRTPI M_2_SQRTPI_F
M_E M_E_F M_LN10 M_LN10_F M_LN2 M_LN2_F M_LOG10E M_LOG10E_F M_LOG2E M_LOG2E_F M_PI M_PI_F M_PI_2
M_PI_2_F M_PI_4 M_PI_4_F M_SQRT1_2 M_SQRT1_2_F M_SQRT2 M_SQRT2_F SCHAR_MAX SCHAR_MIN SHRT_MAX
SHRT_MIN UCHAR_MAX UINT_MAX ULONG_MAX USHRT_MAX
"""
KINDS = "char uchar short ushort int uint long ulong longlong ulonglong float double half"
COUNTED = f"{KINDS} vload vstore vload_half vstore_half"
RESERVED = frozenset(
    [
        *KEYWORDS.split(),
        *KNOWN.split(),
        *IN_OPENCL.split(),
        *(f"{name}{count}" for name in COUNTED.split() for count in ("", 1, 2, 3, 4, 8, 16)),
        *(name.partition(":")[0] for name in (*CUDA_PIECES, *OPENCL_PIECES)),
    ]
)
# Families of names: macros of the headers of OpenCL and CUDA, and functions one for each type.
DEFINED = re.compile(
    r"(CL|CLK|M|FLT|DBL|HALF|U?INT|U?CHAR|U?SHRT|U?LONG|SCHAR|FP|CUDA|POCL|NV)_"
    r"|(get|async|atomic|atom|convert|as|native|half|work|sub|vload|vstore|cuda|cu|make|nv)_"
    r"|(atomic|cuda|curand|surf|tex)[A-Z0-9]"
)
