// What is left is one error with a diagnostic for each operation: the rules tried, and why each declined.
// RUN: relax-opt %s --relax-legalize-ops --verify-diagnostics
// RUN: not relax-opt %s --relax-legalize-ops=target=lvm 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops{skip-ops=relax.ad})' 2>&1 | FileCheck %s --check-prefix=OP
// RUN: relax-opt --list-legalizations=llvm | FileCheck %s --check-prefix=TABLE
// TARGET: error: unknown target 'lvm'; did you mean 'llvm'? (known: cpu, default, llvm)
// OP: error: unknown operator 'relax.ad'; did you mean 'relax.add'?
// TABLE: relax.add {{ *}}default {{ *}}default/legalize_elementwise.py:

func.func @two(%a: tensor<?xf32, #relax.sym<["a"]>>, %b: tensor<?xf32, #relax.sym<["b"]>>, %i: tensor<2xi8>) {
  // expected-error @+2 {{legalization for target 'default' cannot convert 'relax.add' op}}
  // expected-note-re @+1 {{pattern 'arithmetic for default {{.*}} declined: the size of result #0 (tensor<?xf32>) is not known before it is computed}}
  %0 = "relax.add"(%a, %b) : (tensor<?xf32, #relax.sym<["a"]>>, tensor<?xf32, #relax.sym<["b"]>>) -> tensor<?xf32>
  // expected-error @+2 {{cannot convert 'relax.power' op}}
  // expected-note-re @+1 {{declined: only floats are legalized; convert with relax.astype}}
  %1 = "relax.power"(%i, %i) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  // expected-error @+2 {{cannot convert 'relax.sort' op}}
  // expected-note @+1 {{no pattern is registered for this operation}}
  %2 = "relax.sort"(%i) : (tensor<2xi8>) -> tensor<2xi8>
  return
}
