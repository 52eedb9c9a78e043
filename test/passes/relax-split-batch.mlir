// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --relax-split-batch='target=llvm{caches=1K,8K cores=1}' --split-input-file | FileCheck %s
// RUN: relax-opt %s --relax-split-batch='target=llvm{caches=1M,64M cores=1}' --split-input-file | FileCheck %s --check-prefix=LARGE
// RUN: relax-opt %s --relax-split-batch='target=llvm{caches=1K,8K cores=4}' --split-input-file | FileCheck %s --check-prefix=MANY
// RUN: not relax-opt %s --relax-split-batch='target=none' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// A loop over images does what each of them goes through for itself. Results: test_split_batch.py.

// UNKNOWN: none
// LARGE-NOT: scf.for
// An image has no work for that many cores.
// MANY-NOT: scf.for

// The product at the end reads its matrix once for all images: it stays.
// CHECK-LABEL: func.func @known
// CHECK: %[[N:.*]] = arith.constant 8 : i64
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[N]] step %{{.*}} iter_args({{.*}}) -> (i64, tensor<?x256xf32>)
// CHECK: %[[X:.*]] = "relax.take"(%arg0, %{{.*}}) {axis = 0 : i64}
// CHECK: %[[ONE:.*]] = "relax.expand_dims"(%[[X]])
// CHECK: "relax.nn.conv2d"(%[[ONE]], %arg1){{.*}} -> tensor<1x4x16x16xf32>
// CHECK: "relax.add"({{.*}}, %arg3) : (tensor<1x4x16x16xf32>, tensor<4x1x1xf32>) -> tensor<1x4x16x16xf32>
// CHECK: "relax.nn.conv2d"({{.*}}, %arg2){{.*}} -> tensor<1x4x8x8xf32>
// CHECK: "relax.shape_expr"() {dims = [1, 256]}
// CHECK: "relax.reshape"({{.*}} -> tensor<1x256xf32>
// CHECK: "relax.concat"
// CHECK: scf.yield
// CHECK: %[[ROWS:.*]] = "relax.match_cast"({{.*}}) : (tensor<?x256xf32>) -> tensor<8x256xf32>
// CHECK: "relax.matmul"(%[[ROWS]], %arg4)
func.func @known(%x: tensor<8x4x16x16xf32>, %w: tensor<4x4x3x3xf32>, %v: tensor<4x4x3x3xf32>, %b: tensor<4x1x1xf32>,
    %m: tensor<256x10xf32>) -> tensor<8x10xf32> {
  %0 = "relax.nn.conv2d"(%x, %w) {padding = array<i64: 1, 1, 1, 1>}
    : (tensor<8x4x16x16xf32>, tensor<4x4x3x3xf32>) -> tensor<8x4x16x16xf32>
  %1 = "relax.add"(%0, %b) : (tensor<8x4x16x16xf32>, tensor<4x1x1xf32>) -> tensor<8x4x16x16xf32>
  %2 = "relax.nn.conv2d"(%1, %v) {padding = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>}
    : (tensor<8x4x16x16xf32>, tensor<4x4x3x3xf32>) -> tensor<8x4x8x8xf32>
  %3 = "relax.shape_expr"() {dims = [8, 256]} : () -> !relax.shape<[8, 256]>
  %4 = "relax.reshape"(%2, %3) : (tensor<8x4x8x8xf32>, !relax.shape<[8, 256]>) -> tensor<8x256xf32>
  %5 = "relax.matmul"(%4, %m) : (tensor<8x256xf32>, tensor<256x10xf32>) -> tensor<8x10xf32>
  return %5 : tensor<8x10xf32>
}

// -----

// The number of images is dynamic. Other results are gathered, too, and their readers follow.
// CHECK-LABEL: func.func @open
// CHECK: "relax.shape_expr"() {dims = ["n"]}
// CHECK: %[[LOOP:.*]]:3 = scf.for {{.*}} -> (i64, tensor<?x4x16x16xf32>, tensor<?x4x16x16xf32>)
// CHECK-NOT: "relax.cumsum"
// CHECK: "relax.nn.conv2d"
// CHECK: "relax.nn.conv2d"
// CHECK: scf.yield
// CHECK: "relax.match_cast"(%[[LOOP]]#1)
// CHECK: "relax.match_cast"(%[[LOOP]]#2)
// CHECK: "relax.cumsum"
func.func @open(%x: tensor<?x4x16x16xf32, #relax.sym<["n", 4, 16, 16]>>, %w: tensor<4x4x3x3xf32>)
    -> (tensor<?x4x16x16xf32, #relax.sym<["n", 4, 16, 16]>>, tensor<?x4x16x16xf32, #relax.sym<["n", 4, 16, 16]>>) {
  %0 = "relax.nn.conv2d"(%x, %w) {padding = array<i64: 1, 1, 1, 1>}
    : (tensor<?x4x16x16xf32, #relax.sym<["n", 4, 16, 16]>>, tensor<4x4x3x3xf32>)
    -> tensor<?x4x16x16xf32, #relax.sym<["n", 4, 16, 16]>>
  %1 = "relax.cumsum"(%0) {axis = 0 : i64} : (tensor<?x4x16x16xf32, #relax.sym<["n", 4, 16, 16]>>)
    -> tensor<?x4x16x16xf32, #relax.sym<["n", 4, 16, 16]>>
  %2 = "relax.nn.conv2d"(%0, %w) {padding = array<i64: 1, 1, 1, 1>}
    : (tensor<?x4x16x16xf32, #relax.sym<["n", 4, 16, 16]>>, tensor<4x4x3x3xf32>)
    -> tensor<?x4x16x16xf32, #relax.sym<["n", 4, 16, 16]>>
  return %1, %2 : tensor<?x4x16x16xf32, #relax.sym<["n", 4, 16, 16]>>, tensor<?x4x16x16xf32, #relax.sym<["n", 4, 16, 16]>>
}

// -----

// With a single convolution, no later one can find its output in the cache.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: scf.for
// CHECK: return
func.func @alone(%x: tensor<8x4x16x16xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<8x4x14x14xf32> {
  %0 = "relax.nn.conv2d"(%x, %w) : (tensor<8x4x16x16xf32>, tensor<4x4x3x3xf32>) -> tensor<8x4x14x14xf32>
  return %0 : tensor<8x4x14x14xf32>
}

// -----

// Weights that are much larger than the results are read once for all images.
// CHECK-LABEL: func.func @heavy
// CHECK-NOT: scf.for
// CHECK: return
func.func @heavy(%x: tensor<8x128x4x4xf32>, %w: tensor<128x128x3x3xf32>) -> tensor<8x128x4x4xf32> {
  %0 = "relax.nn.conv2d"(%x, %w) {padding = array<i64: 1, 1, 1, 1>}
    : (tensor<8x128x4x4xf32>, tensor<128x128x3x3xf32>) -> tensor<8x128x4x4xf32>
  %1 = "relax.nn.conv2d"(%0, %w) {padding = array<i64: 1, 1, 1, 1>}
    : (tensor<8x128x4x4xf32>, tensor<128x128x3x3xf32>) -> tensor<8x128x4x4xf32>
  return %1 : tensor<8x128x4x4xf32>
}

// -----

// An operation in between may read all images: later operations stay, and a single convolution is no part.
// CHECK-LABEL: func.func @together
// CHECK-NOT: scf.for
// CHECK: return
func.func @together(%x: tensor<8x4x16x16xf32>, %w: tensor<4x4x3x3xf32>) -> tensor<8x4x12x12xf32> {
  %0 = "relax.nn.conv2d"(%x, %w) : (tensor<8x4x16x16xf32>, tensor<4x4x3x3xf32>) -> tensor<8x4x14x14xf32>
  %1 = "relax.nn.softmax"(%0) {axis = 0 : i64} : (tensor<8x4x14x14xf32>) -> tensor<8x4x14x14xf32>
  %2 = "relax.nn.conv2d"(%1, %w) : (tensor<8x4x14x14xf32>, tensor<4x4x3x3xf32>) -> tensor<8x4x12x12xf32>
  return %2 : tensor<8x4x12x12xf32>
}

// -----

// From where they are on, all images go on together: the third convolution's weights are 16 times what it makes.
// CHECK-LABEL: func.func @heavy_at_the_end
// CHECK: scf.for
// CHECK: "relax.nn.conv2d"{{.*}} -> tensor<1x4x16x16xf32>
// CHECK: "relax.nn.conv2d"{{.*}} -> tensor<1x4x16x16xf32>
// CHECK-NOT: "relax.nn.conv2d"
// CHECK: scf.yield
// CHECK: "relax.nn.conv2d"{{.*}} -> tensor<8x256x2x2xf32>
func.func @heavy_at_the_end(%x: tensor<8x4x16x16xf32>, %w: tensor<4x4x3x3xf32>, %v: tensor<256x4x4x4xf32>)
    -> tensor<8x256x2x2xf32> {
  %0 = "relax.nn.conv2d"(%x, %w) {padding = array<i64: 1, 1, 1, 1>}
    : (tensor<8x4x16x16xf32>, tensor<4x4x3x3xf32>) -> tensor<8x4x16x16xf32>
  %1 = "relax.nn.conv2d"(%0, %w) {padding = array<i64: 1, 1, 1, 1>}
    : (tensor<8x4x16x16xf32>, tensor<4x4x3x3xf32>) -> tensor<8x4x16x16xf32>
  %2 = "relax.nn.conv2d"(%1, %v) {strides = array<i64: 8, 8>}
    : (tensor<8x4x16x16xf32>, tensor<256x4x4x4xf32>) -> tensor<8x256x2x2xf32>
  return %2 : tensor<8x256x2x2xf32>
}
