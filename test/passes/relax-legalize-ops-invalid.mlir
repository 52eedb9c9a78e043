// Illegal operations give one error with a diagnostic each: the rules tried, and why each one declined.
// RUN: relax-opt %s --relax-legalize-ops --verify-diagnostics
// RUN: not relax-opt %s --relax-legalize-ops=target=lvm 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not relax-opt %s --pass-pipeline='builtin.module(relax-legalize-ops{skip-ops=relax.ad})' 2>&1 | FileCheck %s --check-prefix=OP
// RUN: relax-opt --list-legalizations=llvm | FileCheck %s --check-prefix=TABLE
// TARGET: error: unknown target 'lvm'; did you mean 'llvm'? (known: c, cpu, cuda, default, gpu, llvm, opencl, reference, spirv, vulkan{{.*}})
// OP: error: unknown operator 'relax.ad'; did you mean 'relax.add'?
// TABLE: relax.add {{ *}}default {{ *}}default/legalize_elementwise.py:

func.func @several(%a: tensor<*xf32>, %flag: i1, %f: tensor<2xf32>) {
  %no = arith.constant false
  // expected-error @+2 {{legalization for target 'default' cannot convert 'relax.add' op}}
  // expected-note-re @+1 {{pattern 'arithmetic for default {{.*}} declined: the rank of an operand (tensor<*xf32>) is not known}}
  %0 = "relax.add"(%a, %a) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
  // expected-error @+2 {{cannot convert 'relax.unique' op}}
  // expected-note-re @+1 {{pattern 'unique for default {{.*}} declined: }}
  %1 = "relax.unique"(%f, %flag, %no, %no, %no) : (tensor<2xf32>, i1, i1, i1, i1) -> tensor<*xf32>
  return
}
