// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @f
func.func @f(%c: i1, %n: i64, %m: i64) {
  // CHECK: "tir.assert"(%arg0, %arg1, %arg2) {kind = "IndexError", message = "index {} is not below {}"} : (i1, i64, i64) -> ()
  "tir.assert"(%c, %n, %m) {kind = "IndexError", message = "index {} is not below {}"} : (i1, i64, i64) -> ()
  // CHECK: "tir.assert"(%arg0) {message = "no"} : (i1) -> ()
  "tir.assert"(%c) {message = "no"} : (i1) -> ()
  return
}
