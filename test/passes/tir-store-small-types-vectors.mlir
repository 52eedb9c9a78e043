// Vectors of truth values are of bits, in memory each is a byte: they are read and written as bytes, under their mask.

// RUN: relax-opt %s --tir-store-small-types | FileCheck %s

// CHECK-LABEL: func.func @vectors
// CHECK-SAME: %[[X:.*]]: memref<4x?xi1, strided<[?, 1]>>, %[[Y:.*]]: memref<?xi1>, %[[I:.*]]: index, %[[M:.*]]: vector<16xi1>)
// CHECK: %[[NONE:.*]] = arith.constant true
// CHECK: %[[PADDING:.*]] = arith.extui %[[NONE]] : i1 to i8
// CHECK: %[[FROM:.*]] = builtin.unrealized_conversion_cast %[[X]] : memref<4x?xi1, strided<[?, 1]>> to memref<4x?xi8, strided<[?, 1]>>
// CHECK: %[[READ:.*]] = vector.transfer_read %[[FROM]][%[[I]], %[[I]]], %[[PADDING]], %[[M]] {in_bounds = [true]} : {{.*}}, vector<16xi8>
// CHECK: %[[BITS:.*]] = arith.cmpi ne, %[[READ]], %{{.*}} : vector<16xi8>
// CHECK: %[[BOTH:.*]] = arith.andi %[[BITS]], %[[M]] : vector<16xi1>
// CHECK: %[[BYTES:.*]] = arith.extui %[[BOTH]] : vector<16xi1> to vector<16xi8>
// CHECK: %[[TO:.*]] = builtin.unrealized_conversion_cast %[[Y]] : memref<?xi1> to memref<?xi8>
// CHECK: vector.transfer_write %[[BYTES]], %[[TO]][%[[I]]], %[[M]] {in_bounds = [true]} : vector<16xi8>, memref<?xi8>
func.func @vectors(%x: memref<4x?xi1, strided<[?, 1]>>, %y: memref<?xi1>, %i: index, %m: vector<16xi1>) {
  %none = arith.constant true
  %read = vector.transfer_read %x[%i, %i], %none, %m {in_bounds = [true]} : memref<4x?xi1, strided<[?, 1]>>, vector<16xi1>
  %both = arith.andi %read, %m : vector<16xi1>
  vector.transfer_write %both, %y[%i], %m {in_bounds = [true]} : vector<16xi1>, memref<?xi1>
  return
}

// Single ones are bytes already, and other elements stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT: unrealized
// CHECK: return
func.func @others(%x: memref<?xi1>, %y: memref<?xf32>, %i: index, %v: vector<4xf32>) -> i1 {
  %one = memref.load %x[%i] : memref<?xi1>
  vector.transfer_write %v, %y[%i] {in_bounds = [true]} : vector<4xf32>, memref<?xf32>
  return %one : i1
}

// CHECK-LABEL: func.func @plain
// CHECK-SAME: %[[X:.*]]: memref<?xi1>, %[[I:.*]]: index, %[[M:.*]]: vector<16xi1>)
// CHECK: %[[FROM:.*]] = builtin.unrealized_conversion_cast %[[X]] : memref<?xi1> to memref<?xi8>
// CHECK: %[[READ:.*]] = vector.load %[[FROM]][%[[I]]] : memref<?xi8>, vector<16xi8>
// CHECK: %[[BITS:.*]] = arith.cmpi ne, %[[READ]], %{{.*}} : vector<16xi8>
// CHECK: %[[NOTHING:.*]] = arith.extui %[[BITS]] : vector<16xi1> to vector<16xi8>
// CHECK: %[[MASKED:.*]] = vector.maskedload %{{.*}}[%[[I]]], %[[M]], %[[NOTHING]] : memref<?xi8>, vector<16xi1>, vector<16xi8> into vector<16xi8>
// CHECK: %[[OTHER:.*]] = arith.cmpi ne, %[[MASKED]], %{{.*}} : vector<16xi8>
// CHECK: %[[BYTES:.*]] = arith.extui %[[BITS]] : vector<16xi1> to vector<16xi8>
// CHECK: vector.store %[[BYTES]], %{{.*}}[%[[I]]] : memref<?xi8>, vector<16xi8>
// CHECK: %[[BYTES:.*]] = arith.extui %[[OTHER]] : vector<16xi1> to vector<16xi8>
// CHECK: vector.maskedstore %{{.*}}[%[[I]]], %[[M]], %[[BYTES]] : memref<?xi8>, vector<16xi1>, vector<16xi8>
func.func @plain(%x: memref<?xi1>, %i: index, %m: vector<16xi1>) {
  %read = vector.load %x[%i] : memref<?xi1>, vector<16xi1>
  %masked = vector.maskedload %x[%i], %m, %read : memref<?xi1>, vector<16xi1>, vector<16xi1> into vector<16xi1>
  vector.store %read, %x[%i] : memref<?xi1>, vector<16xi1>
  vector.maskedstore %x[%i], %m, %masked : memref<?xi1>, vector<16xi1>, vector<16xi1>
  return
}
