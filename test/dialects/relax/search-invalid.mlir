// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) {
  // expected-error @+1 {{operand 'condition' (tensor<4xf32>) must have bool elements}}
  %r = "relax.where"(%a, %b, %c) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi1>, %b: tensor<4xf32>, %c: tensor<4xi8>) {
  // expected-error @+1 {{operand 'x1' (tensor<4xf32>) and operand 'x2' (tensor<4xi8>) must have the same element type}}
  %r = "relax.where"(%a, %b, %c) : (tensor<4xi1>, tensor<4xf32>, tensor<4xi8>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi1>, %b: tensor<4xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{operand 'x2' (tensor<3xf32>) does not broadcast with the operands before it: dimension -1 is 3 against 4}}
  %r = "relax.where"(%a, %b, %c) : (tensor<4xi1>, tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xi1>) {
  %c1 = arith.constant 0 : i64
  %c2 = arith.constant 1 : i64
  // expected-error @+1 {{operand 'x' (tensor<4xi1>) must have float or int elements}}
  %r = "relax.clip"(%a, %c1, %c2) : (tensor<4xi1>, i64, i64) -> tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %c1 = arith.constant 0 : i64
  %c2 = arith.constant true
  // expected-error @+1 {{operand 'max' (i1) must be an integer or a float}}
  %r = "relax.clip"(%a, %c1, %c2) : (tensor<4xf32>, i64, i1) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>) {
  // expected-error @+1 {{attribute 'axis' (2) is out of range for 2 dimensions: expects -2 to 1}}
  %r = "relax.sort"(%a) {axis = 2 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<f32>) {
  // expected-error @+1 {{attribute 'axis' (-1) is out of range: a 0-D tensor has no axes}}
  %r = "relax.sort"(%a) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{operand 'data' (tensor<4xcomplex<f32>>) must have float or int or bool elements}}
  %r = "relax.sort"(%a) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'axis' (1) is out of range for 1 dimensions: expects -1 to 0}}
  %r = "relax.argsort"(%a) {axis = 1 : i64} : (tensor<4xf32>) -> tensor<4xi32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'dtype' (i1) must be a float or int type}}
  %r = "relax.argsort"(%a) {dtype = i1} : (tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>) {
  // expected-error @+1 {{attribute 'axis' (-3) is out of range for 2 dimensions: expects -2 to 1}}
  %r:2 = "relax.topk"(%a) {axis = -3 : i64} : (tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xi32>)
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>) {
  // expected-error @+1 {{attribute 'ret_type' expects one of 'both', 'values', 'indices', got 'value'}}
  %r = "relax.topk"(%a) {ret_type = "value"} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>) {
  // expected-error @+1 {{attribute 'dtype' (i1) must be a float or int type}}
  %r:2 = "relax.topk"(%a) {dtype = i1} : (tensor<2x4xf32>) -> (tensor<2x1xf32>, tensor<2x1xi1>)
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>) {
  // expected-error @+1 {{gives 1 result here, but 2 are stated}}
  %r:2 = "relax.topk"(%a) {ret_type = "values"} : (tensor<2x4xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>) {
  // expected-error @+1 {{result #1 ('indices') is stated as tensor<2x2xi32>, but tensor<2x3xi32> is inferred}}
  %r:2 = "relax.topk"(%a) {k = 3 : i64} : (tensor<2x4xf32>) -> (tensor<2x3xf32>, tensor<2x2xi32>)
  return
}

// -----

func.func @f(%a: tensor<2x4xf32>) {
  %c1 = arith.constant true
  %c2 = arith.constant false
  %c3 = arith.constant false
  %c4 = arith.constant false
  %c5 = arith.constant 2 : i64
  // expected-error @+1 {{operand 'axis' (2) is out of range for 2 dimensions of operand 'x' (tensor<2x4xf32>)}}
  %r = "relax.unique"(%a, %c1, %c2, %c3, %c4, %c5) : (tensor<2x4xf32>, i1, i1, i1, i1, i64) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: i1) {
  %c1 = arith.constant true
  %c3 = arith.constant false
  %c4 = arith.constant false
  // expected-error @+1 {{operand 'return_index' (i1) must be a constant: the number of results depends on it}}
  %r = "relax.unique"(%a, %c1, %b, %c3, %c4) : (tensor<4xf32>, i1, i1, i1, i1) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %c1 = arith.constant true
  %c2 = arith.constant false
  %c3 = arith.constant 1.0 : f32
  %c4 = arith.constant false
  // expected-error @+1 {{operand 'return_inverse' (f32) must be a boolean}}
  %r = "relax.unique"(%a, %c1, %c2, %c3, %c4) : (tensor<4xf32>, i1, i1, f32, i1) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %c1 = arith.constant 1.0 : f32
  %c2 = arith.constant false
  %c3 = arith.constant false
  %c4 = arith.constant false
  // expected-error @+1 {{operand 'sorted' (f32) must be a boolean}}
  %r = "relax.unique"(%a, %c1, %c2, %c3, %c4) : (tensor<4xf32>, f32, i1, i1, i1) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %c1 = arith.constant true
  %c2 = arith.constant false
  %c3 = arith.constant false
  %c4 = arith.constant false
  %c5 = arith.constant true
  // expected-error @+1 {{operand 'axis' (i1) must be an integer}}
  %r = "relax.unique"(%a, %c1, %c2, %c3, %c4, %c5) : (tensor<4xf32>, i1, i1, i1, i1, i1) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %c1 = arith.constant true
  %c2 = arith.constant false
  %c3 = arith.constant false
  %c4 = arith.constant true
  // expected-error @+1 {{gives 2 results here, but 1 are stated}}
  %r = "relax.unique"(%a, %c1, %c2, %c3, %c4) : (tensor<4xf32>, i1, i1, i1, i1) -> tensor<?xf32>
  return
}

// -----

func.func @f(%a: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{operand 'x' (tensor<4xcomplex<f32>>) must have float or int or bool elements}}
  %r = "relax.nonzero"(%a) : (tensor<4xcomplex<f32>>) -> tensor<1x?xi64>
  return
}

// -----

func.func @f(%a: tensor<4xi1>, %b: tensor<4xf32>) {
  // expected-error @+1 {{operand 'input_tensor' (tensor<4xi1>) must have float or int elements}}
  %r = "relax.bucketize"(%a, %b) : (tensor<4xi1>, tensor<4xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xi1>) {
  // expected-error @+1 {{operand 'boundaries' (tensor<4xi1>) must have float or int elements}}
  %r = "relax.bucketize"(%a, %b) : (tensor<4xf32>, tensor<4xi1>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<2x4xf32>) {
  // expected-error @+1 {{operand 'boundaries' (tensor<2x4xf32>) must be 1-D, but is 2-D}}
  %r = "relax.bucketize"(%a, %b) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<4xi64>, but tensor<4xi32> is inferred}}
  %r = "relax.bucketize"(%a, %b) {out_int32 = true} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%a: tensor<3x5xi64>, %b: tensor<6x1xf32>, %c: tensor<6x1xi64>) {
  // expected-error @+1 {{operand 'prob' (tensor<3x5xi64>) must have float elements}}
  %r = "relax.multinomial_from_uniform"(%a, %b, %c) : (tensor<3x5xi64>, tensor<6x1xf32>, tensor<6x1xi64>) -> tensor<6x1xi64>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<6x1xi64>, %c: tensor<6x1xi64>) {
  // expected-error @+1 {{operand 'uniform_sample' (tensor<6x1xi64>) must have float elements}}
  %r = "relax.multinomial_from_uniform"(%a, %b, %c) : (tensor<3x5xf32>, tensor<6x1xi64>, tensor<6x1xi64>) -> tensor<6x1xi64>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<6x1xf32>, %c: tensor<6x1xf32>) {
  // expected-error @+1 {{operand 'sample_indices' (tensor<6x1xf32>) must have int elements}}
  %r = "relax.multinomial_from_uniform"(%a, %b, %c) : (tensor<3x5xf32>, tensor<6x1xf32>, tensor<6x1xf32>) -> tensor<6x1xi64>
  return
}

// -----

func.func @f(%a: tensor<5xf32>, %b: tensor<6x1xf32>, %c: tensor<6x1xi64>) {
  // expected-error @+1 {{operand 'prob' (tensor<5xf32>) must be 2-D, but is 1-D}}
  %r = "relax.multinomial_from_uniform"(%a, %b, %c) : (tensor<5xf32>, tensor<6x1xf32>, tensor<6x1xi64>) -> tensor<6x1xi64>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<6x2xf32>, %c: tensor<6x1xi64>) {
  // expected-error @+1 {{operand 'uniform_sample' (tensor<6x2xf32>) must have size 1 in dimension 1 (columns), got 2}}
  %r = "relax.multinomial_from_uniform"(%a, %b, %c) : (tensor<3x5xf32>, tensor<6x2xf32>, tensor<6x1xi64>) -> tensor<6x1xi64>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<7x1xf32>, %c: tensor<6x1xi64>) {
  // expected-error @+1 {{must have the same number of samples, got 7 and 6}}
  %r = "relax.multinomial_from_uniform"(%a, %b, %c) : (tensor<3x5xf32>, tensor<7x1xf32>, tensor<6x1xi64>) -> tensor<6x1xi64>
  return
}

// -----

func.func @f(%a: tensor<3x5xf32>, %b: tensor<6x1xf32>, %c: tensor<6x1xi64>) {
  // expected-error @+1 {{attribute 'dtype' (i1) must be a float or int type}}
  %r = "relax.multinomial_from_uniform"(%a, %b, %c) {dtype = i1} : (tensor<3x5xf32>, tensor<6x1xf32>, tensor<6x1xi64>) -> tensor<6x1xi1>
  return
}
