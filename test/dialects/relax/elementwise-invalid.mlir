// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{'relax.add' op expects 2 operands (x1, x2), got 1: missing 'x2'}}
  %r = "relax.add"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{'relax.exp' op expects 1 operand (x), got 2}}
  %r = "relax.exp"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: vector<2xf32>) {
  // expected-error @+1 {{operand 'x2' must be a tensor, got vector<2xf32>}}
  %r = "relax.add"(%a, %b) : (tensor<2xf32>, vector<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xi32>) {
  // expected-error @+1 {{operand 'x' (tensor<2xi32>) must have float elements}}
  %r = "relax.exp"(%a) : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @f(%a: tensor<2xi1>) {
  // expected-error @+1 {{operand 'x' (tensor<2xi1>) must have float or int elements}}
  %r = "relax.abs"(%a) : (tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%a: tensor<2xi1>) {
  // expected-error @+1 {{operand 'x' (tensor<2xi1>) must have float or int elements}}
  %r = "relax.isnan"(%a) : (tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%a: tensor<2xcomplex<f32>>) {
  // expected-error @+1 {{operand 'x' (tensor<2xcomplex<f32>>) must have float elements}}
  %r = "relax.exp"(%a) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand 'x' (tensor<2xf32>) must have int or bool elements}}
  %r = "relax.bitwise_not"(%a) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xi8>) {
  // expected-error @+1 {{operand 'x' (tensor<2xi8>) must have bool elements}}
  %r = "relax.logical_not"(%a) : (tensor<2xi8>) -> tensor<2xi8>
  return
}

// -----

func.func @f(%a: tensor<2xi1>, %b: tensor<2xi1>) {
  // expected-error @+1 {{operand 'x1' (tensor<2xi1>) must have float or int elements}}
  %r = "relax.add"(%a, %b) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%a: tensor<2xcomplex<f32>>, %b: tensor<2xcomplex<f32>>) {
  // expected-error @+1 {{operand 'x1' (tensor<2xcomplex<f32>>) must have float or int or bool elements}}
  %r = "relax.equal"(%a, %b) : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%a: tensor<2xi8>, %b: tensor<2xi8>) {
  // expected-error @+1 {{operand 'x1' (tensor<2xi8>) must have bool elements}}
  %r = "relax.logical_and"(%a, %b) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{operand 'x1' (tensor<2xf32>) must have int or bool elements}}
  %r = "relax.bitwise_and"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xi1>, %b: tensor<2xi1>) {
  // expected-error @+1 {{operand 'x1' (tensor<2xi1>) must have int elements}}
  %r = "relax.left_shift"(%a, %b) : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error @+1 {{operand 'x1' (tensor<2xf32>) and operand 'x2' (tensor<2xf64>) must have the same element type}}
  %r = "relax.add"(%a, %b) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<3x2xf32>, %b: tensor<4x1xf32>) {
  // expected-error @+1 {{operand 'x2' (tensor<4x1xf32>) does not broadcast with the operands before it: dimension -2 is 4 against 3}}
  %r = "relax.add"(%a, %b) : (tensor<3x2xf32>, tensor<4x1xf32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<2xf32>, but tensor<2xi1> is inferred}}
  %r = "relax.less"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<3xf32>, but tensor<2xf32> is inferred}}
  %r = "relax.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32, #relax.sym<["n"]>>, %b: tensor<?xf32, #relax.sym<["n"]>>) {
  // expected-error @+1 {{but tensor<?xf32, #relax.sym<["n"]>> is inferred}}
  %r = "relax.add"(%a, %b) : (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n"]>>) -> tensor<?xf32, #relax.sym<["n + 1"]>>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{result 'result' is stated as vector<2xf32>, but tensor<2xf32> is inferred}}
  %r = "relax.exp"(%a) : (tensor<2xf32>) -> vector<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{gives 1 result here, but 2 are stated}}
  %r:2 = "relax.exp"(%a) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{has no attribute 'axis' (known: none)}}
  %r = "relax.exp"(%a) {axis = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32, #relax.sym<["n", 2]>>) {
  // expected-error @+1 {{tensor<?xf32, #relax.sym<["n", 2]>>: #relax.sym names 2 dimensions, but the tensor has 1}}
  %r = "relax.exp"(%a) : (tensor<?xf32, #relax.sym<["n", 2]>>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32, #relax.sym<[2]>>) {
  // expected-error @+1 {{dimension 0 is ? in the tensor but 2 in #relax.sym}}
  %r = "relax.exp"(%a) : (tensor<?xf32, #relax.sym<[2]>>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32, #relax.sym<["n +"]>>) {
  // expected-error @+1 {{bad dimension "n +"}}
  %r = "relax.exp"(%a) : (tensor<?xf32, #relax.sym<["n +"]>>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<2xi1>, %b: tensor<2xi1>, %c: tensor<2xi1>) {
  // expected-error @+1 {{operand 'x1' (tensor<2xi1>) must have float or int elements}}
  %r = "relax.ewise_fma"(%a, %b, %c) : (tensor<2xi1>, tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf16>) {
  // expected-error @+1 {{operand 'x1' (tensor<2xf32>) and operand 'x3' (tensor<2xf16>) must have the same element type}}
  %r = "relax.ewise_fma"(%a, %b, %c) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf16>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<1xf32>) {
  // expected-error @+1 {{operand 'x3' (tensor<1xf32>) must have the shape of the operands before it}}
  %r = "relax.ewise_fma"(%a, %b, %c) : (tensor<2xf32>, tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
  return
}
