// RUN: rm -rf %t
// RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=tuned_kernels --lit-write-tuned='folder=%t own=true target=llvm{cpu=x86-64-v4}' --tir-use-tuned='target=llvm{cpu=x86-64-v4}' | FileCheck %s
// RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=tuned_kernels --lit-write-tuned='folder=%t own=true target=llvm{cpu=x86-64-v4}' --tir-use-tuned='target=llvm{cpu=x86-64-v3}' | FileCheck %s --check-prefix=OTHER

// Without a folder, the pass looks at the kernels that come with the target, for machines that fit.

// CHECK-LABEL: func.func @tuned(
// CHECK: {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; tile 1: 2, 0: 3; rule tuned"}
// OTHER-LABEL: func.func @tuned(
// OTHER-NOT: tir.plan
func.func @tuned(%a: tensor<60x32xf32>, %b: tensor<32x128xf32>, %out: tensor<60x128xf32>) -> tensor<60x128xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<60x128xf32>) -> tensor<60x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<60x32xf32>, tensor<32x128xf32>) outs(%0 : tensor<60x128xf32>) -> tensor<60x128xf32>
  return %1 : tensor<60x128xf32>
}
