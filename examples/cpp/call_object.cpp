// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls the function of an object file that relax-compile --emit=obj has made and that is linked with this one:
// nothing is loaded while it runs, the constants are in the object. call_object <sizes of its input>

#include <tvm/ffi/function.h>

#include "tensors.h"

// The function "main" of the model, by tvm-ffi's packed-function ABI.
extern "C" int __tvm_ffi_main(void* handle, const TVMFFIAny* arguments, int32_t count, TVMFFIAny* result);

int main(int argc, char** argv) {
  try {
    ffi::Function model = ffi::Function::FromExternC(nullptr, __tvm_ffi_main, nullptr);
    Print(model(Counting(argc - 1, argv + 1)).cast<ffi::Tensor>());
  } catch (const ffi::Error& error) {
    std::cerr << error.kind() << ": " << error.message() << std::endl;
    return 1;
  }
  return 0;
}
