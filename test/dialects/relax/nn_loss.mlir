// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @cross_entropy_with_logits
func.func @cross_entropy_with_logits(%x: tensor<3x5xf32>, %labels: tensor<3x5xf32>) -> tensor<f32> {
  // CHECK: "relax.nn.cross_entropy_with_logits"
  // CHECK-SAME: -> tensor<f32>
  %0 = "relax.nn.cross_entropy_with_logits"(%x, %labels) : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @nll_loss
func.func @nll_loss(%x: tensor<?x5x7xf32, #relax.sym<["n", 5, 7]>>, %targets: tensor<?x7xi64, #relax.sym<["n", 7]>>,
                    %weights: tensor<5xf32>) {
  // CHECK: "relax.nn.nll_loss"
  // CHECK-SAME: -> tensor<f32>
  %0 = "relax.nn.nll_loss"(%x, %targets)
      : (tensor<?x5x7xf32, #relax.sym<["n", 5, 7]>>, tensor<?x7xi64, #relax.sym<["n", 7]>>) -> tensor<f32>
  // CHECK: "relax.nn.nll_loss"
  // CHECK-SAME: {ignore_index = 0 : i64, reduction = "none"}
  // CHECK-SAME: -> tensor<?x7xf32, #relax.sym<["n", 7]>>
  %1 = "relax.nn.nll_loss"(%x, %targets, %weights) {ignore_index = 0 : i64, reduction = "none"}
      : (tensor<?x5x7xf32, #relax.sym<["n", 5, 7]>>, tensor<?x7xi64, #relax.sym<["n", 7]>>, tensor<5xf32>)
      -> tensor<?x7xf32, #relax.sym<["n", 7]>>
  return
}
