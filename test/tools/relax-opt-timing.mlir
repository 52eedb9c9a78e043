// RUN: relax-opt %s -o /dev/null --cse --relax-canonicalize --mlir-timing 2>&1 | FileCheck %s
// RUN: relax-opt %s -o /dev/null --split-input-file --cse --relax-canonicalize --mlir-timing 2>&1 | FileCheck %s

// CHECK: ... Execution time report ...
// CHECK: Total Execution Time: {{[0-9.]+}} seconds
// CHECK: ----Wall Time----  ----Name----
// CHECK-NEXT: {{[0-9.]+}} ({{ *[0-9.]+}}%)  Parser
// CHECK-NEXT: {{[0-9.]+}} ({{ *[0-9.]+}}%)  cse
// CHECK-NEXT: {{[0-9.]+}} ({{ *[0-9.]+}}%)  relax-canonicalize
// CHECK-NEXT: {{[0-9.]+}} ({{ *[0-9.]+}}%)  Output
// CHECK-NEXT: {{[0-9.]+}} ({{ *[0-9.]+}}%)  Rest
// CHECK-NEXT: {{[0-9.]+}} (100.0%)  Total
// CHECK-NOT: report

// The output is the same with it.
// RUN: relax-opt %s --cse --mlir-timing > %t.timed
// RUN: relax-opt %s --cse > %t.plain
// RUN: cmp %t.timed %t.plain

func.func @f() {
  return
}

// -----

func.func @g() {
  return
}
