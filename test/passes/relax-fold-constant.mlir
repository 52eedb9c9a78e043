// RUN: relax-opt %s --relax-fold-constant | FileCheck %s
// RUN: relax-opt %s --relax-fold-constant --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=PLACE
// RUN: relax-opt %s --relax-fold-constant='most-growth=0' | FileCheck %s --check-prefix=NO-ROOM
// RUN: relax-opt %s --relax-fold-constant --mlir-elide-resource-strings-if-larger=0 | FileCheck %s --check-prefix=LARGE
// RUN: not relax-opt %s --relax-fold-constant='most-growth=-1' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not relax-opt %s --relax-fold-constant='max-iterations=0' 2>&1 | FileCheck %s --check-prefix=NEVER

// NEGATIVE: pass 'relax-fold-constant': most-growth must be 0 or more, got -1
// NEVER: pass 'relax-fold-constant': max-iterations must be 1 or more, got 0

// Weights with a scale for each column, and transposed ones; signed, unsigned, and back again.
// CHECK-LABEL: func.func @quantized(
// CHECK-DAG: %[[A:.*]] = arith.constant dense<{{\[\[}}-5.000000e-01, 2.000000e+00], [0.000000e+00, 6.000000e+00]]> : tensor<2x2xf32>
// CHECK-DAG: %[[B:.*]] = arith.constant dense<[-2.500000e+00, 2.500000e+01]> : tensor<2xf32>
// CHECK-DAG: %[[C:.*]] = "relax.constant"() {value = dense<[0, 7, 255]> : tensor<3xui8>}
// CHECK-NEXT: return %[[A]], %[[B]], %[[C]]
// PLACE: arith.constant dense<[-2.500000e+00, 2.500000e+01]> : tensor<2xf32> loc("b.onnx":7:1)
// NO-ROOM-LABEL: func.func @quantized(
// NO-ROOM: "relax.dequantize"
// NO-ROOM: "relax.constant"() {value = dense<[0, 7, 255]>
func.func @quantized() -> (tensor<2x2xf32>, tensor<2xf32>, tensor<3xui8>) {
  %w = arith.constant dense<[[0, 1], [2, 4]]> : tensor<2x2xi8>
  %scales = arith.constant dense<[0.5, 2.0]> : tensor<2xf32>
  %zeros = arith.constant dense<[1, 1]> : tensor<2xi8>
  %0 = "relax.dequantize"(%w, %scales, %zeros) {axis = 0 : i64} : (tensor<2x2xi8>, tensor<2xf32>, tensor<2xi8>) -> tensor<2x2xf32>
  %1 = "relax.permute_dims"(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %u = "relax.constant"() {value = dense<[9, 20]> : tensor<2xui8>} : () -> tensor<2xui8>
  %ten = "relax.constant"() {value = dense<10> : tensor<ui8>} : () -> tensor<ui8>
  %scale = arith.constant dense<2.5> : tensor<f32>
  %2 = "relax.dequantize"(%u, %scale, %ten) {axis = 0 : i64} : (tensor<2xui8>, tensor<f32>, tensor<ui8>) -> tensor<2xf32> loc("b.onnx":7:1)
  %f = arith.constant dense<[-100.0, -7.0, 1.0e9]> : tensor<3xf32>
  %3 = "relax.quantize"(%f, %scale, %ten) {axis = 0 : i64, out_dtype = ui8} : (tensor<3xf32>, tensor<f32>, tensor<ui8>) -> tensor<3xui8>
  return %1, %2, %3 : tensor<2x2xf32>, tensor<2xf32>, tensor<3xui8>
}

// What is larger than its operands, what is not constant, and what numpy does not know stay.
// CHECK-LABEL: func.func @left(
// CHECK: "relax.broadcast_to"
// CHECK: "relax.add"(%arg0
// CHECK: "relax.exp"
// CHECK: "relax.dequantize"
// CHECK: "relax.astype"
func.func @left(%x: tensor<4xf32>, %shape: !relax.shape<[300]>) -> (tensor<300xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xbf16>) {
  %one = arith.constant dense<1.0> : tensor<f32>
  %0 = "relax.broadcast_to"(%one, %shape) : (tensor<f32>, !relax.shape<[300]>) -> tensor<300xf32>
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %1 = "relax.add"(%x, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "relax.exp"(%c) : (tensor<4xf32>) -> tensor<4xf32>
  %i4 = arith.constant dense<[1, 2]> : tensor<2xi4>
  %z4 = arith.constant dense<0> : tensor<i4>
  %3 = "relax.dequantize"(%i4, %one, %z4) {axis = 0 : i64} : (tensor<2xi4>, tensor<f32>, tensor<i4>) -> tensor<2xf32>
  %4 = "relax.astype"(%c) {dtype = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
  return %0, %1, %2, %3, %4 : tensor<300xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xbf16>
}

// Large ones are resources, whose bytes are no text.
// LARGE-LABEL: func.func @large(
// LARGE: arith.constant dense_resource<const{{.*}}> : tensor<40x10xf32>
// LARGE-NOT: relax.
func.func @large() -> tensor<40x10xf32> {
  %w = arith.constant dense<3> : tensor<10x40xi8>
  %scale = arith.constant dense<0.5> : tensor<f32>
  %zero = arith.constant dense<1> : tensor<i8>
  %0 = "relax.dequantize"(%w, %scale, %zero) {axis = 0 : i64} : (tensor<10x40xi8>, tensor<f32>, tensor<i8>) -> tensor<10x40xf32>
  %1 = "relax.permute_dims"(%0) : (tensor<10x40xf32>) -> tensor<40x10xf32>
  return %1 : tensor<40x10xf32>
}
