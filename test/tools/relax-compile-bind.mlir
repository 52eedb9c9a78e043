// The sizes that --bind gives go to relax-bind-symbolic-vars before any other pass.

// RUN: relax-compile %s --bind n:1..64 --bind m:8 --emit=relax | FileCheck %s
// RUN: relax-compile %s --bind n:1..64 --bind m:1..2 --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: not relax-compile %s --bind n:1..64 --bind n:8 --emit=relax 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not relax-compile %s --bind n=8 --emit=relax 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not relax-compile %s --bind n:8..1 --emit=relax 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not relax-compile %s --bind k:8 --emit=relax 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: func.func @main(%{{.*}}: tensor<?x8xf32, #relax.sym<["n", 8]>>
// CHECK-SAME: relax.symbol_ranges = {n = array<i64: 1, 64>}
// LLVM: argument #0 'x' dimension 0: n is
// LLVM: argument #0 'x' dimension 1: m is
// TWICE: error: option --bind: size 'n' is given twice
// FORM: error: option --bind: expected name:size, got 'n=8'
// RANGE: sizes are from 0 to 2**63 - 1, the smallest first
// NONE: error: pass 'relax-bind-symbolic-vars': @main has no symbolic size 'k'; it has: m, n
!t = tensor<?x?xf32, #relax.sym<["n", "m"]>>
func.func @main(%x: !t {relax.name = "x"}) -> !t {
  %0 = "relax.nn.softmax"(%x) {axis = 0 : i64} : (!t) -> !t
  %1 = "relax.nn.softmax"(%0) {axis = 0 : i64} : (!t) -> !t
  return %1 : !t
}
