// RUN: relax-opt %s --host-keep-arena | FileCheck %s

// The arena is reused from earlier calls and kept for later ones; other memory is kept only if it is large.
// CHECK-LABEL: func.func @f
// CHECK: %[[ARENA:.*]] = llvm.call @__relax_take_block(%{{.*}}, %{{.*}}) : (i64, i64) -> !llvm.ptr
// CHECK: %[[BYTES:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<?xi8>
// CHECK: memref.view %[[BYTES]]
// CHECK: memref.alloc() : memref<4xf32>
// CHECK: llvm.call @__relax_give_block(%{{.*}}, %[[ARENA]]) : (i64, !llvm.ptr) -> ()
// CHECK: memref.dealloc %{{.*}} : memref<4xf32>
func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc(%n) {alignment = 64 : i64, relax.arena} : memref<?xi8>
  %v = memref.view %a[%c0][] : memref<?xi8> to memref<4xf32>
  %other = memref.alloc() : memref<4xf32>
  memref.dealloc %a : memref<?xi8>
  memref.dealloc %other : memref<4xf32>
  return
}

// A kernel's workspace is in another block; results that leave the kernel are in none.
// CHECK-LABEL: func.func @kernel
// CHECK: %[[SCRATCH:.*]] = arith.constant 1 : i64
// CHECK: %[[BYTES:.*]] = arith.constant 1048576 : i64
// CHECK: %[[BLOCK:.*]] = llvm.call @__relax_take_block(%[[SCRATCH]], %[[BYTES]]) : (i64, i64) -> !llvm.ptr
// CHECK: builtin.unrealized_conversion_cast {{.*}} to memref<512x512xf32>
// CHECK: memref.alloc() {{.*}} : memref<512x511xf32>
// CHECK: memref.alloc() : memref<512x512xf32>
// CHECK: llvm.call @__relax_give_block(%[[SCRATCH]], %[[BLOCK]]) : (i64, !llvm.ptr) -> ()
func.func @kernel() -> memref<512x512xf32> {
  %large = memref.alloc() {alignment = 64 : i64} : memref<512x512xf32>
  %small = memref.alloc() {alignment = 64 : i64} : memref<512x511xf32>
  %given = memref.alloc() : memref<512x512xf32>
  memref.dealloc %large : memref<512x512xf32>
  memref.dealloc %small : memref<512x511xf32>
  return %given : memref<512x512xf32>
}
// CHECK-DAG: llvm.func hidden @__relax_take_block(i64, i64) -> !llvm.ptr
// CHECK-DAG: llvm.func hidden @__relax_give_block(i64, !llvm.ptr)
