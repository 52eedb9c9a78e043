// RUN: relax-opt %s --pass-pipeline='builtin.module(one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},func.func(convert-linalg-to-loops),canonicalize)' --print-script | FileCheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},func.func(convert-linalg-to-loops),canonicalize,convert-scf-to-cf,convert-to-llvm)' --print-script | FileCheck %s --check-prefix=LLVM

// One PrimFunc on its way down.
func.func @matmul(%a: tensor<16x8xf32>, %b: tensor<8x4xf32>, %c: tensor<16x4xf32>) -> tensor<16x4xf32> attributes {tir.prim_func} {
  %0 = linalg.matmul ins(%a, %b : tensor<16x8xf32>, tensor<8x4xf32>) outs(%c : tensor<16x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
// CHECK: def matmul(
// CHECK-NEXT: A: Buffer((16, 8), "float32"),
// CHECK-NEXT: B: Buffer((8, 4), "float32"),
// CHECK-NEXT: C: Buffer((16, 4), "float32"),
// CHECK-NEXT: ) -> Buffer((16, 4), "float32"):
// CHECK-NEXT: {{^}}    for i in range(16):
// CHECK-NEXT: {{^}}        for j in range(4):
// CHECK-NEXT: {{^}}            for k in range(8):
// CHECK-NEXT: {{^}}                C[i, j] = C[i, j] + A[i, k] * B[k, j]
// CHECK-NEXT: {{^}}    return C

// LLVM: llvm.func @matmul(
// LLVM: llvm.cond_br({{.*}}) -> [bb{{[0-9]+}}, bb{{[0-9]+}}]
// LLVM: llvm.load(
