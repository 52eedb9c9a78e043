// RUN: relax-opt %s --spirv-lift-branches | FileCheck %s

// A thread with a failed assertion reports and ends: one entry, one exit. Values without a definition there are 0.
// CHECK-LABEL: gpu.func @asserts
// CHECK: scf.if %{{.*}} {
// CHECK: memref.store
// CHECK: } else {
// CHECK: llvm.store
// CHECK: }
// CHECK-NOT: {{ cf[.]}}
// CHECK: gpu.return
// CHECK-NOT: func.func
gpu.module @kernels {
  gpu.func @asserts(%flag: !llvm.ptr, %x: memref<8xf32>, %i: index) kernel {
    %c8 = arith.constant 8 : index
    %one = arith.constant 1 : i32
    %y = arith.constant 1.0 : f32
    %ok = arith.cmpi slt, %i, %c8 : index
    cf.cond_br %ok, ^rest, ^failed
  ^rest:
    memref.store %y, %x[%i] : memref<8xf32>
    cf.br ^end
  ^failed:
    llvm.store %one, %flag : i32, !llvm.ptr
    cf.br ^end
  ^end:
    gpu.return
  }

  // Out of a loop: the loop and the code after it end at a failed assertion.
  // CHECK-LABEL: gpu.func @in_a_loop
  // CHECK: scf.while
  // CHECK-NOT: ub.poison
  // CHECK-NOT: scf.index_switch
  // CHECK-NOT: {{ cf[.]}}
  // CHECK: gpu.return
  gpu.func @in_a_loop(%flag: !llvm.ptr, %x: memref<8xindex>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %one = arith.constant 1 : i32
    cf.br ^head(%c0 : index)
  ^head(%i: index):
    %more = arith.cmpi slt, %i, %n : index
    cf.cond_br %more, ^body, ^behind
  ^body:
    %ok = arith.cmpi slt, %i, %c8 : index
    cf.cond_br %ok, ^rest, ^failed
  ^rest:
    memref.store %i, %x[%i] : memref<8xindex>
    %next = arith.addi %i, %c1 : index
    cf.br ^head(%next : index)
  ^failed:
    llvm.store %one, %flag : i32, !llvm.ptr
    gpu.return
  ^behind:
    memref.store %n, %x[%c0] : memref<8xindex>
    gpu.return
  }

  // Functions without branches stay unchanged.
  // CHECK-LABEL: gpu.func @straight
  // CHECK-NEXT: gpu.return
  gpu.func @straight() kernel {
    gpu.return
  }
}
