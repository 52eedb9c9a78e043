// A symbolic batch dimension goes from text to bytecode to text unchanged, and upstream's canonicalize and cse
// remove dead and duplicate relax operations, but none with effects.
// RUN: relax-opt %s -o %t.text
// RUN: relax-opt %t.text --emit-bytecode | relax-opt -o %t.again
// RUN: diff %t.text %t.again
// RUN: relax-opt %s --pass-pipeline='builtin.module(func.func(canonicalize,cse))' | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<?x64xf32, #relax.sym<["batch", 64]>>
func.func @main(%x: tensor<?x64xf32, #relax.sym<["batch", 64]>>, %w: tensor<64x10xf32>) -> tensor<?x10xf32, #relax.sym<["batch", 10]>> {
  // CHECK-NEXT: %[[Y:.*]] = "relax.matmul"
  // CHECK-NEXT: "relax.print"
  // CHECK-NEXT: %[[Z:.*]] = "relax.add"(%[[Y]], %[[Y]])
  // CHECK-NEXT: return %[[Z]]
  %0 = "relax.matmul"(%x, %w) : (tensor<?x64xf32, #relax.sym<["batch", 64]>>, tensor<64x10xf32>) -> tensor<?x10xf32, #relax.sym<["batch", 10]>>
  %1 = "relax.matmul"(%x, %w) : (tensor<?x64xf32, #relax.sym<["batch", 64]>>, tensor<64x10xf32>) -> tensor<?x10xf32, #relax.sym<["batch", 10]>>
  %dead = "relax.nn.softmax"(%1) : (tensor<?x10xf32, #relax.sym<["batch", 10]>>) -> tensor<?x10xf32, #relax.sym<["batch", 10]>>
  "relax.print"(%0) : (tensor<?x10xf32, #relax.sym<["batch", 10]>>) -> ()
  %2 = "relax.add"(%0, %1) : (tensor<?x10xf32, #relax.sym<["batch", 10]>>, tensor<?x10xf32, #relax.sym<["batch", 10]>>) -> tensor<?x10xf32, #relax.sym<["batch", 10]>>
  return %2 : tensor<?x10xf32, #relax.sym<["batch", 10]>>
}
