// RUN: relax-opt %s --host-check-memory | FileCheck %s

// Memory of unknown size is looked at behind the allocation: whether it is there, and whether its bytes are a number.
// CHECK-LABEL: func.func @unknown(
// CHECK: %[[T:.*]] = memref.alloc(%arg0, %arg1)
// CHECK-NEXT: %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[T]]
// CHECK: %[[THERE:.*]] = arith.cmpi ne, %[[ADDRESS]]
// CHECK: %[[ROWS:.*]] = arith.mulf %{{.*}}, %{{.*}} : f64
// CHECK: %[[BYTES:.*]] = arith.mulf %[[ROWS]], %{{.*}} : f64
// CHECK: %[[NOTHING:.*]] = arith.cmpf ole, %[[BYTES]], %{{.*}} : f64
// CHECK: %[[COUNTED:.*]] = arith.cmpf olt, %[[BYTES]], %{{.*}} : f64
// CHECK: %[[ENOUGH:.*]] = arith.ori %[[THERE]], %[[NOTHING]]
// CHECK: %[[OK:.*]] = arith.andi %[[ENOUGH]], %[[COUNTED]]
// CHECK: "tir.assert"(%[[OK]], %{{.*}}) {kind = "MemoryError", message = "out of memory: no room for a temporary of {} bytes"}
// CHECK: memref.store %arg2, %[[T]]
func.func @unknown(%n: index, %m: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %t = memref.alloc(%n, %m) : memref<?x?xf32>
  memref.store %v, %t[%c0, %c0] : memref<?x?xf32>
  memref.dealloc %t : memref<?x?xf32>
  return
}

// Sizes that have been checked are not checked again.
// CHECK-LABEL: func.func @counted(
// CHECK: %[[T:.*]] = memref.alloc(%arg0, %arg1)
// CHECK-NEXT: %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[T]]
// CHECK: %[[THERE:.*]] = arith.cmpi ne, %[[ADDRESS]]
// CHECK-NOT: f64
// CHECK: %[[ROWS:.*]] = arith.muli %{{.*}}, %{{.*}} : i64
// CHECK: %[[BYTES:.*]] = arith.muli %[[ROWS]], %{{.*}} : i64
// CHECK: "tir.assert"(%[[THERE]], %[[BYTES]])
func.func @counted(%n: index, %m: index) {
  %t = memref.alloc(%n, %m) {alignment = 64 : i64, relax.counted} : memref<?x?xf32>
  memref.dealloc %t : memref<?x?xf32>
  return
}

// Memory of static size is only checked for null. The message names the arena.
// CHECK-LABEL: func.func @known(
// CHECK: memref.alloc() {relax.arena} : memref<8192xi8>
// CHECK-NOT: arith.mulf
// CHECK: "tir.assert"({{.*}}message = "out of memory: no room for temporaries of {} bytes"
func.func @known() {
  %t = memref.alloc() {relax.arena} : memref<8192xi8>
  memref.dealloc %t : memref<8192xi8>
  return
}

// Small buffers are on the stack, once for all iterations of a loop, as long as the stack has room.
// CHECK-LABEL: func.func @small(
// CHECK-DAG: %[[ONE:.*]] = memref.alloca() : memref<128xf32>
// CHECK-DAG: %[[TWO:.*]] = memref.alloca() {alignment = 64 : i64} : memref<i64>
// CHECK: scf.for
// CHECK-NOT: memref.alloca
// CHECK: memref.store %{{.*}}, %[[ONE]]
// CHECK: memref.alloc() : memref<129xf32>
// CHECK-NEXT: memref.extract_aligned_pointer_as_index
// CHECK: memref.store %{{.*}}, %[[TWO]]
// CHECK: memref.dealloc %{{.*}} : memref<129xf32>
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func @small(%n: index, %v: f32, %i: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    %a = memref.alloc() : memref<128xf32>
    memref.store %v, %a[%c0] : memref<128xf32>
    %b = memref.alloc() : memref<129xf32>
    %c = memref.alloc() {alignment = 64 : i64} : memref<i64>
    memref.store %i, %c[] : memref<i64>
    memref.dealloc %c : memref<i64>
    memref.dealloc %b : memref<129xf32>
    memref.dealloc %a : memref<128xf32>
  }
  return
}

// Buffers that leave their block, or are freed by another name, do not lie on the stack.
// CHECK-LABEL: func.func @leaving(
// CHECK-NOT: memref.alloca
// CHECK: scf.if
// CHECK: memref.alloc() : memref<4xf32>
// CHECK: memref.alloc() : memref<8xf32>
// CHECK: memref.alloc() : memref<2xf32>
// CHECK: return
func.func @leaving(%c: i1, %x: memref<4xf32>, %table: memref<1xmemref<2xf32>>) {
  %c0 = arith.constant 0 : index
  %r = scf.if %c -> (memref<4xf32>) {
    %a = memref.alloc() : memref<4xf32>
    scf.yield %a : memref<4xf32>
  } else {
    scf.yield %x : memref<4xf32>
  }
  %b = memref.alloc() : memref<8xf32>
  %view = memref.cast %b : memref<8xf32> to memref<?xf32>
  memref.dealloc %view : memref<?xf32>
  %d = memref.alloc() : memref<2xf32>
  memref.store %d, %table[%c0] : memref<1xmemref<2xf32>>
  return
}

// A stack of unknown size, or too much of it, is memory like other; a scope for it is none any more.
// CHECK-LABEL: func.func @stack(
// CHECK: %[[FEW:.*]] = memref.alloca() : memref<4096xf32>
// CHECK: scf.for
// CHECK: scf.execute_region
// CHECK: %[[MANY:.*]] = memref.alloc() : memref<4097xf32>
// CHECK: %[[SOME:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: memref.store %{{.*}}, %[[FEW]]
// CHECK-DAG: memref.dealloc %[[MANY]]
// CHECK-DAG: memref.dealloc %[[SOME]]
// CHECK: scf.yield
// CHECK-NOT: memref.alloca_scope
// CHECK: return
func.func @stack(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    memref.alloca_scope {
      %many = memref.alloca() : memref<4097xf32>
      %some = memref.alloca(%n) : memref<?xf32>
      %few = memref.alloca() : memref<4096xf32>
      memref.store %v, %few[%c0] : memref<4096xf32>
      memref.store %v, %many[%c0] : memref<4097xf32>
      memref.store %v, %some[%c0] : memref<?xf32>
    }
  }
  return
}
