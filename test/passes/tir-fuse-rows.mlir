// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --relax-legalize-ops --tir-lower-intrinsics --tir-fuse-rows='target=llvm{vector-bytes=64 caches=32K,512K cores=2}' | FileCheck %s
// RUN: relax-opt %s --relax-legalize-ops --tir-lower-intrinsics --tir-fuse-rows='target=llvm{vector-bytes=64 caches=32K,512K cores=1}' | FileCheck %s --check-prefix=ALONE
// RUN: not relax-opt %s --tir-fuse-rows='target=none' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// Operations on the same rows run together on one group of rows after the other. Results: test_fuse_rows.py.

// UNKNOWN: none
// ALONE: scf.for
// ALONE-NOT: tir.parallel

// Two rows of 768 numbers and their exponentials fit into half of 32 KB.
// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<512x768xf32>) -> tensor<512x768xf32> {
  %0 = "relax.nn.softmax"(%x) : (tensor<512x768xf32>) -> tensor<512x768xf32>
  return %0 : tensor<512x768xf32>
}

// Tensors below half of the second cache stay in it anyway; products have better loops over rows.
func.func @stays(%x: tensor<8x768xf32>, %w: tensor<768x768xf32>, %y: tensor<512x768xf32>, %z: tensor<768x16x16xf32>)
    -> (tensor<8x768xf32>, tensor<512x768xf32>, tensor<768x16x16xf32>) {
  %0 = "relax.nn.softmax"(%x) : (tensor<8x768xf32>) -> tensor<8x768xf32>
  %1 = "relax.matmul"(%y, %w) : (tensor<512x768xf32>, tensor<768x768xf32>) -> tensor<512x768xf32>
  %2 = "relax.nn.softmax"(%z) {axis = 0 : i64} : (tensor<768x16x16xf32>) -> tensor<768x16x16xf32>
  return %0, %1, %2 : tensor<8x768xf32>, tensor<512x768xf32>, tensor<768x16x16xf32>
}

// CHECK: func.func private @nn_softmax(
// CHECK: scf.for %{{.*}} = %c0 to %c256 step %c1
// CHECK: tensor.extract_slice %{{.*}}[%{{.*}}, 0] [2, 768] [1, 1] : tensor<512x768xf32> to tensor<2x768xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2xf32>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x768xf32>)
// CHECK: tensor.insert_slice
// CHECK: {tir.parallel =
// CHECK-LABEL: func.func private @nn_softmax_1(
// CHECK-NOT: scf.for
