// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<3x4xf32>) {
  // expected-error @+1 {{'relax.linalg.eigh' op operand 'a' (tensor<3x4xf32>) must have size 3 where it has 4}}
  %r:3 = "relax.linalg.eigh"(%a) : (tensor<3x4xf32>) -> (tensor<3xf32>, tensor<i32>, tensor<3x4xf32>)
  return
}

// -----

func.func @f(%a: tensor<3x3xi32>) {
  // expected-error @+1 {{must have elements of type f32 or f64}}
  %r:2 = "relax.linalg.cholesky"(%a) : (tensor<3x3xi32>) -> (tensor<3x3xi32>, tensor<i32>)
  return
}

// -----

func.func @f(%a: tensor<2x3x3xf32>, %b: tensor<4x3x1xf32>) {
  // expected-error @+1 {{must have the batch of the other operands}}
  %r = "relax.linalg.solve_triangular"(%a, %b) : (tensor<2x3x3xf32>, tensor<4x3x1xf32>) -> tensor<2x3x1xf32>
  return
}

// -----

func.func @f(%a: tensor<3x3x4xf32>) {
  // expected-error @+1 {{must have size 2 where it has 4}}
  %r:4 = "relax.linalg.schur"(%a) {complex = true} : (tensor<3x3x4xf32>) -> (tensor<3x3x2xf32>, tensor<3x2xf32>, tensor<i32>, tensor<3x3x2xf32>)
  return
}

// -----

func.func @f(%a: tensor<3xf32>) {
  // expected-error @+1 {{'relax.linalg.svd' op}}
  %r:4 = "relax.linalg.svd"(%a) : (tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>, tensor<3x3xf32>, tensor<3x3xf32>)
  return
}
