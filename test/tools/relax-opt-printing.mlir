// The format of the output.

// RUN: relax-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// GENERIC: "builtin.module"() ({
// GENERIC: "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f"}> ({
// GENERIC: "func.return"(

// RUN: relax-opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=LOCATIONS
// LOCATIONS: "relax.exp"(%arg0) : (tensor<4xf32>) -> tensor<4xf32> loc(#[[LOC:.*]])
// LOCATIONS: #[[LOC]] = loc("node_7"(
// RUN: relax-opt %s --mlir-pretty-debuginfo | FileCheck %s --check-prefix=PRETTY
// PRETTY: "relax.exp"(%arg0) : (tensor<4xf32>) -> tensor<4xf32> "node_7"
// RUN: relax-opt %s --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=LOCAL
// LOCAL: "relax.exp"(%arg0) : (tensor<4xf32>) -> tensor<4xf32> loc("node_7"("model.onnx":0:0))
// RUN: relax-opt %s | FileCheck %s --check-prefix=PLAIN
// PLAIN-NOT: loc(

// RUN: relax-opt %S/relax-opt-statistics.mlir --mlir-print-unique-ssa-ids --cse | FileCheck %s --check-prefix=UNIQUE
// UNIQUE: func.func @f(%arg0: tensor<4xf32>)
// UNIQUE-NEXT: %0 = "relax.exp"(%arg0)
// UNIQUE-NEXT: return %0, %0
// UNIQUE: func.func @g(%arg1: tensor<4xf32>)
// UNIQUE-NEXT: %1 = "relax.negative"(%arg1)
// UNIQUE-NEXT: %2 = "relax.negative"(%1)
// UNIQUE-NEXT: return %2
// RUN: not relax-opt %s --mlir-print-unique-ssa-ids --print-script 2>&1 | FileCheck %s --check-prefix=SCRIPT-NAMES
// SCRIPT-NAMES: relax-opt: error: --print-script has names of its own

// RUN: relax-opt %s --mlir-elide-elementsattrs-if-larger=3 | FileCheck %s --check-prefix=ELIDED
// RUN: relax-opt %s --mlir-elide-elementsattrs-if-larger=4 | FileCheck %s --check-prefix=NOT-ELIDED
// RUN: relax-opt %s --mlir-elide-resource-strings-if-larger=8 | FileCheck %s --check-prefix=RESOURCE
// ELIDED: dense_resource<__elided__> : tensor<4xi32>
// NOT-ELIDED: dense<[1, 2, 3, 4]> : tensor<4xi32>
// NOT-ELIDED: blob: "0x040000000000803F00000040"
// RESOURCE: dense<[1, 2, 3, 4]> : tensor<4xi32>
// RESOURCE-NOT: blob:
// RUN: not relax-opt %s --mlir-elide-elementsattrs-if-larger=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not relax-opt %s --mlir-elide-elementsattrs-if-larger=99999999999999999999 2>&1 | FileCheck %s --check-prefix=HUGE
// NEGATIVE: relax-opt: error: option --mlir-elide-elementsattrs-if-larger expects a number from 0 to 2147483647, got '-1'
// HUGE: relax-opt: error: option --mlir-elide-elementsattrs-if-larger expects a number from 0 to 2147483647, got '99999999999999999999'

// Flags can be given values, and be taken back.
// RUN: relax-opt %s --mlir-print-op-generic=false | FileCheck %s --check-prefix=PLAIN
// RUN: relax-opt %s --mlir-print-op-generic=true --mlir-disable-threading --mlir-disable-threading=false | FileCheck %s --check-prefix=GENERIC
// RUN: not relax-opt %s --mlir-print-op-generic=maybe 2>&1 | FileCheck %s --check-prefix=FLAG
// FLAG: relax-opt: error: option --mlir-print-op-generic expects true or false, got 'maybe'

func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32> loc("node_7"("model.onnx":0:0))
  return %0 : tensor<4xf32>
}

func.func @constants() -> (tensor<4xi32>, tensor<2xf32>) {
  %0 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %1 = arith.constant dense_resource<blob> : tensor<2xf32>
  return %0, %1 : tensor<4xi32>, tensor<2xf32>
}

{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F00000040"
    }
  }
#-}
