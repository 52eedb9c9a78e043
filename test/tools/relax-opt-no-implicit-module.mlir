// --no-implicit-module: passes run on the one outermost operation, as in mlir-opt.

// RUN: relax-opt %s --no-implicit-module | FileCheck %s --check-prefix=ALONE
// RUN: relax-opt %s | FileCheck %s --check-prefix=MODULE
// ALONE-NOT: module
// ALONE: {{^}}func.func @f
// MODULE: {{^}}module {

// RUN: relax-opt %s --no-implicit-module --cse | FileCheck %s --check-prefix=CSE
// RUN: relax-opt %s --no-implicit-module --pass-pipeline='func.func(cse)' | FileCheck %s --check-prefix=CSE
// RUN: relax-opt %s --no-implicit-module --pass-pipeline='any(cse)' --verify-roundtrip | FileCheck %s --check-prefix=CSE
// CSE: "relax.exp"
// CSE-NOT: "relax.exp"

// RUN: not relax-opt %s --no-implicit-module --pass-pipeline='builtin.module(cse)' 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not relax-opt %s --no-implicit-module --relax-inline 2>&1 | FileCheck %s --check-prefix=PASS
// OTHER: relax-opt: error: the pipeline runs on builtin.module, and the input is a func.func (--no-implicit-module)
// PASS: relax-opt: error: pass 'relax-inline' runs on builtin.module, not on func.func

// RUN: echo 'module {} module {}' | not relax-opt --no-implicit-module 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: error: source must contain a single top-level operation, found: 2
// RUN: relax-opt %s --emit-bytecode | not relax-opt --no-implicit-module 2>&1 | FileCheck %s --check-prefix=BYTECODE
// BYTECODE: error: --no-implicit-module needs text

func.func @f(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
