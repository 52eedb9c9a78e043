// RUN: relax-opt %s --host-call-parallel | FileCheck %s

// The arguments are on the stack, each value where its size allows, the grain last; the function that the pool calls
// reads it there. Its status is that of the function, where that has one.
// CHECK-LABEL: func.func @fails(
// CHECK: %[[KEPT:.*]] = llvm.alloca %{{.*}} x i8 {alignment = 64 : i64}
// CHECK: llvm.store %arg0, %[[KEPT]] : !llvm.ptr, !llvm.ptr
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[KEPT]][64]
// CHECK-NEXT: llvm.store %arg1, %[[AT]] : vector<16xf32>, !llvm.ptr
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[KEPT]][128]
// CHECK-NEXT: llvm.store %{{.*}}, %[[AT]] : i64, !llvm.ptr
// CHECK: %[[F:.*]] = constant @body.run : (!llvm.ptr, i64, i64) -> i32
// CHECK-NEXT: %[[CALLED:.*]] = builtin.unrealized_conversion_cast %[[F]]
// CHECK-NEXT: %[[TABLE:.*]] = llvm.mlir.addressof @__relax_threads
// CHECK: %[[STATUS:.*]] = llvm.call @__relax_parallel(%[[TABLE]], %[[CALLED]], %[[KEPT]], %{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NEXT: return %[[STATUS]] : i32
// CHECK: func.func private @body.run(%[[ARGUMENTS:.*]]: !llvm.ptr, %[[FROM:.*]]: i64, %[[TO:.*]]: i64) -> i32 attributes {llvm.linkage = #llvm.linkage<internal>} {
// CHECK: %[[X:.*]] = llvm.load %[[ARGUMENTS]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[V:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK: %[[OK:.*]] = call @body(%{{.*}}, %{{.*}}, %{{.*}}, %[[X]], %[[V]]) : (index, index, index, !llvm.ptr, vector<16xf32>) -> i32
// CHECK-NEXT: return %[[OK]] : i32
func.func private @body(index, index, index, !llvm.ptr, vector<16xf32>) -> i32
func.func @fails(%x: !llvm.ptr, %v: vector<16xf32>) -> i32 {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c4 = arith.constant 4 : index
  %status = func.call @body(%c0, %c64, %c4, %x, %v) {tir.parallel}
    : (index, index, index, !llvm.ptr, vector<16xf32>) -> i32
  return %status : i32
}

// Memory has no indices.
// CHECK-LABEL: func.func @steps(
// CHECK: %[[V:.*]] = arith.index_cast %arg0 : vector<8xindex> to vector<8xi64>
// CHECK-NEXT: llvm.store %[[V]], %{{.*}} : vector<8xi64>, !llvm.ptr
// CHECK: func.func private @stepping.run(
// CHECK: %[[V:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<8xi64>
// CHECK-NEXT: arith.index_cast %[[V]] : vector<8xi64> to vector<8xindex>
func.func private @stepping(index, index, index, vector<8xindex>)
func.func @steps(%v: vector<8xindex>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  func.call @stepping(%c0, %c8, %c8, %v) {tir.parallel} : (index, index, index, vector<8xindex>) -> ()
  return
}

// A vector of pointers takes a word for each.
// CHECK-LABEL: func.func @pointers(
// CHECK: llvm.store %arg0, %{{.*}} : vector<4x!llvm.ptr>, !llvm.ptr
// CHECK: llvm.getelementptr %{{.*}}[32]
func.func private @pointing(index, index, index, vector<4x!llvm.ptr>)
func.func @pointers(%v: vector<4x!llvm.ptr>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  func.call @pointing(%c0, %c8, %c8, %v) {tir.parallel} : (index, index, index, vector<4x!llvm.ptr>) -> ()
  return
}

// CHECK-LABEL: func.func @succeeds(
// CHECK: llvm.call @__relax_parallel(
// CHECK-NEXT: return
// CHECK: func.func private @other.run(
// CHECK: call @other(
// CHECK: %[[OK:.*]] = arith.constant 0 : i32
// CHECK-NEXT: return %[[OK]]
// CHECK: llvm.mlir.global internal @__relax_threads()
// CHECK: llvm.func @__tvm_ffi___relax_set_threads(
func.func private @other(index, index, index)
func.func @succeeds(%n: index) {
  %c0 = arith.constant 0 : index
  func.call @other(%c0, %n, %n) {tir.parallel} : (index, index, index) -> ()
  return
}
