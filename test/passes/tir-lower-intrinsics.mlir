// RUN: relax-opt %s --tir-lower-intrinsics | FileCheck %s
// RUN: relax-opt %s --pass-pipeline='builtin.module(tir-lower-intrinsics{fast-math=true})' | FileCheck %s --check-prefix=FAST
// RUN: relax-opt %s --pass-pipeline='builtin.module(tir-lower-intrinsics{target=default})' --split-input-file --verify-diagnostics

// A C function is declared once, however often it is called.
// CHECK-DAG: func.func private @VTADepPop(i32) -> i32
// CHECK-DAG: func.func private @lgamma(f64) -> f64

// exp is arithmetic: no call, no math.exp, and n in 2**n is added to the exponent's bits.
// CHECK-LABEL: func.func @exp
// CHECK-NOT: call
// CHECK: arith.shli
// CHECK: arith.bitcast
// CHECK: return
// FAST-LABEL: func.func @exp
// FAST-COUNT-1: arith.shli
// FAST-NOT: arith.shli
// FAST: return
// expected-error @+3 {{tir-lower-intrinsics for default cannot convert 'tir.exp' op (f32)}}
// expected-note @+2 {{no pattern is registered for this operation}}
func.func @exp(%x: f32) -> f32 {
  %y = "tir.exp"(%x) : (f32) -> f32
  return %y : f32
}

// -----

// CHECK-LABEL: func.func @vector_of_rank_2
// CHECK: math.sqrt {{.*}} : vector<2x8xf32>
// CHECK: arith.divf {{.*}} : vector<2x8xf32>
func.func @vector_of_rank_2(%x: vector<2x8xf32>) -> vector<2x8xf32> {
  %y = "tir.rsqrt"(%x) : (vector<2x8xf32>) -> vector<2x8xf32>
  return %y : vector<2x8xf32>
}

// -----

// f16 goes through f32 and is rounded once.
// CHECK-LABEL: func.func @narrow
// CHECK: arith.extf {{.*}} : f16 to f32
// CHECK: math.sqrt
// CHECK: arith.divf
// CHECK-NEXT: arith.truncf {{.*}} : f32 to f16
// CHECK-NEXT: return
func.func @narrow(%x: f16) -> f16 {
  %y = "tir.rsqrt"(%x) : (f16) -> f16
  return %y : f16
}

// -----

// In a linalg body.
// CHECK-LABEL: func.func @body
// CHECK: linalg.generic
// CHECK: math.floor
// CHECK: linalg.yield
func.func @body(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = "tir.floor"(%a) : (f32) -> f32
    linalg.yield %c : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A rule may make loops.
// CHECK-LABEL: func.func @gcd
// CHECK: scf.while
// CHECK: arith.remui
func.func @gcd(%x: i32, %y: i32) -> i32 {
  %z = "tir.gcd"(%x, %y) : (i32, i32) -> i32
  return %z : i32
}

// -----

// CHECK-LABEL: func.func @calls
// CHECK: call @VTADepPop
// CHECK: call @VTADepPop
// CHECK: call @lgamma
// expected-error @+5 {{tir-lower-intrinsics for default cannot convert 'tir.lgamma' op (f64)}}
// expected-note @+4 {{no pattern is registered for this operation}}
func.func @calls(%x: i32, %y: f64) -> (i32, f64) {
  %a = "tir.call_extern"(%x) {func = "VTADepPop"} : (i32) -> i32
  %b = "tir.call_extern"(%a) {func = "VTADepPop"} : (i32) -> i32
  %c = "tir.lgamma"(%y) : (f64) -> f64
  return %b, %c : i32, f64
}

// -----

// arith has no unsigned types: casts stand where types change.
// CHECK-LABEL: func.func @unsigned
// CHECK: builtin.unrealized_conversion_cast {{.*}} : ui32 to i32
// CHECK: arith.divui
// CHECK: builtin.unrealized_conversion_cast {{.*}} : i32 to ui32
func.func @unsigned(%x: ui32, %y: ui32) -> ui32 {
  %z = "tir.floordiv"(%x, %y) : (ui32, ui32) -> ui32
  return %z : ui32
}

// -----

// CHECK-LABEL: func.func @prefetch
// CHECK: memref.prefetch %{{.*}}[%{{.*}}], write, locality<2>, data : memref<8xf32>
func.func @prefetch(%m: memref<8xf32>, %i: index) {
  "tir.prefetch"(%m, %i) {rw = "write", locality = 2 : i64} : (memref<8xf32>, index) -> ()
  return
}
