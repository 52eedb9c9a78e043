// RUN: relax-opt %s --spirv-emulate-fma | FileCheck %s

gpu.module @kernels {
  // The product of two f32 is exact in f64.
  // CHECK-LABEL: gpu.func @single
  // CHECK-COUNT-3: arith.extf %{{.*}} : f32 to f64
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : f64
  // CHECK: arith.addf %{{.*}}, %{{.*}} : f64
  // CHECK: arith.truncf %{{.*}} : f64 to f32
  // CHECK-NOT: math.fma
  gpu.func @single(%x: f32, %y: f32, %z: f32) -> f32 {
    %0 = math.fma %x, %y, %z : f32
    gpu.return %0 : f32
  }

  // In f64 the result is the sum of two numbers; where that is NaN, it is the device's result.
  // CHECK-LABEL: gpu.func @double
  // CHECK: %[[P:.*]] = arith.mulf %arg0, %arg1 : f64
  // CHECK: %[[T:.*]] = arith.addf %[[P]], %arg2 : f64
  // CHECK: %[[IS:.*]] = arith.cmpf oeq, %[[E:.*]], %[[E]] : f64
  // CHECK: arith.select %[[IS]], %[[E]], %[[T]] : f64
  // CHECK-NOT: math.fma
  gpu.func @double(%x: f64, %y: f64, %z: f64) -> f64 {
    %0 = math.fma %x, %y, %z : f64
    gpu.return %0 : f64
  }

  // CHECK-LABEL: gpu.func @vectors
  // CHECK-COUNT-3: arith.extf %{{.*}} : vector<4xf32> to vector<4xf64>
  gpu.func @vectors(%x: vector<4xf32>) -> vector<4xf32> {
    %0 = math.fma %x, %x, %x : vector<4xf32>
    gpu.return %0 : vector<4xf32>
  }
}

// The host's code stays.
// CHECK-LABEL: func.func @host
// CHECK: math.fma
func.func @host(%x: f32) -> f32 {
  %0 = math.fma %x, %x, %x : f32
  return %0 : f32
}
