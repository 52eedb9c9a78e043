// RUN: relax-opt %s --host-lower-errors | FileCheck %s

// A function that can fail returns a status, and gets the place that its errors name.
// CHECK-LABEL: func.func @take(%arg0: memref<?xf32>, %arg1: index, %arg2: !llvm.ptr) -> i32
// CHECK: %[[TEMP:.*]] = memref.alloc()
// CHECK: cf.cond_br %{{.*}} weights([2000, 1]), ^[[GO:bb[0-9]+]], ^[[FAIL:bb[0-9]+]]
// CHECK: ^[[GO]]:
// CHECK: return %{{.*}} : i32
// CHECK: ^[[END:bb[0-9]+]]:
// CHECK: %[[STATUS:.*]] = arith.constant -1 : i32
// CHECK: return %[[STATUS]] : i32
// CHECK: ^[[OUT:bb[0-9]+]]:
// CHECK: memref.dealloc %[[TEMP]]
// CHECK: cf.br ^[[END]]
// CHECK: ^[[FAIL]]:
// CHECK: llvm.call @__relax_fail(%{{.*}}, %{{.*}}, %arg2, {{.*}}) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64, i64) -> i32
// CHECK: cf.br ^[[OUT]]
func.func @take(%x: memref<?xf32>, %i: index) attributes {tir.prim_func, relax.operator = "relax.take"} {
  %c0 = arith.constant 0 : index
  %t = memref.alloc() : memref<4xf32>
  %n = memref.dim %x, %c0 : memref<?xf32>
  %ok = arith.cmpi ult, %i, %n : index
  %shown = arith.index_cast %i : index to i64
  "tir.assert"(%ok, %shown) {message = "index {} is out of range", kind = "IndexError"} : (i1, i64) -> ()
  memref.dealloc %t : memref<4xf32>
  return
}

// CHECK-LABEL: func.func @main(%arg0: memref<?xf32>, %arg1: index) -> i32
// CHECK: %[[WHERE:.*]] = llvm.mlir.addressof @[[TEXT:.*]] : !llvm.ptr
// CHECK: %[[CALLED:.*]] = call @take(%arg0, %arg1, %[[WHERE]])
// CHECK: arith.cmpi eq, %[[CALLED]]
// CHECK: cf.cond_br
func.func @main(%x: memref<?xf32>, %i: index)
    attributes {relax.inputs = [], relax.results = [], relax.input_names = []} {
  func.call @take(%x, %i) : (memref<?xf32>, index) -> () loc("Gather_7"("model.onnx":3:1))
  return
}

// Two failures with equal cleanup share one cleanup block.
// CHECK-LABEL: func.func @twice(
// CHECK-COUNT-2: memref.dealloc %alloc
// CHECK-NOT: memref.dealloc
func.func @twice(%ok: i1, %fine: i1) {
  %t = memref.alloc() : memref<4xf32>
  "tir.assert"(%ok) {message = "first", kind = "ValueError"} : (i1) -> ()
  "tir.assert"(%fine) {message = "second", kind = "ValueError"} : (i1) -> ()
  memref.dealloc %t : memref<4xf32>
  return
}

// Released memory is not released again: the failure's cleanup begins after it.
// CHECK-LABEL: func.func @before(
// CHECK: %[[T:[a-z_0-9]+]] = memref.alloc() : memref<4xf32>
// CHECK: %[[U:[a-z_0-9]+]] = memref.alloc() : memref<8xf32>
// CHECK: memref.dealloc %[[T]] : memref<4xf32>
// CHECK: cf.cond_br
// CHECK: memref.dealloc %[[U]] : memref<8xf32>
// CHECK-NOT: memref.dealloc %{{.*}} : memref<4xf32>
// CHECK: memref.dealloc %[[U]] : memref<8xf32>
// CHECK-NOT: memref.dealloc
func.func @before(%ok: i1) {
  %t = memref.alloc() : memref<4xf32>
  %u = memref.alloc() : memref<8xf32>
  memref.dealloc %t : memref<4xf32>
  "tir.assert"(%ok) {message = "no", kind = "ValueError"} : (i1) -> ()
  memref.dealloc %u : memref<8xf32>
  return
}

// Memory that one of two branches has released is not released either, since it is unknown which one ran.
// CHECK-LABEL: func.func @sometimes(
// CHECK: memref.dealloc
// CHECK-NOT: memref.dealloc
func.func @sometimes(%ok: i1, %c: i1) {
  %t = memref.alloc() : memref<4xf32>
  scf.if %c {
    memref.dealloc %t : memref<4xf32>
  }
  "tir.assert"(%ok) {message = "no", kind = "ValueError"} : (i1) -> ()
  return
}

// The last one first, each by a block that goes on to the one before it; the first failure takes the shorter way.
// CHECK-LABEL: func.func @chain(
// CHECK: %[[T:[a-z_0-9]+]] = memref.alloc() : memref<4xf32>
// CHECK: cf.cond_br %arg0 {{.*}}, ^[[FIRST:bb[0-9]+]]
// CHECK: %[[U:[a-z_0-9]+]] = memref.alloc() : memref<8xf32>
// CHECK: cf.cond_br %arg1 {{.*}}, ^[[SECOND:bb[0-9]+]]
// CHECK: return
// CHECK: ^[[END:bb[0-9]+]]:
// CHECK-NEXT: arith.constant -1 : i32
// CHECK-NEXT: return
// CHECK: ^[[GIVE_T:bb[0-9]+]]:
// CHECK: memref.dealloc %[[T]]
// CHECK: cf.br ^[[END]]
// CHECK: ^[[GIVE_U:bb[0-9]+]]:
// CHECK: memref.dealloc %[[U]]
// CHECK: cf.br ^[[GIVE_T]]
// CHECK: ^[[FIRST]]:
// CHECK: cf.br ^[[GIVE_T]]
// CHECK: ^[[SECOND]]:
// CHECK: cf.br ^[[GIVE_U]]
func.func @chain(%ok: i1, %fine: i1) {
  %t = memref.alloc() : memref<4xf32>
  "tir.assert"(%ok) {message = "first", kind = "ValueError"} : (i1) -> ()
  %u = memref.alloc() : memref<8xf32>
  "tir.assert"(%fine) {message = "second", kind = "ValueError"} : (i1) -> ()
  memref.dealloc %u : memref<8xf32>
  memref.dealloc %t : memref<4xf32>
  return
}

// In a loop a round owns what the one before has handed on, no longer what it began with; and what it hands on itself.
// CHECK-LABEL: func.func @round(
// CHECK: cf.br ^[[HEAD:bb[0-9]+]](%{{.*}}, %{{.*}} : index, memref<4xf32>)
// CHECK: ^[[HEAD]](%{{.*}}: index, %[[P:[a-z_0-9]+]]: memref<4xf32>):
// CHECK: %[[NEXT:[a-z_0-9]+]] = memref.alloc() : memref<4xf32>
// CHECK: cf.cond_br %arg0
// CHECK: memref.dealloc %[[P]]
// CHECK: memref.dealloc %[[P]]
// CHECK: arith.constant -1 : i32
// CHECK-NEXT: return
// CHECK-NEXT: ^
// CHECK-NEXT: memref.dealloc %[[P]]
// CHECK: memref.dealloc %[[NEXT]]
// CHECK-NOT: memref.dealloc
func.func @round(%ok: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.alloc() : memref<4xf32>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %first) -> (memref<4xf32>) {
    %next = memref.alloc() : memref<4xf32>
    "tir.assert"(%ok) {message = "no", kind = "ValueError"} : (i1) -> ()
    memref.dealloc %p : memref<4xf32>
    scf.yield %next : memref<4xf32>
  }
  memref.dealloc %last : memref<4xf32>
  return
}

// Functions that cannot fail stay unchanged.
// CHECK-LABEL: func.func @fine(%arg0: memref<4xf32>) {
func.func @fine(%x: memref<4xf32>) {
  return
}

// Loops of affine become blocks like others.
// CHECK-LABEL: func.func private @affine(
// CHECK-SAME: !llvm.ptr) -> i32
// CHECK-NOT: affine.
// CHECK: cf.cond_br
// CHECK: cf.cond_br
// CHECK: call @__relax_fail
func.func private @affine(%x: memref<8xf32>, %n: index) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %ok = arith.cmpi sgt, %n, %c0 : index
  "tir.assert"(%ok) {kind = "ValueError", message = "n"} : (i1) -> ()
  affine.for %i = 0 to 8 {
    %v = affine.load %x[%i] : memref<8xf32>
    affine.store %v, %x[%i] : memref<8xf32>
  }
  return
}

// The place, where something else needs it: a kernel of a device for instance.
// CHECK-LABEL: func.func private @stated(%arg0: i32, %arg1: !llvm.ptr) -> i32
// CHECK-NOT: tir.place
// CHECK: llvm.call @tell(%arg1) : (!llvm.ptr) -> ()
llvm.func @tell(!llvm.ptr)
func.func private @stated(%status: i32) attributes {tir.prim_func} {
  %place = "tir.place"() : () -> !llvm.ptr
  llvm.call @tell(%place) : (!llvm.ptr) -> ()
  "tir.return_unless_ok"(%status) : (i32) -> ()
  return
}

// Functions of other units of the host library: the declaration says that they can fail, and callers check the status.
// CHECK: func.func private @elsewhere(!llvm.ptr) -> i32
// CHECK-LABEL: func.func @here(%arg0: !llvm.ptr) -> i32
// CHECK: %[[STATUS:.*]] = call @elsewhere(%arg0) : (!llvm.ptr) -> i32
// CHECK: arith.cmpi eq, %[[STATUS]]
// CHECK: cf.cond_br
func.func private @elsewhere(!llvm.ptr) attributes {relax.entry}
func.func @here(%at: !llvm.ptr) attributes {relax.entry} {
  func.call @elsewhere(%at) : (!llvm.ptr) -> ()
  return
}

// CHECK-DAG: llvm.mlir.global internal constant @[[TEXT]]("relax.take \22Gather_7\22 at model.onnx:3:1\00")
// CHECK-DAG: ("%s: index %lld is out of range\00")
