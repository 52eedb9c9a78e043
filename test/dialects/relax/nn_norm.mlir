// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @batch_norm(
func.func @batch_norm(%a: tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>,
                      %b: tensor<?xf32, #relax.sym<["c"]>>,
                      %c: tensor<?xf32, #relax.sym<["c"]>>,
                      %d: tensor<?xf32, #relax.sym<["c"]>>,
                      %e: tensor<?xf32, #relax.sym<["c"]>>) {
  // CHECK: "relax.nn.batch_norm"(
  // CHECK-SAME: {axis = 1 : i64}
  // CHECK-SAME: -> (tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>, tensor<?xf32, #relax.sym<["c"]>>, tensor<?xf32, #relax.sym<["c"]>>)
  %r:3 = "relax.nn.batch_norm"(%a, %b, %c, %d, %e) {axis = 1 : i64}
      : (tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>, tensor<?xf32, #relax.sym<["c"]>>, tensor<?xf32, #relax.sym<["c"]>>, tensor<?xf32, #relax.sym<["c"]>>, tensor<?xf32, #relax.sym<["c"]>>)
      -> (tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>, tensor<?xf32, #relax.sym<["c"]>>, tensor<?xf32, #relax.sym<["c"]>>)
  return
}

// CHECK-LABEL: func.func @batch_norm_2(
func.func @batch_norm_2(%a: tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>,
                        %b: tensor<?xf32, #relax.sym<["c"]>>,
                        %c: tensor<?xf32, #relax.sym<["c"]>>,
                        %d: tensor<?xf32, #relax.sym<["c"]>>,
                        %e: tensor<?xf32, #relax.sym<["c"]>>) {
  // CHECK: "relax.nn.batch_norm"(
  // CHECK-SAME: {axis = -3 : i64, center = false, epsilon = 5.000000e-01 : f64, momentum = 2.500000e-01 : f64, scale = false, training = false}
  // CHECK-SAME: -> (tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>, tensor<?xf32, #relax.sym<["c"]>>, tensor<?xf32, #relax.sym<["c"]>>)
  %r:3 = "relax.nn.batch_norm"(%a, %b, %c, %d, %e)
      {axis = -3 : i64, center = false, epsilon = 5.000000e-01 : f64, momentum = 2.500000e-01 : f64, scale = false, training = false}
      : (tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>, tensor<?xf32, #relax.sym<["c"]>>, tensor<?xf32, #relax.sym<["c"]>>, tensor<?xf32, #relax.sym<["c"]>>, tensor<?xf32, #relax.sym<["c"]>>)
      -> (tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>, tensor<?xf32, #relax.sym<["c"]>>, tensor<?xf32, #relax.sym<["c"]>>)
  return
}

// CHECK-LABEL: func.func @layer_norm(
func.func @layer_norm(%a: tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>,
                      %b: tensor<?x4xf32, #relax.sym<["h", 4]>>,
                      %c: tensor<?x4xf32, #relax.sym<["h", 4]>>) {
  // CHECK: "relax.nn.layer_norm"(
  // CHECK-SAME: {axes = array<i64: -2, -1>}
  // CHECK-SAME: -> tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>
  %r = "relax.nn.layer_norm"(%a, %b, %c) {axes = array<i64: -2, -1>}
      : (tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>, tensor<?x4xf32, #relax.sym<["h", 4]>>, tensor<?x4xf32, #relax.sym<["h", 4]>>)
      -> tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>
  return
}

// CHECK-LABEL: func.func @group_norm(
func.func @group_norm(%a: tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>,
                      %b: tensor<?xf32, #relax.sym<["c"]>>,
                      %c: tensor<?xf32, #relax.sym<["c"]>>) {
  // CHECK: "relax.nn.group_norm"(
  // CHECK-SAME: {axes = array<i64: 2, 3>, channel_axis = 1 : i64, epsilon = 5.000000e-01 : f64, num_groups = 2 : i64}
  // CHECK-SAME: -> tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>
  %r = "relax.nn.group_norm"(%a, %b, %c)
      {axes = array<i64: 2, 3>, channel_axis = 1 : i64, epsilon = 5.000000e-01 : f64, num_groups = 2 : i64}
      : (tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>, tensor<?xf32, #relax.sym<["c"]>>, tensor<?xf32, #relax.sym<["c"]>>)
      -> tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>
  return
}

// CHECK-LABEL: func.func @instance_norm(
func.func @instance_norm(%a: tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>,
                         %b: tensor<?xf32, #relax.sym<["c"]>>,
                         %c: tensor<?xf32, #relax.sym<["c"]>>) {
  // CHECK: "relax.nn.instance_norm"(
  // CHECK-SAME: {axes = array<i64: 2, 3>, center = false, channel_axis = 1 : i64}
  // CHECK-SAME: -> tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>
  %r = "relax.nn.instance_norm"(%a, %b, %c) {axes = array<i64: 2, 3>, center = false, channel_axis = 1 : i64}
      : (tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>, tensor<?xf32, #relax.sym<["c"]>>, tensor<?xf32, #relax.sym<["c"]>>)
      -> tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>
  return
}

// CHECK-LABEL: func.func @rms_norm(
func.func @rms_norm(%a: tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>, %b: tensor<4xf32>) {
  // CHECK: "relax.nn.rms_norm"(
  // CHECK-SAME: -> tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>
  %r = "relax.nn.rms_norm"(%a, %b)
      : (tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>, tensor<4xf32>)
      -> tensor<?x?x?x4xf32, #relax.sym<["n", "c", "h", 4]>>
  return
}
