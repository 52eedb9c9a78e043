// RUN: relax-opt %s --host-flush-denormals | FileCheck %s
// RUN: relax-opt %s --host-flush-denormals='architecture=aarch64' | FileCheck %s --check-prefix=ARM
// RUN: not relax-opt %s --host-flush-denormals='architecture=riscv64' 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: architecture=riscv64: expected one of x86_64, aarch64

// An entry sets bits 6 and 15 of MXCSR, or bit 24 of FPCR, and restores the register at each return.
// CHECK-LABEL: func.func @__tvm_ffi_main(
// CHECK: %[[CHANGED:.*]] = llvm.alloca %{{.*}} x i8
// CHECK: %[[KEPT:.*]] = llvm.alloca %{{.*}} x i8
// CHECK: llvm.call_intrinsic "llvm.x86.sse.stmxcsr"(%[[KEPT]])
// CHECK: %[[BEFORE:.*]] = llvm.load %[[KEPT]] : !llvm.ptr -> i32
// CHECK: %[[BITS:.*]] = arith.constant 32832 : i32
// CHECK: %[[MODE:.*]] = arith.ori %[[BEFORE]], %[[BITS]] : i32
// CHECK: llvm.store %[[MODE]], %[[CHANGED]] : i32, !llvm.ptr
// CHECK: llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"(%[[CHANGED]])
// CHECK: cf.cond_br
// CHECK: llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"(%[[KEPT]])
// CHECK-NEXT: return %{{.*}} : i32
// CHECK: llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"(%[[KEPT]])
// CHECK-NEXT: return %{{.*}} : i32
// ARM-LABEL: func.func @__tvm_ffi_main(
// ARM: %[[BEFORE:.*]] = llvm.call_intrinsic "llvm.aarch64.get.fpcr"() : () -> i64
// ARM: %[[BITS:.*]] = arith.constant 16777216 : i64
// ARM: %[[MODE:.*]] = arith.ori %[[BEFORE]], %[[BITS]] : i64
// ARM: llvm.call_intrinsic "llvm.aarch64.set.fpcr"(%[[MODE]]) : (i64) -> ()
// ARM: cf.cond_br
// ARM: llvm.call_intrinsic "llvm.aarch64.set.fpcr"(%[[BEFORE]]) : (i64) -> ()
// ARM-NEXT: return %{{.*}} : i32
// ARM: llvm.call_intrinsic "llvm.aarch64.set.fpcr"(%[[BEFORE]]) : (i64) -> ()
// ARM-NEXT: return %{{.*}} : i32
func.func @__tvm_ffi_main(%fails: i1) -> i32 {
  %ok = arith.constant 0 : i32
  %error = arith.constant -1 : i32
  cf.cond_br %fails, ^fail, ^succeed
^succeed:
  return %ok : i32
^fail:
  return %error : i32
}

// A function that the thread pool calls does the same.
// CHECK-LABEL: func.func private @body.run(
// CHECK: llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"
// CHECK: call @body()
// CHECK: llvm.call_intrinsic "llvm.x86.sse.ldmxcsr"
// CHECK-NEXT: return
func.func private @body.run(%kept: !llvm.ptr, %first: i64, %last: i64) -> i32 {
  %ok = arith.constant 0 : i32
  call @body() : () -> ()
  return %ok : i32
}

// Other functions run in the mode of their callers.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: call_intrinsic
// CHECK-LABEL: func.func private @graph(
// CHECK-NOT: call_intrinsic
func.func private @body() {
  return
}
func.func private @graph() {
  %run = constant @body.run : (!llvm.ptr, i64, i64) -> i32
  return
}
