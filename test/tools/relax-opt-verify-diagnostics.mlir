// Like mlir-opt: all diagnostics must match the expected ones, and the output is written.

// RUN: relax-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// RUN: relax-opt %s -split-input-file -verify-diagnostics=all -o %t && FileCheck %s --input-file=%t
// RUN: relax-opt %s --split-input-file --verify-diagnostics=only-expected | FileCheck %s

// CHECK: func.func @valid
// CHECK-NOT: func.func @invalid

func.func @valid() {
  return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error @below {{'relax.add' op expects 2 operands (x1, x2), got 1: missing 'x2'}}
  %0 = "relax.add"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  // expected-error-re @+1 {{'relax.{{[a-z]+}}' op expects 2 operands}}
  %0 = "relax.add"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @invalid(%a: tensor<4xf32>) {
  %0 = "relax.add"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @-1 {{expects 2 operands}}
  return
}

// -----

// expected-error @below {{expected non-function type}}
func.func @not_parsed( {
