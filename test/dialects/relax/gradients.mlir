// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s
// RUN: relax-opt %s --relax-legalize-ops | FileCheck %s --check-prefix=GONE

// CHECK-LABEL: func.func @marks(
// CHECK: "relax.grad.no_grad"(
// CHECK-SAME: -> tensor<?x4xf32, #relax.sym<["n", 4]>>
// CHECK: "relax.grad.start_checkpoint"(
// CHECK: "relax.grad.end_checkpoint"(
// GONE-LABEL: func.func @marks(%arg0: {{.*}}, %arg1: {{.*}}) ->
// GONE-NOT: relax.grad
// GONE: return %arg0, %{{.*}}, %arg0
func.func @marks(%x: tensor<?x4xf32, #relax.sym<["n", 4]>>, %i: tensor<?xi64>)
    -> (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?xi64>, tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  %0 = "relax.grad.no_grad"(%x)
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %1 = "relax.grad.start_checkpoint"(%i) : (tensor<?xi64>) -> tensor<?xi64>
  %2 = "relax.grad.end_checkpoint"(%x)
      : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return %0, %1, %2
      : tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?xi64>, tensor<?x4xf32, #relax.sym<["n", 4]>>
}
