// RUN: relax-opt %s --spirv-hide-zeros | FileCheck %s

// Arithmetic with a constant 0.0, or -0.0, has a number that the driver does not know; other constants stay.
gpu.module @kernels {
// CHECK-LABEL: gpu.func @f
gpu.func @f(%x: f32, %v: vector<4xf64>, %h: f16) kernel {
  %zero = arith.constant 0.0 : f32
  %minus = arith.constant -0.0 : f32
  %one = arith.constant 1.0 : f32
  %zeros = arith.constant dense<0.0> : vector<4xf64>
  %mixed = arith.constant dense<[0.0, 1.0, 0.0, 0.0]> : vector<4xf64>
  %half = arith.constant 0.0 : f16
  // CHECK: %[[Z:.*]] = gpu.block_id z
  // CHECK: %[[BITS:.*]] = arith.index_cast{{.*}} %[[Z]] : index to i32
  // CHECK: %[[ZERO:.*]] = arith.bitcast %[[BITS]] : i32 to f32
  // CHECK: arith.divf %{{.*}}, %[[ZERO]] : f32
  %0 = arith.divf %x, %zero : f32
  // CHECK: %[[OTHER:.*]] = arith.bitcast
  // CHECK: %[[MINUS:.*]] = arith.negf %[[OTHER]]
  // CHECK: arith.subf %{{.*}}, %[[MINUS]] : f32
  %1 = arith.subf %0, %minus : f32
  // CHECK-NOT: gpu.block_id
  // CHECK: arith.mulf
  %2 = arith.mulf %1, %one : f32
  // CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : f32 to f64
  // CHECK: %[[ALL:.*]] = vector.broadcast %[[WIDE]] : f64 to vector<4xf64>
  // CHECK: arith.mulf %[[ALL]], %{{.*}} : vector<4xf64>
  %3 = arith.mulf %zeros, %v : vector<4xf64>
  // CHECK-NOT: gpu.block_id
  // CHECK: arith.mulf
  %4 = arith.mulf %mixed, %3 : vector<4xf64>
  // CHECK: arith.truncf %{{.*}} : f32 to f16
  // CHECK: arith.addf
  %5 = arith.addf %h, %half : f16
  // Operations that are no arithmetic may see the zero.
  // CHECK-NOT: gpu.block_id
  // CHECK: arith.maximumf
  %6 = arith.maximumf %2, %zero : f32
  gpu.return
}
}
