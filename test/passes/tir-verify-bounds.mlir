// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --split-input-file --verify-diagnostics --tir-verify-bounds
// Accesses that leave their buffer in a first or last iteration are refused. All others pass unchanged.

func.func @row_shorter_than_vector(%weights: memref<1x2x8xi8>, %row: index) -> vector<16xi8> {
  %zero = arith.constant 0 : i8
  %c0 = arith.constant 0 : index
  // expected-error @below {{'vector.transfer_read' op reads elements 0 to 15 of the 8 along dimension 2 of memref<1x2x8xi8>}}
  %read = vector.transfer_read %weights[%c0, %row, %c0], %zero {in_bounds = [true]} : memref<1x2x8xi8>, vector<16xi8>
  return %read : vector<16xi8>
}

// -----

func.func @last_iteration(%x: memref<20xf32>, %sum: vector<8xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c20 = arith.constant 20 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c20 step %c8 {
    // expected-error @below {{'vector.transfer_write' op writes elements 16 to 23 of the 20 along dimension 0 of memref<20xf32>}}
    vector.transfer_write %sum, %x[%i] {in_bounds = [true]} : vector<8xf32>, memref<20xf32>
  }
  return
}

// -----

// The rest of the last vector is masked, so no lane is outside.
func.func @masked(%x: memref<20xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c20 = arith.constant 20 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c20 step %c8 {
    %left = arith.subi %c20, %i : index
    %mask = vector.create_mask %left : vector<8xi1>
    %read = vector.transfer_read %x[%i], %zero, %mask {in_bounds = [true]} : memref<20xf32>, vector<8xf32>
    vector.transfer_write %read, %x[%i], %mask {in_bounds = [true]} : vector<8xf32>, memref<20xf32>
  }
  return
}

// -----

func.func @mask_of_too_many_lanes(%x: memref<20xf32>) -> vector<8xf32> {
  %c13 = arith.constant 13 : index
  %zero = arith.constant 0.0 : f32
  %mask = vector.constant_mask [8] : vector<8xi1>
  // expected-error @below {{reads elements 13 to 20 of the 20 along dimension 0}}
  %read = vector.transfer_read %x[%c13], %zero, %mask {in_bounds = [true]} : memref<20xf32>, vector<8xf32>
  return %read : vector<8xf32>
}

// -----

// Tiles of rows: the end of the inner loop depends on the outer one.
func.func @rest_of_tiles(%x: memref<10x4xf32>, %value: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c10 = arith.constant 10 : index
  scf.for %tile = %c0 to %c10 step %c4 {
    %left = arith.subi %c10, %tile : index
    %rows = arith.minsi %left, %c4 : index
    scf.for %row = %c0 to %rows step %c1 {
      %at = arith.addi %tile, %row : index
      memref.store %value, %x[%at, %c0] : memref<10x4xf32>
      %next = arith.addi %at, %c1 : index
      // expected-error @below {{'memref.store' op writes elements 10 to 10 of the 10 along dimension 0 of memref<10x4xf32>}}
      memref.store %value, %x[%next, %c0] : memref<10x4xf32>
    }
  }
  return
}

// -----

// A branch that does not run may say anything; a loop without iterations, too.
func.func @never(%x: memref<4xf32>, %value: f32, %unknown: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c9 = arith.constant 9 : index
  %is_less = arith.cmpi slt, %c9, %c4 : index
  scf.if %is_less {
    memref.store %value, %x[%c9] : memref<4xf32>
  }
  scf.for %i = %c9 to %c4 step %c4 {
    memref.store %value, %x[%c9] : memref<4xf32>
  }
  scf.for %i = %c0 to %unknown step %c4 {
    memref.store %value, %x[%c9] : memref<4xf32>
  }
  memref.store %value, %x[%unknown] : memref<4xf32>
  return
}

// -----

func.func @first_iteration(%x: memref<4x4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %none = arith.constant 0.0 : f32
  %found = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %none) -> f32 {
    %before = arith.subi %i, %c1 : index
    // expected-error @below {{'memref.load' op reads elements -1 to -1 of the 4 along dimension 0 of memref<4x4xf32>}}
    %read = memref.load %x[%before, %c0] : memref<4x4xf32>
    %new = arith.addf %sum, %read : f32
    scf.yield %new : f32
  }
  return %found : f32
}

// -----

// Vectors of vector.load may continue in the next row, but not behind the last one.
func.func @across_rows(%x: memref<4x3xf32>) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %read = vector.load %x[%c2, %c0] : memref<4x3xf32>, vector<4xf32>
  // expected-error @below {{'vector.load' op reads elements 9 to 12 of the 12 of memref<4x3xf32>}}
  %more = vector.load %x[%c3, %c0] : memref<4x3xf32>, vector<4xf32>
  %sum = arith.addf %read, %more : vector<4xf32>
  return %sum : vector<4xf32>
}

// -----

func.func @part(%x: memref<8x8xf32>, %from: index) -> memref<6x2xf32, strided<[8, 1], offset: ?>> {
  %c3 = arith.constant 3 : index
  // expected-error @below {{'memref.subview' op takes elements 3 to 8 of the 8 along dimension 0 of memref<8x8xf32>}}
  %part = memref.subview %x[%c3, %from] [6, 2] [1, 1] : memref<8x8xf32> to memref<6x2xf32, strided<[8, 1], offset: ?>>
  return %part : memref<6x2xf32, strided<[8, 1], offset: ?>>
}

// -----

// Threads of a block, of which block 0 always runs.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @threads(%x: memref<32xf32>, %value: f32) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %c32 = arith.constant 32 : index
      %thread = gpu.thread_id x
      %block = gpu.block_id x
      %size = arith.constant 64 : index
      %start = arith.muli %block, %size : index
      %at = arith.addi %start, %thread : index
      %is_inside = arith.cmpi ult, %at, %c32 : index
      scf.if %is_inside {
        memref.store %value, %x[%at] : memref<32xf32>
      }
      // expected-error @below {{'memref.store' op writes elements 63 to 63 of the 32 along dimension 0 of memref<32xf32>}}
      memref.store %value, %x[%at] : memref<32xf32>
      gpu.return
    }
  }
}
