// RUN: relax-opt %s --split-input-file --gpu-outline-kernels --gpu-share-threads --gpu-lower-asserts | FileCheck %s

// The launch passes the flag, the place for error messages, and the texts of the assertions. A later kernel gets only
// the flag, and does nothing if the flag is set.
// CHECK-LABEL: func.func @checked
// CHECK: %[[FLAG:.*]] = llvm.call @__relax_device_record
// CHECK: %[[PLACE:.*]] = "tir.place"() : () -> !llvm.ptr
// CHECK: %[[SITE:.*]] = llvm.mlir.addressof @__relax_texts
// CHECK: gpu.launch_func @kernels::@checked blocks {{.*}}, %[[FLAG]] : !llvm.ptr, %[[PLACE]] : !llvm.ptr, %[[SITE]] : !llvm.ptr)
// CHECK: %[[AGAIN:.*]] = llvm.call @__relax_device_record
// CHECK: gpu.launch_func @kernels::@checked_1 blocks {{.*}}, %[[AGAIN]] : !llvm.ptr)
llvm.mlir.global internal @__relax_device() : !llvm.ptr
func.func @checked(%x: memref<?xi64>, %y: memref<?xf32>, %z: memref<?xf32>, %n: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = memref.dim %x, %c0 : memref<?xi64>
  scf.for %i = %c0 to %size step %c1 {
    %place = memref.load %x[%i] : memref<?xi64>
    %inside = arith.cmpi slt, %place, %n : i64
    "tir.assert"(%inside, %place) {kind = "IndexError", message = "no place {}"} : (i1, i64) -> ()
  } {tir.parallel = 1 : i64}
  scf.for %i = %c0 to %size step %c1 {
    %place = memref.load %x[%i] : memref<?xi64>
    %at = arith.index_cast %place : i64 to index
    %0 = memref.load %y[%at] : memref<?xf32>
    memref.store %0, %z[%i] : memref<?xf32>
  } {tir.parallel = 1 : i64}
  return
}

// The first that fails takes the flag and writes into the record, which the host reads; each that fails ends.
// CHECK-LABEL: gpu.func @checked(
// CHECK-SAME: %[[FLAG:[^ ]*]]: !llvm.ptr, %[[PLACE:[^ ]*]]: !llvm.ptr, %[[SITE:[^ ]*]]: !llvm.ptr) kernel
// CHECK: cf.cond_br %{{.*}}, ^[[REST:bb[0-9]+]], ^[[FAILED:bb[0-9]+]]
// CHECK: ^[[FAILED]]:
// CHECK: llvm.cmpxchg %[[FLAG]], %{{.*}}, %{{.*}} acq_rel monotonic
// CHECK: cf.cond_br %{{.*}}, ^[[FIRST:bb[0-9]+]], ^[[END:bb[0-9]+]]
// CHECK: ^[[FIRST]]:
// CHECK: %[[BEHIND:.*]] = llvm.getelementptr %[[FLAG]][8]
// CHECK: %[[HOST:.*]] = llvm.load %[[BEHIND]] : !llvm.ptr -> !llvm.ptr
// Reports of an earlier kernel with another flag stay.
// CHECK: %[[STATED:.*]] = llvm.load %[[HOST]] : !llvm.ptr -> i32
// CHECK: %[[IS_FREE:.*]] = arith.cmpi eq, %[[STATED]]
// CHECK: cf.cond_br %[[IS_FREE]], ^[[TELLS:bb[0-9]+]], ^[[END]]
// CHECK: ^[[TELLS]]:
// CHECK: llvm.store %[[PLACE]]
// CHECK: llvm.store %[[SITE]]
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT: llvm.store %[[ONE]], %[[HOST]]
// CHECK: cf.br ^[[END]]
// CHECK: ^[[END]]:
// CHECK-NEXT: gpu.return
// CHECK-LABEL: gpu.func @checked_1(
// CHECK: %[[TAKEN:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
// CHECK: %[[FREE:.*]] = arith.cmpi eq, %[[TAKEN]]
// CHECK: cf.cond_br %[[FREE]]
// CHECK-DAG: llvm.mlir.global internal constant @__relax_text.{{.*}}("IndexError\00")
// CHECK-DAG: llvm.mlir.global internal constant @__relax_text.{{.*}}("%s: no place %lld\00")
// CHECK-DAG: llvm.mlir.global internal constant @__relax_texts.{{.*}}() {{.*}} !llvm.array<2 x ptr>

// -----

// A launch before it in a loop follows it in the next iteration; a launch before the loop does not.
// CHECK-LABEL: func.func @again
// CHECK: gpu.launch_func @kernels::@again blocks {{.*}} : index)
// CHECK: scf.for
// CHECK: %[[FLAG:.*]] = llvm.call @__relax_device_record
// CHECK: gpu.launch_func @kernels::@again_1 blocks {{.*}}, %[[FLAG]] : !llvm.ptr)
// CHECK: gpu.launch_func @kernels::@again_2 blocks {{.*}} : !llvm.ptr)
// CHECK-LABEL: gpu.func @again_1(
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> i32
// CHECK: cf.cond_br
llvm.mlir.global internal @__relax_device() : !llvm.ptr
func.func @again(%x: memref<?xi64>, %y: memref<?xf32>, %z: memref<?xf32>, %n: i64, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %size = memref.dim %x, %c0 : memref<?xi64>
  scf.for %i = %c0 to %size step %c1 {
    memref.store %zero, %z[%i] : memref<?xf32>
  } {tir.parallel = 1 : i64}
  scf.for %step = %c0 to %steps step %c1 {
    scf.for %i = %c0 to %size step %c1 {
      %place = memref.load %x[%i] : memref<?xi64>
      %at = arith.index_cast %place : i64 to index
      %0 = memref.load %y[%at] : memref<?xf32>
      memref.store %0, %z[%i] : memref<?xf32>
    } {tir.parallel = 1 : i64}
    scf.for %i = %c0 to %size step %c1 {
      %place = memref.load %x[%i] : memref<?xi64>
      %inside = arith.cmpi slt, %place, %n : i64
      "tir.assert"(%inside, %place) {kind = "IndexError", message = "no place {}"} : (i1, i64) -> ()
      %next = arith.addi %place, %place : i64
      memref.store %next, %x[%i] : memref<?xi64>
    } {tir.parallel = 1 : i64}
  }
  return
}
