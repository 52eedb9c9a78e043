// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @scalars
func.func @scalars(%x: f32, %y: f32, %z: f32, %i: i32) {
  // CHECK: "tir.pow"({{.*}}) : (f32, f32) -> f32
  %pow = "tir.pow"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.atan2"({{.*}}) : (f32, f32) -> f32
  %atan2 = "tir.atan2"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.hypot"({{.*}}) : (f32, f32) -> f32
  %hypot = "tir.hypot"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.logaddexp"({{.*}}) : (f32, f32) -> f32
  %logaddexp = "tir.logaddexp"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.logaddexp2"({{.*}}) : (f32, f32) -> f32
  %logaddexp2 = "tir.logaddexp2"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.heaviside"({{.*}}) : (f32, f32) -> f32
  %heaviside = "tir.heaviside"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.fmod"({{.*}}) : (f32, f32) -> f32
  %fmod = "tir.fmod"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.remainder"({{.*}}) : (f32, f32) -> f32
  %remainder = "tir.remainder"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.remquo"({{.*}}) : (f32, f32) -> (f32, i32)
  %remquo:2 = "tir.remquo"(%x, %y) : (f32, f32) -> (f32, i32)
  // CHECK: "tir.fmin"({{.*}}) : (f32, f32) -> f32
  %fmin = "tir.fmin"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.fmax"({{.*}}) : (f32, f32) -> f32
  %fmax = "tir.fmax"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.fdim"({{.*}}) : (f32, f32) -> f32
  %fdim = "tir.fdim"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.copysign"({{.*}}) : (f32, f32) -> f32
  %copysign = "tir.copysign"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.nextafter"({{.*}}) : (f32, f32) -> f32
  %nextafter = "tir.nextafter"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.ldexp"({{.*}}) : (f32, i32) -> f32
  %ldexp = "tir.ldexp"(%x, %i) : (f32, i32) -> f32
  // CHECK: "tir.scalbn"({{.*}}) : (f32, i32) -> f32
  %scalbn = "tir.scalbn"(%x, %i) : (f32, i32) -> f32
  // CHECK: "tir.fma"({{.*}}) : (f32, f32, f32) -> f32
  %fma = "tir.fma"(%x, %y, %z) : (f32, f32, f32) -> f32
  return
}

// CHECK-LABEL: func.func @vectors
func.func @vectors(%x: vector<4xf32>, %y: vector<4xf32>, %z: vector<4xf32>, %i: vector<4xi32>) {
  // CHECK: "tir.pow"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %pow = "tir.pow"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.atan2"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %atan2 = "tir.atan2"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.hypot"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %hypot = "tir.hypot"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.logaddexp"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %logaddexp = "tir.logaddexp"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.logaddexp2"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %logaddexp2 = "tir.logaddexp2"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.heaviside"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %heaviside = "tir.heaviside"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.fmod"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %fmod = "tir.fmod"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.remainder"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %remainder = "tir.remainder"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.remquo"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> (vector<4xf32>, vector<4xi32>)
  %remquo:2 = "tir.remquo"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> (vector<4xf32>, vector<4xi32>)
  // CHECK: "tir.fmin"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %fmin = "tir.fmin"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.fmax"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %fmax = "tir.fmax"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.fdim"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %fdim = "tir.fdim"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.copysign"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %copysign = "tir.copysign"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.nextafter"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %nextafter = "tir.nextafter"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.ldexp"({{.*}}) : (vector<4xf32>, vector<4xi32>) -> vector<4xf32>
  %ldexp = "tir.ldexp"(%x, %i) : (vector<4xf32>, vector<4xi32>) -> vector<4xf32>
  // CHECK: "tir.scalbn"({{.*}}) : (vector<4xf32>, vector<4xi32>) -> vector<4xf32>
  %scalbn = "tir.scalbn"(%x, %i) : (vector<4xf32>, vector<4xi32>) -> vector<4xf32>
  // CHECK: "tir.fma"({{.*}}) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %fma = "tir.fma"(%x, %y, %z) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  return
}
