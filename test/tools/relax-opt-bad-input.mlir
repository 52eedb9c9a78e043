// Text that is no IR, unknown operators.

// RUN: relax-opt %s --split-input-file --verify-diagnostics -o /dev/null
// RUN: not relax-opt %s --split-input-file 2>&1 | FileCheck %s

// The form of an error: the place, the message, the line, a caret.
// CHECK: bad-input.mlir:{{[0-9]+}}:8: error: unregistered operation 'relax.exq' found in dialect ('relax') that does not allow unknown operations; did you mean 'relax.exp'?
// CHECK-NEXT: {{^}}  %0 = "relax.exq"(%a) : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: {{^       \^$}}

// MLIR's notes that print the operation, and the same without them.
// RUN: echo 'func.func @f() -> i32 { return }' | not relax-opt 2>&1 | FileCheck %s --check-prefix=NOTE
// RUN: echo 'func.func @f() -> i32 { return }' | not relax-opt --mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s --check-prefix=NO-NOTE
// NOTE: error: 'func.return' op has 0 operands
// NOTE: note: see current operation: "func.return"() : () -> ()
// NO-NOTE: error: 'func.return' op has 0 operands
// NO-NOTE-NOT: note:

func.func @unknown_op(%a: tensor<4xf32>) {
  // expected-error @+1 {{unregistered operation 'relax.exq' found in dialect}}
  %0 = "relax.exq"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unknown_dialect(%a: tensor<4xf32>) {
  // expected-error @+1 {{operation being parsed with an unregistered dialect}}
  %0 = "relx.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @no_custom_form(%a: tensor<4xf32>) {
  // expected-error @+1 {{custom op 'relax.exp' has only the generic form: "relax.exp"(...) {...} : (...) -> (...)}}
  %0 = relax.exp %a : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{undefined symbol alias id 'a'}}
#a = [#a]
module attributes {x.y = #a} {}

// -----

func.func @too_large() {
  // expected-error @+1 {{integer constant out of range}}
  %0 = arith.constant 99999999999999999999 : i64
  return
}

// -----

func.func @one_bracket_too_many() {
  return
}
// expected-error @-1 {{expected operation name in quotes}}
}
