// RUN: relax-opt %s --host-add-entries | FileCheck %s
// RUN: sed 's/relax.device = "vulkan"/relax.device = "opencl"/' %s | relax-opt - --host-add-entries | FileCheck %s --check-prefix=OPENCL

// A function that does the same at each call may be launched as recorded commands on Vulkan, and not on OpenCL.
// CHECK: relax.entries = [{{.*}}graph\22: {\22bytes\22: 32, \22copies\22: 2, \22launches\22: 1, \22memory\22: 32, \22tensors\22: 2}
// CHECK: getelementptr %{{.*}}[0] {relax.ended_by = "vulkan_graph_leave"}
// CHECK: llvm.call @__relax_vulkan_graph_begin(
// CHECK: func.call @fixed(
// CHECK: llvm.call @__relax_vulkan_graph_end(
// OPENCL-NOT: graph
// OPENCL: func.func @__tvm_ffi_fixed(
// OPENCL-NOT: _graph_
module attributes {gpu.container_module, relax.device = "vulkan", relax.kernels = ["add"]} {
llvm.mlir.global external @__relax_device() : !llvm.ptr
func.func @fixed(%x: memref<4xf32>, %y: memref<4xf32>) attributes {relax.inputs = [tensor<4xf32>],
    relax.results = [tensor<4xf32>], relax.input_names = ["x"]} {
  %c1 = arith.constant 1 : index
  gpu.launch_func @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  return
}
gpu.module @kernels {
  gpu.func @add() kernel { gpu.return }
}
}
