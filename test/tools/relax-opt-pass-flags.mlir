// Passes as flags run in the order of the command line, each where it belongs.

// RUN: relax-opt %s --cse | FileCheck %s
// RUN: relax-opt %s -cse | FileCheck %s
// RUN: relax-opt %s --canonicalize='max-iterations=1 top-down=false' --cse | FileCheck %s
// RUN: relax-opt --cse %s --canonicalize | FileCheck %s
// CHECK-LABEL: func.func @twice
// CHECK-NEXT: "relax.exp"
// CHECK-NEXT: return

// RUN: relax-opt %s -o /dev/null --dump-pass-pipeline --canonicalize=max-iterations=1 --cse --relax-canonicalize --affine-loop-tile=tile-size=8 --symbol-dce 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: builtin.module(canonicalize{max-iterations=1},cse,relax-canonicalize,func.func(affine-loop-tile{tile-size=8}),symbol-dce)

// The outcome shows the order too: after the inliner there is something left for cse.
// RUN: relax-opt %s --relax-inline --cse | FileCheck %s --check-prefix=INLINE-FIRST
// RUN: relax-opt %s --cse --relax-inline | FileCheck %s --check-prefix=CSE-FIRST
// INLINE-FIRST-LABEL: func.func @calls
// INLINE-FIRST-NEXT: "relax.exp"
// INLINE-FIRST-NEXT: return
// CSE-FIRST-LABEL: func.func @calls
// CSE-FIRST-NEXT: "relax.exp"
// CSE-FIRST-NEXT: "relax.exp"

// RUN: not relax-opt %s --affine-loop-tile='tile-size=x' 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: relax-opt: error: pass 'affine-loop-tile': {{.*}}tile-size option: 'x' value invalid
// RUN: not relax-opt %s --relax-canonicalize='no-such=1' 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: relax-opt: error: pass 'relax-canonicalize' has no option 'no-such'
// RUN: not relax-opt %s --cse='}' 2>&1 | FileCheck %s --check-prefix=BRACE
// BRACE: relax-opt: error: {{.*}} in pass pipeline at column

func.func private @callee(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

func.func @twice(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

func.func @calls(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = func.call @callee(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @callee(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
