// Errors of relax-compile and relax-run: one line each, and no file.

// RUN: rm -f %t.rxa
// RUN: not relax-compile %s -o %t.rxa 2>&1 | FileCheck %s --check-prefix=INVALID
// RUN: not relax-compile - 2>&1 | FileCheck %s --check-prefix=NO-FILE
// RUN: not relax-compile %s -o %t.rxa --targt=llvm 2>&1 | FileCheck %s --check-prefix=MISSPELT
// RUN: not relax-compile %s -o %t.rxa --shape=x:2 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not relax-run %t.rxa 2>&1 | FileCheck %s --check-prefix=NONE

// INVALID: relax-compile: error: {{.*}}relax-compile-bad-input.mlir:{{[0-9]+}}:8: {{.*}}'relax.add' op expects 2 operands
// NO-FILE: relax-compile: error: --emit=artifact needs a file to write: -o <file>
// MISSPELT: relax-compile: error: unknown option '--targt=llvm'; did you mean 'target'? (--help lists them)
// SHAPE: relax-compile: error: --shape is for ONNX models
// NONE: relax-run: error: {{.*}}.rxa: cannot be read: No such file or directory

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "relax.add"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
