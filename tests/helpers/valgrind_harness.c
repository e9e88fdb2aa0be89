/* Calls a program that TVM exported, without Python: harness lib.so CALLS 4x8 8x16x3 ...

The arrays (float32, at most four axes) and the program's own buffers stand one behind the other in zeroed
memory, each from a new page on. What the generated code takes from TVM's runtime is given here. Afterwards
other data fill the caches, so that what follows misses as often after any number of calls. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

enum { MOST = 16, AXES = 4, PAGE = 4096, LINE = 64, ROOM = 1 << 26, REST = 1 << 23 };
typedef int (*Main)(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
typedef struct { void* sync_handle; int32_t num_task; } Group;

static char* room;

static void* take(uint64_t bytes) {
  char* taken = room;
  room += (bytes + PAGE - 1) / PAGE * PAGE;
  return taken;
}

static void* alloc(int device, int id, uint64_t bytes, int code, int bits) { return take(bytes); }

static int release(int device, int id, void* data) {
  room = data; /* freed in the opposite order */
  return 0;
}

static int launch(int (*task)(int, Group*, void*), void* data, int tasks) {
  Group group = {NULL, 1};
  return task(0, &group, data);
}

static void give(void* library, const char* name, void* function) {
  void** place = dlsym(library, name);
  if (place) *place = function;
}

int main(int count, char** words) {
  void* library = dlopen(words[1], RTLD_NOW);
  Main run = library ? (Main)dlsym(library, "__tvm_ffi_main") : NULL;
  if (!run || count - 3 > MOST || posix_memalign((void**)&room, PAGE, ROOM)) return 1;
  char* end = room + ROOM;
  give(library, "__TVMBackendAllocWorkspace", alloc);
  give(library, "__TVMBackendFreeWorkspace", release);
  give(library, "__TVMBackendParallelLaunch", launch);
  static TVMFFIAny values[MOST], result;
  static DLTensor tensors[MOST];
  static int64_t shapes[MOST][AXES], strides[MOST][AXES];
  int arrays = count - 3;
  for (int i = 0; i < arrays; i++) {
    int axes = 0;
    for (char* size = words[i + 3]; *size && axes < AXES; size += *size == 'x')
      shapes[i][axes++] = strtol(size, &size, 10);
    int64_t elements = 1;
    for (int axis = axes; axis-- > 0; elements *= shapes[i][axis]) strides[i][axis] = elements;
    tensors[i].data = take(elements * sizeof(float));
    tensors[i].device.device_type = kDLCPU;
    tensors[i].ndim = axes;
    tensors[i].dtype = (DLDataType){kDLFloat, 32, 1};
    tensors[i].shape = shapes[i];
    tensors[i].strides = strides[i];
    values[i].type_index = kTVMFFIDLTensorPtr;
    values[i].v_ptr = &tensors[i];
  }
  for (int calls = atoi(words[2]); calls > 0; calls--)
    if (run(NULL, values, arrays, &result)) return 2;
  for (volatile char* line = end - REST; line < end; line += LINE) *line;
  return 0;
}
