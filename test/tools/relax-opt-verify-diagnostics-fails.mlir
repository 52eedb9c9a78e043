// Unexpected output fails, and is reported at its line.

// RUN: not relax-opt %s --split-input-file --verify-diagnostics 2>&1 | FileCheck %s
// RUN: not relax-opt %s --split-input-file --verify-diagnostics=only-expected 2>&1 | FileCheck %s --check-prefix=ONLY
// RUN: not relax-opt %s --verify-diagnostics=some 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: relax-opt %S/Inputs/empty.mlir --emit-bytecode -o %t.bc
// RUN: not relax-opt %t.bc --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=BYTECODE
// RUN: rm -f %t.none
// RUN: not relax-opt %s --split-input-file --verify-diagnostics -o %t.none
// RUN: not cat %t.none

// CHECK: fails.mlir:{{[0-9]+}}:8: error: unexpected error: 'relax.add' op expects 2 operands
// CHECK: fails.mlir:{{[0-9]+}}:6: error: expected error "nothing is wrong" was not produced
// CHECK: fails.mlir:{{[0-9]+}}:6: error: 'error' diagnostic emitted when expecting a 'warning'
// CHECK: fails.mlir:{{[0-9]+}}:6: error: expected warning "expects 2 operands" was not produced
// CHECK: fails.mlir:{{[0-9]+}}:6: error: no diagnostic is called 'eror'; did you mean 'error'?
// ONLY-NOT: unexpected error
// ONLY: error: expected error "nothing is wrong" was not produced
// VALUE: relax-opt: error: option --verify-diagnostics expects one of all, only-expected, got 'some'
// BYTECODE: .bc: error: --verify-diagnostics needs text: bytecode has no comments

func.func @unexpected(%a: tensor<4xf32>) {
  %0 = "relax.add"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @missing() {
  // expected-error @+1 {{nothing is wrong}}
  return
}

// -----

func.func @severity(%a: tensor<4xf32>) {
  // expected-warning @+1 {{expects 2 operands}}
  %0 = "relax.add"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @misspelt() {
  // expected-eror @+1 {{nothing is wrong}}
  return
}
