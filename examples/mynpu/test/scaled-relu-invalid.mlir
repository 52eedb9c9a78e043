// RUN: relax-opt %s --load-plugin=mynpu.ops --split-input-file --verify-diagnostics

func.func @type(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @+1 {{operand 'x' (tensor<4xi32>) must have f16 or f32 elements}}
  %0 = "mynpu.scaled_relu"(%x) : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
