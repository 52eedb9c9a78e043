// RUN: relax-opt %s --gpu-outline-kernels | FileCheck %s

#same = affine_map<(i) -> (i)>

// Two parts of one result: one launch, as many blocks as both take.
// CHECK-LABEL: func.func @parts
// CHECK: gpu.launch_func @kernels::@parts blocks
// CHECK-NOT: gpu.launch_func
func.func @parts(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %m = memref.dim %y, %c0 : memref<?xf32>
  %first = memref.subview %z[0] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%first : memref<?xf32, strided<[1]>>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  %second = memref.subview %z[%n] [%m] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%y : memref<?xf32>) outs(%second : memref<?xf32, strided<[1], offset: ?>>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// Nobody knows that the second part begins behind the first one.
// CHECK-LABEL: func.func @unknown
// CHECK: gpu.launch_func @kernels::@unknown
// CHECK: gpu.launch_func @kernels::@unknown_1
func.func @unknown(%x: memref<4xf32>, %at: index, %z: memref<8xf32>) attributes {tir.prim_func} {
  %first = memref.subview %z[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%first : memref<4xf32, strided<[1]>>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  %second = memref.subview %z[%at] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%second : memref<4xf32, strided<[1], offset: ?>>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// The second one reads what the first one writes; below, it writes what the first one reads.
// CHECK-LABEL: func.func @in_order
// CHECK: gpu.launch_func @kernels::@in_order
// CHECK: gpu.launch_func @kernels::@in_order_1
func.func @in_order(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) attributes {tir.prim_func} {
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (3 - i)>, #same], iterator_types = ["parallel"]}
      ins(%y : memref<4xf32>) outs(%z : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// CHECK-LABEL: func.func @over_what_is_read
// CHECK: gpu.launch_func @kernels::@over_what_is_read
// CHECK: gpu.launch_func @kernels::@over_what_is_read_1
func.func @over_what_is_read(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) attributes {tir.prim_func} {
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%z : memref<4xf32>) outs(%x : memref<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// A load that only an assertion reads moves into the kernel with the assertion: the host does not wait.
// CHECK-LABEL: func.func @asserted
// CHECK-NOT: memref.load
// CHECK: gpu.launch_func @kernels::@asserted
// CHECK-NOT: memref.load
// CHECK: return
// CHECK: gpu.func @asserted
// CHECK: memref.load
// CHECK: tir.assert
// CHECK: memref.store
func.func @asserted(%x: memref<i64>, %y: memref<i64>) attributes {tir.prim_func} {
  %c0 = arith.constant 0 : i64
  %0 = memref.load %x[] : memref<i64>
  %1 = arith.cmpi ne, %0, %c0 : i64
  "tir.assert"(%1) {kind = "ValueError", message = "it is 0"} : (i1) -> ()
  %2 = arith.addi %0, %0 : i64
  memref.store %2, %y[] : memref<i64>
  return
}
