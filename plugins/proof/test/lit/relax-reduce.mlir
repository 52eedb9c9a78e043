// A module becomes as small as it can while a command fails in the same way.

// RUN: relax-reduce %s --test='grep -q relax.matmul %%s && exit 3' -o %t 2>&1 | FileCheck %s --check-prefix=STATED
// RUN: FileCheck %s < %t
// STATED: relax-reduce: note: 14 operations have become 3 in {{[0-9]+}} runs of the command
// CHECK: func.func @main(%arg0: tensor<1x1xf32>) {
// CHECK-NEXT: %0 = "relax.matmul"(%arg0, %arg0) : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
// CHECK-NEXT: return
// CHECK-NEXT: }
// CHECK-NEXT: }

// RUN: not relax-reduce %s --test='true %%s' 2>&1 | FileCheck %s --check-prefix=GOOD
// RUN: not relax-reduce %s --test='false %%s' --message=x 2>&1 | FileCheck %s --check-prefix=MESSAGE
// RUN: not relax-reduce %s 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not relax-reduce %s --test=false 2>&1 | FileCheck %s --check-prefix=PLACE
// RUN: not relax-reduce %s --test='no-such-command %%s' 2>&1 | FileCheck %s --check-prefix=COMMAND
// RUN: not relax-reduce %t.none --test='false %%s' 2>&1 | FileCheck %s --check-prefix=NONE
// GOOD: relax-reduce: error: --test: the command does not fail for the input
// MESSAGE: relax-reduce: error: --message: the command does not print 'x' for the input
// NOTHING: relax-reduce: error: what fails? give one of --test=<command> and --script=<file>
// PLACE: relax-reduce: error: option --test: the command has no %s, which stands for the file to try
// COMMAND: relax-reduce: error: --test: the shell cannot run the command; it printed: {{.*}}no-such-command
// NONE: relax-reduce: error: cannot read {{.*}}.none: No such file or directory

module attributes {my.note = "x"} {
  func.func private @helper(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %0 = "relax.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
  func.func @main(%a: tensor<4x4xf32>, %c: i1) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %w = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %0 = "relax.exp"(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = func.call @helper(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = scf.if %c -> (tensor<4x4xf32>) {
      %3 = "relax.matmul"(%1, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %4 = "relax.nn.softmax"(%3) {axis = -1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
      scf.yield %4 : tensor<4x4xf32>
    } else {
      scf.yield %a : tensor<4x4xf32>
    }
    %5 = "relax.add"(%2, %w) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
    return %5, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
