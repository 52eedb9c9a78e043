// RUN: not relax-opt %s 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: relax-opt %s --allow-unregistered-dialect | FileCheck %s
// RUN: relax-opt %s -allow-unregistered-dialect --cse --verify-roundtrip | FileCheck %s
// RUN: relax-opt %s --allow-unregistered-dialect --emit-bytecode -o %t.bc
// RUN: not relax-opt %t.bc 2>&1 | FileCheck %s --check-prefix=REFUSED-BYTECODE
// RUN: relax-opt %t.bc --allow-unregistered-dialect | FileCheck %s

// REFUSED: error: operation being parsed with an unregistered dialect
// REFUSED-BYTECODE: error: {{.*}}unregistered
// CHECK: "nobody.knows"() {a = #nobody.this} : () -> !nobody.that

func.func @f() {
  %0 = "nobody.knows"() {a = #nobody.this} : () -> !nobody.that
  return
}
