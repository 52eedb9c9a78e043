// RUN: relax-opt %s --llvm-pass-pointers | FileCheck %s
// RUN: relax-opt %s --llvm-pass-pointers --llvm-pass-pointers -o %t.twice && relax-opt %s --llvm-pass-pointers | diff - %t.twice

memref.global "private" constant @weights : memref<8xf32> = dense<1.0>

// A pointer, and the one size that the type does not tell.
// CHECK-LABEL: func.func private @kernel(
// CHECK-SAME: %[[FROM:.*]]: !llvm.ptr, %[[N:.*]]: i64, %[[SCALE:.*]]: f32, %[[TO:.*]]: !llvm.ptr, %{{.*}}: i64) -> i32
func.func private @kernel(%from: memref<?x8xf32>, %scale: f32, %to: memref<8x?xf32>) -> i32 {
  // CHECK: %[[D0:.*]] = llvm.insertvalue %[[FROM]], %{{.*}}[0]
  // CHECK: %[[D1:.*]] = llvm.insertvalue %[[FROM]], %[[D0]][1]
  // CHECK: %[[D2:.*]] = llvm.insertvalue %{{.*}}, %[[D1]][2]
  // CHECK: builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)> to memref<?x8xf32>
  %c0 = arith.constant 0 : index
  %0 = memref.load %from[%c0, %c0] : memref<?x8xf32>
  %1 = arith.mulf %0, %scale : f32
  memref.store %1, %to[%c0, %c0] : memref<8x?xf32>
  %status = arith.constant 0 : i32
  return %status : i32
}

// A layout is more than a pointer and sizes: the view stays a memref, other arguments do not.
// CHECK-LABEL: func.func private @with_layout(
// CHECK-SAME: memref<?xf32, strided<[?], offset: ?>>, %{{.*}}: !llvm.ptr)
func.func private @with_layout(%a: memref<?xf32, strided<[?], offset: ?>>, %b: memref<8xf32>) {
  return
}

func.func private @of_any_size(%a: memref<?xf32>) {
  return
}

// CHECK-LABEL: func.func private @taken_as_a_value(%{{.*}}: memref<8xf32>)
func.func private @taken_as_a_value(%a: memref<8xf32>) {
  return
}

// Others may call it.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: memref<?x8xf32>, %[[ARENA:.*]]: memref<?xi8>, %[[N:.*]]: index, %[[SHIFT:.*]]: index, %[[SCALE:.*]]: f32,
func.func @main(%x: memref<?x8xf32>, %arena: memref<?xi8>, %n: index, %shift: index, %scale: f32, %static: memref<8xf32>) -> i32 {
  // CHECK: %[[GLOBAL:.*]] = memref.get_global @weights
  // CHECK: %[[W:.*]] = llvm.extractvalue %{{.*}}[1]
  // CHECK: %[[BASE:.*]] = llvm.extractvalue %{{.*}}[1]
  // CHECK: %[[P:.*]] = llvm.extractvalue %{{.*}}[1]
  // CHECK-NOT: memref.view
  // CHECK: %[[BYTES:.*]] = arith.index_cast %[[SHIFT]] : index to i64
  // CHECK: %[[VIEW:.*]] = llvm.getelementptr %[[BASE]][%[[BYTES]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
  %view = memref.view %arena[%shift][%n] : memref<?xi8> to memref<8x?xf32>
  // CHECK: %[[ROWS:.*]] = memref.dim %[[X]], %{{.*}} : memref<?x8xf32>
  // CHECK: %[[ROWS64:.*]] = arith.index_cast %[[ROWS]] : index to i64
  // CHECK: %[[N64:.*]] = arith.index_cast %[[N]] : index to i64
  // CHECK: %[[STATUS:.*]] = call @kernel(%[[P]], %[[ROWS64]], %[[SCALE]], %[[VIEW]], %[[N64]]) {relax.note}
  %status = func.call @kernel(%x, %scale, %view) {relax.note} : (memref<?x8xf32>, f32, memref<8x?xf32>) -> i32
  // Constants are looked up once.
  // CHECK-NOT: memref.get_global
  // CHECK: %[[FLOATS:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<?xf32, strided<[?], offset: ?>>
  // CHECK: call @with_layout(%[[FLOATS]], %[[W]])
  // CHECK: call @with_layout(%[[FLOATS]], %[[W]])
  %strided = memref.reinterpret_cast %arena to offset: [%shift], sizes: [%n], strides: [%n]
    : memref<?xi8> to memref<?xi8, strided<[?], offset: ?>>
  %floats = builtin.unrealized_conversion_cast %strided : memref<?xi8, strided<[?], offset: ?>> to memref<?xf32, strided<[?], offset: ?>>
  %w = memref.get_global @weights : memref<8xf32>
  call @with_layout(%floats, %w) : (memref<?xf32, strided<[?], offset: ?>>, memref<8xf32>) -> ()
  %w2 = memref.get_global @weights : memref<8xf32>
  call @with_layout(%floats, %w2) : (memref<?xf32, strided<[?], offset: ?>>, memref<8xf32>) -> ()
  %f = constant @taken_as_a_value : (memref<8xf32>) -> ()
  // CHECK: call @taken_as_a_value(%[[STATIC:.*]]) : (memref<8xf32>) -> ()
  call @taken_as_a_value(%static) : (memref<8xf32>) -> ()
  // Known behind a type that does not tell: a number. The cast has done its work.
  // CHECK-NOT: memref.cast
  // CHECK: %[[EIGHT:.*]] = arith.constant 8 : i64
  // CHECK: call @of_any_size(%{{.*}}, %[[EIGHT]]) : (!llvm.ptr, i64) -> ()
  %any = memref.cast %static : memref<8xf32> to memref<?xf32>
  call @of_any_size(%any) : (memref<?xf32>) -> ()
  // CHECK: return %[[STATUS]]
  return %status : i32
}
