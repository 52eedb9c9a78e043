// Remaining intrinsics give one error with a diagnostic each: the operation, the rules tried, and why they declined.

// RUN: relax-opt %s --tir-lower-intrinsics --split-input-file --verify-diagnostics
// RUN: relax-opt %s --pass-pipeline='builtin.module(tir-lower-intrinsics{target=llvm{cpu=haswell}})' --split-input-file --verify-diagnostics
// RUN: not relax-opt %s --tir-lower-intrinsics=target=lvm 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: unknown target 'lvm'; did you mean 'llvm'? (known: c, cpu, cuda, default, gpu, llvm, opencl, reference, spirv, vulkan{{.*}})

func.func @two(%x: tf32, %mask: i32) -> (tf32, i32) {
  // expected-error @+3 {{tir-lower-intrinsics for llvm cannot convert 'tir.exp' op (tf32)}}
  // expected-note @+2 {{the rule is for f32, f64, not for tf32}}
  // expected-note @+1 {{pattern 'through f32' declined: only floats of at most 16 bits are widened}}
  %y = "tir.exp"(%x) : (tf32) -> tf32
  // expected-error @+2 {{tir-lower-intrinsics for llvm cannot convert 'tir.tvm_warp_activemask' op (no operands)}}
  // expected-note @+1 {{no pattern is registered for this operation}}
  %m = "tir.tvm_warp_activemask"() : () -> i32
  return %y, %m : tf32, i32
}

// -----

func.func private @VTADepPop(i64) -> i32

func.func @declared_otherwise(%x: i32) -> i32 {
  // expected-error @+1 {{C function 'VTADepPop' is called as (i32) -> i32, but 'VTADepPop' is (i64) -> i32 in this module}}
  %a = "tir.call_extern"(%x) {func = "VTADepPop"} : (i32) -> i32
  return %a : i32
}

// -----

func.func @a_buffer(%x: memref<4xf32>) {
  // Without a C type the call stays for passes that can pass buffers.
  "tir.call_extern"(%x) {func = "fill"} : (memref<4xf32>) -> ()
  return
}
