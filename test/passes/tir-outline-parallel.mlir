// RUN: relax-opt %s --tir-outline-parallel | FileCheck %s

// Constants and views are made again in the new function; memory and numbers are passed. Memory that each step takes is
// taken once for a call.
// CHECK-LABEL: func.func private @kernel(
// CHECK-SAME: %[[X:.*]]: memref<64x?xf32>, %[[N:.*]]: index, %[[Y:.*]]: memref<64x?xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[END:.*]] = arith.constant 64 : index
// CHECK: %[[GRAIN:.*]] = arith.constant 16 : index
// CHECK: call @kernel.parallel(%[[ZERO]], %[[END]], %[[GRAIN]], %[[X]], %[[Y]], %[[N]]) {tir.parallel} : (index, index, index, memref<64x?xf32>, memref<64x?xf32>, index) -> ()
// CHECK-NEXT: return
// CHECK: func.func private @kernel.parallel(%[[FROM:.*]]: index, %[[TO:.*]]: index, %{{.*}}: index, %[[IN:.*]]: memref<64x?xf32>, %[[OUT:.*]]: memref<64x?xf32>, %[[COUNT:.*]]: index)
// CHECK-DAG: %[[STEP:.*]] = arith.constant 4 : index
// CHECK-DAG: memref.subview %[[OUT]][0, 0] [64, %[[COUNT]]] [1, 1]
// CHECK: %[[OWN:.*]] = memref.alloc() : memref<8xf32>
// CHECK: scf.for %[[I:.*]] = %[[FROM]] to %[[TO]] step %[[STEP]] {
// CHECK-NOT: memref.alloc
// CHECK: memref.load %[[IN]]
// CHECK-NOT: memref.dealloc
// CHECK: }
// CHECK-NEXT: memref.dealloc %[[OWN]]
// CHECK-NEXT: return
func.func private @kernel(%x: memref<64x?xf32>, %n: index, %y: memref<64x?xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %part = memref.subview %y[0, 0] [64, %n] [1, 1] : memref<64x?xf32> to memref<64x?xf32, strided<[?, 1]>>
  scf.for %i = %c0 to %c64 step %c4 {
    %own = memref.alloc() : memref<8xf32>
    %v = memref.load %x[%i, %c0] : memref<64x?xf32>
    memref.store %v, %own[%c0] : memref<8xf32>
    %w = memref.load %own[%c0] : memref<8xf32>
    memref.store %w, %part[%i, %c0] : memref<64x?xf32, strided<[?, 1]>>
    memref.dealloc %own : memref<8xf32>
  } {tir.parallel = 4 : i64}
  return
}

// A step that is known at run time only is the grain; one loop inside of another is not shared again.
// CHECK-LABEL: func.func private @dynamic(
// CHECK-SAME: %[[STEP:.*]]: index, %[[Y:.*]]: memref<?xf32>)
// CHECK: call @dynamic.parallel({{.*}}, {{.*}}, %[[STEP]], %[[STEP]], %[[Y]]) {tir.parallel}
// CHECK: func.func private @dynamic.parallel(
// CHECK-COUNT-2: scf.for
// CHECK-NOT: tir.parallel
// CHECK: return
func.func private @dynamic(%step: index, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %y, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %step {
    scf.for %j = %c0 to %step step %c1 {
      %at = arith.addi %i, %j : index
      memref.store %zero, %y[%at] : memref<?xf32>
    } {tir.parallel = 2 : i64}
  } {tir.parallel = 1 : i64}
  return
}

// Loops with results stay, and so do loops that use memory of a form that cannot be passed.
// CHECK-LABEL: func.func private @stays(
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: tir.parallel
// CHECK: return
// CHECK-NOT: @stays.parallel
func.func private @stays(%x: memref<8xf32>, %y: memref<8xf32, strided<[2], offset: 1>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) {
    %v = memref.load %x[%i] : memref<8xf32>
    %t = arith.addf %s, %v : f32
    scf.yield %t : f32
  } {tir.parallel = 1 : i64}
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %sum, %y[%i] : memref<8xf32, strided<[2], offset: 1>>
  } {tir.parallel = 1 : i64}
  return
}
