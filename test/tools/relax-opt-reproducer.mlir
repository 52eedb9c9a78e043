// RUN: rm -f %t.mlir %t.none.mlir %t.always.mlir
// RUN: not relax-opt %s --relax-canonicalize --pass-pipeline='builtin.module(cse)' --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not cat %t.mlir
// BOTH: error: --pass-pipeline cannot be used together with single passes

// RUN: not relax-opt %s --pass-pipeline='builtin.module(cse,func.func(canonicalize{max-iterations=3}),one-shot-bufferize)' --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>&1 | FileCheck %s --check-prefix=FAILS
// FAILS: error: op was not bufferized
// FAILS: relax-opt: note: a reproducer was written to {{.*}}.mlir
// RUN: cat %t.mlir | FileCheck %s --check-prefix=REPRODUCER
// The IR is that before the first pass.
// REPRODUCER: "relax.exp"
// REPRODUCER: "relax.exp"
// REPRODUCER: {-#
// REPRODUCER-NEXT: external_resources: {
// REPRODUCER-NEXT: mlir_reproducer: {
// REPRODUCER-NEXT: pipeline: "builtin.module(cse,func.func(canonicalize{max-iterations=3}),one-shot-bufferize)",
// REPRODUCER-NEXT: disable_threading: true,
// REPRODUCER-NEXT: verify_each: true
// RUN: not relax-opt %t.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN-NOT: warning
// AGAIN: reproducer.mlir.tmp.mlir:3:10: error: op was not bufferized

// If all passes succeed, no file is written or removed.
// RUN: echo kept > %t.none.mlir
// RUN: relax-opt %s --cse --mlir-pass-pipeline-crash-reproducer=%t.none.mlir | FileCheck %s --check-prefix=CSE
// RUN: grep -q kept %t.none.mlir
// CSE: "relax.exp"
// CSE-NOT: "relax.exp"

// --mlir-generate-reproducer writes it in any case.
// RUN: relax-opt %s --cse --verify-each=false --mlir-generate-reproducer=%t.always.mlir -o /dev/null
// RUN: FileCheck %s --check-prefix=ALWAYS --input-file=%t.always.mlir
// RUN: relax-opt %t.always.mlir --run-reproducer | FileCheck %s --check-prefix=CSE
// ALWAYS: pipeline: "builtin.module(cse)"
// ALWAYS: verify_each: false

// RUN: not relax-opt %s --run-reproducer 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not relax-opt %t.always.mlir --run-reproducer --cse 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not relax-opt %s --cse --mlir-generate-reproducer=%t.no/x 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: not relax-opt %s --cse --mlir-pass-pipeline-crash-reproducer=%t.no/x 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NONE: relax-opt-reproducer.mlir: error: --run-reproducer: the file holds no pipeline
// OTHER: relax-opt: error: --run-reproducer takes the pipeline from the input file; give no other
// NOWHERE: relax-opt: error: cannot write {{output file|reproducer}} '{{.*}}.no/x': No such file or directory

func.func @f(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
