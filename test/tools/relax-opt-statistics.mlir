// Output of --mlir-pass-statistics: the changes of the IR for upstream passes, the number of applications for patterns in
// Python.

// RUN: relax-opt %s -o /dev/null --pass-pipeline='builtin.module(cse,func.func(relax-canonicalize),cse)' --mlir-pass-statistics 2>&1 | FileCheck %s --check-prefix=PIPELINE
// PIPELINE: ... Pass statistics report ...
// PIPELINE: 'builtin.module' Pipeline
// PIPELINE-NEXT: {{^}}  cse
// PIPELINE-NEXT: {{^}}    (S)  2 runs {{ *}}- how many operations the pass ran on
// PIPELINE-NEXT: {{^}}    (S) -1 relax.exp {{ *}}- how many more of these operations there are
// PIPELINE-NEXT: {{^}}'func.func' Pipeline
// PIPELINE-NEXT: {{^}}  relax-canonicalize
// PIPELINE-NEXT: (S)  2 runs
// PIPELINE-NEXT: (S)  1 undo_involution - how often this pattern was applied
// PIPELINE-NEXT: (S) -2 relax.negative

// RUN: relax-opt %s -o /dev/null --pass-pipeline='builtin.module(func.func(relax-canonicalize),cse)' --mlir-pass-statistics --mlir-pass-statistics-display=list 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: ... Pass statistics report ...
// LIST-NOT: Pipeline
// LIST: {{^}}  cse
// LIST-NEXT: (S)  1 runs
// LIST: {{^}}  relax-canonicalize
// LIST-NEXT: (S)  2 runs

// A pass that fails has no statistics; the passes before it have.
// RUN: not relax-opt %s --cse --one-shot-bufferize --mlir-pass-statistics 2>&1 | FileCheck %s --check-prefix=FAILED
// FAILED: {{^}}  cse
// FAILED-NEXT: (S)  1 runs
// FAILED-NOT: one-shot-bufferize

// RUN: not relax-opt %s --mlir-pass-statistics-display=tree 2>&1 | FileCheck %s --check-prefix=DISPLAY
// DISPLAY: relax-opt: error: option --mlir-pass-statistics-display expects one of list, pipeline, got 'tree'

func.func @f(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

func.func @g(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.negative"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.negative"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
