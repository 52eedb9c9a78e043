// RUN: relax-opt %s --gpu-merge-kernels | FileCheck %s

// Equal kernels are one; the others differ in an operation, in the number of threads. A function with an
// assertion in a kernel keeps its kernels.
// CHECK: module attributes {gpu.container_module, relax.kernels = ["first", "other", "wide", "fails", "elsewhere", "behind"]}
module attributes {gpu.container_module, relax.kernels = ["first", "again", "other", "wide", "fails", "elsewhere", "behind", "thrice", "same"]} {
  gpu.module @kernels {
    // CHECK: gpu.func @first(
    gpu.func @first(%x: !llvm.ptr, %a: f32) kernel attributes {gpu.form = "block", known_block_size = array<i32: 1, 1, 1>} {
      %0 = arith.addf %a, %a : f32
      llvm.store %0, %x : f32, !llvm.ptr
      gpu.return
    }
    // CHECK-NOT: @again
    gpu.func @again(%y: !llvm.ptr, %b: f32) kernel attributes {gpu.form = "block", known_block_size = array<i32: 1, 1, 1>} {
      %sum = arith.addf %b, %b : f32
      llvm.store %sum, %y : f32, !llvm.ptr
      gpu.return
    }
    // CHECK: gpu.func @other(
    gpu.func @other(%x: !llvm.ptr, %a: f32) kernel attributes {gpu.form = "block", known_block_size = array<i32: 1, 1, 1>} {
      %0 = arith.mulf %a, %a : f32
      llvm.store %0, %x : f32, !llvm.ptr
      gpu.return
    }
    // CHECK: gpu.func @wide(
    gpu.func @wide(%x: !llvm.ptr, %a: f32) kernel attributes {gpu.form = "block", known_block_size = array<i32: 2, 1, 1>} {
      %0 = arith.addf %a, %a : f32
      llvm.store %0, %x : f32, !llvm.ptr
      gpu.return
    }
    // CHECK: gpu.func @fails(
    gpu.func @fails(%a: i1) kernel attributes {gpu.form = "block", known_block_size = array<i32: 1, 1, 1>} {
      "tir.assert"(%a) {kind = "IndexError", message = "there is no such row"} : (i1) -> ()
      gpu.return
    }
    // CHECK: gpu.func @elsewhere(
    gpu.func @elsewhere(%a: i1) kernel attributes {gpu.form = "block", known_block_size = array<i32: 1, 1, 1>} {
      "tir.assert"(%a) {kind = "IndexError", message = "there is no such row"} : (i1) -> ()
      gpu.return
    }
    // CHECK: gpu.func @behind(
    gpu.func @behind(%x: !llvm.ptr, %a: f32) kernel attributes {gpu.form = "block", known_block_size = array<i32: 1, 1, 1>} {
      %0 = arith.mulf %a, %a : f32
      llvm.store %0, %x : f32, !llvm.ptr
      gpu.return
    }
    // CHECK-NOT: gpu.func
    gpu.func @thrice(%x: !llvm.ptr, %a: f32) kernel attributes {gpu.form = "block", known_block_size = array<i32: 1, 1, 1>} {
      %0 = arith.addf %a, %a : f32
      llvm.store %0, %x : f32, !llvm.ptr
      gpu.return
    }
    gpu.func @same(%x: !llvm.ptr, %a: f32) kernel attributes {gpu.form = "block", known_block_size = array<i32: 1, 1, 1>} {
      %0 = arith.mulf %a, %a : f32
      llvm.store %0, %x : f32, !llvm.ptr
      gpu.return
    }
  }
  // CHECK: func.func @main
  func.func @main(%x: !llvm.ptr, %a: f32) {
    %c1 = arith.constant 1 : index
    // CHECK: gpu.launch_func @kernels::@first
    gpu.launch_func @kernels::@first blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : !llvm.ptr, %a : f32)
    // CHECK: gpu.launch_func @kernels::@first
    gpu.launch_func @kernels::@again blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : !llvm.ptr, %a : f32)
    // CHECK: gpu.launch_func @kernels::@other
    gpu.launch_func @kernels::@other blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : !llvm.ptr, %a : f32)
    // CHECK: gpu.launch_func @kernels::@first
    gpu.launch_func @kernels::@thrice blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : !llvm.ptr, %a : f32)
    // CHECK: gpu.launch_func @kernels::@other
    gpu.launch_func @kernels::@same blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : !llvm.ptr, %a : f32)
    // CHECK: gpu.launch_func @kernels::@wide
    gpu.launch_func @kernels::@wide blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : !llvm.ptr, %a : f32)
    return
  }
  // CHECK: func.func @asserting
  func.func @asserting(%x: !llvm.ptr, %a: f32, %fine: i1) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@fails blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%fine : i1)
    // CHECK: gpu.launch_func @kernels::@elsewhere
    gpu.launch_func @kernels::@elsewhere blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%fine : i1)
    // CHECK: gpu.launch_func @kernels::@behind
    gpu.launch_func @kernels::@behind blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : !llvm.ptr, %a : f32)
    return
  }
}
