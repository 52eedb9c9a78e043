// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @conv1d(
func.func @conv1d(%a: tensor<?x8x?xf32, #relax.sym<["n", 8, "w"]>>, %b: tensor<16x8x3xf32>) {
  // CHECK: "relax.nn.conv1d"(
  // CHECK-SAME: {padding = array<i64: 1, 2>, strides = array<i64: 2>}
  // CHECK-SAME: -> tensor<?x16x?xf32, #relax.sym<["n", 16, "w//2 + 1"]>>
  %r = "relax.nn.conv1d"(%a, %b) {padding = array<i64: 1, 2>, strides = array<i64: 2>}
      : (tensor<?x8x?xf32, #relax.sym<["n", 8, "w"]>>, tensor<16x8x3xf32>)
      -> tensor<?x16x?xf32, #relax.sym<["n", 16, "w//2 + 1"]>>
  return
}

// CHECK-LABEL: func.func @conv2d(
func.func @conv2d(%a: tensor<?x8x?x?xf32, #relax.sym<["n", 8, "h", "w"]>>, %b: tensor<16x8x3x3xf32>) {
  // CHECK: "relax.nn.conv2d"(
  // CHECK-SAME: -> tensor<?x16x?x?xf32, #relax.sym<["n", 16, "h - 2", "w - 2"]>>
  %r = "relax.nn.conv2d"(%a, %b)
      : (tensor<?x8x?x?xf32, #relax.sym<["n", 8, "h", "w"]>>, tensor<16x8x3x3xf32>)
      -> tensor<?x16x?x?xf32, #relax.sym<["n", 16, "h - 2", "w - 2"]>>
  return
}

// CHECK-LABEL: func.func @conv2d_2(
func.func @conv2d_2(%a: tensor<?x?x?x8xf32, #relax.sym<["n", "h", "w", 8]>>, %b: tensor<3x3x4x16xf32>) {
  // CHECK: "relax.nn.conv2d"(
  // CHECK-SAME: {data_layout = "NHWC", dilation = array<i64: 2, 2>, groups = 2 : i64, kernel_layout = "HWIO", out_layout = "NCHW", padding = array<i64: 0, 1, 2, 3>}
  // CHECK-SAME: -> tensor<?x16x?x?xf32, #relax.sym<["n", 16, "h - 2", "w"]>>
  %r = "relax.nn.conv2d"(%a, %b)
      {data_layout = "NHWC", dilation = array<i64: 2, 2>, groups = 2 : i64, kernel_layout = "HWIO", out_layout = "NCHW", padding = array<i64: 0, 1, 2, 3>}
      : (tensor<?x?x?x8xf32, #relax.sym<["n", "h", "w", 8]>>, tensor<3x3x4x16xf32>)
      -> tensor<?x16x?x?xf32, #relax.sym<["n", 16, "h - 2", "w"]>>
  return
}

// CHECK-LABEL: func.func @conv2d_3(
func.func @conv2d_3(%a: tensor<?x2x7x7x16xi8, #relax.sym<["n", 2, 7, 7, 16]>>, %b: tensor<4x2x3x3x16x16xi8>) {
  // CHECK: "relax.nn.conv2d"(
  // CHECK-SAME: {data_layout = "NCHW16c", kernel_layout = "OIHW16i16o", out_dtype = i32}
  // CHECK-SAME: -> tensor<?x4x5x5x16xi32, #relax.sym<["n", 4, 5, 5, 16]>>
  %r = "relax.nn.conv2d"(%a, %b) {data_layout = "NCHW16c", kernel_layout = "OIHW16i16o", out_dtype = i32}
      : (tensor<?x2x7x7x16xi8, #relax.sym<["n", 2, 7, 7, 16]>>, tensor<4x2x3x3x16x16xi8>)
      -> tensor<?x4x5x5x16xi32, #relax.sym<["n", 4, 5, 5, 16]>>
  return
}

// CHECK-LABEL: func.func @conv3d(
func.func @conv3d(%a: tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d", "h", "w"]>>,
                  %b: tensor<16x8x1x2x3xf32>) {
  // CHECK: "relax.nn.conv3d"(
  // CHECK-SAME: {strides = array<i64: 1, 2, 3>}
  // CHECK-SAME: -> tensor<?x16x?x?x?xf32, #relax.sym<["n", 16, "d", "h//2", "w//3"]>>
  %r = "relax.nn.conv3d"(%a, %b) {strides = array<i64: 1, 2, 3>}
      : (tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d", "h", "w"]>>, tensor<16x8x1x2x3xf32>)
      -> tensor<?x16x?x?x?xf32, #relax.sym<["n", 16, "d", "h//2", "w//3"]>>
  return
}

// CHECK-LABEL: func.func @conv1d_transpose(
func.func @conv1d_transpose(%a: tensor<?x8x?xf32, #relax.sym<["n", 8, "w"]>>, %b: tensor<8x4x3xf32>) {
  // CHECK: "relax.nn.conv1d_transpose"(
  // CHECK-SAME: {strides = array<i64: 2>}
  // CHECK-SAME: -> tensor<?x4x?xf32, #relax.sym<["n", 4, "2*w + 1"]>>
  %r = "relax.nn.conv1d_transpose"(%a, %b) {strides = array<i64: 2>}
      : (tensor<?x8x?xf32, #relax.sym<["n", 8, "w"]>>, tensor<8x4x3xf32>)
      -> tensor<?x4x?xf32, #relax.sym<["n", 4, "2*w + 1"]>>
  return
}

// CHECK-LABEL: func.func @conv2d_transpose(
func.func @conv2d_transpose(%a: tensor<?x8x?x?xf32, #relax.sym<["n", 8, "h", "w"]>>,
                            %b: tensor<8x4x3x3xf32>) {
  // CHECK: "relax.nn.conv2d_transpose"(
  // CHECK-SAME: {groups = 2 : i64, output_padding = array<i64: 1, 1>, padding = array<i64: 1, 1>, strides = array<i64: 2, 2>}
  // CHECK-SAME: -> tensor<?x8x?x?xf32, #relax.sym<["n", 8, "2*h", "2*w"]>>
  %r = "relax.nn.conv2d_transpose"(%a, %b)
      {groups = 2 : i64, output_padding = array<i64: 1, 1>, padding = array<i64: 1, 1>, strides = array<i64: 2, 2>}
      : (tensor<?x8x?x?xf32, #relax.sym<["n", 8, "h", "w"]>>, tensor<8x4x3x3xf32>)
      -> tensor<?x8x?x?xf32, #relax.sym<["n", 8, "2*h", "2*w"]>>
  return
}

// CHECK-LABEL: func.func @conv3d_transpose(
func.func @conv3d_transpose(%a: tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d", "h", "w"]>>,
                            %b: tensor<8x4x1x2x3xf32>) {
  // CHECK: "relax.nn.conv3d_transpose"(
  // CHECK-SAME: {dilation = array<i64: 1, 2, 3>}
  // CHECK-SAME: -> tensor<?x4x?x?x?xf32, #relax.sym<["n", 4, "d", "h + 2", "w + 6"]>>
  %r = "relax.nn.conv3d_transpose"(%a, %b) {dilation = array<i64: 1, 2, 3>}
      : (tensor<?x8x?x?x?xf32, #relax.sym<["n", 8, "d", "h", "w"]>>, tensor<8x4x1x2x3xf32>)
      -> tensor<?x4x?x?x?xf32, #relax.sym<["n", 4, "d", "h + 2", "w + 6"]>>
  return
}
