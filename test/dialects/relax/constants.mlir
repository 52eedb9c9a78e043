// Constants of unsigned integers, which upstream's arith.constant refuses.
// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s
// RUN: relax-opt %s --cse | FileCheck %s --check-prefix=CSE

// CHECK-LABEL: func.func @constants
// CSE-LABEL: func.func @constants
func.func @constants() -> (tensor<2xui8>, tensor<ui64>, tensor<2xui8>, tensor<0x3xui16>) {
  // CHECK: "relax.constant"() {value = dense<[1, 255]> : tensor<2xui8>} : () -> tensor<2xui8>
  // CHECK: "relax.constant"() {value = dense<3> : tensor<ui64>} : () -> tensor<ui64>
  // CHECK: "relax.constant"() {value = dense<> : tensor<0x3xui16>} : () -> tensor<0x3xui16>
  // CSE: "relax.constant"() {value = dense<[1, 255]> : tensor<2xui8>}
  // CSE-NOT: dense<[1, 255]>
  %0 = "relax.constant"() {value = dense<[1, 255]> : tensor<2xui8>} : () -> tensor<2xui8>
  %1 = "relax.constant"() {value = dense<3> : tensor<ui64>} : () -> tensor<ui64>
  %2 = "relax.constant"() {value = dense<[1, 255]> : tensor<2xui8>} : () -> tensor<2xui8>
  %3 = "relax.constant"() {value = dense<> : tensor<0x3xui16>} : () -> tensor<0x3xui16>
  return %0, %1, %2, %3 : tensor<2xui8>, tensor<ui64>, tensor<2xui8>, tensor<0x3xui16>
}
