// Bytecode out and in; a symbolic batch dimension goes through unchanged.

// RUN: relax-opt %s > %t.text
// RUN: relax-opt %s --emit-bytecode -o %t.bc
// RUN: relax-opt %t.bc > %t.again
// RUN: cmp %t.text %t.again
// RUN: relax-opt --emit-bytecode < %s | relax-opt | FileCheck %s
// RUN: relax-opt %t.bc --cse | FileCheck %s --check-prefix=CSE
// RUN: relax-opt %s --emit-bytecode --emit-bytecode-version=4 | relax-opt | FileCheck %s
// RUN: relax-opt %s --verify-roundtrip | FileCheck %s

// The same input gives the same bytes.
// RUN: relax-opt %s --emit-bytecode -o %t.second.bc
// RUN: cmp %t.bc %t.second.bc

// CHECK: func.func @f(%arg0: tensor<?x4xf32, #relax.sym<["n", 4]>>)
// CHECK-NEXT: "relax.exp"(%arg0) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
// CHECK-NEXT: "relax.exp"(%arg0) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
// CSE: "relax.exp"
// CSE-NOT: "relax.exp"

// RUN: not relax-opt %s --emit-bytecode --emit-bytecode-version=99 2>&1 | FileCheck %s --check-prefix=VERSION
// RUN: not relax-opt %s --emit-bytecode-version=x 2>&1 | FileCheck %s --check-prefix=NO-NUMBER
// RUN: not relax-opt %s --emit-bytecode --print-script 2>&1 | FileCheck %s --check-prefix=SCRIPT
// RUN: not relax-opt %t.bc --no-implicit-module 2>&1 | FileCheck %s --check-prefix=MODULE
// RUN: not relax-opt %t.bc --run-reproducer 2>&1 | FileCheck %s --check-prefix=REPRODUCER
// VERSION: relax-opt: error: cannot write bytecode: unsupported version requested 99
// NO-NUMBER: relax-opt: error: option --emit-bytecode-version expects a number from 0 to 2147483647, got 'x'
// MODULE: error: --no-implicit-module needs text: MLIR reads bytecode into a module
// REPRODUCER: error: --run-reproducer needs text
// SCRIPT: relax-opt: error: --print-script and --emit-bytecode exclude each other

func.func @f(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>) -> (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?x4xf32, #relax.sym<["n", 4]>>) {
  %0 = "relax.exp"(%a) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  %1 = "relax.exp"(%a) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>>
  return %0, %1 : tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<?x4xf32, #relax.sym<["n", 4]>>
}
