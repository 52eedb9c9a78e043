// --pass-pipeline: nesting, options, an omitted outermost anchor, passes of both kinds, and refusals.

// RUN: relax-opt %s --pass-pipeline='builtin.module(func.func(cse))' | FileCheck %s --check-prefix=CSE
// RUN: relax-opt %s --pass-pipeline='func.func(cse)' | FileCheck %s --check-prefix=CSE
// RUN: relax-opt %s --pass-pipeline='any(cse)' | FileCheck %s --check-prefix=CSE
// RUN: relax-opt %s --pass-pipeline='builtin.module()' | FileCheck %s --check-prefix=NONE
// RUN: relax-opt %s --pass-pipeline=' builtin.module( func.func( cse , canonicalize ) ) ' | FileCheck %s --check-prefix=CSE
// CSE-LABEL: func.func @twice
// CSE-NEXT: "relax.exp"
// CSE-NEXT: "relax.add"
// NONE-LABEL: func.func @twice
// NONE-NEXT: "relax.exp"
// NONE-NEXT: "relax.exp"

// A group with attributes runs only on the operations that have them.
// RUN: relax-opt %s --pass-pipeline='builtin.module(builtin.module{relax.codegen=dnnl}(cse))' | FileCheck %s --check-prefix=DNNL
// RUN: relax-opt %s --pass-pipeline='builtin.module(builtin.module{relax.codegen}(cse))' | FileCheck %s --check-prefix=ANY
// DNNL-LABEL: func.func @twice
// DNNL: "relax.exp"
// DNNL-NEXT: "relax.exp"
// DNNL-LABEL: func.func @for_dnnl
// DNNL-NEXT: "relax.exp"
// DNNL-NEXT: "relax.add"
// DNNL-LABEL: func.func @for_xnnpack
// DNNL-NEXT: "relax.exp"
// DNNL-NEXT: "relax.exp"
// ANY-LABEL: func.func @for_dnnl
// ANY-NEXT: "relax.exp"
// ANY-NEXT: "relax.add"
// ANY-LABEL: func.func @for_xnnpack
// ANY-NEXT: "relax.exp"
// ANY-NEXT: "relax.add"

// RUN: relax-opt %s -o /dev/null --dump-pass-pipeline --pass-pipeline='any(relax-canonicalize,func.func(canonicalize{max-iterations=2 top-down=false},cse))' 2>&1 | FileCheck %s --check-prefix=DUMP
// RUN: relax-opt %s -o /dev/null --dump-pass-pipeline --pass-pipeline='builtin.module{relax.codegen=dnnl}(cse)' 2>&1 | FileCheck %s --check-prefix=DUMP-ATTRIBUTES
// DUMP: Pass Manager with passes:
// DUMP-NEXT: builtin.module(relax-canonicalize,func.func(canonicalize{max-iterations=2 top-down=false},cse))
// DUMP-ATTRIBUTES: builtin.module(builtin.module{relax.codegen=dnnl}(cse))

// RUN: not relax-opt %s --pass-pipeline='builtin.module(cse' 2>&1 | FileCheck %s --check-prefix=OPEN
// OPEN: relax-opt: error: unbalanced '(' in pass pipeline at column 15
// OPEN-NEXT: relax-opt: note: builtin.module(cse
// OPEN-NEXT: relax-opt: note: {{ {14}\^$}}
// RUN: not relax-opt %s --pass-pipeline='builtin.module(cse))' 2>&1 | FileCheck %s --check-prefix=CLOSED
// CLOSED: relax-opt: error: unbalanced ')' in pass pipeline at column 20
// RUN: not relax-opt %s --pass-pipeline='builtin.module(cse{a)' 2>&1 | FileCheck %s --check-prefix=BRACE
// BRACE: relax-opt: error: unbalanced '{' in pass pipeline at column 19
// RUN: not relax-opt %s --pass-pipeline='builtin.module(,cse)' 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: relax-opt: error: expected a pass name in pass pipeline at column 16
// RUN: not relax-opt %s --pass-pipeline='builtin.module(cse,)' 2>&1 | FileCheck %s --check-prefix=TRAILING
// TRAILING: relax-opt: error: expected a pass after ',' in pass pipeline at column 20
// RUN: not relax-opt %s --pass-pipeline='builtin.module(cse(canonicalize))' 2>&1 | FileCheck %s --check-prefix=NO-ANCHOR
// NO-ANCHOR: relax-opt: error: 'cse' cannot hold passes
// RUN: not relax-opt %s --pass-pipeline='func.fun(cse)' 2>&1 | FileCheck %s --check-prefix=NO-OPERATION
// NO-OPERATION: relax-opt: error: 'func.fun' cannot hold passes: no operation is called that; did you mean 'func.func'?
// RUN: not relax-opt %s --pass-pipeline='builtin.module' 2>&1 | FileCheck %s --check-prefix=NO-BRACKETS
// NO-BRACKETS: relax-opt: error: unknown pass 'builtin.module'
// RUN: not relax-opt %s --pass-pipeline='builtin.module(affine-loop-tile)' 2>&1 | FileCheck %s --check-prefix=WRONG-ANCHOR
// WRONG-ANCHOR: relax-opt: error: pass 'affine-loop-tile' runs on func.func, not on builtin.module: write func.func(affine-loop-tile)
// RUN: not relax-opt %s --pass-pipeline='builtin.module(func.func(relax-inline))' 2>&1 | FileCheck %s --check-prefix=WRONG-ANCHOR-OWN
// WRONG-ANCHOR-OWN: relax-opt: error: pass 'relax-inline' runs on builtin.module, not on func.func: write builtin.module(relax-inline)
// RUN: not relax-opt %s --cse --pass-pipeline='builtin.module(cse)' 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: relax-opt: error: --pass-pipeline cannot be used together with single passes

func.func @twice(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

module @a attributes {relax.codegen = "dnnl"} {
  func.func @for_dnnl(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "relax.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

module @b attributes {relax.codegen = "xnnpack"} {
  func.func @for_xnnpack(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "relax.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
