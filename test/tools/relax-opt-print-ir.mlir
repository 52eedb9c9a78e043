// The IR between passes.

// RUN: relax-opt %s -o /dev/null --pass-pipeline='builtin.module(cse,func.func(canonicalize))' --mlir-print-ir-after-all 2>&1 | FileCheck %s --check-prefix=AFTER-ALL
// AFTER-ALL: // -----// IR Dump After cse //----- //
// AFTER-ALL-NEXT: module {
// AFTER-ALL: // -----// IR Dump After canonicalize ('func.func' operation: @f) //----- //
// AFTER-ALL-NEXT: func.func @f
// AFTER-ALL: // -----// IR Dump After canonicalize ('func.func' operation: @g) //----- //
// AFTER-ALL-NEXT: func.func @g
// AFTER-ALL-NOT: IR Dump

// RUN: relax-opt %s -o /dev/null --cse --canonicalize --mlir-print-ir-before-all 2>&1 | FileCheck %s --check-prefix=BEFORE-ALL
// BEFORE-ALL: IR Dump Before cse
// BEFORE-ALL: "relax.exp"
// BEFORE-ALL: "relax.exp"
// BEFORE-ALL: IR Dump Before canonicalize
// BEFORE-ALL: "relax.exp"
// BEFORE-ALL-NOT: "relax.exp"

// RUN: relax-opt %s -o /dev/null --cse --relax-canonicalize --canonicalize --mlir-print-ir-after=relax-canonicalize --mlir-print-ir-before=cse,canonicalize 2>&1 | FileCheck %s --check-prefix=SOME
// SOME: IR Dump Before cse
// SOME: IR Dump After relax-canonicalize
// SOME: IR Dump Before canonicalize
// SOME-NOT: IR Dump

// RUN: relax-opt %s -o /dev/null --canonicalize --cse --cse --mlir-print-ir-after-all --mlir-print-ir-after-change 2>&1 | FileCheck %s --check-prefix=CHANGE
// RUN: relax-opt %s -o /dev/null --canonicalize --cse --cse --mlir-print-ir-after-change 2>&1 | FileCheck %s --check-prefix=CHANGE
// CHANGE-NOT: IR Dump After canonicalize
// CHANGE: IR Dump After cse
// CHANGE-NOT: IR Dump

// RUN: relax-opt %s -o /dev/null --pass-pipeline='func.func(cse)' --mlir-print-ir-after-all --mlir-print-ir-module-scope 2>&1 | FileCheck %s --check-prefix=SCOPE
// SCOPE: IR Dump After cse ('func.func' operation: @f)
// SCOPE-NEXT: module {
// SCOPE-NEXT: func.func @f
// SCOPE: func.func @g
// SCOPE: IR Dump After cse ('func.func' operation: @g)
// SCOPE-NEXT: module {
// SCOPE-NEXT: func.func @f

// RUN: not relax-opt %s --cse --one-shot-bufferize --canonicalize --mlir-print-ir-after-failure 2>&1 | FileCheck %s --check-prefix=FAILURE
// FAILURE-NOT: IR Dump After cse
// FAILURE: IR Dump After one-shot-bufferize Failed
// FAILURE: "builtin.module"() ({
// FAILURE-NOT: IR Dump
// FAILURE: error: op was not bufferized

// RUN: relax-opt %s -o /dev/null --cse --mlir-print-ir-after-all --mlir-print-op-generic 2>&1 | FileCheck %s --check-prefix=GENERIC
// GENERIC: IR Dump After cse
// GENERIC-NEXT: "builtin.module"() ({

// In a tree of folders, as upstream lays it out (test/python/tools/test_relax_opt.py compares them).
// RUN: rm -f %t.tree/builtin_module_no-symbol-name/0_cse.mlir
// RUN: relax-opt %s -o /dev/null --pass-pipeline='builtin.module(cse,func.func(canonicalize))' --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t.tree 2>&1 | FileCheck %s --check-prefix=TREE --allow-empty
// RUN: cat %t.tree/builtin_module_no-symbol-name/0_cse.mlir | FileCheck %s --check-prefix=TREE-MODULE
// RUN: cat %t.tree/builtin_module_no-symbol-name/func_func_g/0_0_canonicalize.mlir | FileCheck %s --check-prefix=TREE-FUNCTION
// TREE-NOT: IR Dump
// TREE-MODULE: // -----// IR Dump After cse //----- //
// TREE-MODULE-NEXT: module {
// TREE-FUNCTION: // -----// IR Dump After canonicalize ('func.func' operation: @g) //----- //
// TREE-FUNCTION-NEXT: func.func @g
// RUN: not relax-opt %s --cse --mlir-print-ir-tree-dir=%t.tree 2>&1 | FileCheck %s --check-prefix=WHEN
// WHEN: relax-opt: error: --mlir-print-ir-tree-dir says where to print, not when: give one of --mlir-print-ir-before,
// RUN: not relax-opt %s --cse --mlir-print-ir-after-all --mlir-print-ir-tree-dir=/dev/null 2>&1 | FileCheck %s --check-prefix=NO-FOLDER
// NO-FOLDER: relax-opt: error: cannot write the IR to '/dev/null/builtin_module_no-symbol-name/0_cse.mlir': Not a directory

// The outermost operation has no parent to ask for.
// RUN: relax-opt %s | relax-opt -o /dev/null --cse --mlir-print-ir-after-all --mlir-print-ir-module-scope 2>&1 | FileCheck %s --check-prefix=OUTERMOST
// OUTERMOST: IR Dump After cse
// OUTERMOST-NEXT: module {

// Without a pass there is nothing to print, and the output itself is not touched by any of this.
// RUN: relax-opt %s --mlir-print-ir-after-all 2>&1 | FileCheck %s --check-prefix=NO-PASS
// NO-PASS-NOT: IR Dump
// RUN: relax-opt %s --cse --mlir-print-ir-before-all > %t.watched
// RUN: relax-opt %s --cse > %t.plain
// RUN: cmp %t.watched %t.plain

// RUN: not relax-opt %s --cse --mlir-print-ir-after=csee 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: relax-opt: error: option --mlir-print-ir-after: unknown pass 'csee'; did you mean 'cse'?

func.func @f(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

func.func @g() {
  return
}
