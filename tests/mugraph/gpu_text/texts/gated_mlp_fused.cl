// blocks x < 128; 128 threads each; 55296 bytes of shared memory
__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void gated_mlp_fused_kernel(
    __global const float* restrict X,
    __global const float* restrict W1,
    __global const float* restrict W2,
    __global float* restrict Y) {
  // x: chunks of 4 elements exchanged by the row's number: 288 wavefronts, not 544 (at least 288)
  __local uchar shared_memory[55296] __attribute__((aligned(128)));
  __local float* const x = (__local float*)(shared_memory + 0);  // [3, 8, 64] swizzled by 4 x 8
  __local float* const w1 = (__local float*)(shared_memory + 6144);  // [3, 64, 32]
  __local float* const w2 = (__local float*)(shared_memory + 30720);  // [3, 64, 32]
  const int t = get_local_id(0);
  const int block_x = get_group_id(0);
  float gate[2];
  float up[2];
  // operands set out
  *(__local uint4*)(x + 64*(t / 16) + 4*(t % 16 ^ t / 16 % 8)) = *(__global const uint4*)(X + 4096*(t / 16) + 4*(t % 16));
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    *(__local uint4*)(w1 + 32*(t / 8 + 16*i) + 4*(t % 8)) = *(__global const uint4*)(W1 + 4096*(t / 8 + 16*i) + 32*block_x + 4*(t % 8));
  }
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    *(__local uint4*)(w2 + 32*(t / 8 + 16*i) + 4*(t % 8)) = *(__global const uint4*)(W2 + 4096*(t / 8 + 16*i) + 32*block_x + 4*(t % 8));
  }
  *(__local uint4*)(x + 64*(t / 16) + 512 + 4*(t % 16 ^ t / 16 % 8)) = *(__global const uint4*)(X + 4096*(t / 16) + 4*(t % 16) + 64);
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    *(__local uint4*)(w1 + 32*(t / 8 + 16*i) + 2048 + 4*(t % 8)) = *(__global const uint4*)(W1 + 4096*(t / 8 + 16*i + 64) + 32*block_x + 4*(t % 8));
  }
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    *(__local uint4*)(w2 + 32*(t / 8 + 16*i) + 2048 + 4*(t % 8)) = *(__global const uint4*)(W2 + 4096*(t / 8 + 16*i + 64) + 32*block_x + 4*(t % 8));
  }
  for (int k = 0; k < 64; ++k) {
    // operands have landed; later ones set out
    barrier(CLK_LOCAL_MEM_FENCE);
    if (k + 2 < 64) {
      *(__local uint4*)(x + 512*((k + 2) % 3) + 64*(t / 16) + 4*(t % 16 ^ t / 16 % 8)) = *(__global const uint4*)(X + 4096*(t / 16) + 64*(k + 2) + 4*(t % 16));
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        *(__local uint4*)(w1 + 2048*((k + 2) % 3) + 32*(t / 8 + 16*i) + 4*(t % 8)) = *(__global const uint4*)(W1 + 4096*(64*(k + 2) + t / 8 + 16*i) + 32*block_x + 4*(t % 8));
      }
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        *(__local uint4*)(w2 + 2048*((k + 2) % 3) + 32*(t / 8 + 16*i) + 4*(t % 8)) = *(__global const uint4*)(W2 + 4096*(64*(k + 2) + t / 8 + 16*i) + 32*block_x + 4*(t % 8));
      }
    }
    // gate = accumulate of gate_part
    if (k == 0) {
      vstore2((float2)(0.0f), 0, gate);
    }
    {
      float2 gate_sums[1];
      #pragma unroll
      for (int v = 0; v < 1; ++v) {
        gate_sums[v] = vload2(v, gate);
      }
      for (int l = 0; l < 64; ++l) {
        gate_sums[0] += x[512*(k % 3) + 64*(t / 16) + 4*(l / 4 ^ t / 16 % 8) + l % 4] * vload2(0, w1 + 2048*(k % 3) + 32*l + 2*(t % 16));
      }
      #pragma unroll
      for (int v = 0; v < 1; ++v) {
        vstore2(gate_sums[v], v, gate);
      }
    }
    // up = accumulate of up_part
    if (k == 0) {
      vstore2((float2)(0.0f), 0, up);
    }
    {
      float2 up_sums[1];
      #pragma unroll
      for (int v = 0; v < 1; ++v) {
        up_sums[v] = vload2(v, up);
      }
      for (int l = 0; l < 64; ++l) {
        up_sums[0] += x[512*(k % 3) + 64*(t / 16) + 4*(l / 4 ^ t / 16 % 8) + l % 4] * vload2(0, w2 + 2048*(k % 3) + 32*l + 2*(t % 16));
      }
      #pragma unroll
      for (int v = 0; v < 1; ++v) {
        vstore2(up_sums[v], v, up);
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // Y = store of y
  vstore2(vload2(0, gate) / (1.0f + exp((float2)(0.0f - vload2(0, gate)))) * vload2(0, up), 0, Y + 4096*(t / 16) + 32*block_x + 2*(t % 16));
}
