// RUN: relax-opt %s --gpu-outline-kernels="device=vulkan threads=128 shared=16384" | FileCheck %s
// RUN: relax-opt %s --gpu-outline-kernels="device=vulkan threads=128 shared=16384" --gpu-share-threads --gpu-place-shared=most=16384 | FileCheck %s --check-prefix=SHARED

// Kernels respect the limits of a device with few threads per block and little memory.

// CHECK-LABEL: func.func @points
// CHECK: gpu.launch_func @kernels::@points {{.*}} threads in (%c128
func.func @points(%x: memref<?xf32>, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// Rows that would have 256 threads.
// CHECK-LABEL: func.func @rows
// CHECK: gpu.launch_func @kernels::@rows blocks in (%c900{{.*}} threads in (%c128
func.func @rows(%x: memref<900x9000xf32>, %y: memref<900xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%x : memref<900x9000xf32>) outs(%y : memref<900xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// A tile of bytes has 16,512 of them, which is too many; one of f32 goes down to 128 threads.
// CHECK-LABEL: func.func @turned_bytes
// CHECK: gpu.launch_func @kernels::@turned_bytes {{.*}} threads in (%c128
// CHECK-LABEL: func.func @turned
// CHECK: gpu.launch_func @kernels::@turned {{.*}} threads in (%c128
// SHARED: memref.global "private" @turned_shared : memref<32x33xf32, 3>
// SHARED-NOT: @turned_bytes_shared
func.func @turned_bytes(%x: memref<512x512xi8>, %y: memref<512x512xi8>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<512x512xi8>) outs(%y : memref<512x512xi8>) {
  ^bb0(%a: i8, %b: i8):
    linalg.yield %a : i8
  }
  return
}
func.func @turned(%x: memref<512x512xf32>, %y: memref<512x512xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x : memref<512x512xf32>) outs(%y : memref<512x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// The host allocates, for all blocks, buffers that do not fit into a block.
// CHECK-LABEL: func.func @scratch
// CHECK: memref.alloc({{.*}} : memref<?x5000xf32>
// CHECK: gpu.launch_func @kernels::@scratch
func.func @scratch(%x: memref<?x5000xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5000 = arith.constant 5000 : index
  %n = memref.dim %x, %c0 : memref<?x5000xf32>
  scf.for %i = %c0 to %n step %c1 {
    %own = memref.alloc() : memref<5000xf32>
    scf.for %j = %c0 to %c5000 step %c1 {
      %0 = memref.load %x[%i, %j] : memref<?x5000xf32>
      memref.store %0, %own[%j] : memref<5000xf32>
    } {tir.parallel = 1 : i64}
    scf.for %j = %c0 to %c5000 step %c1 {
      %k = arith.subi %c5000, %j : index
      %l = arith.subi %k, %c1 : index
      %0 = memref.load %own[%l] : memref<5000xf32>
      memref.store %0, %x[%i, %j] : memref<?x5000xf32>
    } {tir.parallel = 1 : i64}
    memref.dealloc %own : memref<5000xf32>
  } {tir.parallel = 1 : i64}
  return
}
