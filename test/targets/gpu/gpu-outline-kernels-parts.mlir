// RUN: relax-opt %s --gpu-outline-kernels | FileCheck %s
// RUN: relax-opt %s --gpu-outline-kernels --gpu-share-threads | FileCheck %s --check-prefix=THREADS

// Parts of few results at first, in memory between two launches: a block for each part where elements are contiguous.
// CHECK-LABEL: func.func @of_blocks
// CHECK: %[[BETWEEN:.*]] = memref.alloc() {{.*}}: memref<5xf32>
// CHECK: gpu.launch_func @kernels::@of_blocks blocks in (%c5
// CHECK: gpu.launch_func @kernels::@of_blocks_1
// CHECK: memref.dealloc %[[BETWEEN]]
func.func @of_blocks(%x: memref<20000xf32>, %y: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<20000xf32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.maximumf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// A thread for each part where results do; how many parts, the host finds out where sizes are not known.
// CHECK-LABEL: func.func @of_threads
// CHECK: arith.minsi %{{.*}}, %c512
// CHECK: %[[BETWEEN:.*]] = memref.alloc(%{{.*}}) {{.*}}: memref<3x?xf32>
// CHECK: gpu.launch_func @kernels::@of_threads blocks
// CHECK: gpu.launch_func @kernels::@of_threads_1
func.func @of_threads(%x: memref<?x3xf32>, %y: memref<3xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x3xf32>) outs(%y : memref<3xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// Small reductions are not split, nor are reductions with many results.
// CHECK-LABEL: func.func @at_once
// CHECK-COUNT-2: gpu.launch_func
// CHECK-NOT: gpu.launch_func
// CHECK: return
func.func @at_once(%x: memref<8000xf32>, %y: memref<f32>, %z: memref<200x9000xf32>, %w: memref<200xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<8000xf32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%z : memref<200x9000xf32>) outs(%w : memref<200xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// A reduction's initial value and its epilogue move to the kernel that combines the parts.
// CHECK-LABEL: func.func @of_fill_and_epilogue
// CHECK: memref.alloc() : memref<f32>
// CHECK-NOT: memref.alloc() : memref<f32>
// CHECK: gpu.launch_func @kernels::@of_fill_and_epilogue blocks in (%c5
// CHECK: gpu.launch_func @kernels::@of_fill_and_epilogue_1
// CHECK-NOT: gpu.launch_func
// CHECK: return
func.func @of_fill_and_epilogue(%x: memref<20000xf32>) -> memref<f32> {
  %zero = arith.constant 3.0 : f32
  %sum = memref.alloc() : memref<f32>
  %y = memref.alloc() : memref<f32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<f32>)
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<20000xf32>) outs(%sum : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%sum : memref<f32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.sqrt %a : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %sum : memref<f32>
  return %y : memref<f32>
}

// CHECK: gpu.func @of_blocks({{.*}}gpu.form = "row_parts"
// CHECK: gpu.func @of_blocks_1({{.*}}gpu.form = "points"
// CHECK: gpu.func @of_threads({{.*}}gpu.form = "point_parts"
// CHECK: gpu.func @of_threads_1({{.*}}gpu.form = "rows"

// Parts start from what changes nothing, not from what the results hold, and take steps as far apart as there are parts.
// THREADS: gpu.func @of_blocks(
// THREADS: %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// THREADS: scf.for {{.*}} iter_args(%{{.*}} = %[[LOWEST]])
// THREADS: gpu.shuffle
// THREADS: gpu.func @of_threads(
// THREADS: arith.remui
// THREADS: scf.for
// THREADS-NOT: gpu.barrier
// THREADS: gpu.func @of_threads_1(
// THREADS: gpu.func @of_fill_and_epilogue(
// THREADS-NOT: 3.000000e+00
// THREADS-NOT: math.sqrt
// THREADS: gpu.func @of_fill_and_epilogue_1(
// THREADS: arith.constant 3.000000e+00 : f32
// THREADS: %[[SUM:.*]] = scf.for
// THREADS: math.sqrt
