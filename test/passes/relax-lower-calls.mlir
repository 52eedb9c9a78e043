// RUN: relax-opt %s --relax-lower-calls | FileCheck %s

func.func @exp(%x: memref<?x8xf32>, %out: memref<?x8xf32>) attributes {tir.prim_func} {
  return
}

// The result is the caller's memory; temporaries of one symbolic size take turns in slots of one arena.
// CHECK-LABEL: func.func @chain(%arg0: memref<?x8xf32>, %arg1: memref<?x8xf32>)
// CHECK-SAME: relax.input_names = ["x"]
// CHECK: %[[ARENA:.*]] = memref.alloc({{.*}}) {alignment = 64 : i64, relax.arena} : memref<?xi8>
// CHECK: %[[A:.*]] = memref.view %[[ARENA]]
// CHECK: call @exp(%arg0, %[[A]])
// CHECK: %[[B:.*]] = memref.view %[[ARENA]]
// CHECK: call @exp(%[[A]], %[[B]])
// CHECK: call @exp(%[[B]], %arg1)
// CHECK: memref.dealloc %[[ARENA]]
// CHECK-NEXT: return
!t = tensor<?x8xf32, #relax.sym<["n", 8]>>
func.func @chain(%x: !t {relax.name = "x"}) -> !t {
  %0 = "relax.call_tir"(%x) {func = @exp} : (!t) -> !t
  %1 = "relax.call_tir"(%0) {func = @exp} : (!t) -> !t
  %2 = "relax.call_tir"(%1) {func = @exp} : (!t) -> !t
  return %2 : !t
}

// Views have no kernel and no memory of their own. What is an input or a constant is copied where it is returned.
// CHECK-LABEL: func.func @views(%arg0: memref<2x8xf32>, %arg1: memref<16xf32>, %arg2: memref<3xi8>)
// CHECK: memref.reinterpret_cast %arg0 to offset: [0], sizes: [16], strides: [1]
// CHECK: %[[C:.*]] = memref.get_global @constant_0 : memref<3xi8>
// CHECK: linalg.generic {{.*}} outs(%arg1 : memref<16xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[C]] : memref<3xi8>) outs(%arg2 : memref<3xi8>)
func.func @views(%x: tensor<2x8xf32>) -> (tensor<16xf32>, tensor<3xui8>) {
  %0 = "relax.flatten"(%x) : (tensor<2x8xf32>) -> tensor<16xf32>
  %1 = "relax.constant"() {value = dense<[1, 2, 255]> : tensor<3xui8>} : () -> tensor<3xui8>
  return %0, %1 : tensor<16xf32>, tensor<3xui8>
}

// Sizes are computed from the inputs' sizes; what a match_cast says of them is checked.
// CHECK-LABEL: func.func @cast(%arg0: memref<?xf32>, %arg1: memref<?xf32>, %arg2: !llvm.ptr)
// CHECK: "tir.assert"({{.*}}) {kind = "ValueError", message = "the size of dimension 0: expected {} (that is n), got {}"}
// CHECK: "tir.give_tensor"({{.*}}, %arg2) {dtype = f32}
func.func @cast(%x: tensor<?xf32>, %y: tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32> {
  %0 = "relax.match_cast"(%x) : (tensor<?xf32>) -> tensor<?xf32, #relax.sym<["n"]>>
  %1 = "relax.match_cast"(%0) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// What may turn out to have another size than the result is not written there, also where that is refused afterwards.
// CHECK-LABEL: func.func @other_size(%arg0: memref<2x8xf32>, %arg1: memref<?x8xf32>, %arg2: memref<?x8xf32>)
// CHECK: %[[ARENA:.*]] = memref.alloc({{.*}}relax.arena
// CHECK: %[[OWN:.*]] = memref.view %[[ARENA]]
// CHECK: call @exp({{.*}})
// CHECK: "tir.assert"({{.*}}message = "{} elements cannot take the shape (n, 8), which has {}"
// CHECK: %[[ROW:.*]] = memref.collapse_shape %arg2 {{.*}} into memref<?xf32>
// CHECK: linalg.generic {{.*}} outs(%[[ROW]] : memref<?xf32>)
func.func @other_size(%x: tensor<2x8xf32>, %like: !t) -> !t {
  %0 = "relax.call_tir"(%x) {func = @exp} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = "relax.shape_expr"() {dims = ["n", 8]} : () -> !relax.shape<["n", 8]>
  %2 = "relax.reshape"(%0, %1) : (tensor<2x8xf32>, !relax.shape<["n", 8]>) -> !t
  return %2 : !t
}

// What leaves a branch is memory of its own.
// CHECK-LABEL: func.func @branch(
// CHECK: %[[R:.*]] = scf.if %arg0 -> (memref<2x8xf32>)
// CHECK: %[[COPY:.*]] = memref.alloc()
// CHECK: scf.yield %[[COPY]]
// CHECK: %[[FROM:.*]] = memref.collapse_shape %[[R]] {{.*}} into memref<16xf32>
// CHECK: %[[TO:.*]] = memref.collapse_shape %arg2 {{.*}} into memref<16xf32>
// CHECK: linalg.generic {{.*}} ins(%[[FROM]] : memref<16xf32>) outs(%[[TO]] : memref<16xf32>)
// CHECK: memref.dealloc %[[R]]
func.func @branch(%c: i1, %x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %r = scf.if %c -> (tensor<2x8xf32>) {
    %0 = "relax.call_tir"(%x) {func = @exp} : (tensor<2x8xf32>) -> tensor<2x8xf32>
    scf.yield %0 : tensor<2x8xf32>
  } else {
    scf.yield %x : tensor<2x8xf32>
  }
  return %r : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @packed(
// CHECK: "tir.packed"(%arg0, {{.*}}) {func = "my.function", relax.site = {{{.*}}operators = ["relax.call_dps_packed"]{{.*}}}, tir.dtypes = ["f32", "f32"], tir.types = []}
func.func @packed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.call_dps_packed"(%x) {func = "my.function"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A call of a kernel tells what it is for: the model's nodes, operators, shapes with their symbols, bytes if known.
// CHECK-LABEL: func.func @sites(
// CHECK: call @known(%arg0, %{{.*}}) {relax.site = {bytes = 80 : i64, inputs = ["f32[2,8]"], main = "relax.matmul",
// CHECK-SAME: node_operators = ["onnx.MatMul", "onnx.Add", ""], nodes = ["mm", "a/b", "m.py:3:4"],
// CHECK-SAME: operators = ["relax.matmul", "relax.add"], outputs = ["ui8[2,8]"]}}
// CHECK: call @exp({{.*}}) {relax.site = {inputs = ["f32[2*n,8]"], main = "@exp", node_operators = [""],
// CHECK-SAME: nodes = ["e"], operators = ["@exp"], outputs = ["f32[2*n,8]"]}}
func.func @known(%x: memref<2x8xf32>, %out: memref<2x8xi8>)
    attributes {tir.prim_func, relax.operator = "relax.matmul+relax.add", relax.main_operator = "relax.matmul"} {
  return
}
!s = tensor<?x8xf32, #relax.sym<["2*n", 8]>>
func.func @sites(%x: tensor<2x8xf32>, %y: !s) -> (tensor<2x8xui8>, !s) {
  %0 = "relax.call_tir"(%x) {func = @known} : (tensor<2x8xf32>) -> tensor<2x8xui8>
    loc(fused["mm"("onnx.MatMul"), "a/b"("onnx.Add"("x")), fused["mm"("onnx.MatMul"), "m.py":3:4]])
  %1 = "relax.call_tir"(%y) {func = @exp} : (!s) -> !s loc("e"("m.py":1:2))
  return %0, %1 : tensor<2x8xui8>, !s
}

// A shape that is returned becomes the runtime's object, made of its sizes; each once, and given back here.
// CHECK-LABEL: func.func @shape(
// CHECK-SAME: %arg1: !llvm.ptr, %arg2: !llvm.ptr
// CHECK: %[[MADE:.*]] = "tir.packed"(%{{.*}}, %{{.*}}) {func = "ffi.Shape", {{.*}}tir.types = [!relax.object]}
// CHECK-NOT: tir.packed
// CHECK: "tir.give_object"(%[[MADE]], %arg1)
// CHECK: "tir.give_object"(%[[MADE]], %arg2)
// CHECK: "tir.release"(%[[MADE]])
func.func @shape(%x: tensor<?x8xf32>) -> (!relax.shape<["?", 8]>, !relax.shape<["?", 8]>) {
  %0 = "relax.shape_of"(%x) : (tensor<?x8xf32>) -> !relax.shape<["?", 8]>
  return %0, %0 : !relax.shape<["?", 8]>, !relax.shape<["?", 8]>
}
