// Input and output files.

// RUN: relax-opt %s | FileCheck %s
// RUN: relax-opt < %s | FileCheck %s
// RUN: cat %s | relax-opt - | FileCheck %s
// RUN: relax-opt %s -o - | FileCheck %s
// RUN: relax-opt %s -o %t && FileCheck %s --input-file=%t
// RUN: relax-opt -o=%t %s && FileCheck %s --input-file=%t
// RUN: relax-opt -o %t -- %s && FileCheck %s --input-file=%t
// RUN: relax-opt %s -o /dev/null | FileCheck %s --allow-empty --check-prefix=NOTHING

// CHECK: module {
// CHECK-NEXT: func.func @f(%arg0: tensor<?xf32, #relax.sym<["n"]>>)
// CHECK-NEXT: "relax.exp"
// NOTHING-NOT: {{.}}

// A file is written whole or not at all.
// RUN: rm -f %t.none
// RUN: not relax-opt %s --one-shot-bufferize -o %t.none
// RUN: not cat %t.none

// RUN: not relax-opt %t.none 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not relax-opt %S 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: not relax-opt %s -o %t.none/out 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: not relax-opt %s -o %S 2>&1 | FileCheck %s --check-prefix=ONTO-FOLDER
// RUN: not relax-opt %s -o /dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: not relax-opt %s > /dev/full 2>&1
// RUN: not relax-opt %s -o 2>&1 | FileCheck %s --check-prefix=NO-VALUE
// RUN: not relax-opt %s %s 2>&1 | FileCheck %s --check-prefix=TWO
// MISSING: relax-opt: error: cannot open input file '{{.*}}.none': No such file or directory
// FOLDER: relax-opt: error: cannot open input file '{{.*}}': Is a directory
// NOWHERE: relax-opt: error: cannot write output file '{{.*}}.none/out': No such file or directory
// ONTO-FOLDER: relax-opt: error: cannot write output file '{{.*}}': Is a directory
// FULL: relax-opt: error: cannot write output file '/dev/full': No space left on device
// NO-VALUE: relax-opt: error: option -o needs a value: -o <file>
// TWO: relax-opt: error: one input file at a time, got {{.*}}relax-opt-files.mlir, {{.*}}relax-opt-files.mlir

func.func @f(%a: tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>> {
  %0 = "relax.exp"(%a) : (tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n"]>>
  return %0 : tensor<?xf32, #relax.sym<["n"]>>
}
