// The offsets of tensors in the arena, their lifetimes, and the checks of sizes before memory is allocated.

// RUN: relax-opt %s --relax-lower-calls | FileCheck %s

!t = tensor<16xf32>
!w = tensor<128xf32>
func.func @wide_one(%x: memref<128xf32>, %out: memref<128xf32>) attributes {tir.prim_func} {
  return
}
func.func @wide_two(%x: memref<128xf32>, %y: memref<128xf32>, %out: memref<128xf32>) attributes {tir.prim_func} {
  return
}
func.func @one(%x: memref<16xf32>, %out: memref<16xf32>) attributes {tir.prim_func} {
  return
}
func.func @two(%x: memref<16xf32>, %y: memref<16xf32>, %out: memref<16xf32>) attributes {tir.prim_func} {
  return
}
func.func @half(%x: memref<16xf32>, %out: memref<8xf32>) attributes {tir.prim_func} {
  return
}
func.func @any(%x: memref<?xf32>, %out: memref<?xf32>) attributes {tir.prim_func} {
  return
}
func.func @sum(%x: memref<?x?xf32>, %out: memref<f32>) attributes {tir.prim_func} {
  return
}
func.func @change(%x: memref<16xf32>) attributes {tir.prim_func} {
  return
}

// A place is free when its tensor was read for the last time, not before: %b may not lie where %a is, %c may.
// CHECK-LABEL: func.func @read_again(
// CHECK: %[[ARENA:[a-z_0-9]+]] = memref.alloc() {alignment = 64 : i64, relax.arena} : memref<192xi8>
// CHECK: %[[A:[a-z_0-9]+]] = memref.view %[[ARENA]][%c0{{[_0-9]*}}]
// CHECK: call @one(%arg0, %[[A]])
// CHECK: %[[B:[a-z_0-9]+]] = memref.view %[[ARENA]][%c64{{[_0-9]*}}]
// CHECK: call @one(%[[A]], %[[B]])
// CHECK: %[[C:[a-z_0-9]+]] = memref.view %[[ARENA]][%c128{{[_0-9]*}}]
// CHECK: call @two(%[[A]], %[[B]], %[[C]])
// CHECK: %[[D:[a-z_0-9]+]] = memref.view %[[ARENA]][%c0{{[_0-9]*}}]
// CHECK: call @one(%[[C]], %[[D]])
// CHECK: call @one(%[[D]], %arg1)
func.func @read_again(%x: !t) -> !t {
  %a = "relax.call_tir"(%x) {func = @one} : (!t) -> !t
  %b = "relax.call_tir"(%a) {func = @one} : (!t) -> !t
  %c = "relax.call_tir"(%a, %b) {func = @two} : (!t, !t) -> !t
  %d = "relax.call_tir"(%c) {func = @one} : (!t) -> !t
  %e = "relax.call_tir"(%d) {func = @one} : (!t) -> !t
  return %e : !t
}

// A use of a view counts as a use of the viewed tensor.
// CHECK-LABEL: func.func @read_as_a_view(
// CHECK: %[[A:[a-z_0-9]+]] = memref.view %[[ARENA:[a-z_0-9]+]][%c0{{[_0-9]*}}]
// CHECK: %[[B:[a-z_0-9]+]] = memref.view %[[ARENA]][%c64{{[_0-9]*}}]
// CHECK: %[[C:[a-z_0-9]+]] = memref.view %[[ARENA]][%c128{{[_0-9]*}}]
// CHECK: call @one(%[[B]], %[[C]])
// CHECK: %[[FLAT:[a-z_0-9]+]] = memref.reinterpret_cast {{.*}} sizes: [16]
// CHECK: call @two(%{{.*}}, %[[C]], %arg1)
func.func @read_as_a_view(%x: !t) -> !t {
  %a = "relax.call_tir"(%x) {func = @one} : (!t) -> !t
  %v = "relax.expand_dims"(%a) {axis = array<i64: 0>} : (!t) -> tensor<1x16xf32>
  %b = "relax.call_tir"(%x) {func = @one} : (!t) -> !t
  %c = "relax.call_tir"(%b) {func = @one} : (!t) -> !t
  %f = "relax.flatten"(%v) : (tensor<1x16xf32>) -> !t
  %d = "relax.call_tir"(%f, %c) {func = @two} : (!t, !t) -> !t
  return %d : !t
}

// A use of an in-place result also counts as a use of the tensor.
// CHECK-LABEL: func.func @changed_in_place(
// CHECK: %[[A:[a-z_0-9]+]] = memref.view %[[ARENA:[a-z_0-9]+]][%c0{{[_0-9]*}}]
// CHECK: call @one(%arg0, %[[A]])
// CHECK: call @change(%[[A]])
// CHECK: %[[B:[a-z_0-9]+]] = memref.view %[[ARENA]][%c64{{[_0-9]*}}]
// CHECK: call @one(%arg0, %[[B]])
// CHECK: call @two(%[[A]], %[[B]], %arg1)
func.func @changed_in_place(%x: !t) -> !t {
  %a = "relax.call_tir"(%x) {func = @one} : (!t) -> !t
  %n = "relax.call_tir_inplace"(%a) {func = @change, inplace_indices = [0]} : (!t) -> !t
  %b = "relax.call_tir"(%x) {func = @one} : (!t) -> !t
  %c = "relax.call_tir"(%n, %b) {func = @two} : (!t, !t) -> !t
  return %c : !t
}

// A tensor from outside that a loop reads stays live until the loop ends, since the next iteration reads it again.
// CHECK-LABEL: func.func @read_in_a_loop(
// CHECK: %[[ARENA:[a-z_0-9]+]] = memref.alloc() {alignment = 64 : i64, relax.arena} : memref<1536xi8>
// CHECK: %[[A:[a-z_0-9]+]] = memref.view %[[ARENA]][%c0{{[_0-9]*}}]
// CHECK: call @wide_one(%arg0, %[[A]])
// CHECK: scf.for
// CHECK-SAME: iter_args(%[[P:[a-z_0-9]+]] = %{{.*}}, %[[NEXT:[a-z_0-9]+]] = %{{.*}}) ->
// CHECK: %[[B:[a-z_0-9]+]] = memref.view %[[ARENA]][%c512{{[_0-9]*}}]
// CHECK: call @wide_two(%[[A]], %[[P]], %[[B]])
// CHECK: call @wide_one(%[[B]], %[[NEXT]])
// CHECK: memref.dealloc %[[ARENA]]
func.func @read_in_a_loop(%x: !w, %n: i64) -> !w {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %a = "relax.call_tir"(%x) {func = @wide_one} : (!w) -> !w
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!w) : i64 {
    %b = "relax.call_tir"(%a, %p) {func = @wide_two} : (!w, !w) -> !w
    %c = "relax.call_tir"(%b) {func = @wide_one} : (!w) -> !w
    scf.yield %c : !w
  }
  return %r : !w
}

// An iteration's results alternate between two buffers, which are released after the loop.
// CHECK-LABEL: func.func @carried(
// CHECK: %[[FIRST:[a-z_0-9]+]] = memref.alloc() {alignment = 64 : i64} : memref<128xf32>
// CHECK: linalg.generic {{.*}} ins(%arg0 : memref<128xf32>) outs(%[[FIRST]]
// CHECK: %[[SECOND:[a-z_0-9]+]] = memref.alloc() {alignment = 64 : i64} : memref<128xf32>
// CHECK: %[[LAST:[a-z_0-9]+]]:2 = scf.for
// CHECK-SAME: iter_args(%[[P:[a-z_0-9]+]] = %[[FIRST]], %[[NEXT:[a-z_0-9]+]] = %[[SECOND]])
// CHECK-NEXT: call @wide_one(%[[P]], %[[NEXT]])
// CHECK-NEXT: scf.yield %[[NEXT]], %[[P]]
// CHECK: linalg.generic {{.*}} ins(%[[LAST]]#0 : memref<128xf32>) outs(%arg2
// CHECK-COUNT-2: memref.dealloc %{{.*}} : memref<128xf32>
// CHECK-NOT: memref.dealloc %{{.*}} : memref<128xf32>
func.func @carried(%x: !w, %n: i64) -> !w {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x) -> (!w) : i64 {
    %b = "relax.call_tir"(%p) {func = @wide_one} : (!w) -> !w
    scf.yield %b : !w
  }
  return %r : !w
}

// Values that a loop swaps are copied, since neither is at its destination.
// CHECK-LABEL: func.func @exchanged(
// CHECK: scf.for %
// CHECK-SAME: iter_args(%[[P:[a-z_0-9]+]] = %{{.*}}, %[[P2:[a-z_0-9]+]] = %{{.*}}, %[[Q:[a-z_0-9]+]] = %{{.*}}, %[[Q2:[a-z_0-9]+]] = %{{.*}}) ->
// CHECK: linalg.generic {{.*}} ins(%[[Q]] : memref<128xf32>) outs(%[[P2]]
// CHECK: linalg.generic {{.*}} ins(%[[P]] : memref<128xf32>) outs(%[[Q2]]
// CHECK: scf.yield %[[P2]], %[[P]], %[[Q2]], %[[Q]]
func.func @exchanged(%x: !w, %y: !w, %n: i64) -> (!w, !w) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %y) -> (!w, !w) : i64 {
    scf.yield %q, %p : !w, !w
  }
  return %r#0, %r#1 : !w, !w
}

// Places begin at multiples of 64 bytes, also behind less: 32 bytes take 64, and so do n floats whatever n is.
// CHECK-LABEL: func.func @aligned(
// CHECK: %[[N:[a-z_0-9]+]] = memref.dim %arg1, %c0{{[_0-9]*}} : memref<?xf32>
// CHECK: %[[M:[a-z_0-9]+]] = memref.dim %arg2, %c0{{[_0-9]*}} : memref<?xf32>
// CHECK: arith.muli
// CHECK: %[[UP:[a-z_0-9]+]] = arith.addi %{{.*}}, %c63{{[_0-9]*}} : index
// CHECK: %[[FULL:[a-z_0-9]+]] = arith.andi %[[UP]], %c-64{{[_0-9]*}} : index
// CHECK: %[[SECOND:[a-z_0-9]+]] = arith.addi %[[FULL]], %c64{{[_0-9]*}} : index
// CHECK: %[[UP2:[a-z_0-9]+]] = arith.addi %{{.*}}, %c63{{[_0-9]*}} : index
// CHECK: %[[FULL2:[a-z_0-9]+]] = arith.andi %[[UP2]], %c-64{{[_0-9]*}} : index
// CHECK: %[[ALL:[a-z_0-9]+]] = arith.addi %[[SECOND]], %[[FULL2]] : index
// CHECK: %[[ARENA:[a-z_0-9]+]] = memref.alloc(%[[ALL]])
// CHECK: memref.view %[[ARENA]][%c0{{[_0-9]*}}][] : memref<?xi8> to memref<8xf32>
// CHECK: memref.view %[[ARENA]][%c64{{[_0-9]*}}][%[[N]]]
// CHECK: memref.view %[[ARENA]][%[[SECOND]]][%[[M]]]
func.func @aligned(%x: !t, %y: tensor<?xf32, #relax.sym<["n"]>>, %z: tensor<?xf32, #relax.sym<["m"]>>)
    -> (tensor<8xf32>, tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["m"]>>) {
  %a = "relax.call_tir"(%x) {func = @half} : (!t) -> tensor<8xf32>
  %b = "relax.call_tir"(%y) {func = @any} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %c = "relax.call_tir"(%z) {func = @any} : (tensor<?xf32, #relax.sym<["m"]>>) -> tensor<?xf32, #relax.sym<["m"]>>
  %d = "relax.call_tir"(%a) {func = @any} : (tensor<8xf32>) -> tensor<8xf32>
  %e = "relax.call_tir"(%b) {func = @any} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %f = "relax.call_tir"(%c) {func = @any} : (tensor<?xf32, #relax.sym<["m"]>>) -> tensor<?xf32, #relax.sym<["m"]>>
  return %d, %e, %f : tensor<8xf32>, tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["m"]>>
}

// Tensors of the same symbolic size share memory only after the last use of the first one.
// CHECK-LABEL: func.func @taking_turns(
// CHECK: %[[A:[a-z_0-9]+]] = memref.view %[[ARENA:[a-z_0-9]+]][%c0{{[_0-9]*}}][
// CHECK: call @any(%arg0, %[[A]])
// CHECK: %[[B:[a-z_0-9]+]] = memref.view %[[ARENA]][%[[SECOND:[0-9]+]]][
// CHECK: call @any(%[[A]], %[[B]])
// CHECK: %[[C:[a-z_0-9]+]] = memref.view %[[ARENA]][%c0{{[_0-9]*}}][
// CHECK: call @any(%[[B]], %[[C]])
// CHECK: call @any(%[[C]], %arg1)
func.func @taking_turns(%x: tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>> {
  %a = "relax.call_tir"(%x) {func = @any} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %b = "relax.call_tir"(%a) {func = @any} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %c = "relax.call_tir"(%b) {func = @any} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  %d = "relax.call_tir"(%c) {func = @any} : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  return %d : tensor<?xf32, #relax.sym<["n"]>>
}

// A size that is none of a tensor's is compared with 0; then what all make together, as numbers that do not wrap around.
// CHECK-LABEL: func.func @negative(
// CHECK: %[[LESS:[a-z_0-9]+]] = arith.addi %dim_0, %c-5
// CHECK: %[[FINE:[a-z_0-9]+]] = arith.cmpi sge, %[[LESS]], %c0{{[_0-9]*}} : index
// CHECK: "tir.assert"(%[[FINE]], %{{.*}}) {kind = "ValueError", message = "a size of the shape (n, m - 5) is negative: {}"}
// CHECK: arith.mulf
// CHECK: %[[BYTES:[a-z_0-9]+]] = arith.mulf
// CHECK: %[[ROOM:[a-z_0-9]+]] = arith.cmpf olt, %[[BYTES]]
// CHECK: "tir.assert"(%[[ROOM]], %{{.*}}) {kind = "MemoryError"
// CHECK: memref.alloc(
!l = tensor<?x?xf32, #relax.sym<["n", "m - 5"]>>
func.func @negative(%x: tensor<?x?xf32, #relax.sym<["n", "m"]>>) -> tensor<f32> {
  %a = "relax.call_dps_packed"(%x) {func = "my.shorter"} : (tensor<?x?xf32, #relax.sym<["n", "m"]>>) -> !l
  %b = "relax.call_tir"(%a) {func = @sum} : (!l) -> tensor<f32>
  return %b : tensor<f32>
}

// Only the lowest of several sizes is compared with 0. A checked size is not checked again for tensors with the same
// sizes, in any order, and elements of at most the same width.
// CHECK-LABEL: func.func @once(
// CHECK: %[[LOWEST:[a-z_0-9]+]] = arith.minsi %{{.*}}, %{{.*}} : index
// CHECK: arith.cmpi sge, %[[LOWEST]], %c0{{[_0-9]*}} : index
// CHECK: "tir.assert"{{.*}} "a size of the shape (n - 5, m - 5) is negative: {}"}
// CHECK: "tir.assert"{{.*}} "a tensor of the shape (n - 5, m - 5) needs {} bytes or more"}
// CHECK-NEXT: %{{.*}} = arith.constant 8.000000e+00 : f64
// CHECK-NOT: is negative
// CHECK: "tir.assert"{{.*}} "a tensor of the shape (m - 5, n - 5) needs {} bytes or more"}
// CHECK-NOT: is negative
// CHECK-NOT: bytes or more
// CHECK: memref.alloc(
!nm = tensor<?x?xf32, #relax.sym<["n - 5", "m - 5"]>>
!mn = tensor<?x?xf32, #relax.sym<["m - 5", "n - 5"]>>
!wide = tensor<?x?xf64, #relax.sym<["m - 5", "n - 5"]>>
func.func @once(%x: tensor<?x?xf32, #relax.sym<["n", "m"]>>) -> tensor<f32> {
  %a = "relax.call_dps_packed"(%x) {func = "my.shorter"} : (tensor<?x?xf32, #relax.sym<["n", "m"]>>) -> !nm
  %b = "relax.call_dps_packed"(%a) {func = "my.turned"} : (!nm) -> !mn
  %c = "relax.call_dps_packed"(%b) {func = "my.wider"} : (!mn) -> !wide
  %d = "relax.call_dps_packed"(%c) {func = "my.narrower"} : (!wide) -> !mn
  %e = "relax.call_tir"(%d) {func = @sum} : (!mn) -> tensor<f32>
  return %e : tensor<f32>
}

// The sizes of a shape that a kernel has computed are checked at once, and never again.
// CHECK-LABEL: func.func @computed(
// CHECK: "tir.assert"{{.*}} message = "the size of dimension {} is negative: {}"}
// CHECK-NOT: is negative
// CHECK: return
func.func @computed(%s: tensor<2xi64>, %x: tensor<f32>) -> tensor<f32> {
  %shape = "relax.tensor_to_shape"(%s) : (tensor<2xi64>) -> !relax.shape<["?", "?"]>
  %named = "relax.match_cast"(%shape) : (!relax.shape<["?", "?"]>) -> !relax.shape<["p", "q"]>
  %a = "relax.call_dps_packed"(%x) {func = "my.spread"} : (tensor<f32>) -> tensor<?x?xf32, #relax.sym<["p", "q"]>>
  %b = "relax.call_tir"(%a) {func = @sum} : (tensor<?x?xf32, #relax.sym<["p", "q"]>>) -> tensor<f32>
  return %b : tensor<f32>
}

// A tensor of a size computed at run time has no place in the arena. It is freed after its last use, which may be a view.
// CHECK-LABEL: func.func @short_lives(
// CHECK: %[[A:[a-z_0-9]+]] = memref.alloc({{.*}}relax.counted
// CHECK: %[[B:[a-z_0-9]+]] = memref.alloc({{.*}}relax.counted
// CHECK: call @any(%[[A]], %[[B]])
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK: %[[VIEW:[a-z_0-9]+]] = memref.reinterpret_cast %[[B]]
// CHECK: call @sum(
// CHECK-NEXT: memref.dealloc %[[B]]
// CHECK: call @half(
func.func @short_lives(%s: tensor<1xi64>, %x: !t) -> (tensor<f32>, tensor<8xf32>) {
  %shape = "relax.tensor_to_shape"(%s) : (tensor<1xi64>) -> !relax.shape<["?"]>
  %named = "relax.match_cast"(%shape) : (!relax.shape<["?"]>) -> !relax.shape<["p"]>
  %a = "relax.call_dps_packed"(%x) {func = "my.spread"} : (!t) -> tensor<?xf32, #relax.sym<["p"]>>
  %b = "relax.call_tir"(%a) {func = @any} : (tensor<?xf32, #relax.sym<["p"]>>) -> tensor<?xf32, #relax.sym<["p"]>>
  %c = "relax.expand_dims"(%b) {axis = array<i64: 0>} : (tensor<?xf32, #relax.sym<["p"]>>) -> tensor<1x?xf32, #relax.sym<[1, "p"]>>
  %d = "relax.call_tir"(%c) {func = @sum} : (tensor<1x?xf32, #relax.sym<[1, "p"]>>) -> tensor<f32>
  %e = "relax.call_tir"(%x) {func = @half} : (!t) -> tensor<8xf32>
  return %d, %e : tensor<f32>, tensor<8xf32>
}
