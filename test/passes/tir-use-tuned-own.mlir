// RUN: relax-opt %S/../python/passes/tuned_kernels/95d841bd05ac92f1.mlir --tir-use-tuned='target=llvm{cpu=x86-64-v3}' | FileCheck %s
// RUN: relax-opt %S/../python/passes/tuned_kernels/95d841bd05ac92f1.mlir --tir-use-tuned='target=llvm{cpu=x86-64-v4}' | FileCheck %s --check-prefix=OTHER
// RUN: relax-opt %s --tir-use-tuned='target=llvm{cpu=x86-64-v3}' | FileCheck %s --check-prefix=NONE

// Without a folder, the pass looks at the kernels that come with the target, for machines that fit.

// CHECK-LABEL: func.func private @fused_nn_conv2d_add_clip_17(
// CHECK: tir.plan = "order {{.*}}; rule tuned"

// OTHER-LABEL: func.func private @fused_nn_conv2d_add_clip_17(
// OTHER-NOT: tir.plan

// A kernel without a file.
// NONE-LABEL: func.func @small(
// NONE-NOT: tir.plan
func.func @small(%a: tensor<3x5xf32>, %b: tensor<5x7xf32>, %out: tensor<3x7xf32>) -> tensor<3x7xf32>
    attributes {tir.prim_func} {
  %1 = linalg.matmul ins(%a, %b : tensor<3x5xf32>, tensor<5x7xf32>) outs(%out : tensor<3x7xf32>) -> tensor<3x7xf32>
  return %1 : tensor<3x7xf32>
}
