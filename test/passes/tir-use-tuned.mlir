// RUN: rm -rf %t
// RUN: env PYTHONPATH=%S/Inputs relax-opt %s --load-plugin=tuned_kernels --lit-write-tuned='folder=%t target=llvm{vector-bytes=64}' --tir-use-tuned='folder=%t target=llvm{vector-bytes=64}' 2>%t.err | FileCheck %s
// RUN: FileCheck %s --input-file=%t.err --check-prefix=WARNING
// RUN: relax-opt %s --tir-use-tuned='folder=%t target=llvm{vector-bytes=32}' | FileCheck %s --check-prefix=OTHER
// RUN: not relax-opt %s --tir-use-tuned='folder=%S/missing' 2>&1 | FileCheck %s --check-prefix=MISSING

// Files of tuned kernels set plans. Inputs/tuned_kernels.py writes the files. Results: plugins/tune/test.

// Plans were tuned for vectors of 64 bytes.
// OTHER-NOT: tir.plan

// MISSING: tuned kernels in '{{.*}}missing' cannot be read: No such file or directory

// CHECK-LABEL: func.func @tuned(
// CHECK: linalg.generic {{.*}} {tir.plan = "start"}
// CHECK: linalg.generic {{.*}} {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; tile 1: 2, 0: 3; rule tuned"}
func.func @tuned(%a: tensor<60x32xf32>, %b: tensor<32x128xf32>, %out: tensor<60x128xf32>) -> tensor<60x128xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<60x128xf32>) -> tensor<60x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<60x32xf32>, tensor<32x128xf32>) outs(%0 : tensor<60x128xf32>) -> tensor<60x128xf32>
  return %1 : tensor<60x128xf32>
}

// The key of a kernel leaves out its name.
// CHECK-LABEL: func.func @of_the_same_key(
// CHECK: {tir.plan = "order 1 0 2; carried 1; vector 1 x 16; tile 1: 2, 0: 3; rule tuned"}
func.func @of_the_same_key(%a: tensor<60x32xf32>, %b: tensor<32x128xf32>, %out: tensor<60x128xf32>) -> tensor<60x128xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<60x128xf32>) -> tensor<60x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<60x32xf32>, tensor<32x128xf32>) outs(%0 : tensor<60x128xf32>) -> tensor<60x128xf32>
  return %1 : tensor<60x128xf32>
}

// CHECK-LABEL: func.func @of_other_sizes(
// CHECK-NOT: tir.plan
func.func @of_other_sizes(%a: tensor<61x32xf32>, %b: tensor<32x128xf32>, %out: tensor<61x128xf32>) -> tensor<61x128xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<61x128xf32>) -> tensor<61x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<61x32xf32>, tensor<32x128xf32>) outs(%0 : tensor<61x128xf32>) -> tensor<61x128xf32>
  return %1 : tensor<61x128xf32>
}

// A schedule of the user overrides tuned plans.
// CHECK-LABEL: func.func @with_a_schedule(
// CHECK-NOT: tir.plan
func.func @with_a_schedule(%a: tensor<60x32xf32>, %b: tensor<32x128xf32>, %out: tensor<60x128xf32>) -> tensor<60x128xf32>
    attributes {tir.prim_func, tir.schedule = ["# schedule 1"]} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<60x128xf32>) -> tensor<60x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<60x32xf32>, tensor<32x128xf32>) outs(%0 : tensor<60x128xf32>) -> tensor<60x128xf32>
  return %1 : tensor<60x128xf32>
}

// CHECK-LABEL: func.func @of_one_operation(
// CHECK-NOT: tir.plan
// WARNING: @of_one_operation: its tuned file is left out: the kernel has 2 operations, but there are plans for 1
func.func @of_one_operation(%a: tensor<62x32xf32>, %b: tensor<32x128xf32>, %out: tensor<62x128xf32>) -> tensor<62x128xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<62x128xf32>) -> tensor<62x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<62x32xf32>, tensor<32x128xf32>) outs(%0 : tensor<62x128xf32>) -> tensor<62x128xf32>
  return %1 : tensor<62x128xf32>
}

// CHECK-LABEL: func.func @unreadable(
// CHECK-NOT: tir.plan
// WARNING: @unreadable: its tuned file is left out: column 1: expected one of order, {{.*}}, got 'ordre'
func.func @unreadable(%a: tensor<63x32xf32>, %b: tensor<32x128xf32>, %out: tensor<63x128xf32>) -> tensor<63x128xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<63x128xf32>) -> tensor<63x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<63x32xf32>, tensor<32x128xf32>) outs(%0 : tensor<63x128xf32>) -> tensor<63x128xf32>
  return %1 : tensor<63x128xf32>
}

// CHECK-LABEL: func.func @damaged(
// CHECK-NOT: tir.plan
// WARNING: @damaged: its tuned file is left out: tuned kernel '{{.*}}damaged-{{.*}}' is damaged: it is no JSON object
func.func @damaged(%a: tensor<64x32xf32>, %b: tensor<32x128xf32>, %out: tensor<64x128xf32>) -> tensor<64x128xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<64x128xf32>) -> tensor<64x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x128xf32>) outs(%0 : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %1 : tensor<64x128xf32>
}

// CHECK-LABEL: func.func @disagreeing(
// CHECK-NOT: tir.plan
// WARNING: @disagreeing: its tuned file is left out: 'start' initializes no reduction that keeps its results in registers
func.func @disagreeing(%a: tensor<65x32xf32>, %b: tensor<32x128xf32>, %out: tensor<65x128xf32>) -> tensor<65x128xf32>
    attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%out : tensor<65x128xf32>) -> tensor<65x128xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<65x32xf32>, tensor<32x128xf32>) outs(%0 : tensor<65x128xf32>) -> tensor<65x128xf32>
  return %1 : tensor<65x128xf32>
}
