// RUN: relax-opt %s --split-input-file --verify-diagnostics
// Sizes that cannot be equal because of their known divisors.

func.func @f(%a: tensor<2x3x?x5xf32, #relax.sym<[2, 3, "2*n", 5]>>, %s: !relax.shape<[4, 4, 1, 5]>) {
  // expected-error @+1 {{does not have as many elements}}
  %0 = "relax.reshape"(%a, %s) : (tensor<2x3x?x5xf32, #relax.sym<[2, 3, "2*n", 5]>>, !relax.shape<[4, 4, 1, 5]>) -> tensor<4x4x1x5xf32>
  return
}

// -----

func.func @f(%a: tensor<3x?xf32, #relax.sym<[3, "2*n"]>>, %w: tensor<5xf32>) {
  // expected-error @+1 {{operand 'gamma' (tensor<5xf32>) must have size 2*n in dimension 0}}
  %0 = "relax.nn.layer_norm"(%a, %w, %w) {axes = array<i64: 1>} : (tensor<3x?xf32, #relax.sym<[3, "2*n"]>>, tensor<5xf32>, tensor<5xf32>) -> tensor<3x?xf32>
  return
}

// -----

func.func @f(%a: tensor<1x1x8x8xf32>, %w: tensor<2x?x3x3xf32, #relax.sym<[2, "4*c", 3, 3]>>) {
  // expected-error @+1 {{'relax.nn.conv2d' op operand 'data'}}
  %0 = "relax.nn.conv2d"(%a, %w) : (tensor<1x1x8x8xf32>, tensor<2x?x3x3xf32, #relax.sym<[2, "4*c", 3, 3]>>) -> tensor<1x2x6x6xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32, #relax.sym<["2*n"]>>, %b: tensor<7xf32>) {
  // expected-error @+1 {{operand 'x2' (tensor<7xf32>) does not broadcast with the operands before it: dimension -1 is 7 against 2*n}}
  %0 = "relax.add"(%a, %b) : (tensor<?xf32, #relax.sym<["2*n"]>>, tensor<7xf32>) -> tensor<7xf32>
  return
}
