// RUN: relax-opt %s --host-keep-arena | FileCheck %s

// The arena is taken from what earlier calls have left, and left for later ones; other memory is not.
// CHECK-LABEL: func.func @f
// CHECK: %[[ARENA:.*]] = llvm.call @__relax_take_arena({{.*}}) : (i64) -> !llvm.ptr
// CHECK: %[[BYTES:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<?xi8>
// CHECK: memref.view %[[BYTES]]
// CHECK: memref.alloc() : memref<4xf32>
// CHECK: llvm.call @__relax_give_arena(%[[ARENA]]) : (!llvm.ptr) -> ()
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
// CHECK-DAG: llvm.func hidden @__relax_take_arena(i64) -> !llvm.ptr
// CHECK-DAG: llvm.func hidden @__relax_give_arena(!llvm.ptr)
