// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s --emit-bytecode | relax-opt | FileCheck %s

// CHECK-LABEL: func.func @attention
func.func @attention(%query: tensor<2x16x8x64xf32>, %key: tensor<2x32x2x64xf32>, %value: tensor<2x32x2x48xf32>)
    -> tensor<2x16x8x48xf32> {
  // CHECK: "relax.nn.attention"
  // CHECK-SAME: {causal_mask = "TopLeft", scale = 1.250000e-01 : f64, window_size = 4 : i64}
  // CHECK-SAME: -> tensor<2x16x8x48xf32>
  %0 = "relax.nn.attention"(%query, %key, %value) {causal_mask = "TopLeft", scale = 0.125 : f64, window_size = 4 : i64}
      : (tensor<2x16x8x64xf32>, tensor<2x32x2x64xf32>, tensor<2x32x2x48xf32>) -> tensor<2x16x8x48xf32>
  return %0 : tensor<2x16x8x48xf32>
}

// CHECK-LABEL: func.func @attention_bias
func.func @attention_bias(%x: tensor<?x16x8x64xf16, #relax.sym<["n", 16, 8, 64]>>, %bias: tensor<1x8x16x16xf32>) {
  // CHECK: "relax.nn.attention_bias"
  // CHECK-SAME: -> tensor<?x16x8x64xf16, #relax.sym<["n", 16, 8, 64]>>
  %0 = "relax.nn.attention_bias"(%x, %x, %x, %bias)
      : (tensor<?x16x8x64xf16, #relax.sym<["n", 16, 8, 64]>>, tensor<?x16x8x64xf16, #relax.sym<["n", 16, 8, 64]>>,
         tensor<?x16x8x64xf16, #relax.sym<["n", 16, 8, 64]>>, tensor<1x8x16x16xf32>)
      -> tensor<?x16x8x64xf16, #relax.sym<["n", 16, 8, 64]>>
  return
}

// CHECK-LABEL: func.func @attention_cached
func.func @attention_cached(%query: tensor<2x3x8x64xf32>, %key: tensor<2x2x32x64xf32>, %value: tensor<2x4x32x48xf32>,
                            %length: i64) -> tensor<2x3x8x48xf32> {
  // CHECK: "relax.nn.attention_cached"
  // CHECK-SAME: {blind = "nan"}
  // CHECK-SAME: -> tensor<2x3x8x48xf32>
  %0 = "relax.nn.attention_cached"(%query, %key, %value, %length)
      {blind = "nan"}
      : (tensor<2x3x8x64xf32>, tensor<2x2x32x64xf32>, tensor<2x4x32x48xf32>, i64) -> tensor<2x3x8x48xf32>
  return %0 : tensor<2x3x8x48xf32>
}

// CHECK-LABEL: func.func @attention_var_len
func.func @attention_var_len(%x: tensor<1x?x8x64xf16>, %starts: tensor<4xi32>, %longest: tensor<i32>) {
  // CHECK: "relax.nn.attention_var_len"
  // CHECK-SAME: operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0>
  // CHECK-SAME: -> tensor<1x?x8x64xf16>
  %0 = "relax.nn.attention_var_len"(%x, %x, %x, %starts, %longest)
      {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0>}
      : (tensor<1x?x8x64xf16>, tensor<1x?x8x64xf16>, tensor<1x?x8x64xf16>, tensor<4xi32>, tensor<i32>)
      -> tensor<1x?x8x64xf16>
  // CHECK: "relax.nn.attention_var_len"
  // CHECK-SAME: operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>
  %1 = "relax.nn.attention_var_len"(%x, %x, %x, %starts, %starts, %longest, %longest)
      {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1>}
      : (tensor<1x?x8x64xf16>, tensor<1x?x8x64xf16>, tensor<1x?x8x64xf16>, tensor<4xi32>, tensor<4xi32>, tensor<i32>,
         tensor<i32>) -> tensor<1x?x8x64xf16>
  return
}
