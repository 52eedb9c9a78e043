// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --tir-check-numerics --split-input-file --verify-diagnostics
// RUN: not relax-opt %s --tir-check-numerics='orders=true contraction=false' --split-input-file 2>&1 | FileCheck %s
// RUN: not relax-opt %s --check-numerics --canonicalize --split-input-file 2>&1 | FileCheck %s --check-prefix=EACH
// Code with floating-point results that depend on the machine. All operations are reported.

// Contraction is allowed before llvm-fuse-multiply-add. Orders are checked after llvm-order-reductions.
// CHECK: vector.reduction: the order of its sums or products depends on the length of the vectors
// CHECK-NOT: the flag contract
// CHECK: linalg.generic: a reduction of floats does not state tir.order

func.func @flags(%x: f32, %y: f32) -> f32 {
  // expected-error @+1 {{arith.mulf: the flag contract allows fused multiply-adds}}
  %0 = arith.mulf %x, %y fastmath<contract> : f32
  // expected-error @+1 {{arith.addf: the flag fast allows any change of the computation}}
  %1 = arith.addf %0, %y fastmath<fast> : f32
  // expected-error @+2 {{arith.divf: the flag reassoc allows another order of sums}}
  // expected-error @+1 {{arith.divf: the flag arcp allows multiplication by reciprocals}}
  %2 = arith.divf %1, %y fastmath<reassoc,arcp> : f32
  %3 = arith.maximumf %2, %x fastmath<nnan,nsz> : f32
  return %3 : f32
}

// -----

func.func @vectors(%x: vector<8xf32>, %i: vector<8xi32>) -> (f32, f32, i32) {
  // expected-error @+1 {{vector.reduction: the order of its sums or products depends on the length of the vectors}}
  %0 = vector.reduction <add>, %x : vector<8xf32> into f32
  %1 = vector.reduction <maximumf>, %x fastmath<reassoc> : vector<8xf32> into f32
  %2 = vector.reduction <add>, %i : vector<8xi32> into i32
  return %0, %1, %2 : f32, f32, i32
}

// -----

func.func private @lgamma(f64) -> f64
func.func private @sqrt_of_mine(f64) -> f64

func.func @calls(%x: f64, %m: memref<4xf64>, %i: index) -> f64 {
  // expected-error @+1 {{func.call: it calls the C library's lgamma}}
  %0 = func.call @lgamma(%x) : (f64) -> f64
  %1 = func.call @sqrt_of_mine(%0) : (f64) -> f64
  // expected-error @+1 {{math.exp: it calls the C library's exp}}
  %2 = math.exp %1 : f64
  %3 = math.sqrt %2 : f64
  %4 = math.fma %3, %3, %x : f64
  // expected-error @+1 {{memref.atomic_rmw: atomic additions of floats follow the order of the threads}}
  %5 = memref.atomic_rmw addf %4, %m[%i] : (f64, memref<4xf64>) -> f64
  %6 = memref.atomic_rmw maximumf %4, %m[%i] : (f64, memref<4xf64>) -> f64
  return %5 : f64
}

// -----

#rows = affine_map<(d0, d1) -> (d0, d1)>
#sums = affine_map<(d0, d1) -> (d0)>
module attributes {tir.numerics = ["same"]} {
  func.func private @sums(%x: tensor<4x8xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func} {
    %0 = linalg.generic {indexing_maps = [#rows, #sums], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<4x8xf32>) outs(%y : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %1 = arith.addf %b, %a : f32
      linalg.yield %1 : f32
    } -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// --check-numerics checks after each pass, in modules that llvm-order-reductions has passed.
// EACH: error: arith.addf: the flag reassoc allows another order of sums
// EACH: note: --check-numerics: after pass canonicalize
module attributes {tir.numerics = ["same"]} {
  func.func @reassociated(%x: f32, %y: f32) -> f32 {
    // expected-error @+1 {{arith.addf: the flag reassoc allows another order of sums}}
    %0 = arith.addf %x, %y fastmath<reassoc> : f32
    return %0 : f32
  }
}
