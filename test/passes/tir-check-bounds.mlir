// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --tir-check-bounds | FileCheck %s
// Accesses that may leave their buffer get an assertion. Accesses proved by static sizes and loops get none.

// CHECK-LABEL: func.func @scalars
// CHECK: %[[AT_LEAST:.*]] = arith.cmpi sge, %[[I:.*]], %{{.*}} : index
// CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[I]], %{{.*}} : index
// CHECK: %[[INSIDE:.*]] = arith.andi %[[AT_LEAST]], %[[BELOW]]
// CHECK: "tir.assert"(%[[INSIDE]], {{.*}}) {kind = "IndexError", message = "out of bounds: memref.load reads elements {} to {} of the {} along dimension 1 of memref<3x4xf32>
// CHECK-NEXT: memref.load
// CHECK: memref.store writes elements {} to {} of the {} along dimension 0 of memref<?xf32>
// CHECK-NOT: tir.assert
// CHECK: return
func.func @scalars(%x: memref<3x4xf32>, %y: memref<?xf32>, %i: index) {
  %c2 = arith.constant 2 : index
  %0 = memref.load %x[%c2, %i] : memref<3x4xf32>
  memref.store %0, %y[%i] : memref<?xf32>
  return
}

// CHECK-LABEL: func.func @loop
// CHECK-NOT: tir.assert
// CHECK: vector.store
// CHECK: return
func.func @loop(%x: memref<40xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c33 = arith.constant 33 : index
  scf.for %i = %c0 to %c33 step %c1 {
    %0 = vector.load %x[%i] : memref<40xf32>, vector<8xf32>
    vector.store %0, %x[%i] : memref<40xf32>, vector<8xf32>
  }
  return
}

// A packed row of 8 bytes is read as 16.
// CHECK-LABEL: func.func @packed_row
// CHECK: %[[FALSE:.*]] = arith.constant false
// CHECK: "tir.assert"(%[[FALSE]], {{.*}}) {kind = "IndexError", message = "out of bounds: vector.transfer_read reads elements {} to {} of the {} along dimension 1 of constant packed memref<2x8xi8>
func.func @packed_row() -> vector<16xi8> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = arith.constant 0 : i8
  %x = memref.get_global @packed : memref<2x8xi8>
  %0 = vector.transfer_read %x[%c1, %c0], %p {in_bounds = [true]} : memref<2x8xi8>, vector<16xi8>
  return %0 : vector<16xi8>
}
memref.global "private" constant @packed : memref<2x8xi8> = dense<1>

// Lanes that a mask or the end of the dimension disables are not accessed.
// CHECK-LABEL: func.func @masks
// CHECK-NOT: tir.assert
// CHECK: vector.transfer_write
// CHECK: "tir.assert"
// CHECK: vector.maskedstore writes
// CHECK: vector.maskedstore
func.func @masks(%x: memref<6xf32>, %m: vector<8xi1>) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %f = arith.constant 0.0 : f32
  %known = vector.create_mask %c6 : vector<8xi1>
  %0 = vector.transfer_read %x[%c0], %f, %known {in_bounds = [true]} : memref<6xf32>, vector<8xf32>
  %1 = vector.transfer_read %x[%c0], %f : memref<6xf32>, vector<8xf32>
  %2 = arith.addf %0, %1 : vector<8xf32>
  vector.transfer_write %2, %x[%c0] : vector<8xf32>, memref<6xf32>
  vector.maskedstore %x[%c0], %m, %2 : memref<6xf32>, vector<8xi1>, vector<8xf32>
  return
}

// CHECK-LABEL: func.func @views
// CHECK: memref.subview takes elements {} to {} of the {} along dimension 0 of memref<10xf32>
// CHECK: memref.view takes elements {} to {} of the {} along dimension 0 of memref<?xi8>
// CHECK: memref.cast takes elements {} to {} of the {} along dimension 0 of memref<?xf32>
// CHECK: memref.reinterpret_cast takes elements {} to {} of the {} along memref<2x3xf32>
func.func @views(%x: memref<10xf32>, %arena: memref<?xi8>, %y: memref<?xf32>, %z: memref<2x3xf32>, %n: index)
    -> (memref<?xf32, strided<[2]>>, memref<?x3xf32>, memref<4xf32>, memref<?xf32>) {
  %0 = memref.subview %x[0] [%n] [2] : memref<10xf32> to memref<?xf32, strided<[2]>>
  %1 = memref.view %arena[%n][%n] : memref<?xi8> to memref<?x3xf32>
  %2 = memref.cast %y : memref<?xf32> to memref<4xf32>
  %3 = memref.reinterpret_cast %z to offset: [0], sizes: [%n], strides: [1] : memref<2x3xf32> to memref<?xf32>
  return %0, %1, %2, %3 : memref<?xf32, strided<[2]>>, memref<?x3xf32>, memref<4xf32>, memref<?xf32>
}
