// Values of a program beside the reference, each operator by itself and in the program.

// RUN: relax-compile %s --observe --no-cache -o %t.rxa
// RUN: relax-run %t.rxa --each --compare=reference | FileCheck %s
// RUN: relax-compile %s --no-cache -o %t.plain.rxa
// RUN: not relax-run %t.plain.rxa --each --compare=reference 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: not relax-run %t.rxa --each 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not relax-compile %s --observe --emit=llvm 2>&1 | FileCheck %s --check-prefix=EMIT

// CHECK: node {{.*}} kernel or part {{ *}} isolated {{ *}} accumulated
// CHECK-NEXT: first {{ *}} nn_softmax
// CHECK-NEXT: second {{ *}} nn_softmax
// CHECK-NEXT: 2 values of both, 0 of this program alone, 0 of the model alone
// PLAIN: does not show its values: compile it with --observe, or rx.compile(observe=True)
// ALONE: --each needs something to compare with: --compare=reference, b.rxa or model.onnx
// EMIT: --observe is for programs: it needs --emit=artifact, the default
func.func @main(%x: tensor<3x4xf32> {relax.name = "x"}) -> tensor<3x4xf32> {
  %0 = "relax.nn.softmax"(%x) {axis = 0 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32> loc("first")
  %1 = "relax.nn.softmax"(%0) {axis = 0 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32> loc("second")
  return %1 : tensor<3x4xf32>
}
