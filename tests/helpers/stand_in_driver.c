/* A driver without a GPU: device memory is host memory, and a launch runs one known function.
 *
 * It is compiled with NVIDIA's own cuda.h, so each function has the header's parameters and the
 * name that the header gives it. What it cannot do as a driver would, it refuses.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef cuEventElapsedTime /* drivers have the first one as well */
CUresult CUDAAPI cuEventElapsedTime(float *, CUevent, CUevent);

enum { DEVICES = 1, CALLS = 64 };
static long living;      /* handles and pieces of memory that nobody has given back */
static int has_context, is_capturing;
static CUresult later;   /* of what was queued; a synchronization tells it */

struct Kernel { char name[64]; int shared_bytes; };
struct Launch { struct Kernel *kernel; unsigned grid[3], block[3], shared; CUdeviceptr a, b; };
struct Graph { int count; struct Launch launches[CALLS]; };
static struct Graph capture;

long stand_in_living(void) { return living; }

static CUresult made(void *handle) {
  *(void **)handle = malloc(16);
  ++living;
  return CUDA_SUCCESS;
}
static CUresult gone(void *handle) {
  if (!handle) return CUDA_ERROR_INVALID_HANDLE;
  free(handle);
  --living;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE"
          : error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : NULL;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : NULL;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult CUDAAPI cuInit(unsigned flags) { return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; }
CUresult CUDAAPI cuDriverGetVersion(int *version) { *version = CUDA_VERSION; return CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGetCount(int *count) { *count = DEVICES; return CUDA_SUCCESS; }
CUresult CUDAAPI cuDeviceGet(CUdevice *device, int number) {
  *device = number + 7; /* a handle is not the number */
  return number < DEVICES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult CUDAAPI cuDeviceGetName(char *name, int size, CUdevice device) {
  snprintf(name, size, "stand-in %d", device);
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device) {
  switch (what) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 60 << 20; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 0; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = 232448; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return device == 7 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  return device == 7 ? made(context) : CUDA_ERROR_INVALID_DEVICE;
}
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
  --living;
  return device == 7 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) { ++has_context; return context ? 0 : 1; }
CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context) { --has_context; *context = NULL; return 0; }

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image) {
  if (!has_context) return CUDA_ERROR_INVALID_CONTEXT;
  return memcmp(image, "\x7f" "ELF", 4) ? CUDA_ERROR_INVALID_IMAGE : made(module);
}
CUresult CUDAAPI cuModuleUnload(CUmodule module) { return gone(module); }
CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  static struct Kernel kernels[CALLS];
  static int count;
  const char *end = strstr(name, "_kernel"); /* of a graph: these do nothing */
  if (strcmp(name, "adds") && strcmp(name, "faults") && !end) return CUDA_ERROR_NOT_FOUND;
  struct Kernel *kernel = &kernels[count++ % CALLS];
  kernel->shared_bytes = 48 << 10;
  strcpy(kernel->name, name);
  *function = (CUfunction)kernel;
  return module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute what, int value) {
  if (what != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_ERROR_INVALID_VALUE;
  ((struct Kernel *)function)->shared_bytes = value;
  return value <= 232448 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void run(const struct Launch *it) {
  if (!strcmp(it->kernel->name, "faults")) {
    later = CUDA_ERROR_ILLEGAL_ADDRESS;
    return;
  }
  if (strcmp(it->kernel->name, "adds")) return;
  const float *a = (const float *)it->a;
  float *b = (float *)it->b;
  for (unsigned i = 0; i < it->grid[0] * it->grid[1] * it->grid[2] * it->block[0]; ++i)
    b[i] = a[i] + 1;
}
CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                CUstream stream, void **parameters, void **extra) {
  struct Launch it = {(struct Kernel *)function, {gx, gy, gz}, {bx, by, bz}, shared, 0, 0};
  if (extra || by != 1 || bz != 1 || !stream) return CUDA_ERROR_INVALID_VALUE;
  if ((int)shared > it.kernel->shared_bytes) return CUDA_ERROR_INVALID_VALUE;
  it.a = *(CUdeviceptr *)parameters[0];
  it.b = *(CUdeviceptr *)parameters[1];
  if (is_capturing)
    capture.launches[capture.count++] = it;
  else
    run(&it);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *address, size_t size) {
  if (!has_context) return CUDA_ERROR_INVALID_CONTEXT;
  if (size > (size_t)1 << 40) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = (CUdeviceptr)malloc(size);
  ++living;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuMemFree(CUdeviceptr address) { return gone((void *)address); }
CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream s) {
  memcpy((void *)to, from, size);
  return s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream s) {
  memcpy(to, (void *)from, size);
  return s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t size, CUstream s) {
  memset((void *)to, value, size);
  return s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuStreamCreate(CUstream *stream, unsigned flags) {
  return flags == CU_STREAM_NON_BLOCKING ? made(stream) : CUDA_ERROR_INVALID_VALUE;
}
CUresult CUDAAPI cuStreamDestroy(CUstream stream) { return gone(stream); }
CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
  CUresult told = stream ? later : CUDA_ERROR_INVALID_HANDLE;
  later = CUDA_SUCCESS;
  return is_capturing ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : told;
}
CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned flags) { return flags ? 1 : made(event); }
CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) { return event && stream ? 0 : 1; }
CUresult CUDAAPI cuEventSynchronize(CUevent event) { return event ? 0 : 1; }
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent start, CUevent end) {
  *ms = 1.5f;
  return start && end ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult CUDAAPI cuEventDestroy(CUevent event) { return gone(event); }

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  if (mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) return CUDA_ERROR_INVALID_VALUE;
  is_capturing = 1;
  capture.count = 0;
  return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
static CUresult copied(void *handle, const struct Graph *from) {
  struct Graph *graph = malloc(sizeof *graph);
  *graph = *from;
  *(struct Graph **)handle = graph;
  ++living;
  return CUDA_SUCCESS;
}
CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  is_capturing = 0;
  return stream ? copied(graph, &capture) : CUDA_ERROR_INVALID_HANDLE;
}
CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *whole, CUgraph graph, unsigned long long flags) {
  return flags ? CUDA_ERROR_INVALID_VALUE : copied(whole, (struct Graph *)graph);
}
CUresult CUDAAPI cuGraphLaunch(CUgraphExec whole, CUstream stream) {
  const struct Graph *graph = (const struct Graph *)whole;
  for (int n = 0; n < graph->count; ++n) run(&graph->launches[n]);
  return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec whole) { return gone(whole); }
CUresult CUDAAPI cuGraphDestroy(CUgraph graph) { return gone(graph); }
