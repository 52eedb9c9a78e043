// RUN: relax-opt %s --split-input-file --cse | FileCheck %s
// RUN: relax-opt %s -split-input-file --cse --output-split-marker='// next' | FileCheck %s --check-prefix=MARKER
// RUN: not relax-opt %s --split-input-file='// other' --cse 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not relax-opt %s --cse 2>&1 | FileCheck %s --check-prefix=WHOLE

// Every part has its own symbols and aliases.
// CHECK: module {
// CHECK: func.func @same_name
// CHECK: // -----
// CHECK-NEXT: module {
// CHECK: func.func @same_name
// CHECK-NOT: // -----

// MARKER: module {
// MARKER: // next
// MARKER-NEXT: module {

// A part that fails says so with the line in the whole file; the other parts are processed.
// RUN: not relax-opt %s --split-input-file --one-shot-bufferize 2>&1 | FileCheck %s --check-prefix=FAILS
// FAILS: relax-opt-split-input-file.mlir:{{[0-9]+}}:8: error: op was not bufferized
// FAILS: relax-opt-split-input-file.mlir:{{[0-9]+}}:8: error: op was not bufferized

// A file that is written whole or not at all is not written when one part fails.
// RUN: rm -f %t
// RUN: not relax-opt %s --split-input-file --pass-pipeline='builtin.module(builtin.module(cse),one-shot-bufferize)' -o %t
// RUN: not cat %t

// A pass that does not exist is reported once, not for each part.
// RUN: not relax-opt %s --split-input-file --pass-pipeline='builtin.module(no-such-pass)' 2>&1 | FileCheck %s --check-prefix=ONCE
// ONCE: error: unknown pass 'no-such-pass'
// ONCE-NOT: error:

// WHOLE: error: redefinition of symbol named 'same_name'

// OTHER: error: redefinition of symbol named 'same_name'
// OTHER: module {
// OTHER: func.func @third

func.func @same_name(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @same_name(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.log"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// other

func.func @third() {
  return
}
