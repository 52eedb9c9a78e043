// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @+1 {{operand 'x1' (tensor<2x3xf32>) and operand 'x2' (tensor<4x5xf32>) cannot be multiplied: rows on the left have 3 elements, columns on the right 4}}
  %r = "relax.matmul"(%a, %b) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x?xf32, #relax.sym<[2, "n + 1"]>>, %b: tensor<?x5xf32, #relax.sym<["n", 5]>>) {
  // expected-error @+1 {{cannot be multiplied: rows on the left have n + 1 elements, columns on the right n}}
  %r = "relax.matmul"(%a, %b) : (tensor<2x?xf32, #relax.sym<[2, "n + 1"]>>, tensor<?x5xf32, #relax.sym<["n", 5]>>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3x4xf32>, %b: tensor<3x4x5xf32>) {
  // expected-error @+1 {{batch dimensions of operand 'x1' (tensor<2x3x4xf32>) and operand 'x2' (tensor<3x4x5xf32>) do not broadcast: 2 against 3}}
  %r = "relax.matmul"(%a, %b) : (tensor<2x3x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%a: tensor<*xf32>, %b: tensor<f32>) {
  // expected-error @+1 {{operand 'x2' (tensor<f32>) must be at least 1-D, but is 0-D}}
  %r = "relax.matmul"(%a, %b) : (tensor<*xf32>, tensor<f32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<3xi8>, %b: tensor<3xui8>) {
  // expected-error @+1 {{operand 'x1' (tensor<3xi8>) and operand 'x2' (tensor<3xui8>) must have the same element type}}
  %r = "relax.matmul"(%a, %b) : (tensor<3xi8>, tensor<3xui8>) -> tensor<i8>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %b: tensor<3xcomplex<f32>>) {
  // expected-error @+1 {{operand 'x2' (tensor<3xcomplex<f32>>) must have float or int or bool elements}}
  %r = "relax.matmul"(%a, %b) : (tensor<3xf32>, tensor<3xcomplex<f32>>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{attribute 'out_dtype' (none) must be a float or int or bool type}}
  %r = "relax.matmul"(%a, %b) {out_dtype = none} : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x5xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<2x4xf32>, but tensor<2x5xf32> is inferred}}
  %r = "relax.matmul"(%a, %b) : (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{operand 'x1' (tensor<2x3xf32>) must be 1-D, but is 2-D}}
  %r = "relax.outer"(%a, %b) : (tensor<2x3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %b: tensor<3xi8>) {
  // expected-error @+1 {{operand 'x1' (tensor<3xf32>) and operand 'x2' (tensor<3xi8>) must have the same element type}}
  %r = "relax.outer"(%a, %b) : (tensor<3xf32>, tensor<3xi8>) -> tensor<3x3xf32>
  return
}

// -----

func.func @f(%a: tensor<3xcomplex<f32>>, %b: tensor<3xf32>) {
  // expected-error @+1 {{operand 'x1' (tensor<3xcomplex<f32>>) must have float or int or bool elements}}
  %r = "relax.outer"(%a, %b) : (tensor<3xcomplex<f32>>, tensor<3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{needs at least one tensor in operand 'operands'}}
  %r = "relax.einsum"() {subscripts = "->"} : () -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xi8>) {
  // expected-error @+1 {{operand 'operands' (tensor<2x3xf32>, tensor<3xi8>) must have the same element type}}
  %r = "relax.einsum"(%a, %b) {subscripts = "ij,j"} : (tensor<2x3xf32>, tensor<3xi8>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<3xcomplex<f32>>) {
  // expected-error @+1 {{operand 'operands' (tensor<3xcomplex<f32>>) must have float or int or bool elements}}
  %r = "relax.einsum"(%a) {subscripts = "i"} : (tensor<3xcomplex<f32>>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'subscripts' (ij) has labels for 1 operands, got 2}}
  %r = "relax.einsum"(%a, %b) {subscripts = "ij"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'subscripts' (i1->i): 'i1' has '1': labels are letters and '...'}}
  %r = "relax.einsum"(%a) {subscripts = "i1->i"} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'subscripts' (...i...): '...i...' has more than one '...'}}
  %r = "relax.einsum"(%a) {subscripts = "...i..."} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'subscripts' (ij->ii): result has label 'i' twice}}
  %r = "relax.einsum"(%a) {subscripts = "ij->ii"} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'subscripts' (ij->ik): result has label 'k', which no operand has}}
  %r = "relax.einsum"(%a) {subscripts = "ij->ik"} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'subscripts' (i) does not fit operand #0: it names 1 dimensions of 2}}
  %r = "relax.einsum"(%a) {subscripts = "i"} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @+1 {{attribute 'subscripts' (ij,jk->ik): label 'j' is 4 in operand #1, but 3 before}}
  %r = "relax.einsum"(%a, %b) {subscripts = "ij,jk->ik"} : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'subscripts' (ii): label 'i' is 3 in operand #0, but 2 before}}
  %r = "relax.einsum"(%a) {subscripts = "ii"} : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  // expected-error @+1 {{dimensions under '...' of operand #1 and those before do not broadcast: 3 against 5}}
  %r = "relax.einsum"(%a, %b) {subscripts = "...,..."} : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'subscripts' (...j->j) has no '...' in its result for the 1 dimensions under '...'}}
  %r = "relax.einsum"(%a) {subscripts = "...j->j"} : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<2x3xf32>, but tensor<3x2xf32> is inferred}}
  %r = "relax.einsum"(%a) {subscripts = "ij->ji"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
