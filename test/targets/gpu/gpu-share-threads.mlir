// RUN: relax-opt %s --gpu-outline-kernels --gpu-share-threads | FileCheck %s

// Shared memory is declared in front of the kernels, where operations ask it to lie.
// CHECK: memref.global "private" @aligned_shared : memref<64xf32, 3> {{.*}}alignment = 1024

// All operands go through both loops alike, so they are one. A thread of the grid does the points of 16 bytes, if there
// are that many, else the remaining points.
// CHECK-LABEL: gpu.func @points
// CHECK: %[[X:.*]] = memref.collapse_shape %{{.*}} : memref<?x?xf32> into memref<?xf32>
// CHECK-NOT: arith.divui
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[BEFORE:.*]] = arith.muli %[[BLOCK]], %c256
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[SUM:.*]] = arith.addi %[[BEFORE]], %[[THREAD]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[SUM]], %c4
// CHECK: %[[BEHIND:.*]] = arith.addi %[[FIRST]], %c4
// CHECK: %[[IS_WHOLE:.*]] = arith.cmpi sle, %[[BEHIND]], %{{.*}}
// CHECK: scf.if %[[IS_WHOLE]]
// CHECK: vector.load %[[X]][%[[FIRST]]] {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// CHECK-COUNT-4: arith.negf
// CHECK: vector.store %{{.*}}[%[[FIRST]]] {alignment = 16 : i64}
// CHECK: else
// CHECK: scf.for %{{.*}} = %[[FIRST]] to
// CHECK: memref.load
func.func @points(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x?xf32>) outs(%y : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// An operand that is constant along a row needs the row: by a 32-bit division, if the number of points fits. The other
// operands are read by the number of the point.
// CHECK-LABEL: gpu.func @some_rows
// CHECK: arith.cmpi sle, %{{.*}}, %c2147483648
// CHECK: %[[PLACES:.*]]:2 = scf.if
// CHECK: arith.divui %{{.*}} : i32
// CHECK: else
// CHECK: arith.divui %{{.*}} : index
// CHECK: %[[FLAT:.*]] = memref.collapse_shape %{{.*}} : memref<?x?xf32> into memref<?xf32>
// CHECK: memref.load %[[FLAT]]
// CHECK: memref.load %{{.*}}[%[[PLACES]]#0] : memref<?xf32>
func.func @some_rows(%x: memref<?x?xf32>, %row: memref<?xf32>, %y: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %row : memref<?x?xf32>, memref<?xf32>) outs(%y : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// Loops run as the result is in memory, neighbours are joined, loops of one step left out: here it is 24 columns of 15.
// A thread writes a vector, and reads its elements one by one.
// CHECK-LABEL: gpu.func @turned
// CHECK: memref.collapse_shape %{{.*}} {{\[\[}}0, 1], [2]] : memref<3x5x24xf16> into memref<15x24xf16>
// CHECK: memref.collapse_shape %{{.*}} {{\[\[}}0, 1], [2, 3]] : memref<24x1x3x5xf16> into memref<24x15xf16>
// CHECK-NOT: vector.load
func.func @turned(%x: memref<3x5x24xf16>, %y: memref<24x1x3x5xf16>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k, l) -> (i, j, k)>, affine_map<(i, j, k, l) -> (k, l, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<3x5x24xf16>) outs(%y : memref<24x1x3x5xf16>) {
  ^bb0(%a: f16, %b: f16):
    linalg.yield %a : f16
  }
  return
}

// A row's sum: each thread's part, then that of its warp by shuffles, then that of all warps in shared memory, which they
// wait for. The first thread adds the old value of the output.
// CHECK-LABEL: gpu.func @rows
// CHECK: %[[ROW:.*]] = gpu.block_id x
// CHECK: %[[PART:.*]] = scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c256{{.*}} iter_args
// CHECK: memref.load %{{.*}}[%[[ROW]],
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: scf.if
// CHECK: memref.store %{{.*}} : memref<8xf32, 3>
// CHECK: gpu.barrier
// CHECK-COUNT-8: memref.load %{{.*}} : memref<8xf32, 3>
// CHECK: scf.if
// CHECK: memref.load
// CHECK: memref.store %{{.*}}[%[[ROW]]]
func.func @rows(%x: memref<8x3001xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x3001xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// Rows of a loop: eight threads for one of 32 elements, four rows a block, in registers from the first read to the last
// write. Where a row is missing, its threads take part in what the others exchange.
// CHECK-LABEL: gpu.func @some_short_rows
// CHECK-SAME: array<i32: 32, 1, 1>
// CHECK: arith.remui %{{.*}}, %c8
// CHECK: %[[IS_ROW:.*]] = arith.cmpi slt, %{{.*}}, %c9
// CHECK: scf.if %[[IS_ROW]] -> (f32, f32, f32, f32)
// CHECK: vector.load %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK-COUNT-3: gpu.shuffle xor
// CHECK-NOT: gpu.barrier
// CHECK-NOT: vector.load
// CHECK: scf.if %[[IS_ROW]]
// CHECK: vector.store %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK: gpu.return
func.func @some_short_rows(%x: memref<9x32xf32>, %y: memref<9x32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c9 step %c1 {
    %sum = memref.alloc() : memref<f32>
    linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
        ins(%zero : f32) outs(%sum : memref<f32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
    %from = memref.subview %x[%i, 0] [1, 32] [1, 1] : memref<9x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    %to = memref.subview %y[%i, 0] [1, 32] [1, 1] : memref<9x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> ()>], iterator_types = ["reduction"]}
        ins(%from : memref<32xf32, strided<[1], offset: ?>>) outs(%sum : memref<f32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %b, %a : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> ()>, affine_map<(j) -> (j)>],
        iterator_types = ["parallel"]} ins(%from, %sum : memref<32xf32, strided<[1], offset: ?>>, memref<f32>)
        outs(%to : memref<32xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %0 = arith.divf %a, %b : f32
      linalg.yield %0 : f32
    }
    memref.dealloc %sum : memref<f32>
  } {tir.parallel = 1 : i64}
  return
}

// Elements that are not contiguous are read and written one by one, by as many threads as there are.
// CHECK-LABEL: gpu.func @rows_with_gaps
// CHECK-SAME: array<i32: 32, 1, 1>
// CHECK-NOT: vector.load
// CHECK: memref.load
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: vector.store
// CHECK: gpu.return
func.func @rows_with_gaps(%x: memref<9x64xf32>, %y: memref<9x32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c9 step %c1 {
    %sum = memref.alloc() : memref<f32>
    linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
        ins(%zero : f32) outs(%sum : memref<f32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
    %from = memref.subview %x[%i, 0] [1, 32] [1, 2]
        : memref<9x64xf32> to memref<32xf32, strided<[2], offset: ?>>
    %to = memref.subview %y[%i, 0] [1, 32] [1, 1] : memref<9x32xf32> to memref<32xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> ()>], iterator_types = ["reduction"]}
        ins(%from : memref<32xf32, strided<[2], offset: ?>>) outs(%sum : memref<f32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %b, %a : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> ()>, affine_map<(j) -> (j)>],
        iterator_types = ["parallel"]} ins(%from, %sum : memref<32xf32, strided<[2], offset: ?>>, memref<f32>)
        outs(%to : memref<32xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %0 = arith.divf %a, %b : f32
      linalg.yield %0 : f32
    }
    memref.dealloc %sum : memref<f32>
  } {tir.parallel = 1 : i64}
  return
}

// Tiles are transposed in shared memory with rows padded by one element: the input is read by rows, the output is written
// from columns. Elements of 16 bits are read as words of 32.
// CHECK-LABEL: gpu.func @tiles_turned
// CHECK: memref.get_global @tiles_turned_shared : memref<64x65xf16, 3>
// CHECK: vector.load %{{.*}} {alignment = 4 : i64} : memref<128x192xf16>, vector<2xf16>
// CHECK: memref.store %{{.*}} : memref<64x65xf16, 3>
// CHECK: gpu.barrier
// CHECK: memref.load %{{.*}} : memref<64x65xf16, 3>
// CHECK: vector.store %{{.*}} {alignment = 4 : i64} : memref<192x128xf16>, vector<2xf16>
func.func @tiles_turned(%x: memref<128x192xf16>, %y: memref<192x128xf16>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<128x192xf16>) outs(%y : memref<192x128xf16>) {
  ^bb0(%a: f16, %b: f16):
    %0 = arith.negf %a : f16
    linalg.yield %0 : f16
  }
  return
}

// A block for each step: its threads share the points, and wait before they read what others have written. What the
// block has for itself is shared memory.
// CHECK-LABEL: gpu.func @blocks
// CHECK: %[[SHARED:.*]] = memref.get_global @blocks_shared : memref<64xf32, 3>
// CHECK: memref.memory_space_cast %[[SHARED]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %c64{{.*}} step %c32
// CHECK: gpu.barrier
// CHECK: scf.for %{{.*}} = %{{.*}} to %c64{{.*}} step %c32
// CHECK: gpu.return
func.func @blocks(%m: index, %x: memref<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %m step %c1 {
    %t = memref.alloc() : memref<64xf32>
    %row = memref.subview %x[%i, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
        ins(%row : memref<64xf32, strided<[1], offset: ?>>) outs(%t : memref<64xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
    linalg.generic {indexing_maps = [affine_map<(j) -> (63 - j)>, affine_map<(j) -> (j)>],
        iterator_types = ["parallel"]}
        ins(%t : memref<64xf32>) outs(%row : memref<64xf32, strided<[1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
    memref.dealloc %t : memref<64xf32>
  } {tir.parallel = 1 : i64}
  return
}

// A result that one thread computes in sequence is passed to the other threads.
// CHECK-LABEL: gpu.func @ordered
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0
// CHECK: scf.if %[[IS_FIRST]] {
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[SLOT:.*]][%{{.*}}] : memref<1xf32, 3>
// CHECK: gpu.barrier
// CHECK: %[[STATED:.*]] = memref.load %[[SLOT]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step
// CHECK: memref.store %[[STATED]]
func.func @ordered(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %round = %c0 to %c1 step %c1 {
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero) -> f32 {
      %0 = memref.load %x[%i] : memref<?xf32>
      %1 = arith.addf %before, %0 : f32
      memref.store %1, %x[%i] : memref<?xf32>
      scf.yield %1 : f32
    }
    linalg.generic {indexing_maps = [affine_map<(j) -> ()>, affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
        ins(%sum : f32) outs(%x : memref<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      linalg.yield %a : f32
    }
  } {tir.parallel = 1 : i64}
  return
}

// One thread of a block owns each element, in memory at multiples of 1024 bytes.
// CHECK-LABEL: gpu.func @aligned
// CHECK: memref.get_global @aligned_shared
func.func @aligned(%m: index, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %m step %c1 {
    %t = memref.alloc() {alignment = 1024 : i64} : memref<64xf32, 3>
    %thread = gpu.thread_id x
    %a = memref.load %x[%thread] : memref<?xf32>
    memref.store %a, %t[%thread] : memref<64xf32, 3>
    memref.store %a, %x[%thread] : memref<?xf32>
  } {tir.parallel = 1 : i64, tir.threads = 32 : i64}
  return
}
