// RUN: relax-opt %s --host-place-constants --allow-unregistered-dialect | FileCheck %s

// Large constants leave the code, small ones stay.
// CHECK: module attributes {relax.constants = [{name = "large", value = dense_resource<blob> : tensor<4xf32>}]}
// CHECK-NOT: memref.global "private" constant @large
// CHECK: memref.global "private" constant @small
memref.global "private" constant @large : memref<4xf32> = dense_resource<blob>
memref.global "private" constant @small : memref<2xf32> = dense<[1.0, 2.0]>
// CHECK-LABEL: func.func @f
// CHECK: %[[TABLE:.*]] = llvm.mlir.addressof @__relax_constants
// CHECK: llvm.load %[[TABLE]] : !llvm.ptr -> !llvm.ptr
// CHECK: builtin.unrealized_conversion_cast {{.*}} to memref<4xf32>
// CHECK: memref.get_global @small
func.func @f() {
  %0 = memref.get_global @large : memref<4xf32>
  %1 = memref.get_global @small : memref<2xf32>
  "test.use"(%0, %1) : (memref<4xf32>, memref<2xf32>) -> ()
  return
}
{-#
  dialect_resources: { builtin: { blob: "0x040000000000803F000000400000404000008040" } }
#-}
