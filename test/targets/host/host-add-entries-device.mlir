// RUN: relax-opt %s --host-add-entries | FileCheck %s
// RUN: relax-opt %s --host-add-entries --host-lower-errors | FileCheck %s --check-prefix=LEFT

// Entry of a program for a device: arguments and results are on the device, and its context is current during the call.
module attributes {relax.device = "cuda", relax.kernels = ["add", "matmul", "softmax"]} {
// CHECK: func.func @__tvm_ffi_main(
// CHECK: message = "expected 1 argument (x), got {}"
// CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @__relax_device
// CHECK: %[[ENTERED:.*]] = llvm.call @__relax_device_enter(%[[TABLE]])
// CHECK-NEXT: "tir.return_unless_ok"(%[[ENTERED]])
// CHECK: %[[SCOPE:.*]] = llvm.getelementptr %[[TABLE]][0]
// CHECK: %[[CHECKED:.*]] = llvm.call @__relax_device_check(%[[SCOPE]])
// CHECK-NEXT: "tir.return_unless_ok"(%[[CHECKED]])
// CHECK: llvm.call @__relax_device_check_tensor(
// CHECK: llvm.call @__relax_device_allocate(
// Unaligned arguments have a copy here. The copy is freed at the end, after written elements are copied back.
// CHECK: %[[KEPT:.*]] = llvm.getelementptr %{{.*}}[0] {relax.ended_by = "device_unalign"}
// CHECK: %[[ALIGNED:.*]] = llvm.call @__relax_device_align(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[KEPT]])
// CHECK-NEXT: "tir.return_unless_ok"(%[[ALIGNED]])
// CHECK: call @main(
// CHECK: llvm.call @__relax_device_restore(%{{.*}}, %[[KEPT]])
// CHECK: "tir.release"(%[[KEPT]])
// CHECK: "tir.release"(%[[SCOPE]])
// CHECK-NEXT: return

// A slot for each driver function, then one for each kernel; and the setter of constants, even without constants, which
// keeps objects on the device.
// CHECK: llvm.mlir.global internal @__relax_device() {{.*}} : !llvm.array<33 x ptr>
// CHECK: llvm.func @__tvm_ffi___relax_set_device(
// CHECK: llvm.func @__tvm_ffi___relax_set_constants(
// CHECK: llvm.func @__tvm_ffi___relax_device_synchronize(

// The device is left on each way out but the first two, where it is not entered yet.
// LEFT: func.func @__tvm_ffi_main(
// LEFT: llvm.call @__relax_device_enter(
// LEFT: cf.cond_br %{{.*}}, ^[[IN:bb[0-9]+]], ^[[END:bb[0-9]+]]
// LEFT: ^[[IN]]:
// LEFT: llvm.call @__relax_device_check(
// LEFT: cf.cond_br %{{.*}}, ^{{.*}}, ^[[LEAVE:bb[0-9]+]]
// LEFT: llvm.call @__relax_device_unalign(
// LEFT-NEXT: llvm.call @__relax_device_leave(
// LEFT-NEXT: %[[GOOD:.*]] = arith.constant 0 : i32
// LEFT-NEXT: return %[[GOOD]]
// LEFT: ^[[END]]:
// LEFT-NEXT: %[[BAD:.*]] = arith.constant -1 : i32
// LEFT-NEXT: return %[[BAD]]
// LEFT: ^[[LEAVE]]:
// LEFT-NEXT: llvm.call @__relax_device_leave(
// LEFT-NEXT: cf.br ^[[END]]
func.func @main(%x: memref<?xf32>, %y: memref<?xf32>) attributes {relax.inputs = [tensor<?xf32, #relax.sym<["n"]>>],
    relax.results = [tensor<?xf32, #relax.sym<["n"]>>], relax.input_names = ["x"]} {
  return
}
}
