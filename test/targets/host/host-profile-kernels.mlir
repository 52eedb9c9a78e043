// RUN: relax-opt %s --host-name-functions --host-profile-kernels | FileCheck %s
// RUN: relax-opt %s --host-name-functions --host-profile-kernels --host-lower-packed --host-lower-errors | FileCheck %s --check-prefix=STATUS

// Each call of a kernel or of a packed function is between two reads of the clock, also in loops, with a number for each
// place. The entry function describes the places once.
// CHECK-LABEL: func.func @__relax_defined.main
// CHECK-SAME: relax.profile = "{\22kernels\22:[{\22main\22:\22relax.nn.conv2d\22,\22name\22:\22conv\22,\22operators\22:[\22relax.nn.conv2d\22,\22relax.add\22]},
// CHECK-SAME: {\22main\22:\22relax.call_dps_packed\22,\22name\22:\22my.function\22,\22operators\22:[\22relax.call_dps_packed\22]}],
// CHECK-SAME: \22sites\22:[{\22bytes\22:32,\22inputs\22:[\22f32[4]\22],\22kernel\22:0,\22node_operators\22:[\22onnx.Conv\22,\22\22],\22nodes\22:[\22conv1\22,\22add1\22],\22outputs\22:[\22f32[4]\22],\22place\22:0},
// CHECK-SAME: {\22inputs\22:[\22f32[n]\22],\22kernel\22:1,\22nodes\22:[\22-:7:1\22],\22outputs\22:[\22f32[n]\22],\22place\22:1},
// CHECK-SAME: {\22bytes\22:32,\22inputs\22:[\22f32[4]\22],\22kernel\22:0,\22nodes\22:[\22conv2\22],\22outputs\22:[\22f32[4]\22],\22place\22:2}]}"
// CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @__relax_profile_table
// CHECK-NEXT: %[[START:.*]] = llvm.call @__relax_profile_begin(%[[TABLE]]) : (!llvm.ptr) -> i64
// CHECK-NEXT: call @__relax_defined.conv(%arg0, %arg1) : (memref<4xf32>, memref<4xf32>) -> ()
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK-NEXT: llvm.call @__relax_profile_end(%{{.*}}, %[[ZERO]], %[[START]]) : (!llvm.ptr, i64, i64) -> ()
// CHECK: scf.for
// CHECK: %[[AGAIN:.*]] = llvm.call @__relax_profile_begin(
// CHECK-NEXT: "tir.packed"
// CHECK-NOT: relax.site
// CHECK: %[[ONE:.*]] = arith.constant 1 : i64
// CHECK-NEXT: llvm.call @__relax_profile_end(%{{.*}}, %[[ONE]], %[[AGAIN]])
// CHECK-NEXT: }
// CHECK-NEXT: call @__relax_defined.inner(%arg0, %arg1)
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>)
    attributes {relax.inputs = [tensor<4xf32>], relax.results = [tensor<4xf32>], relax.input_names = ["x"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  call @conv(%x, %y) {relax.site = {nodes = ["conv1", "add1"], node_operators = ["onnx.Conv", ""], operators = ["relax.nn.conv2d", "relax.add"], main = "relax.nn.conv2d", inputs = ["f32[4]"], outputs = ["f32[4]"], bytes = 32}} : (memref<4xf32>, memref<4xf32>) -> ()
  scf.for %i = %c0 to %c8 step %c1 {
    "tir.packed"(%x, %y) {func = "my.function", tir.dtypes = ["f32", "f32"], tir.types = [], relax.site = {nodes = ["-:7:1"], node_operators = [""], operators = ["relax.call_dps_packed"], main = "relax.call_dps_packed", inputs = ["f32[n]"], outputs = ["f32[n]"]}} : (memref<4xf32>, memref<4xf32>) -> ()
  }
  call @inner(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// A caller of only this function sees only its kernels; the call sites keep their numbers.
// CHECK-LABEL: func.func private @__relax_defined.inner
// CHECK-SAME: \22sites\22:[{\22bytes\22:32,\22inputs\22:[\22f32[4]\22],\22kernel\22:0,\22nodes\22:[\22conv2\22],\22outputs\22:[\22f32[4]\22],\22place\22:2}]}"
// CHECK: %[[TWO:.*]] = arith.constant 2 : i64
// CHECK-NEXT: llvm.call @__relax_profile_end(%{{.*}}, %[[TWO]],
func.func private @inner(%x: memref<4xf32>, %y: memref<4xf32>)
    attributes {relax.inputs = [tensor<4xf32>], relax.results = [tensor<4xf32>], relax.input_names = ["x"]} {
  call @conv(%x, %y) {relax.site = {nodes = ["conv2"], node_operators = [""], operators = ["relax.nn.conv2d", "relax.add"], main = "relax.nn.conv2d", inputs = ["f32[4]"], outputs = ["f32[4]"], bytes = 32}} : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// Kernels have no clocks, and functions without kernels say so.
// CHECK-LABEL: func.func @__relax_defined.conv
// CHECK-NOT: __relax_profile
// CHECK: return
func.func @conv(%x: memref<4xf32>, %y: memref<4xf32>) attributes {tir.prim_func} {
  return
}
// CHECK-LABEL: func.func @__relax_defined.idle
// CHECK-SAME: relax.profile = "{\22kernels\22:[],\22sites\22:[]}"
func.func @idle() attributes {relax.inputs = [], relax.results = [], relax.input_names = []} {
  return
}

// Calls of kernels on a level below are not the graph's.
// CHECK-LABEL: func.func @__relax_defined.outer
// CHECK-NEXT: call @__relax_defined.conv
// CHECK-NEXT: return
func.func @outer(%x: memref<4xf32>, %y: memref<4xf32>) attributes {tir.prim_func} {
  call @conv(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// CHECK: llvm.mlir.global internal @__relax_profile_table() {{.*}} : !llvm.array<8 x i64>
// CHECK: llvm.func @__tvm_ffi___relax_profile(

// A kernel that fails leaves its function before the second look.
// STATUS-LABEL: func.func @__relax_defined.main
// STATUS: llvm.call @__relax_profile_begin
// STATUS: %[[STATUS:.*]] = llvm.call @__relax_call(
// STATUS: cf.cond_br %{{.*}}, ^[[GO:bb[0-9]+]], ^[[FAIL:bb[0-9]+]]
// STATUS: ^[[GO]]:
// STATUS: llvm.call @__relax_profile_end
// STATUS: ^[[FAIL]]:
// STATUS-NOT: __relax_profile_end
// STATUS: return
