// RUN: relax-opt %s --gpu-outline-kernels | FileCheck %s

// Device table of the host code, and the kernels in the order of the table.
// CHECK: module attributes {gpu.container_module, relax.device = "cuda", relax.kernels = ["points", "rows", "steps", "inside", "ordered", "planned", "mean", "two_readers", "two_readers_1"]}

// One thread per vector of 16 bytes. A launch passes addresses and dynamic sizes.
// CHECK-LABEL: func.func @points
// CHECK: %[[N:.*]] = memref.dim %arg0
// CHECK: %[[UP:.*]] = arith.addi %[[N]], %c1023
// CHECK: %[[BLOCKS:.*]] = arith.divui %[[UP]], %c1024
// CHECK: gpu.launch_func @kernels::@points blocks in (%[[BLOCKS]], {{.*}}) threads in (%c256{{.*}} args(%{{.*}} : !llvm.ptr, %{{.*}} : index, %{{.*}} : !llvm.ptr, %{{.*}} : index)
func.func @points(%x: memref<?xf32>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// A block for each row that is reduced.
// CHECK-LABEL: func.func @rows
// CHECK: gpu.launch_func @kernels::@rows blocks in (%c8
func.func @rows(%x: memref<8x1000xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x1000xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// A thread for each step of a loop that threads share. What a step needs for itself is a thread's own where it is small,
// and allocated for all steps else.
// CHECK-LABEL: func.func @steps
// CHECK: %[[STEPS:.*]] = arith.divui
// CHECK: memref.alloc(%[[STEPS]], %arg1)
// CHECK: gpu.launch_func @kernels::@steps
// CHECK: memref.dealloc %{{.*}} : memref<?x?xf32>
func.func @steps(%x: memref<?xf32>, %size: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %small = memref.alloc() : memref<4xf32>
    %large = memref.alloc(%size) : memref<?xf32>
    %0 = memref.load %x[%i] : memref<?xf32>
    memref.store %0, %small[%c0] : memref<4xf32>
    %1 = memref.load %small[%c0] : memref<4xf32>
    memref.store %1, %large[%c0] : memref<?xf32>
    %2 = memref.load %large[%c0] : memref<?xf32>
    memref.store %2, %x[%i] : memref<?xf32>
    memref.dealloc %large : memref<?xf32>
    memref.dealloc %small : memref<4xf32>
  } {tir.parallel = 1 : i64}
  return
}

// A loop of the host, as its body accesses only the kernels' tensors; the inner loop steps over rows.
// CHECK-LABEL: func.func @inside
// CHECK: scf.for
// CHECK: gpu.launch_func @kernels::@inside blocks in (%{{.*}}, %{{.*}}) args(%arg1
func.func @inside(%n: index, %m: index, %x: memref<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %round = %c0 to %n step %c1 {
    scf.for %i = %c0 to %m step %c1 {
      %row = memref.subview %x[%i, 0] [1, 64] [1, 1] : memref<?x64xf32> to memref<64xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [affine_map<(j) -> (j)>], iterator_types = ["parallel"]}
          outs(%row : memref<64xf32, strided<[1], offset: ?>>) {
      ^bb0(%a: f32):
        %0 = arith.addf %a, %a : f32
        linalg.yield %0 : f32
      }
    } {tir.parallel = 1 : i64}
  }
  return
}

// Ordered loads and stores run in one block, or in one thread as here. The host reads the result. Computations between
// a load and a store are in the same kernel.
// CHECK-LABEL: func.func @ordered
// CHECK-NOT: memref.load %arg0
// CHECK: %[[SLOT:.*]] = memref.alloc() {{.*}} : memref<1xi64>
// CHECK: gpu.launch_func @kernels::@ordered blocks in (%c1{{.*}} threads in (%c1
// CHECK: %[[FOUND:.*]] = memref.load %[[SLOT]]
// CHECK: memref.dealloc %[[SLOT]]
// CHECK: return %[[FOUND]]
func.func @ordered(%x: memref<?xi64>, %n: index) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %x[%c0] : memref<?xi64>
  %twice = arith.addi %first, %first : i64
  memref.store %twice, %x[%c1] : memref<?xi64>
  %zero = arith.constant 0 : i64
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero) -> i64 {
    %0 = memref.load %x[%i] : memref<?xi64>
    %1 = arith.addi %before, %0 : i64
    memref.store %1, %x[%i] : memref<?xi64>
    scf.yield %1 : i64
  }
  return %sum : i64
}

// A planned product, its fill and its epilogue are one kernel: intermediate values are
// in registers.
// CHECK-LABEL: func.func @planned
// CHECK-NOT: memref.alloc
// CHECK: gpu.launch_func @kernels::@planned
func.func @planned(%x: memref<128x64xf32>, %w: memref<64x128xf32>, %y: memref<128x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<128x128xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%zero : f32) outs(%t : memref<128x128xf32>)
      attrs = {tir.plan = "start"} {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<128x64xf32>, memref<64x128xf32>) outs(%t : memref<128x128xf32>)
      attrs = {tir.plan = "order 0 1 2; carried 1; vector 1 x 4; tile 0: 4, 1: 1; blocks 2: 16; threads 0: 8, 1: 8; shared 0 1; stages 2; rule product"} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%t : memref<128x128xf32>) outs(%y : memref<128x128xf32>)
      attrs = {tir.plan = "epilogue of 0"} {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %t : memref<128x128xf32>
  return
}

// An unplanned reduction, its initial values and its epilogue are one kernel, too, also in place.
// CHECK-LABEL: func.func @mean
// CHECK-NOT: memref.alloc
// CHECK-COUNT-1: gpu.launch_func @kernels::@mean
func.func @mean(%x: memref<8x40xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 40.0 : f32
  linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%zero : f32) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x40xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%y : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.divf %a, %count : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%y : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// A value with another reader stays in memory.
// CHECK-LABEL: func.func @two_readers
// CHECK: memref.alloc
// CHECK: gpu.launch_func @kernels::@two_readers
// CHECK: gpu.launch_func @kernels::@two_readers_1
func.func @two_readers(%x: memref<8x40xf32>, %y: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<8xf32>
  linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%zero : f32) outs(%t : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<8x40xf32>) outs(%t : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (7 - i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%t, %t : memref<8xf32>, memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %t : memref<8xf32>
  return
}

// CHECK-LABEL: gpu.module @kernels
// CHECK: gpu.func @points(%{{.*}}: !llvm.ptr, %{{.*}}: index, %{{.*}}: !llvm.ptr, %{{.*}}: index) kernel attributes {gpu.form = "points", known_block_size = array<i32: 256, 1, 1>}
// CHECK: gpu.func @rows({{.*}}gpu.form = "rows"
// CHECK: gpu.func @steps({{.*}}gpu.form = "threads"
// CHECK: memref.alloca() : memref<4xf32>
// CHECK: gpu.func @inside({{.*}}gpu.form = "rows"
// CHECK: gpu.func @ordered({{.*}}gpu.form = "block", known_block_size = array<i32: 1, 1, 1>}
// CHECK: memref.load
// CHECK: memref.store
// CHECK: scf.for
// CHECK: gpu.func @planned({{.*}}gpu.form = "tiles", known_block_size = array<i32: 64, 1, 1>}
