// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @relu(
func.func @relu(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  // CHECK: "relax.nn.relu"(
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %r = "relax.nn.relu"(%a) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @gelu(
func.func @gelu(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  // CHECK: "relax.nn.gelu"(
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %r = "relax.nn.gelu"(%a) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @gelu_tanh(
func.func @gelu_tanh(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  // CHECK: "relax.nn.gelu_tanh"(
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %r = "relax.nn.gelu_tanh"(%a)
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @selu(
func.func @selu(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  // CHECK: "relax.nn.selu"(
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %r = "relax.nn.selu"(%a) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @silu(
func.func @silu(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  // CHECK: "relax.nn.silu"(
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %r = "relax.nn.silu"(%a) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @relu_2(
func.func @relu_2(%a: tensor<*xi8>) {
  // CHECK: "relax.nn.relu"(
  // CHECK-SAME: -> tensor<*xi8>
  %r = "relax.nn.relu"(%a) : (tensor<*xi8>) -> tensor<*xi8>
  return
}

// CHECK-LABEL: func.func @leakyrelu(
func.func @leakyrelu(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  // CHECK: "relax.nn.leakyrelu"(
  // CHECK-SAME: {alpha = 5.000000e-01 : f64}
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %r = "relax.nn.leakyrelu"(%a) {alpha = 5.000000e-01 : f64}
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @prelu(
func.func @prelu(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>, %b: tensor<4xf32>) {
  // CHECK: "relax.nn.prelu"(
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %r = "relax.nn.prelu"(%a, %b)
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @prelu_2(
func.func @prelu_2(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>, %b: tensor<1xf32>) {
  // CHECK: "relax.nn.prelu"(
  // CHECK-SAME: {axis = 0 : i64}
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %r = "relax.nn.prelu"(%a, %b) {axis = 0 : i64}
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<1xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @softplus(
func.func @softplus(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  // CHECK: "relax.nn.softplus"(
  // CHECK-SAME: {beta = 2.000000e+00 : f64, threshold = 8.000000e+00 : f64}
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %r = "relax.nn.softplus"(%a) {beta = 2.000000e+00 : f64, threshold = 8.000000e+00 : f64}
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @softmax(
func.func @softmax(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  // CHECK: "relax.nn.softmax"(
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %r = "relax.nn.softmax"(%a)
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @log_softmax(
func.func @log_softmax(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  // CHECK: "relax.nn.log_softmax"(
  // CHECK-SAME: {axis = 0 : i64}
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %r = "relax.nn.log_softmax"(%a) {axis = 0 : i64}
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @dropout(
func.func @dropout(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  // CHECK: "relax.nn.dropout"(
  // CHECK-SAME: {rate = 2.500000e-01 : f64}
  // CHECK-SAME: -> (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?x4xf32, #relax.sym<["n", 4]>>)
  %r:2 = "relax.nn.dropout"(%a) {rate = 2.500000e-01 : f64}
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>)
      -> (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?x4xf32, #relax.sym<["n", 4]>>)
  return
}

// CHECK-LABEL: func.func @dropout_2(
func.func @dropout_2(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  // CHECK: "relax.nn.dropout"(
  // CHECK-SAME: -> (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?x4xf32, #relax.sym<["n", 4]>>)
  %r:2 = "relax.nn.dropout"(%a)
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>)
      -> (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?x4xf32, #relax.sym<["n", 4]>>)
  return
}
