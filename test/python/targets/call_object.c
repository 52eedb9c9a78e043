/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls the function of an object that is linked with this one, for a CPU that is emulated: what the object needs of
 * tvm-ffi is here. call_object <file for the result> <file of each argument>; a file has the type's code and bits, the
 * number of sizes, the sizes, all as 64-bit integers, and the elements.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

typedef struct {
  TVMFFIObject header;
  DLTensor tensor;
} Tensor;

int __tvm_ffi_main(void* handle, const TVMFFIAny* arguments, int32_t count, TVMFFIAny* result);

static void Stop(const char* what, const char* more, size_t length) {
  fprintf(stderr, "%s: %.*s\n", what, (int)length, more);
  exit(1);
}

/* ---- what the object calls ---- */

DLPackManagedTensorAllocator TVMFFIEnvGetDLPackManagedTensorAllocator(void) { return NULL; }

int TVMFFITensorFromDLPackVersioned(DLManagedTensorVersioned* from, int32_t alignment, int32_t contiguous,
                                    TVMFFIObjectHandle* out) {
  Tensor* made = calloc(1, sizeof(Tensor));
  if (made == NULL) Stop("no memory", "", 0);
  made->tensor = from->dl_tensor;
  *out = made;
  return alignment + contiguous < 0;
}

int TVMFFIErrorCreate(const TVMFFIByteArray* kind, const TVMFFIByteArray* message, const TVMFFIByteArray* backtrace,
                      TVMFFIObjectHandle* out) {
  *out = (void*)backtrace;
  Stop(kind->data, message->data, message->size);
  return 0;
}

void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message) { Stop(kind, message, strlen(message)); }

#define NOT_CALLED(name, parameters, type)         \
  type name parameters {                           \
    Stop("not to be called", #name, strlen(#name)); \
    return 0;                                      \
  }
NOT_CALLED(TVMFFIDataTypeToString, (const DLDataType* type, TVMFFIAny* out), int)
NOT_CALLED(TVMFFIEnvTensorAlloc, (DLTensor* prototype, TVMFFIObjectHandle* out), int)
NOT_CALLED(TVMFFIGetTypeInfo, (int32_t type), const TVMFFITypeInfo*)
NOT_CALLED(TVMFFIObjectDecRef, (TVMFFIObjectHandle object), int)
NOT_CALLED(TVMFFIObjectIncRef, (TVMFFIObjectHandle object), int)
NOT_CALLED(TVMFFIFunctionGetGlobal, (const TVMFFIByteArray* name, TVMFFIObjectHandle* out), int)
NOT_CALLED(TVMFFIFunctionCall, (TVMFFIObjectHandle f, TVMFFIAny* given, int32_t count, TVMFFIAny* out), int)
void TVMFFIErrorSetRaised(TVMFFIObjectHandle error) { Stop("not to be called", (char*)error, 0); }
void TVMFFIErrorMoveFromRaised(TVMFFIObjectHandle* out) { Stop("not to be called", (char*)out, 0); }

/* ---- files ---- */

static size_t Bytes(const DLTensor* tensor) {
  size_t count = 1;
  for (int axis = 0; axis < tensor->ndim; ++axis) count *= (size_t)tensor->shape[axis];
  return count * tensor->dtype.bits / 8;
}

static void* Room(size_t bytes) {
  void* room = NULL;
  if (posix_memalign(&room, 64, bytes + 64)) Stop("no memory", "", 0);
  return room;
}

static void Read(const char* path, DLTensor* tensor) {
  int64_t head[3];
  FILE* file = fopen(path, "rb");
  if (file == NULL || fread(head, sizeof(head), 1, file) != 1) Stop("cannot be read", path, strlen(path));
  memset(tensor, 0, sizeof(*tensor));
  tensor->device.device_type = kDLCPU;
  tensor->dtype.code = (uint8_t)head[0];
  tensor->dtype.bits = (uint8_t)head[1];
  tensor->dtype.lanes = 1;
  tensor->ndim = (int32_t)head[2];
  tensor->shape = Room(sizeof(int64_t) * (size_t)tensor->ndim);
  if (fread(tensor->shape, sizeof(int64_t), (size_t)tensor->ndim, file) != (size_t)tensor->ndim)
    Stop("has no sizes", path, strlen(path));
  tensor->data = Room(Bytes(tensor));
  if (fread(tensor->data, 1, Bytes(tensor), file) != Bytes(tensor)) Stop("has no elements", path, strlen(path));
  fclose(file);
}

static void Write(const char* path, const DLTensor* tensor) {
  int64_t head[3] = {tensor->dtype.code, tensor->dtype.bits, tensor->ndim};
  FILE* file = fopen(path, "wb");
  if (file == NULL) Stop("cannot be written", path, strlen(path));
  fwrite(head, sizeof(head), 1, file);
  fwrite(tensor->shape, sizeof(int64_t), (size_t)tensor->ndim, file);
  fwrite((char*)tensor->data + tensor->byte_offset, 1, Bytes(tensor), file);
  if (fclose(file)) Stop("cannot be written", path, strlen(path));
}

int main(int count, char** words) {
  TVMFFIAny arguments[16], result;
  DLTensor tensors[16];
  memset(arguments, 0, sizeof(arguments));
  memset(&result, 0, sizeof(result));
  if (count < 2 || count - 2 > 16) Stop("wrong number of files", "", 0);
  for (int index = 0; index < count - 2; ++index) {
    Read(words[2 + index], &tensors[index]);
    arguments[index].type_index = kTVMFFIDLTensorPtr;
    arguments[index].v_ptr = &tensors[index];
  }
  if (__tvm_ffi_main(NULL, arguments, count - 2, &result)) Stop("the call failed", "", 0);
  if (result.type_index != kTVMFFITensor) Stop("the result is no tensor", "", 0);
  Write(words[1], &((Tensor*)result.v_obj)->tensor);
  return 0;
}
