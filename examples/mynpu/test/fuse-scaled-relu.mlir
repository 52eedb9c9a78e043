// RUN: relax-opt %s --split-input-file --load-plugin=mynpu.fuse_scaled_relu --mynpu-fuse-scaled-relu | FileCheck %s

// CHECK-LABEL: func.func @fused
// CHECK-NEXT: "mynpu.scaled_relu"(%arg0) {scale = 5.000000e-01 : f64}
// CHECK-NEXT: return
func.func @fused(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = arith.constant dense<0.5> : tensor<f32>
  %0 = "relax.nn.relu"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "relax.multiply"(%0, %c) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// A negative factor stays: the unit cannot compute it.
// CHECK-LABEL: func.func @negative
// CHECK-NOT: mynpu.scaled_relu
// CHECK: relax.multiply
func.func @negative(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = arith.constant dense<-0.5> : tensor<f32>
  %0 = "relax.nn.relu"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "relax.multiply"(%0, %c) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}
