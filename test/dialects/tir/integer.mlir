// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @scalars
func.func @scalars(%i: i32, %j: i32, %k: i32, %l: i32) {
  // CHECK: "tir.popcount"({{.*}}) : (i32) -> i32
  %popcount = "tir.popcount"(%i) : (i32) -> i32
  // CHECK: "tir.ctpop"({{.*}}) : (i32) -> i32
  %ctpop = "tir.ctpop"(%i) : (i32) -> i32
  // CHECK: "tir.clz"({{.*}}) : (i32) -> i32
  %clz = "tir.clz"(%i) : (i32) -> i32
  // CHECK: "tir.ctz"({{.*}}) : (i32) -> i32
  %ctz = "tir.ctz"(%i) : (i32) -> i32
  // CHECK: "tir.bitreverse"({{.*}}) : (i32) -> i32
  %bitreverse = "tir.bitreverse"(%i) : (i32) -> i32
  // CHECK: "tir.fshl"({{.*}}) : (i32, i32, i32) -> i32
  %fshl = "tir.fshl"(%i, %j, %k) : (i32, i32, i32) -> i32
  // CHECK: "tir.fshr"({{.*}}) : (i32, i32, i32) -> i32
  %fshr = "tir.fshr"(%i, %j, %k) : (i32, i32, i32) -> i32
  // CHECK: "tir.gcd"({{.*}}) : (i32, i32) -> i32
  %gcd = "tir.gcd"(%i, %j) : (i32, i32) -> i32
  // CHECK: "tir.lcm"({{.*}}) : (i32, i32) -> i32
  %lcm = "tir.lcm"(%i, %j) : (i32, i32) -> i32
  // CHECK: "tir.sadd_sat"({{.*}}) : (i32, i32) -> i32
  %sadd_sat = "tir.sadd_sat"(%i, %j) : (i32, i32) -> i32
  // CHECK: "tir.uadd_sat"({{.*}}) : (i32, i32) -> i32
  %uadd_sat = "tir.uadd_sat"(%i, %j) : (i32, i32) -> i32
  // CHECK: "tir.ssub_sat"({{.*}}) : (i32, i32) -> i32
  %ssub_sat = "tir.ssub_sat"(%i, %j) : (i32, i32) -> i32
  // CHECK: "tir.usub_sat"({{.*}}) : (i32, i32) -> i32
  %usub_sat = "tir.usub_sat"(%i, %j) : (i32, i32) -> i32
  // CHECK: "tir.q_multiply_shift"({{.*}}) {q = 31 : i64} : (i32, i32, i32) -> i32
  %q_multiply_shift = "tir.q_multiply_shift"(%i, %j, %k) {q = 31 : i64} : (i32, i32, i32) -> i32
  // CHECK: "tir.q_multiply_shift_per_axis"({{.*}}) {is_lshift_required = true, is_rshift_required = false, q = 31 : i64} : (i32, i32, i32, i32) -> i32
  %q_multiply_shift_per_axis = "tir.q_multiply_shift_per_axis"(%i, %j, %k, %l) {is_lshift_required = true, is_rshift_required = false, q = 31 : i64} : (i32, i32, i32, i32) -> i32
  return
}

// CHECK-LABEL: func.func @vectors
func.func @vectors(%i: vector<4xi32>, %j: vector<4xi32>, %k: vector<4xi32>, %l: vector<4xi32>) {
  // CHECK: "tir.popcount"({{.*}}) : (vector<4xi32>) -> vector<4xi32>
  %popcount = "tir.popcount"(%i) : (vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.ctpop"({{.*}}) : (vector<4xi32>) -> vector<4xi32>
  %ctpop = "tir.ctpop"(%i) : (vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.clz"({{.*}}) : (vector<4xi32>) -> vector<4xi32>
  %clz = "tir.clz"(%i) : (vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.ctz"({{.*}}) : (vector<4xi32>) -> vector<4xi32>
  %ctz = "tir.ctz"(%i) : (vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.bitreverse"({{.*}}) : (vector<4xi32>) -> vector<4xi32>
  %bitreverse = "tir.bitreverse"(%i) : (vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.fshl"({{.*}}) : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  %fshl = "tir.fshl"(%i, %j, %k) : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.fshr"({{.*}}) : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  %fshr = "tir.fshr"(%i, %j, %k) : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.gcd"({{.*}}) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  %gcd = "tir.gcd"(%i, %j) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.lcm"({{.*}}) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  %lcm = "tir.lcm"(%i, %j) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.sadd_sat"({{.*}}) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  %sadd_sat = "tir.sadd_sat"(%i, %j) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.uadd_sat"({{.*}}) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  %uadd_sat = "tir.uadd_sat"(%i, %j) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.ssub_sat"({{.*}}) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  %ssub_sat = "tir.ssub_sat"(%i, %j) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.usub_sat"({{.*}}) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  %usub_sat = "tir.usub_sat"(%i, %j) : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.q_multiply_shift"({{.*}}) {q = 31 : i64} : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  %q_multiply_shift = "tir.q_multiply_shift"(%i, %j, %k) {q = 31 : i64} : (vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  // CHECK: "tir.q_multiply_shift_per_axis"({{.*}}) {is_lshift_required = true, is_rshift_required = false, q = 31 : i64} : (vector<4xi32>, vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  %q_multiply_shift_per_axis = "tir.q_multiply_shift_per_axis"(%i, %j, %k, %l) {is_lshift_required = true, is_rshift_required = false, q = 31 : i64} : (vector<4xi32>, vector<4xi32>, vector<4xi32>, vector<4xi32>) -> vector<4xi32>
  return
}

// CHECK-LABEL: func.func @other_types
func.func @other_types(%a: i8, %b: ui64, %c: index, %d: vector<[16]xi8>) {
  // CHECK: "tir.popcount"({{.*}}) : (i8) -> i8
  %0 = "tir.popcount"(%a) : (i8) -> i8
  // CHECK: "tir.gcd"({{.*}}) : (ui64, ui64) -> ui64
  %1 = "tir.gcd"(%b, %b) : (ui64, ui64) -> ui64
  // CHECK: "tir.clz"({{.*}}) : (index) -> index
  %2 = "tir.clz"(%c) : (index) -> index
  // CHECK: "tir.sadd_sat"({{.*}}) : (vector<[16]xi8>, vector<[16]xi8>) -> vector<[16]xi8>
  %3 = "tir.sadd_sat"(%d, %d) : (vector<[16]xi8>, vector<[16]xi8>) -> vector<[16]xi8>
  return
}
