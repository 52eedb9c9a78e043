// Compilation stops after a stage and goes on from the next; plans edited in between: tools/test_relax_compile_stages.py.

// RUN: relax-compile %s --target=llvm{vector-bytes=16} --stop=plan -o %t.mlir
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t.mlir
// PLAN: {{^}}#loc{{[0-9]*}} = loc("the node")
// PLAN: linalg.generic {{.*}}tir.plan = "order (0 1); vector 0 x 4; tile 0: 4; rule elementwise"

// RUN: relax-compile %t.mlir --target=llvm{vector-bytes=16} --start=apply -o %t.rxa
// RUN: relax-compile %s --target=llvm{vector-bytes=16} -o %t.whole.rxa
// RUN: cmp %t.rxa %t.whole.rxa

// relax-opt's pass does as relax-compile.
// RUN: relax-compile %t.mlir --target=llvm{vector-bytes=16} --start=apply --stop=apply -o %t.applied.mlir
// RUN: relax-opt %t.mlir --relax-lower='target=llvm{vector-bytes=16} start=apply stop=apply' --mlir-print-debuginfo -o %t.lowered.mlir
// RUN: cmp %t.applied.mlir %t.lowered.mlir
// RUN: FileCheck %s --check-prefix=APPLIED --input-file=%t.applied.mlir
// APPLIED: vector.transfer_read {{.*}} vector<4xf32>

// RUN: not relax-compile %s --start=apply -o %t.none.rxa 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: relax-compile: error: {{.*}} is still an operator: legalize it first (relax-legalize-ops)
// RUN: not relax-compile %s --stop=plans 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not relax-compile %s --start=plans -o %t.none.rxa 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: relax-compile: error: target 'llvm' has no stage 'plans'; did you mean 'plan'? (it has {{.*}}fold, {{.*}}legalize,
// RUN: not relax-compile %s --start=apply --stop=plan 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not relax-compile %s --start=plan --emit=tir 2>&1 | FileCheck %s --check-prefix=ORDER-TIR
// RUN: not relax-opt %s --relax-lower='start=apply stop=plan' 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: target 'llvm': stage 'apply' comes after stage 'plan'
// ORDER-TIR: error: target 'llvm': stage 'plan' comes after stage 'fuse'

func.func @main(%x: tensor<?x4xf32, #relax.sym<["n", 4]>> {relax.name = "x"}) -> tensor<?x4xf32, #relax.sym<["n", 4]>> {
  %0 = "relax.abs"(%x) : (tensor<?x4xf32, #relax.sym<["n", 4]>>) -> tensor<?x4xf32, #relax.sym<["n", 4]>> loc("the node")
  return %0 : tensor<?x4xf32, #relax.sym<["n", 4]>>
}
