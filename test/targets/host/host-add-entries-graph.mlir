// RUN: relax-opt %s --host-add-entries | FileCheck %s

// A function for a device that does the same at each call may be launched as one graph: its entry asks how, calls what
// works unless there is a graph, and ends the call on every way out. Others are called as they are.
// The manifest gives the number of kernels that a call launches, and the copies around a graph.
// CHECK: relax.entries = [{{.*}}graph\22: {\22bytes\22: 32, \22copies\22: 2, \22launches\22: 7, \22memory\22: 32, \22tensors\22: 2}, {{.*}}\22fixed\22
module attributes {gpu.container_module, relax.device = "cuda", relax.kernels = ["add"]} {
llvm.mlir.global external @__relax_device() : !llvm.ptr
// CHECK-LABEL: func.func @__tvm_ffi_fixed(
// CHECK: llvm.call @__relax_device_align(
// CHECK: %[[SCOPE:.*]] = llvm.getelementptr %{{.*}}[0] {relax.ended_by = "cuda_graph_leave"}
// CHECK: %[[BEGUN:.*]] = llvm.call @__relax_cuda_graph_begin({{.*}}, %[[SCOPE]])
// CHECK-NEXT: "tir.return_unless_ok"(%[[BEGUN]])
// CHECK: %[[MODE:.*]] = llvm.load %[[SCOPE]] : !llvm.ptr -> i64
// CHECK: %[[TWO:.*]] = arith.constant 2 : i64
// CHECK: %[[LAUNCHES:.*]] = arith.cmpi ne, %[[MODE]], %[[TWO]]
// CHECK: scf.if %[[LAUNCHES]] {
// CHECK: func.call @fixed(
// CHECK: }
// CHECK: %[[ENDED:.*]] = llvm.call @__relax_cuda_graph_end({{.*}}, %[[SCOPE]])
// CHECK-NEXT: "tir.return_unless_ok"(%[[ENDED]])
// If a graph that was not requested cannot be created, kernels are launched on the caller's tensors.
// CHECK: %[[AGAIN:.*]] = arith.cmpi ne, %{{.*}}, %{{.*}} : i64
// CHECK: scf.if %[[AGAIN]] {
// CHECK: func.call @fixed(
// CHECK: }
// CHECK: llvm.call @__relax_device_restore(
// CHECK: "tir.release"(%[[SCOPE]])
func.func @fixed(%x: memref<4xf32>, %y: memref<4xf32>) attributes {relax.inputs = [tensor<4xf32>],
    relax.results = [tensor<4xf32>], relax.input_names = ["x"]} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c0 to %c5 step %c2 {
    func.call @works(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
    func.call @works(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  }
  call @works(%x, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  return
}
func.func private @works(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch_func @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  return
}
// CHECK-LABEL: func.func @__tvm_ffi_symbolic(
// CHECK-NOT: __relax_cuda_graph
// CHECK: call @symbolic(
func.func @symbolic(%x: memref<?xf32>, %y: memref<?xf32>) attributes {relax.inputs = [tensor<?xf32, #relax.sym<["n"]>>],
    relax.results = [tensor<?xf32, #relax.sym<["n"]>>], relax.input_names = ["x"]} {
  return
}
// Host code that reads from the device, in a function that is called too.
// CHECK-LABEL: func.func @__tvm_ffi_reading(
// CHECK-NOT: __relax_cuda_graph
// CHECK: call @reading(
func.func @reading(%x: memref<4xf32>, %y: memref<4xf32>) attributes {relax.inputs = [tensor<4xf32>],
    relax.results = [tensor<4xf32>], relax.input_names = ["x"]} {
  call @looks(%x) : (memref<4xf32>) -> ()
  return
}
func.func private @looks(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<4xf32>
  return
}
// A scalar would be recorded as it was.
// CHECK-LABEL: func.func @__tvm_ffi_scalar(
// CHECK-NOT: __relax_cuda_graph
// CHECK: call @scalar(
func.func @scalar(%n: i64, %x: memref<4xf32>, %y: memref<4xf32>) attributes {relax.inputs = [i64, tensor<4xf32>],
    relax.results = [tensor<4xf32>], relax.input_names = ["n", "x"]} {
  return
}
gpu.module @kernels {
  gpu.func @add() kernel { gpu.return }
}
}
