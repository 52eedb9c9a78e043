// RUN: relax-opt %s --gpu-share-scratch --split-input-file | FileCheck %s

// The scratch memory of functions follows the temporaries of the graph, at one place for all functions: its size is the
// largest need. Memory of dynamic size stays.
// CHECK-LABEL: func.func @two
// CHECK-SAME: (%[[X:.*]]: memref<64xf32>, %[[PLACE:.*]]: memref<768xi8>) -> i32
// CHECK: memref.view %[[PLACE]][%c0][] : memref<768xi8> to memref<100xf32>
// CHECK: %[[SECOND:.*]] = arith.constant 512 : index
// CHECK: memref.view %[[PLACE]][%[[SECOND]]][] : memref<768xi8> to memref<8xi8>
// CHECK-NOT: memref.dealloc
// CHECK: return
// CHECK-LABEL: func.func @one
// CHECK-SAME: index, %[[PLACE:.*]]: memref<256xi8>) {
// CHECK: memref.view %[[PLACE]]
// CHECK: memref.alloc(
// CHECK: memref.dealloc
// CHECK: return
// CHECK-LABEL: func.func @main
// CHECK: %[[ARENA:.*]] = memref.alloc() {alignment = 64 : i64, relax.arena} : memref<1792xi8>
// CHECK: memref.view %[[ARENA]][%{{.*}}][] : memref<1792xi8> to memref<1000xi8>
// CHECK: %[[OWN:.*]] = arith.constant 1024 : index
// CHECK: %[[OF_TWO:.*]] = memref.view %[[ARENA]][%[[OWN]]][] : memref<1792xi8> to memref<768xi8>
// CHECK: call @two(%{{.*}}, %[[OF_TWO]])
// CHECK: %[[OWN_TOO:.*]] = arith.constant 1024 : index
// CHECK: %[[OF_ONE:.*]] = memref.view %[[ARENA]][%[[OWN_TOO]]][] : memref<1792xi8> to memref<256xi8>
// CHECK: call @one(%{{.*}}, %[[OF_ONE]])
// CHECK: memref.dealloc %[[ARENA]]
// CHECK-LABEL: func.func @without_arena
// CHECK: call @alone(%{{.*}}) :
// CHECK-LABEL: func.func @alone
// CHECK-SAME: (%{{[^,]*}}: memref<64xf32>) {
// CHECK: memref.alloc
module {
  func.func @two(%x: memref<64xf32>) -> i32 {
    %c0 = arith.constant 0 : i32
    %a = memref.alloc() : memref<100xf32>
    %b = memref.alloc() : memref<8xi8>
    memref.dealloc %a : memref<100xf32>
    memref.dealloc %b : memref<8xi8>
    return %c0 : i32
  }
  func.func @one(%x: memref<64xf32>, %n: index) {
    %a = memref.alloc() : memref<2xf32>
    memref.dealloc %a : memref<2xf32>
    %b = memref.alloc(%n) : memref<?xf32>
    memref.dealloc %b : memref<?xf32>
    return
  }
  func.func @main(%x: memref<64xf32>, %n: index) {
    %arena = memref.alloc() {relax.arena} : memref<1000xi8>
    %0 = call @two(%x) : (memref<64xf32>) -> i32
    call @one(%x, %n) : (memref<64xf32>, index) -> ()
    memref.dealloc %arena : memref<1000xi8>
    return
  }
  func.func @without_arena(%x: memref<64xf32>) {
    call @alone(%x) : (memref<64xf32>) -> ()
    return
  }
  func.func @alone(%x: memref<64xf32>) {
    %a = memref.alloc() : memref<2xf32>
    memref.dealloc %a : memref<2xf32>
    return
  }
}

// -----

// The arena ends behind the last call that gets a piece of it, though nothing reads temporaries any more, and behind all
// rounds of a loop around such a call.
// CHECK-LABEL: func.func @main
// CHECK: %[[ARENA:.*]] = memref.alloc(%{{.*}}) {alignment = 64 : i64, relax.arena} : memref<?xi8>
// CHECK: call @copy(
// CHECK-NOT: memref.dealloc
// CHECK: scf.for
// CHECK: call @uses(
// CHECK: }
// CHECK-NEXT: memref.dealloc %[[ARENA]]
// CHECK-NEXT: call @copy(
module {
  func.func private @uses(%x: memref<64xf32>) {
    %a = memref.alloc() : memref<2xf32>
    memref.dealloc %a : memref<2xf32>
    return
  }
  func.func private @copy(%x: memref<64xf32>) {
    return
  }
  func.func @main(%x: memref<64xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %arena = memref.alloc(%n) {relax.arena} : memref<?xi8>
    %view = memref.view %arena[%c0][] : memref<?xi8> to memref<64xf32>
    call @copy(%view) : (memref<64xf32>) -> ()
    memref.dealloc %arena : memref<?xi8>
    scf.for %i = %c0 to %n step %c1 {
      func.call @uses(%x) : (memref<64xf32>) -> ()
    }
    call @copy(%x) : (memref<64xf32>) -> ()
    return
  }
}
