// The output, and the module after each pass, as scripts that are read back.

// RUN: relax-opt %s --print-script --verify-roundtrip -o %t.py && relax-opt %t.py | FileCheck %s --check-prefix=BACK
// RUN: relax-opt %s --print-script | relax-opt - | FileCheck %s --check-prefix=BACK
// RUN: relax-opt %s --print-script | relax-opt --print-script | relax-opt | FileCheck %s --check-prefix=BACK
// BACK: module {
// BACK: func.func @main(
// BACK: call @helper(
// BACK: func.func private @helper(
// BACK: relax.exp

// RUN: relax-opt %s --print-script | FileCheck %s --check-prefix=WHOLE
// RUN: relax-opt %s --print-script --mlir-elide-elementsattrs-if-larger=4 | FileCheck %s --check-prefix=ELIDED
// RUN: relax-opt %s --print-script --mlir-elide-resource-strings-if-larger=4 | FileCheck %s --check-prefix=ELIDED
// WHOLE: R.exp(
// WHOLE: CAAB8Qg==
// ELIDED: R.exp(
// ELIDED-NOT: CAAB8Qg==

// The header of a dump is a comment in the same language.
// RUN: relax-opt %s -o /dev/null --print-script --pass-pipeline='builtin.module(cse,func.func(canonicalize))' --mlir-print-ir-after-all 2>&1 | FileCheck %s --check-prefix=DUMPS
// DUMPS: # -----// IR Dump After cse //----- #
// DUMPS: def main(
// DUMPS: def helper(
// DUMPS: # -----// IR Dump After canonicalize ('func.func' operation: @main) //----- #
// DUMPS: class
// DUMPS: def main(
// DUMPS: def helper({{.*}}: ...
// DUMPS: I.resource("w"
// DUMPS: # -----// IR Dump After canonicalize ('func.func' operation: @helper) //----- #
// DUMPS-NOT: def main(
// DUMPS: def helper(
// DUMPS-NEXT: R.exp(
// DUMPS-NOT: I.resource("w"

// Each is a script of its own; a function's has the functions that it calls, without what they do.
// RUN: relax-opt %s -o /dev/null --print-script --pass-pipeline='builtin.module(cse,func.func(canonicalize))' --mlir-print-ir-after-all --mlir-print-ir-tree-dir=%t.tree
// RUN: relax-opt %t.tree/builtin_module_no-symbol-name/0_cse.py | FileCheck %s --check-prefix=BACK
// RUN: relax-opt %t.tree/builtin_module_no-symbol-name/func_func_main/0_0_canonicalize.py | FileCheck %s --check-prefix=MAIN
// RUN: relax-opt - < %t.tree/builtin_module_no-symbol-name/func_func_main/0_0_canonicalize.py | FileCheck %s --check-prefix=MAIN
// RUN: relax-opt %t.tree/builtin_module_no-symbol-name/func_func_helper/0_0_canonicalize.py | FileCheck %s --check-prefix=HELPER
// MAIN: func.func @main(
// MAIN: dense_resource<w> : tensor<64xf32>
// MAIN: call @helper(
// MAIN: func.func private @helper(tensor<64xf32>) -> tensor<64xf32>
// HELPER-NOT: @main
// HELPER: relax.exp

// The same holds for all other operations beside a function that the function names.
// RUN: relax-opt %s -o /dev/null --print-script --pass-pipeline='builtin.module(func.func(cse))' --mlir-print-ir-before-all --mlir-print-ir-tree-dir=%t.beside
// RUN: relax-opt %t.beside/builtin_module_no-symbol-name/func_func_beside/0_0_cse.py | FileCheck %s --check-prefix=BESIDE
// BESIDE: func.func @beside()
// BESIDE: memref.store
// BESIDE-DAG: llvm.mlir.global external constant @text()
// BESIDE-DAG: llvm.func @called(){{$}}
// BESIDE-DAG: memref.global "private" constant @table : memref<2xf32>{{$}}

// RUN: relax-opt %t.beside/builtin_module_no-symbol-name/func_func_complex/0_0_cse.py | FileCheck %s --check-prefix=COMPLEX
// COMPLEX: dense<(1.0{{.*}},2.0{{.*}})> : tensor<1xcomplex<f32>>

// A module in a module is one by itself where a pass runs on it.
// RUN: relax-opt %s --print-script --pass-pipeline='builtin.module(builtin.module(cse))' --mlir-print-ir-after-all -o /dev/null 2>&1 | relax-opt | FileCheck %s --check-prefix=INNER
// INNER: module @inner {
// INNER-NEXT: func.func @same(
// INNER-NOT: @main

// The IR that a failing pass leaves behind may be no valid one: it is in MLIR's generic form as ever.
// RUN: not relax-opt %s --print-script --one-shot-bufferize --mlir-print-ir-after-failure 2>&1 | FileCheck %s --check-prefix=FAILURE
// FAILURE: // -----// IR Dump After one-shot-bufferize Failed //----- //
// FAILURE-NEXT: "builtin.module"() ({

// RUN: relax-opt %s --split-input-file --print-script -o %t.parts.py && FileCheck %s --check-prefix=PARTS --input-file=%t.parts.py
// RUN: relax-opt %t.parts.py --split-input-file | FileCheck %s --check-prefix=PARTS-BACK
// RUN: relax-opt %s --split-input-file --print-script --output-split-marker='# next' | FileCheck %s --check-prefix=NEXT
// PARTS: {{^}}# -----{{$}}
// PARTS-NEXT: from
// PARTS: def second(
// PARTS-BACK: {{^}}// -----{{$}}
// PARTS-BACK-NEXT: module {
// PARTS-BACK-NEXT: func.func @second(
// NEXT: {{^}}# next{{$}}

func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %c = arith.constant dense_resource<w> : tensor<64xf32>
  %0 = "relax.add"(%x, %c) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = call @helper(%0) : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

func.func private @helper(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "relax.exp"(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

memref.global constant @table : memref<2xf32> = dense<[1.0, 2.0]>
llvm.mlir.global internal constant @text("abc")
llvm.func internal @called() {
  llvm.return
}
func.func @beside() {
  %0 = llvm.mlir.addressof @text : !llvm.ptr
  llvm.call @called() : () -> ()
  %1 = memref.get_global @table : memref<2xf32>
  %2 = llvm.load %0 : !llvm.ptr -> f32
  %3 = arith.constant 0 : index
  memref.store %2, %1[%3] : memref<2xf32>
  return
}
// The bindings have no class for the attribute.
func.func @complex() -> tensor<1xcomplex<f32>> {
  %0 = arith.constant dense<(1.0, 2.0)> : tensor<1xcomplex<f32>>
  return %0 : tensor<1xcomplex<f32>>
}

module @inner {
  func.func @same(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

{-#
  dialect_resources: { builtin: { w: "0x04000000000000000000803F0000004000004040000080400000A0400000C0400000E0400000004100001041000020410000304100004041000050410000604100007041000080410000884100009041000098410000A0410000A8410000B0410000B8410000C0410000C8410000D0410000D8410000E0410000E8410000F0410000F84100000042000004420000084200000C4200001042000014420000184200001C4200002042000024420000284200002C4200003042000034420000384200003C4200004042000044420000484200004C4200005042000054420000584200005C4200006042000064420000684200006C4200007042000074420000784200007C42" } }
#-}

// -----

func.func @second(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
