// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a program that relax-compile has made: run_program <libtvm_ffi_orcjit.so> <model.rxa> <sizes of its input>

#include "rxa.h"
#include "tensors.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: run_program <libtvm_ffi_orcjit.so> <model.rxa> <size> <size> ..." << std::endl;
    return 2;
  }
  try {
    rxa::Program program(argv[2], argv[1]);
    for (const std::string& name : program.names()) std::cout << "function " << name << std::endl;
    Print(program["main"](Counting(argc - 3, argv + 3)).cast<ffi::Tensor>());
  } catch (const ffi::Error& error) {
    std::cerr << error.kind() << ": " << error.message() << std::endl;
    return 1;
  }
  return 0;
}
