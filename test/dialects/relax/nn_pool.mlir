// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @avg_pool1d(
func.func @avg_pool1d(%a: tensor<?x8x?xf32, #relax.sym<["n", 8, "w"]>>) {
  // CHECK: "relax.nn.avg_pool1d"(
  // CHECK-SAME: {count_include_pad = false, pool_size = array<i64: 2>, strides = array<i64: 2>}
  // CHECK-SAME: -> tensor<?x8x?xf32, #relax.sym<["n", 8, "w//2"]>>
  %r = "relax.nn.avg_pool1d"(%a)
      {count_include_pad = false, pool_size = array<i64: 2>, strides = array<i64: 2>}
      : (tensor<?x8x?xf32, #relax.sym<["n", 8, "w"]>>) -> tensor<?x8x?xf32, #relax.sym<["n", 8, "w//2"]>>
  return
}

// CHECK-LABEL: func.func @avg_pool2d(
func.func @avg_pool2d(%a: tensor<?x8x?x?xf32, #relax.sym<["n", 8, "h", "w"]>>) {
  // CHECK: "relax.nn.avg_pool2d"(
  // CHECK-SAME: {count_include_pad = true, padding = array<i64: 0, 1>, pool_size = array<i64: 2, 3>, strides = array<i64: 2, 1>}
  // CHECK-SAME: -> tensor<?x8x?x?xf32, #relax.sym<["n", 8, "h//2", "w"]>>
  %r = "relax.nn.avg_pool2d"(%a)
      {count_include_pad = true, padding = array<i64: 0, 1>, pool_size = array<i64: 2, 3>, strides = array<i64: 2, 1>}
      : (tensor<?x8x?x?xf32, #relax.sym<["n", 8, "h", "w"]>>)
      -> tensor<?x8x?x?xf32, #relax.sym<["n", 8, "h//2", "w"]>>
  return
}

// CHECK-LABEL: func.func @avg_pool3d(
func.func @avg_pool3d(%a: tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d", "h", "w"]>>) {
  // CHECK: "relax.nn.avg_pool3d"(
  // CHECK-SAME: {pool_size = array<i64: 2, 2, 2>}
  // CHECK-SAME: -> tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d - 1", "h - 1", "w - 1"]>>
  %r = "relax.nn.avg_pool3d"(%a) {pool_size = array<i64: 2, 2, 2>}
      : (tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d", "h", "w"]>>)
      -> tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d - 1", "h - 1", "w - 1"]>>
  return
}

// CHECK-LABEL: func.func @max_pool1d(
func.func @max_pool1d(%a: tensor<?x8x?xf32, #relax.sym<["n", 8, "w"]>>) {
  // CHECK: "relax.nn.max_pool1d"(
  // CHECK-SAME: {dilation = array<i64: 2>, pool_size = array<i64: 3>}
  // CHECK-SAME: -> tensor<?x8x?xf32, #relax.sym<["n", 8, "w - 4"]>>
  %r = "relax.nn.max_pool1d"(%a) {dilation = array<i64: 2>, pool_size = array<i64: 3>}
      : (tensor<?x8x?xf32, #relax.sym<["n", 8, "w"]>>) -> tensor<?x8x?xf32, #relax.sym<["n", 8, "w - 4"]>>
  return
}

// CHECK-LABEL: func.func @max_pool2d(
func.func @max_pool2d(%a: tensor<?x8x?x?xf32, #relax.sym<["n", 8, "h", "w"]>>) {
  // CHECK: "relax.nn.max_pool2d"(
  // CHECK-SAME: {ceil_mode = true, padding = array<i64: 1, 1>, pool_size = array<i64: 3, 3>, strides = array<i64: 2, 2>}
  // CHECK-SAME: -> tensor<?x8x?x?xf32, #relax.sym<["n", 8, "h//2 + 1", "w//2 + 1"]>>
  %r = "relax.nn.max_pool2d"(%a)
      {ceil_mode = true, padding = array<i64: 1, 1>, pool_size = array<i64: 3, 3>, strides = array<i64: 2, 2>}
      : (tensor<?x8x?x?xf32, #relax.sym<["n", 8, "h", "w"]>>)
      -> tensor<?x8x?x?xf32, #relax.sym<["n", 8, "h//2 + 1", "w//2 + 1"]>>
  return
}

// CHECK-LABEL: func.func @max_pool2d_2(
func.func @max_pool2d_2(%a: tensor<?x2x8x8x4xf32, #relax.sym<["n", 2, 8, 8, 4]>>) {
  // CHECK: "relax.nn.max_pool2d"(
  // CHECK-SAME: {layout = "NCHW4c", out_layout = "NHWC", pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>}
  // CHECK-SAME: -> tensor<?x4x4x8xf32, #relax.sym<["n", 4, 4, 8]>>
  %r = "relax.nn.max_pool2d"(%a)
      {layout = "NCHW4c", out_layout = "NHWC", pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>}
      : (tensor<?x2x8x8x4xf32, #relax.sym<["n", 2, 8, 8, 4]>>)
      -> tensor<?x4x4x8xf32, #relax.sym<["n", 4, 4, 8]>>
  return
}

// CHECK-LABEL: func.func @max_pool3d(
func.func @max_pool3d(%a: tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d", "h", "w"]>>) {
  // CHECK: "relax.nn.max_pool3d"(
  // CHECK-SAME: {padding = array<i64: 0, 1, 1, 0, 0, 1>, pool_size = array<i64: 1, 2, 3>}
  // CHECK-SAME: -> tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d", "h", "w"]>>
  %r = "relax.nn.max_pool3d"(%a) {padding = array<i64: 0, 1, 1, 0, 0, 1>, pool_size = array<i64: 1, 2, 3>}
      : (tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d", "h", "w"]>>)
      -> tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d", "h", "w"]>>
  return
}

// CHECK-LABEL: func.func @adaptive_avg_pool1d(
func.func @adaptive_avg_pool1d(%a: tensor<?x8x?xf32, #relax.sym<["n", 8, "w"]>>) {
  // CHECK: "relax.nn.adaptive_avg_pool1d"(
  // CHECK-SAME: {output_size = array<i64: 5>}
  // CHECK-SAME: -> tensor<?x8x5xf32, #relax.sym<["n", 8, 5]>>
  %r = "relax.nn.adaptive_avg_pool1d"(%a) {output_size = array<i64: 5>}
      : (tensor<?x8x?xf32, #relax.sym<["n", 8, "w"]>>) -> tensor<?x8x5xf32, #relax.sym<["n", 8, 5]>>
  return
}

// CHECK-LABEL: func.func @adaptive_avg_pool2d(
func.func @adaptive_avg_pool2d(%a: tensor<?x?x?x8xf32, #relax.sym<["n", "h", "w", 8]>>) {
  // CHECK: "relax.nn.adaptive_avg_pool2d"(
  // CHECK-SAME: {layout = "NHWC", output_size = array<i64: 5, 6>}
  // CHECK-SAME: -> tensor<?x5x6x8xf32, #relax.sym<["n", 5, 6, 8]>>
  %r = "relax.nn.adaptive_avg_pool2d"(%a) {layout = "NHWC", output_size = array<i64: 5, 6>}
      : (tensor<?x?x?x8xf32, #relax.sym<["n", "h", "w", 8]>>)
      -> tensor<?x5x6x8xf32, #relax.sym<["n", 5, 6, 8]>>
  return
}

// CHECK-LABEL: func.func @adaptive_avg_pool3d(
func.func @adaptive_avg_pool3d(%a: tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d", "h", "w"]>>) {
  // CHECK: "relax.nn.adaptive_avg_pool3d"(
  // CHECK-SAME: {out_layout = "NDHWC"}
  // CHECK-SAME: -> tensor<?x?x?x?x8xf32, #relax.sym<["n", "d", "h", "w", 8]>>
  %r = "relax.nn.adaptive_avg_pool3d"(%a) {out_layout = "NDHWC"}
      : (tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d", "h", "w"]>>)
      -> tensor<?x?x?x?x8xf32, #relax.sym<["n", "d", "h", "w", 8]>>
  return
}
