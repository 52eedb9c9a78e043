// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @one_operand
func.func @one_operand(%f: tensor<?x4xf32, #relax.sym<["n", 4]>>, %i: tensor<?x4xi32, #relax.sym<["n", 4]>>, %b: tensor<?x4xi1, #relax.sym<["n", 4]>>,
                       %g: tensor<4xf32>, %j: tensor<4xi32>, %c: tensor<4xi1>) {
  // CHECK: "relax.acos"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %0 = "relax.acos"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.acosh"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %1 = "relax.acosh"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.asin"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %2 = "relax.asin"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.asinh"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %3 = "relax.asinh"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.atan"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %4 = "relax.atan"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.atanh"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %5 = "relax.atanh"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.cos"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %6 = "relax.cos"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.cosh"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %7 = "relax.cosh"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.sin"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %8 = "relax.sin"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.sinh"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %9 = "relax.sinh"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.tan"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %10 = "relax.tan"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.tanh"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %11 = "relax.tanh"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.exp"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %12 = "relax.exp"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.log"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %13 = "relax.log"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.erf"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %14 = "relax.erf"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.sigmoid"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %15 = "relax.sigmoid"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.sqrt"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %16 = "relax.sqrt"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.rsqrt"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %17 = "relax.rsqrt"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.abs"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %18 = "relax.abs"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.negative"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %19 = "relax.negative"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.sign"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %20 = "relax.sign"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.square"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %21 = "relax.square"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.ceil"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %22 = "relax.ceil"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.floor"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %23 = "relax.floor"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.round"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %24 = "relax.round"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.trunc"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %25 = "relax.trunc"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.isfinite"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %26 = "relax.isfinite"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  // CHECK: "relax.isinf"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %27 = "relax.isinf"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  // CHECK: "relax.isnan"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %28 = "relax.isnan"(%f) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  // CHECK: "relax.bitwise_not"
  // CHECK-SAME: -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  %29 = "relax.bitwise_not"(%i) : (tensor<?x4xi32, #relax.sym<["n", 4]>>) -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  // CHECK: "relax.logical_not"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %30 = "relax.logical_not"(%b) : (tensor<?x4xi1, #relax.sym<["n", 4]>>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @two_operands
func.func @two_operands(%f: tensor<?x4xf32, #relax.sym<["n", 4]>>, %i: tensor<?x4xi32, #relax.sym<["n", 4]>>, %b: tensor<?x4xi1, #relax.sym<["n", 4]>>,
                        %g: tensor<4xf32>, %j: tensor<4xi32>, %c: tensor<4xi1>) {
  // CHECK: "relax.add"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %0 = "relax.add"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.subtract"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %1 = "relax.subtract"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.multiply"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %2 = "relax.multiply"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.divide"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %3 = "relax.divide"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.floor_divide"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %4 = "relax.floor_divide"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.mod"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %5 = "relax.mod"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.floor_mod"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %6 = "relax.floor_mod"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.power"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %7 = "relax.power"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.maximum"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %8 = "relax.maximum"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.minimum"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %9 = "relax.minimum"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.atan2"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %10 = "relax.atan2"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.log_add_exp"
  // CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %11 = "relax.log_add_exp"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  // CHECK: "relax.equal"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %12 = "relax.equal"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  // CHECK: "relax.not_equal"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %13 = "relax.not_equal"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  // CHECK: "relax.less"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %14 = "relax.less"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  // CHECK: "relax.less_equal"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %15 = "relax.less_equal"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  // CHECK: "relax.greater"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %16 = "relax.greater"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  // CHECK: "relax.greater_equal"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %17 = "relax.greater_equal"(%f, %g) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4xf32>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  // CHECK: "relax.logical_and"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %18 = "relax.logical_and"(%b, %c) : (tensor<?x4xi1, #relax.sym<["n", 4]>>, tensor<4xi1>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  // CHECK: "relax.logical_or"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %19 = "relax.logical_or"(%b, %c) : (tensor<?x4xi1, #relax.sym<["n", 4]>>, tensor<4xi1>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  // CHECK: "relax.logical_xor"
  // CHECK-SAME: -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  %20 = "relax.logical_xor"(%b, %c) : (tensor<?x4xi1, #relax.sym<["n", 4]>>, tensor<4xi1>) -> tensor<?x4xi1, #relax.sym<["n", 4]>>
  // CHECK: "relax.bitwise_and"
  // CHECK-SAME: -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  %21 = "relax.bitwise_and"(%i, %j) : (tensor<?x4xi32, #relax.sym<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  // CHECK: "relax.bitwise_or"
  // CHECK-SAME: -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  %22 = "relax.bitwise_or"(%i, %j) : (tensor<?x4xi32, #relax.sym<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  // CHECK: "relax.bitwise_xor"
  // CHECK-SAME: -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  %23 = "relax.bitwise_xor"(%i, %j) : (tensor<?x4xi32, #relax.sym<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  // CHECK: "relax.left_shift"
  // CHECK-SAME: -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  %24 = "relax.left_shift"(%i, %j) : (tensor<?x4xi32, #relax.sym<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  // CHECK: "relax.right_shift"
  // CHECK-SAME: -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  %25 = "relax.right_shift"(%i, %j) : (tensor<?x4xi32, #relax.sym<["n", 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #relax.sym<["n", 4]>>
  return
}

// CHECK-LABEL: func.func @three_operands
func.func @three_operands(%x: tensor<?x4xf32>, %y: tensor<2x4xf32>, %z: tensor<*xf32>) -> tensor<2x4xf32> {
  // CHECK: "relax.ewise_fma"
  // CHECK-SAME: -> tensor<2x4xf32>
  %0 = "relax.ewise_fma"(%x, %y, %z) : (tensor<?x4xf32>, tensor<2x4xf32>, tensor<*xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// A result may say more than is inferred, and less.
// CHECK-LABEL: func.func @other_results
func.func @other_results(%x: tensor<?x4xf32>, %y: tensor<2x4xf32>) {
  // CHECK: "relax.exp"
  // CHECK-SAME: -> tensor<2x4xf32>
  %0 = "relax.exp"(%x) : (tensor<?x4xf32>) -> tensor<2x4xf32>
  // CHECK: "relax.exp"
  // CHECK-SAME: -> tensor<*xf32>
  %1 = "relax.exp"(%y) : (tensor<2x4xf32>) -> tensor<*xf32>
  return
}
