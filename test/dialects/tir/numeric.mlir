// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @scalars
func.func @scalars(%x: f32, %y: f32, %z: f32) {
  // CHECK: "tir.abs"({{.*}}) : (f32) -> f32
  %abs = "tir.abs"(%x) : (f32) -> f32
  // CHECK: "tir.sign"({{.*}}) : (f32) -> f32
  %sign = "tir.sign"(%x) : (f32) -> f32
  // CHECK: "tir.square"({{.*}}) : (f32) -> f32
  %square = "tir.square"(%x) : (f32) -> f32
  // CHECK: "tir.floordiv"({{.*}}) : (f32, f32) -> f32
  %floordiv = "tir.floordiv"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.floormod"({{.*}}) : (f32, f32) -> f32
  %floormod = "tir.floormod"(%x, %y) : (f32, f32) -> f32
  // CHECK: "tir.clip"({{.*}}) : (f32, f32, f32) -> f32
  %clip = "tir.clip"(%x, %y, %z) : (f32, f32, f32) -> f32
  return
}

// CHECK-LABEL: func.func @vectors
func.func @vectors(%x: vector<4xf32>, %y: vector<4xf32>, %z: vector<4xf32>) {
  // CHECK: "tir.abs"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %abs = "tir.abs"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.sign"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %sign = "tir.sign"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.square"({{.*}}) : (vector<4xf32>) -> vector<4xf32>
  %square = "tir.square"(%x) : (vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.floordiv"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %floordiv = "tir.floordiv"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.floormod"({{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %floormod = "tir.floormod"(%x, %y) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK: "tir.clip"({{.*}}) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  %clip = "tir.clip"(%x, %y, %z) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  return
}

// CHECK-LABEL: func.func @integers
func.func @integers(%i: i32, %u: vector<8xui8>) {
  // CHECK: "tir.abs"({{.*}}) : (i32) -> i32
  %0 = "tir.abs"(%i) : (i32) -> i32
  // CHECK: "tir.sign"({{.*}}) : (i32) -> i32
  %1 = "tir.sign"(%i) : (i32) -> i32
  // CHECK: "tir.square"({{.*}}) : (vector<8xui8>) -> vector<8xui8>
  %2 = "tir.square"(%u) : (vector<8xui8>) -> vector<8xui8>
  // CHECK: "tir.floordiv"({{.*}}) : (i32, i32) -> i32
  %3 = "tir.floordiv"(%i, %i) : (i32, i32) -> i32
  // CHECK: "tir.floormod"({{.*}}) : (vector<8xui8>, vector<8xui8>) -> vector<8xui8>
  %4 = "tir.floormod"(%u, %u) : (vector<8xui8>, vector<8xui8>) -> vector<8xui8>
  // CHECK: "tir.clip"({{.*}}) : (i32, i32, i32) -> i32
  %5 = "tir.clip"(%i, %i, %i) : (i32, i32, i32) -> i32
  return
}
