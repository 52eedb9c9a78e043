// A plug-in's pass that crashes MLIR is one error. The handler of crashes belongs to the process, and `env -u` makes
// lit start one.

// RUN: not env -u NONE PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_passes --sample-misbehave=how=crash 2>&1 | FileCheck %s --check-prefix=CRASH
// CRASH: relax-opt: error: MLIR crashed (SIGSEGV) while running {{.*}}sample-misbehave{how=crash}

// With a reproducer, the pass leaves that file and no other.
// RUN: rm -f %t.mlir
// RUN: not env -u NONE PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=sample_passes --sample-misbehave=how=crash --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>&1 | FileCheck %s --check-prefix=REPRODUCER
// RUN: not env -u NONE PYTHONPATH=%S/Inputs relax-opt %t.mlir --load-plugin=sample_passes --run-reproducer 2>&1 | FileCheck %s --check-prefix=CRASH
// REPRODUCER: relax-opt: error: MLIR crashed (SIGSEGV)
// REPRODUCER: relax-opt: note: a reproducer was written to {{.*}}.mlir

func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
