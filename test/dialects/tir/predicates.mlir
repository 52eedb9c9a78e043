// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @scalars
func.func @scalars(%x: f32) {
  // CHECK: "tir.isfinite"({{.*}}) : (f32) -> i1
  %isfinite = "tir.isfinite"(%x) : (f32) -> i1
  // CHECK: "tir.isinf"({{.*}}) : (f32) -> i1
  %isinf = "tir.isinf"(%x) : (f32) -> i1
  // CHECK: "tir.isposinf"({{.*}}) : (f32) -> i1
  %isposinf = "tir.isposinf"(%x) : (f32) -> i1
  // CHECK: "tir.isneginf"({{.*}}) : (f32) -> i1
  %isneginf = "tir.isneginf"(%x) : (f32) -> i1
  // CHECK: "tir.isnan"({{.*}}) : (f32) -> i1
  %isnan = "tir.isnan"(%x) : (f32) -> i1
  // CHECK: "tir.isnormal"({{.*}}) : (f32) -> i1
  %isnormal = "tir.isnormal"(%x) : (f32) -> i1
  // CHECK: "tir.signbit"({{.*}}) : (f32) -> i1
  %signbit = "tir.signbit"(%x) : (f32) -> i1
  return
}

// CHECK-LABEL: func.func @vectors
func.func @vectors(%x: vector<4xf32>) {
  // CHECK: "tir.isfinite"({{.*}}) : (vector<4xf32>) -> vector<4xi1>
  %isfinite = "tir.isfinite"(%x) : (vector<4xf32>) -> vector<4xi1>
  // CHECK: "tir.isinf"({{.*}}) : (vector<4xf32>) -> vector<4xi1>
  %isinf = "tir.isinf"(%x) : (vector<4xf32>) -> vector<4xi1>
  // CHECK: "tir.isposinf"({{.*}}) : (vector<4xf32>) -> vector<4xi1>
  %isposinf = "tir.isposinf"(%x) : (vector<4xf32>) -> vector<4xi1>
  // CHECK: "tir.isneginf"({{.*}}) : (vector<4xf32>) -> vector<4xi1>
  %isneginf = "tir.isneginf"(%x) : (vector<4xf32>) -> vector<4xi1>
  // CHECK: "tir.isnan"({{.*}}) : (vector<4xf32>) -> vector<4xi1>
  %isnan = "tir.isnan"(%x) : (vector<4xf32>) -> vector<4xi1>
  // CHECK: "tir.isnormal"({{.*}}) : (vector<4xf32>) -> vector<4xi1>
  %isnormal = "tir.isnormal"(%x) : (vector<4xf32>) -> vector<4xi1>
  // CHECK: "tir.signbit"({{.*}}) : (vector<4xf32>) -> vector<4xi1>
  %signbit = "tir.signbit"(%x) : (vector<4xf32>) -> vector<4xi1>
  return
}
