// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @shuffles
func.func @shuffles(%value: f32, %pair: vector<2xf16>, %lane: i32) {
  // CHECK: "tir.tvm_warp_activemask"() : () -> i32
  %mask = "tir.tvm_warp_activemask"() : () -> i32
  // CHECK: "tir.tvm_warp_activemask"() {dtype = i64} : () -> i64
  %wide = "tir.tvm_warp_activemask"() {dtype = i64} : () -> i64
  // CHECK: "tir.tvm_warp_shuffle"({{.*}}) : (i32, f32, i32) -> f32
  %0 = "tir.tvm_warp_shuffle"(%mask, %value, %lane) : (i32, f32, i32) -> f32
  // CHECK: "tir.tvm_warp_shuffle_up"({{.*}}) {width = 8 : i64} : (i32, vector<2xf16>, i32) -> vector<2xf16>
  %1 = "tir.tvm_warp_shuffle_up"(%mask, %pair, %lane) {width = 8} : (i32, vector<2xf16>, i32) -> vector<2xf16>
  // CHECK: "tir.tvm_warp_shuffle_down"({{.*}}) {warp_size = 64 : i64, width = 64 : i64} : (i64, f32, i32) -> f32
  %2 = "tir.tvm_warp_shuffle_down"(%wide, %value, %lane) {width = 64, warp_size = 64} : (i64, f32, i32) -> f32
  // CHECK: "tir.tvm_warp_shuffle_xor"({{.*}}) : (i32, i32, i32) -> i32
  %3 = "tir.tvm_warp_shuffle_xor"(%mask, %lane, %lane) : (i32, i32, i32) -> i32
  return
}
