// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @batch_flatten(
func.func @batch_flatten(%a: tensor<?x2x?x3xf32, #relax.sym<["n", 2, "h", 3]>>) {
  // CHECK: "relax.nn.batch_flatten"(
  // CHECK-SAME: -> tensor<?x?xf32, #relax.sym<["n", "6*h"]>>
  %r = "relax.nn.batch_flatten"(%a)
      : (tensor<?x2x?x3xf32, #relax.sym<["n", 2, "h", 3]>>) -> tensor<?x?xf32, #relax.sym<["n", "6*h"]>>
  return
}

// CHECK-LABEL: func.func @pad(
func.func @pad(%a: tensor<?x3xf32, #relax.sym<["n", 3]>>) {
  // CHECK: "relax.nn.pad"(
  // CHECK-SAME: {pad_width = array<i64: 1, 2, 0, -1>}
  // CHECK-SAME: -> tensor<?x2xf32, #relax.sym<["n + 3", 2]>>
  %r = "relax.nn.pad"(%a) {pad_width = array<i64: 1, 2, 0, -1>}
      : (tensor<?x3xf32, #relax.sym<["n", 3]>>) -> tensor<?x2xf32, #relax.sym<["n + 3", 2]>>
  return
}

// CHECK-LABEL: func.func @pad_2(
func.func @pad_2(%a: tensor<?x3xi64, #relax.sym<["n", 3]>>) {
  // CHECK: "relax.nn.pad"(
  // CHECK-SAME: {pad_value = 7 : i64, pad_width = array<i64: 1, 2, 0, 1>}
  // CHECK-SAME: -> tensor<?x4xi64, #relax.sym<["n + 3", 4]>>
  %r = "relax.nn.pad"(%a) {pad_value = 7 : i64, pad_width = array<i64: 1, 2, 0, 1>}
      : (tensor<?x3xi64, #relax.sym<["n", 3]>>) -> tensor<?x4xi64, #relax.sym<["n + 3", 4]>>
  return
}

// CHECK-LABEL: func.func @pad_3(
func.func @pad_3(%a: tensor<?x3xf32, #relax.sym<["n", 3]>>) {
  // CHECK: "relax.nn.pad"(
  // CHECK-SAME: {pad_mode = "reflect", pad_width = array<i64: 1, 2, 0, 1>}
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n + 3", 4]>>
  %r = "relax.nn.pad"(%a) {pad_mode = "reflect", pad_width = array<i64: 1, 2, 0, 1>}
      : (tensor<?x3xf32, #relax.sym<["n", 3]>>) -> tensor<?x4xf32, #relax.sym<["n + 3", 4]>>
  return
}

// CHECK-LABEL: func.func @pad_4(
func.func @pad_4(%a: tensor<?x3xf32, #relax.sym<["n", 3]>>) {
  // CHECK: "relax.nn.pad"(
  // CHECK-SAME: {pad_mode = "replicate", pad_width = array<i64: 1, 2, 0, 1>}
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n + 3", 4]>>
  %r = "relax.nn.pad"(%a) {pad_mode = "replicate", pad_width = array<i64: 1, 2, 0, 1>}
      : (tensor<?x3xf32, #relax.sym<["n", 3]>>) -> tensor<?x4xf32, #relax.sym<["n + 3", 4]>>
  return
}

// CHECK-LABEL: func.func @pad_5(
func.func @pad_5(%a: tensor<?x3xf32, #relax.sym<["n", 3]>>) {
  // CHECK: "relax.nn.pad"(
  // CHECK-SAME: {pad_mode = "circular", pad_width = array<i64: 1, 2, 0, 1>}
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n + 3", 4]>>
  %r = "relax.nn.pad"(%a) {pad_mode = "circular", pad_width = array<i64: 1, 2, 0, 1>}
      : (tensor<?x3xf32, #relax.sym<["n", 3]>>) -> tensor<?x4xf32, #relax.sym<["n + 3", 4]>>
  return
}

// CHECK-LABEL: func.func @pixel_shuffle(
func.func @pixel_shuffle(%a: tensor<?x?x?x5xf32, #relax.sym<["n", "4*c", "h", 5]>>) {
  // CHECK: "relax.nn.pixel_shuffle"(
  // CHECK-SAME: {upscale_factor = 2 : i64}
  // CHECK-SAME: -> tensor<?x?x?x10xf32, #relax.sym<["n", "c", "2*h", 10]>>
  %r = "relax.nn.pixel_shuffle"(%a) {upscale_factor = 2 : i64}
      : (tensor<?x?x?x5xf32, #relax.sym<["n", "4*c", "h", 5]>>)
      -> tensor<?x?x?x10xf32, #relax.sym<["n", "c", "2*h", 10]>>
  return
}
