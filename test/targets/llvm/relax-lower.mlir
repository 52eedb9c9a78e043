// RUN: relax-opt %s --pass-pipeline='relax-lower{stop=legalize}' | FileCheck %s --check-prefix=LEGALIZE
// RUN: relax-opt %s --pass-pipeline='relax-lower{stop=intrinsics}' | FileCheck %s --check-prefix=INTRINSICS
// RUN: relax-opt %s --pass-pipeline='relax-lower{stop=bufferize}' | FileCheck %s --check-prefix=BUFFERIZE
// RUN: relax-opt %s --pass-pipeline='relax-lower{stop=bufferize},relax-lower{start=small-types}' | FileCheck %s --check-prefix=LLVM
// RUN: relax-opt %s --pass-pipeline='relax-lower{target=llvm}' | FileCheck %s --check-prefix=LLVM
// RUN: not relax-opt %s --pass-pipeline='relax-lower{stop=legalise}' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not relax-opt %s --pass-pipeline='relax-lower{target=cpu}' 2>&1 | FileCheck %s --check-prefix=NO-CODE

// LEGALIZE: "relax.call_tir"(%arg0) {func = @exp}
// LEGALIZE: "tir.exp"
// INTRINSICS: "relax.call_tir"
// INTRINSICS-NOT: "tir.exp"
// BUFFERIZE: call @exp(%arg0, %arg1)
// LLVM: llvm.func internal @__relax_defined.main
// LLVM-NOT: func.func
// LLVM: llvm.func @__tvm_ffi_main(
// UNKNOWN: target 'llvm' has no stage 'legalise'; did you mean 'legalize'? (it has fold, legalize,
// NO-CODE: target 'cpu' has no code generator: neither it nor a parent of it names one
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
