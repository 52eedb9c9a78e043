// RUN: relax-opt %s --llvm-lower-errors | FileCheck %s

// A function that can fail returns a status, and is told the place that its errors name.
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
// CHECK: llvm.call @__relax_raise_at.{{.*}}(%arg2, {{.*}}) : (!llvm.ptr, i64, i64, i64) -> i32
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

// What two failures give back alike is given back at one place.
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

// What cannot fail stays as it is.
// CHECK-LABEL: func.func @fine(%arg0: memref<4xf32>) {
func.func @fine(%x: memref<4xf32>) {
  return
}

// CHECK-DAG: llvm.mlir.global internal constant @[[TEXT]]("relax.take \22Gather_7\22 at model.onnx:3:1\00")
// CHECK-DAG: ("%s: index %lld is out of range\00")
