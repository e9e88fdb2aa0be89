#include <cuda_fp16.h>

__device__ __forceinline__ float as_float(float value) { return value; }

__device__ __forceinline__ float as_float(half value) { return __half2float(value); }

__device__ __forceinline__ void put(float& place, float value) { place = value; }

__device__ __forceinline__ void put(half& place, float value) { place = __float2half(value); }

// N neighbours, which are loaded and stored at once.
template <typename T, int N> struct alignas(sizeof(T) * N) Neighbours { T value[N]; };

template <int N, typename T>
__device__ __forceinline__ void load(float (&values)[N], const T* from) {
  const auto loaded = *reinterpret_cast<const Neighbours<T, N>*>(from);
#pragma unroll
  for (int n = 0; n < N; ++n) values[n] = as_float(loaded.value[n]);
}

template <int N, typename T>
__device__ __forceinline__ void store(T* to, const float (&values)[N]) {
  Neighbours<T, N> stored;
#pragma unroll
  for (int n = 0; n < N; ++n) put(stored.value[n], values[n]);
  *reinterpret_cast<Neighbours<T, N>*>(to) = stored;
}

__device__ __forceinline__ unsigned address(const void* place) {  // in shared memory
  return static_cast<unsigned>(__cvta_generic_to_shared(place));
}

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

__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// All groups of this thread's copies but the last PENDING have landed.
template <int PENDING> __device__ __forceinline__ void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// Four or two matrices of 8 x 8, one row at the address that each thread of the warp gives.
__device__ __forceinline__ void load_matrices(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}
__device__ __forceinline__ void load_matrices(unsigned (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(address(row)) : "memory");
}

__device__ __forceinline__ void load_transposed(unsigned (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}
__device__ __forceinline__ void load_transposed(unsigned (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(address(row)) : "memory");
}

// A 16 x 16 tile by a 16 x 8 tile, added to sums in float32; a warp's threads have parts of each.
__device__ __forceinline__ void multiply_add(
    float& s0, float& s1, float& s2, float& s3, const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// blocks x < 256; 128 threads each; 35584 bytes of shared memory
extern "C" __global__ void __launch_bounds__(128, 1)
rms_norm_matmul_fused_kernel(
    const half* __restrict__ X,
    const half* __restrict__ G,
    const half* __restrict__ W,
    half* __restrict__ Y) {
  // xg: chunks of 8 elements exchanged by the row's number: 128 wavefronts, not 800 (at least 128)
  // total: a gap of 4 elements behind each row: 112 wavefronts, not 392 (at least 104)
  extern __shared__ __align__(128) unsigned char shared_memory[];  // 35584 bytes
  half* const x = reinterpret_cast<half*>(shared_memory + 0);  // [3, 16, 128]
  half* const g = reinterpret_cast<half*>(shared_memory + 12288);  // [3, 1, 128]
  half* const w = reinterpret_cast<half*>(shared_memory + 13056);  // [3, 128, 24]
  half* const xg = reinterpret_cast<half*>(shared_memory + 31488);  // [16, 128] swizzled by 8 x 8
  float* const total = reinterpret_cast<float*>(shared_memory + 0);  // [16, 16] with strides [20, 1]
  const int t = threadIdx.x;
  const int block_x = blockIdx.x;
  float product[4];
  float total_share[2];
  // operands set out
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    copy_async<16>(x + 128*(t / 16 + 8*i) + 8*(t % 16), X + 4096*(t / 16 + 8*i) + 8*(t % 16));
  }
  if (t / 16 < 1) {
    copy_async<16>(g + 8*(t % 16), G + 8*(t % 16));
  }
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (t % 4 < 3) {
      copy_async<16>(w + 24*(t / 4 + 32*i) + 8*(t % 4), W + 6144*(t / 4 + 32*i) + 24*block_x + 8*(t % 4));
    }
  }
  commit_copies();
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    copy_async<16>(x + 128*(t / 16 + 8*i) + 2048 + 8*(t % 16), X + 4096*(t / 16 + 8*i) + 8*(t % 16) + 128);
  }
  if (t / 16 < 1) {
    copy_async<16>(g + 8*(t % 16) + 128, G + 8*(t % 16) + 128);
  }
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (t % 4 < 3) {
      copy_async<16>(w + 24*(t / 4 + 32*i) + 3072 + 8*(t % 4), W + 6144*(t / 4 + 32*i + 128) + 24*block_x + 8*(t % 4));
    }
  }
  commit_copies();
  for (int k = 0; k < 32; ++k) {
    // operands have landed; later ones set out
    await_copies<1>();
    __syncthreads();
    if (k + 2 < 32) {
      #pragma unroll
      for (int i = 0; i < 2; ++i) {
        copy_async<16>(x + 2048*((k + 2) % 3) + 128*(t / 16 + 8*i) + 8*(t % 16), X + 4096*(t / 16 + 8*i) + 128*(k + 2) + 8*(t % 16));
      }
      if (t / 16 < 1) {
        copy_async<16>(g + 128*((k + 2) % 3) + 8*(t % 16), G + 128*(k + 2) + 8*(t % 16));
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (t % 4 < 3) {
          copy_async<16>(w + 3072*((k + 2) % 3) + 24*(t / 4 + 32*i) + 8*(t % 4), W + 6144*(128*(k + 2) + t / 4 + 32*i) + 24*block_x + 8*(t % 4));
        }
      }
    }
    commit_copies();
    // xg = mul of x, g
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      #pragma unroll
      for (int j = 0; j < 2; ++j) {
        float x_part[4];
        load(x_part, x + 2048*(k % 3) + 128*(t / 16 + 8*i) + 4*(t % 16 + 16*j));
        float g_part[4];
        load(g_part, g + 128*(k % 3) + 4*(t % 16 + 16*j));
        float xg_part[4];
        #pragma unroll
        for (int c = 0; c < 4; ++c) {
          xg_part[c] = x_part[c] * g_part[c];
        }
        store(xg + 128*(t / 16 + 8*i) + 8*(8*j + t % 16 / 2 ^ t / 16 % 8) + 4*(t % 2), xg_part);
      }
    }
    // total = accumulate of sums
    if (k == 0) {
      #pragma unroll
      for (int i = 0; i < 2; ++i) {
        total_share[i] = 0.0f;
      }
      #pragma unroll
      for (int i = 0; i < 2; ++i) {
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
          float x_part[4];
          load(x_part, x + 2048*(k % 3) + 128*(t / 16 + 8*i) + 4*(t % 16 + 16*j));
          #pragma unroll
          for (int c = 0; c < 4; ++c) {
            total_share[i] += x_part[c] * x_part[c];
          }
        }
      }
    } else {
      #pragma unroll
      for (int i = 0; i < 2; ++i) {
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
          float x_part[4];
          load(x_part, x + 2048*(k % 3) + 128*(t / 16 + 8*i) + 4*(t % 16 + 16*j));
          #pragma unroll
          for (int c = 0; c < 4; ++c) {
            total_share[i] += x_part[c] * x_part[c];
          }
        }
      }
    }
    // product = accumulate of part
    __syncthreads();
    if (t / 32 < 3) {
      if (k == 0) {
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
          #pragma unroll
          for (int c = 0; c < 2; ++c) {
            product[2*i + c] = 0.0f;
          }
        }
      }
      #pragma unroll
      for (int d = 0; d < 8; ++d) {
        unsigned a[4];
        load_matrices(a, xg + 128*(t % 8 + 8*(t % 32 / 8 % 2)) + 8*(2*d + t % 32 / 16 ^ t % 8));
        unsigned b[2];
        load_transposed(b, w + 3072*(k % 3) + 24*(16*d + t % 16) + 8*(t / 32));
        multiply_add(product[0], product[1], product[2], product[3], a, b);
      }
    }
  }
  // total: the shares of all threads
  #pragma unroll
  for (int i = 0; i < 2; ++i) {
    total[20*(t / 16 + 8*i) + t % 16] = total_share[i];
  }
  // Y = store of y
  __syncthreads();
  if (t / 32 < 3) {
    float total_2[2];
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      total_2[i] = total[20*(t % 32 / 4 + 8*i)];
    }
    #pragma unroll
    for (int q = 0; q < 15; ++q) {
      #pragma unroll
      for (int i = 0; i < 2; ++i) {
        total_2[i] += total[20*(t % 32 / 4 + 8*i) + q + 1];
      }
    }
    float mean[2];
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      mean[i] = total_2[i] * 0.00024414062f;
    }
    float rms[2];
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      rms[i] = sqrtf(mean[i]);
    }
    float y[2];
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      y[i] = 1.0f / rms[i];
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      float Y_part[2];
      #pragma unroll
      for (int c = 0; c < 2; ++c) {
        Y_part[c] = product[2*i + c] * y[i];
      }
      store(Y + 6144*(t % 32 / 4 + 8*i) + 24*block_x + 2*(t % 4 + 4*(t / 32)), Y_part);
    }
  }
}
