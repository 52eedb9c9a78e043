// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: relax-opt %s --tir-apply-schedule --print-script | FileCheck %s

// Memory as loops are read from it: views are arithmetic of indices.

// A view with offsets and strides that drops a dimension of one element.
// CHECK-LABEL: def subview(
// CHECK:     for i in range(3):
// CHECK-NEXT:         for j in range(4):
// CHECK-NEXT:             B[i, j] = A[i * 2 + 1, arg2, j * 2 + 2]
// CHECK-NEXT:     return
func.func @subview(%a: memref<8x9x10xf32>, %b: memref<3x4xf32>, %i: index) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22subview\22)"]} {
  %v = memref.subview %a[1, %i, 2] [3, 1, 4] [2, 1, 2] : memref<8x9x10xf32> to memref<3x4xf32, strided<[180, 2], offset: ?>>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v : memref<3x4xf32, strided<[180, 2], offset: ?>>) outs(%b : memref<3x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// A part of a part, and another type.
// CHECK-LABEL: def part_of_a_part(
// CHECK:     for i in range(4):
// CHECK-NEXT:         B[i] = A[i * 6 + 13]
// CHECK-NEXT:     return
func.func @part_of_a_part(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22part_of_a_part\22)"]} {
  %v = memref.subview %a[3] [%n] [2] : memref<?xf32> to memref<?xf32, strided<[2], offset: 3>>
  %w = memref.subview %v[5] [4] [3] : memref<?xf32, strided<[2], offset: 3>> to memref<4xf32, strided<[6], offset: 13>>
  %c = memref.cast %b : memref<?xf32> to memref<4xf32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%w : memref<4xf32, strided<[6], offset: 13>>) outs(%c : memref<4xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// A size of a part is what it was cut by.
// CHECK-LABEL: def size_of_a_part(
// CHECK:     for i in range(arg2):
// CHECK-NEXT:         B[i] = A[i * 2 + 3]
// CHECK-NEXT:     return
func.func @size_of_a_part(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22size_of_a_part\22)"]} {
  %v = memref.subview %a[3] [%n] [2] : memref<?xf32> to memref<?xf32, strided<[2], offset: 3>>
  %w = memref.subview %b[0] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : memref<?xf32, strided<[2], offset: 3>>) outs(%w : memref<?xf32, strided<[1]>>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// Dimensions as one.
// CHECK-LABEL: def collapsed(
// CHECK:     v0 = memref.collapse_shape(A, T.Buffer((24,), "float32"), reassociation=[[0, 1, 2]])
// CHECK-NEXT:     for i in range(24):
// CHECK-NEXT:         B[i] = v0[i]
// CHECK-NEXT:     return
func.func @collapsed(%a: memref<2x3x4xf32>, %b: memref<24xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22collapsed\22)"]} {
  %v = memref.collapse_shape %a [[0, 1, 2]] : memref<2x3x4xf32> into memref<24xf32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : memref<24xf32>) outs(%b : memref<24xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// CHECK-LABEL: def collapsed_open(
// CHECK:     for i in range(A.shape[0] * 4):
// CHECK-NEXT:         B[i] = v0[i]
// CHECK-NEXT:     return
func.func @collapsed_open(%a: memref<?x4xf32>, %b: memref<?xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22collapsed_open\22)"]} {
  %v = memref.collapse_shape %a [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : memref<?xf32>) outs(%b : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// One dimension expanded to several.
// CHECK-LABEL: def expanded(
// CHECK:     for i in range(2):
// CHECK-NEXT:         for j in range(3):
// CHECK-NEXT:             for k in range(4):
// CHECK-NEXT:                 B[i, j, k] = A[i * 12 + j * 4 + k]
// CHECK-NEXT:     return
func.func @expanded(%a: memref<24xf32>, %b: memref<2x3x4xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22expanded\22)"]} {
  %v = memref.expand_shape %a [[0, 1, 2]] output_shape [2, 3, 4] : memref<24xf32> into memref<2x3x4xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v : memref<2x3x4xf32>) outs(%b : memref<2x3x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// CHECK-LABEL: def expanded_open(
// CHECK:     for i in range(arg2):
// CHECK-NEXT:         for j in range(4):
// CHECK-NEXT:             B[i, j] = A[i * 4 + j]
// CHECK-NEXT:     return
func.func @expanded_open(%a: memref<?xf32>, %b: memref<?x4xf32>, %n: index) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22expanded_open\22)"]} {
  %v = memref.expand_shape %a [[0, 1]] output_shape [%n, 4] : memref<?xf32> into memref<?x4xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v : memref<?x4xf32>) outs(%b : memref<?x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// CHECK-LABEL: def one_element(
// CHECK:     B[0, 0] = A[()]
// CHECK-NEXT:     return
func.func @one_element(%a: memref<f32>, %b: memref<1x1xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22one_element\22)"]} {
  %v = memref.expand_shape %a [] output_shape [1, 1] : memref<f32> into memref<1x1xf32>
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v : memref<1x1xf32>) outs(%b : memref<1x1xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// All forms of indices.
// CHECK-LABEL: def forms(
// CHECK:     for i in range(8):
// CHECK-NEXT:         for j in range(4):
// CHECK-NEXT:             v0 = A[arith.remui(i, 3), arith.divui(i, 2), j + arith.divui(i + 1, 2), 3 - j]
// CHECK-NEXT:             B[i, j] = v0
// CHECK-NEXT:     return
func.func @forms(%a: memref<3x5x9x4xf32>, %b: memref<8x4xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22forms\22)"]} {
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 mod 3, d0 floordiv 2, d0 ceildiv 2 + d1, 3 - d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<3x5x9x4xf32>) outs(%b : memref<8x4xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// Sizes that are computed.
// CHECK-LABEL: def own_memory(
// CHECK:     v0 = A.shape[0]
// CHECK-NEXT:     v1 = v0 + arith.divui(v0 + 1, 9) - arith.divui(v0 * 2 + 2, 3)
// CHECK-NEXT:     v2 = memref.alloc(v1, T.Buffer(("?",), "float32"), alignment=64, segments=(1, 0))
// CHECK-NEXT:     for i in range(v0):
// CHECK-NEXT:         v2[i] = A[i]
// CHECK-NEXT:     for i in range(v1):
// CHECK-NEXT:         B[i] = v2[i]
// CHECK-NEXT:     return
func.func @own_memory(%a: memref<?xf32>, %b: memref<?xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22own_memory\22)"]} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %m = arith.muli %n, %c2 : index
  %k = arith.ceildivsi %m, %c3 : index
  %l = arith.divui %k, %c2 : index
  %o = arith.floordivsi %l, %c3 : index
  %p = arith.addi %o, %n : index
  %q = arith.subi %p, %k : index
  %v = memref.alloca(%q) : memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : memref<?xf32>) outs(%v : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : memref<?xf32>) outs(%b : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// CHECK-LABEL: def of_a_map(
// CHECK:     v0 = A.shape[0] * 4 + arith.divui(A.shape[1] + 1, 2)
// CHECK-NEXT:     v1 = memref.alloc(v0, T.Buffer(("?",), "float32"), alignment=64, segments=(1, 0))
// CHECK-NEXT:     for i in range(v0):
// CHECK-NEXT:         v1[i] = v1[i]
// CHECK-NEXT:     for i in range(v0):
// CHECK-NEXT:         B[i] = v1[i]
// CHECK-NEXT:     return
func.func @of_a_map(%a: memref<?x?xf32>, %b: memref<?xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22of_a_map\22)"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?x?xf32>
  %m = memref.dim %a, %c1 : memref<?x?xf32>
  %p = affine.apply affine_map<(d0)[s0] -> (d0 * 4 + s0 ceildiv 2)>(%n)[%m]
  %v = memref.alloc(%p) : memref<?xf32>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%v : memref<?xf32>) {
  ^bb0(%y: f32):
    linalg.yield %y : f32
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v : memref<?xf32>) outs(%b : memref<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }
  return
}

// Numbers are no elements.
// CHECK-LABEL: def numbers(
// CHECK:     for i in range(4):
// CHECK-NEXT:         v0 = A[i]
// CHECK-NEXT:         v1 = arg0 * 2.0
// CHECK-NEXT:         A[i] = v1 + v0
// CHECK-NEXT:     return
func.func @numbers(%x0: f32, %b: memref<4xf32>) attributes {tir.prim_func, tir.schedule = ["# schedule 1", "B = sch.get_block(\22numbers\22)"]} {
  %two = arith.constant 2.0 : f32
  linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x0, %two : f32, f32) outs(%b : memref<4xf32>) {
  ^bb0(%x: f32, %z: f32, %y: f32):
    %s = arith.mulf %x, %z : f32
    %t = arith.addf %s, %y : f32
    linalg.yield %t : f32
  }
  return
}
