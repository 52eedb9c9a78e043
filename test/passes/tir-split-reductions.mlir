// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --relax-legalize-ops --tir-split-reductions='target=llvm{vector-bytes=64 cores=2}' | FileCheck %s
// RUN: relax-opt %s --relax-legalize-ops --tir-split-reductions='target=llvm{vector-bytes=64 cores=1 numerics=fast}' | FileCheck %s --check-prefix=ALONE
// RUN: not relax-opt %s --tir-split-reductions='target=none' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// Long reductions to few results are done in parts: on one core, too, unless numerics=fast. Results: test_split_reductions.py.

// UNKNOWN: none
// ALONE-NOT: scf.for

// CHECK-LABEL: func.func @long
func.func @long(%x: tensor<1000x1000xf32>) -> tensor<f32> {
  %0 = "relax.max"(%x) : (tensor<1000x1000xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// Results that threads can share, and little work.
func.func @stays(%x: tensor<1000x1000xf32>, %y: tensor<100x100xf32>) -> (tensor<1000xf32>, tensor<f32>) {
  %0 = "relax.max"(%x) {axis = array<i64: 1>} : (tensor<1000x1000xf32>) -> tensor<1000xf32>
  %1 = "relax.max"(%y) : (tensor<100x100xf32>) -> tensor<f32>
  return %0, %1 : tensor<1000xf32>, tensor<f32>
}

// CHECK: func.func private @max(
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c1
// CHECK: tensor.extract_slice %arg0[%{{.*}}, 0] [%{{.*}}, 1000] [1, 1] : tensor<1000x1000xf32> to tensor<?x1000xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1xf32>)
// CHECK: tensor.insert_slice {{.*}} : tensor<1xf32> into tensor<32xf32>
// CHECK: {tir.parallel = 1 : i64}
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<32xf32>)
// CHECK-LABEL: func.func private @max_1(
// CHECK-NOT: scf.for
