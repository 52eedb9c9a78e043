// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --relax-legalize-ops='target=llvm' --tir-cut-padding='target=llvm{vector-bytes=64 caches=32K,512K cores=2}' | FileCheck %s
// RUN: relax-opt %s --relax-legalize-ops='target=llvm' --tir-cut-padding='target=llvm{vector-bytes=64 caches=32K,512K cores=64}' | FileCheck %s --check-prefix=MANY
// RUN: relax-opt %s --relax-legalize-ops='target=llvm' --tir-cut-padding='target=llvm{vector-bytes=64 caches=128K,2M cores=2}' | FileCheck %s --check-prefix=LARGE
// RUN: not relax-opt %s --tir-cut-padding='target=none' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// Windows over padded tensors go over padded parts of them. Results: test_cut_padding.py.

// UNKNOWN: none
// CHECK-LABEL: func.func @main

// A row of a result reads three rows of the data: 11 KB, and the next divisor of 28 rows exceeds half of the first
// cache. Rows of the border are filled, the others are copied one by one.
// CHECK-LABEL: func.func private @nn_conv2d(
// CHECK-NOT: linalg.generic {{.*}}8x6x57x57x16
// CHECK: scf.for %{{.*}} = %c0 to %c1344 step %c1
// CHECK: tensor.empty() : tensor<1x1x3x57x16xf32>
// CHECK: scf.for
// CHECK: tensor.extract_slice %{{.*}} [1, 1, 1, 57, 16]
// CHECK: scf.for
// CHECK: tensor.extract_slice %arg0[%{{.*}}, %{{.*}}, %{{.*}}, 0, 0] [1, 1, 1, 56, 16]
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}} [1, 1, 1, 56, 16]
// CHECK: scf.for
// CHECK: tensor.extract_slice %{{.*}} [1, 1, 1, 28, 16] [1, 1, 1, 1, 1] : tensor<8x6x28x28x16xf32>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}} [1, 1, 1, 28, 16]
// CHECK: {tir.parallel =

// A padded block of channels that fits into half of the first cache is a part: there is no loop over rows.
// CHECK-LABEL: func.func private @nn_conv2d_1(
// CHECK: scf.for %{{.*}} = %c0 to %c6 step %c1
// CHECK-NOT: scf.for
// CHECK: tensor.empty() : tensor<1x1x16x16x16xf32>
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}} [1, 1, 14, 14, 16]
// CHECK-NOT: scf.for

// Sums over channels read each part for all channels of the result.
// CHECK-LABEL: func.func private @nn_conv2d_2(
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func private @nn_max_pool2d(
// CHECK: scf.for

// The number of images does not matter.
// CHECK-LABEL: func.func private @nn_conv2d_3(
// CHECK-NOT: linalg.generic {{.*}}?x6x58x58x16
// CHECK: scf.for
// CHECK: tensor.empty() : tensor<1x1x{{[0-9]+}}x58x16xf32>

// Six parts are few for 64 cores, and too little work for threads.
// MANY-LABEL: func.func private @nn_conv2d_1(
// MANY: scf.for %{{.*}} = %c0 to %c6 step %c1

// Data that fits into the first cache stays there without cutting.
// LARGE-LABEL: func.func private @nn_conv2d_1(
// LARGE-NOT: scf.for
// LARGE-LABEL: func.func private @nn_conv2d_2(
func.func @main(%x: tensor<8x6x56x56x16xf32>, %w: tensor<6x1x3x3x16xf32>, %d: tensor<?x6x56x56x16xf32>,
    %s: tensor<1x6x14x14x16xf32>, %f: tensor<16x6x3x3x16x16xf32>, %p: tensor<8x64x56x56xf32>)
    -> (tensor<8x6x28x28x16xf32>, tensor<?x6x56x56x16xf32>, tensor<1x6x14x14x16xf32>, tensor<8x16x56x56x16xf32>,
        tensor<8x64x28x28xf32>) {
  %0 = "relax.nn.conv2d"(%x, %w) {groups = 96 : i64, data_layout = "NCHW16c", kernel_layout = "OIHW16o",
    out_layout = "NCHW16c", strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 1, 1>}
    : (tensor<8x6x56x56x16xf32>, tensor<6x1x3x3x16xf32>) -> tensor<8x6x28x28x16xf32>
  %1 = "relax.nn.conv2d"(%d, %w) {groups = 96 : i64, data_layout = "NCHW16c", kernel_layout = "OIHW16o",
    out_layout = "NCHW16c", padding = array<i64: 1, 1, 1, 1>}
    : (tensor<?x6x56x56x16xf32>, tensor<6x1x3x3x16xf32>) -> tensor<?x6x56x56x16xf32>
  %2 = "relax.nn.conv2d"(%s, %w) {groups = 96 : i64, data_layout = "NCHW16c", kernel_layout = "OIHW16o",
    out_layout = "NCHW16c", padding = array<i64: 1, 1, 1, 1>}
    : (tensor<1x6x14x14x16xf32>, tensor<6x1x3x3x16xf32>) -> tensor<1x6x14x14x16xf32>
  %3 = "relax.nn.conv2d"(%x, %f) {data_layout = "NCHW16c", kernel_layout = "OIHW16i16o", out_layout = "NCHW16c",
    padding = array<i64: 1, 1, 1, 1>}
    : (tensor<8x6x56x56x16xf32>, tensor<16x6x3x3x16x16xf32>) -> tensor<8x16x56x56x16xf32>
  %4 = "relax.nn.max_pool2d"(%p) {pool_size = array<i64: 3, 3>, strides = array<i64: 2, 2>,
    padding = array<i64: 1, 1, 1, 1>} : (tensor<8x64x56x56xf32>) -> tensor<8x64x28x28xf32>
  return %0, %1, %2, %3, %4 : tensor<8x6x28x28x16xf32>, tensor<?x6x56x56x16xf32>, tensor<1x6x14x14x16xf32>,
    tensor<8x16x56x56x16xf32>, tensor<8x64x28x28xf32>
}
