// Small tensors of loops and branches: one buffer on the stack for each, and no copies that nobody reads.

// RUN: relax-opt %s --relax-lower-calls --canonicalize | FileCheck %s

!t = tensor<4xf32>
!w = tensor<1000xf32>
func.func @one(%x: memref<4xf32>, %out: memref<4xf32>) attributes {tir.prim_func} {
  return
}
func.func @is_done(%x: memref<4xf32>, %out: memref<i1>) attributes {tir.prim_func} {
  return
}
func.func @put(%x: memref<1000xf32>, %v: memref<4xf32>, %out: memref<1000xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  memref.copy %x, %out : memref<1000xf32> to memref<1000xf32>
  %e = memref.load %v[%c0] : memref<4xf32>
  memref.store %e, %out[%c0] : memref<1000xf32>
  return
}

// The condition reads the same memory as the body, so the loop carries only the scalar.
// CHECK-LABEL: func.func @iterated(
// CHECK-NOT: memref.alloc(
// CHECK: linalg.generic {{.*}} ins(%arg0 : memref<4xf32>) outs(%[[STATE:[a-z_0-9]+]] : memref<4xf32>)
// CHECK: scf.while (%[[C:[a-z_0-9]+]] = %arg1) : (i1) -> () {
// CHECK-NEXT: scf.condition(%[[C]])
// CHECK-NEXT: } do {
// CHECK: call @one(%[[STATE]], %[[NEXT:[a-z_0-9]+]])
// CHECK: call @is_done(%[[NEXT]],
// CHECK: linalg.generic {{.*}} ins(%[[NEXT]] : memref<4xf32>) outs(%[[STATE]] : memref<4xf32>)
// CHECK: scf.yield
func.func @iterated(%x: !t, %c: i1) -> !t {
  %r:2 = scf.while (%go = %c, %p = %x) : (i1, !t) -> (i1, !t) {
    scf.condition(%go) %go, %p : i1, !t
  } do {
  ^bb0(%go: i1, %p: !t):
    %n = "relax.call_tir"(%p) {func = @one} : (!t) -> !t
    %d = "relax.call_tir"(%n) {func = @is_done} : (!t) -> tensor<i1>
    %e = tensor.extract %d[] : tensor<i1>
    scf.yield %e, %n : i1, !t
  }
  return %r#1 : !t
}

// Values that a loop swaps are read before either buffer is written.
// CHECK-LABEL: func.func @exchanged(
// CHECK: %[[P:[a-z_0-9]+]] = memref.alloca() {{.*}} : memref<4xf32>
// CHECK: linalg.generic {{.*}} ins(%arg0 : {{.*}} outs(%[[P]]
// CHECK: %[[Q:[a-z_0-9]+]] = memref.alloca() {{.*}} : memref<4xf32>
// CHECK: scf.for %
// CHECK: linalg.generic {{.*}} ins(%[[Q]] : {{.*}} outs(%[[NEXT_P:[a-z_0-9]+]] :
// CHECK: linalg.generic {{.*}} ins(%[[P]] : {{.*}} outs(%[[NEXT_Q:[a-z_0-9]+]] :
// CHECK: linalg.generic {{.*}} ins(%[[NEXT_P]] : {{.*}} outs(%[[P]] :
// CHECK: linalg.generic {{.*}} ins(%[[NEXT_Q]] : {{.*}} outs(%[[Q]] :
func.func @exchanged(%x: !t, %y: !t, %n: i64) -> (!t, !t) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %y) -> (!t, !t) : i64 {
    scf.yield %q, %p : !t, !t
  }
  return %r#0, %r#1 : !t, !t
}

// A kernel that changes a part of a large tensor works in place.
// CHECK-LABEL: func.func @updated(
// CHECK: %[[STATE:[a-z_0-9]+]] = memref.alloc() {alignment = 64 : i64} : memref<1000xf32>
// CHECK-NOT: memref.alloc(
// CHECK: scf.for %
// CHECK-NEXT: func.call @put(%[[STATE]], %arg1, %[[STATE]])
// CHECK-NEXT: }
func.func @updated(%x: !w, %v: !t, %n: i64) -> !w {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!w) : i64 {
    %q = "relax.call_tir"(%p, %v) {func = @put} : (!w, !t) -> !w
    scf.yield %q : !w
  }
  return %r : !w
}

// Not where the old value is still to be read: it is another result.
// CHECK-LABEL: func.func @read_later(
// CHECK: scf.for %
// CHECK-NEXT: func.call @put(%[[NOW:[a-z_0-9]+]], %arg1, %[[NEXT:[a-z_0-9]+]])
// CHECK: linalg.generic {{.*}} ins(%[[NOW]] :
func.func @read_later(%x: !w, %v: !t, %n: i64) -> (!w, !w) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %old = %x) -> (!w, !w) : i64 {
    %q = "relax.call_tir"(%p, %v) {func = @put} : (!w, !t) -> !w
    scf.yield %q, %p : !w, !w
  }
  return %r#0, %r#1 : !w, !w
}
