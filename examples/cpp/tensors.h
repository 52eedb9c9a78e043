// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of the examples to create and print tensors.

#ifndef TENSORS_H_
#define TENSORS_H_

#include <tvm/ffi/container/tensor.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace ffi = tvm::ffi;

// Memory of malloc, aligned to 64 bytes: what any allocator of yours would be.
struct Allocator {
  void AllocData(DLTensor* tensor) {
    size_t bytes = ffi::GetDataSize(*tensor);
    tensor->data = std::aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (tensor->data == nullptr) TVM_FFI_THROW(MemoryError) << "out of memory: " << bytes << " bytes";
  }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};

// A tensor with elements of any value.
inline ffi::Tensor Empty(const std::vector<int64_t>& shape, DLDataType dtype) {
  return ffi::Tensor::FromNDAlloc(Allocator(), ffi::ShapeView(shape.data(), shape.size()), dtype,
                                  DLDevice{kDLCPU, 0});
}

// A tensor of int32 with these elements.
inline ffi::Tensor Ints(const std::vector<int64_t>& shape, const std::vector<int32_t>& values) {
  ffi::Tensor tensor = Empty(shape, DLDataType{kDLInt, 32, 1});
  std::copy(values.begin(), values.end(), static_cast<int32_t*>(tensor.data_ptr()));
  return tensor;
}

// A tensor of 0, 1, 2, ... with the sizes that the command line tells.
inline ffi::Tensor Counting(int count, char** sizes) {
  std::vector<int64_t> shape;
  for (int i = 0; i < count; ++i) shape.push_back(std::atoll(sizes[i]));
  ffi::Tensor tensor = Empty(shape, DLDataType{kDLFloat, 32, 1});
  float* data = static_cast<float*>(tensor.data_ptr());
  for (int64_t i = 0; i < tensor.numel(); ++i) data[i] = static_cast<float>(i);
  return tensor;
}

// The sizes, then the elements.
inline void Print(const ffi::Tensor& tensor) {
  for (int64_t size : tensor.shape()) std::cout << size << " ";
  std::cout << ":";
  const float* data = static_cast<const float*>(tensor.data_ptr());
  for (int64_t i = 0; i < tensor.numel(); ++i) std::cout << " " << data[i];
  std::cout << std::endl;
}

#endif  // TENSORS_H_
