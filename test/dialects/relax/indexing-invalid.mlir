// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{operand 'indices' (tensor<2xf32>) must have int elements}}
  %r = "relax.take"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: f32) {
  // expected-error @+1 {{operand 'indices' (f32) must have int elements}}
  %r = "relax.take"(%a, %b) : (tensor<2xf32>, f32) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<1xi64>) {
  // expected-error @+1 {{attribute 'axis' (1) is out of range for 1 dimensions}}
  %r = "relax.take"(%a, %b) {axis = 1 : i64} : (tensor<2xf32>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xi8>, %b: tensor<1xi64>) {
  // expected-error @+1 {{attribute 'mode' (nan): the elements of operand 'x' (tensor<2xi8>) cannot be NaN}}
  %r = "relax.take"(%a, %b) {mode = "nan"} : (tensor<2xi8>, tensor<1xi64>) -> tensor<*xi8>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<1xi64>) {
  // expected-error @+1 {{attribute 'mode' expects one of 'fast', 'nan', 'wrap', 'clip'}}
  %r = "relax.take"(%a, %b) {mode = "clamp"} : (tensor<2xf32>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'begin' (()) must have 1 entries, one for each of attribute 'axes' ((0,))}}
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = array<i64>, end = array<i64: 1>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'end' ((1, 2)) must have 1 entries}}
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 1, 2>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<*xf32>) {
  // expected-error @+1 {{attribute 'strides' ((1, 1)) must have 1 entries}}
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 1>, strides = array<i64: 1, 1>} : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{a stride cannot be 0}}
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 1>, strides = array<i64: 0>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{names axis 0 twice}}
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0, -1>, begin = array<i64: 0, 0>, end = array<i64: 1, 1>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'axes' (1) is out of range}}
  %r = "relax.strided_slice"(%a) {axes = array<i64: 1>, begin = array<i64: 0>, end = array<i64: 1>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'end' ((3,)): 3 is outside of dimension 0 of operand 'x' (tensor<2xf32>)}}
  %r = "relax.strided_slice"(%a) {assume_inbound = true, axes = array<i64: 0>, begin = array<i64: 0>, end = array<i64: 3>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{-3 is outside of dimension 0}}
  %r = "relax.strided_slice"(%a) {assume_inbound = true, axes = array<i64: 0>, begin = array<i64: -3>, end = array<i64: 1>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{misses attribute 'end'}}
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = array<i64: 0>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>, %c: tensor<1xi64>, %d: tensor<1xi64>) {
  // expected-error @+1 {{must have the same length}}
  %r = "relax.dynamic_strided_slice"(%a, %b, %c, %d) : (tensor<2xf32>, tensor<2xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<1x1xi64>, %c: tensor<1xi64>, %d: tensor<1xi64>) {
  // expected-error @+1 {{operand 'begin' (tensor<1x1xi64>) must be 1-D}}
  %r = "relax.dynamic_strided_slice"(%a, %b, %c, %d) : (tensor<2xf32>, tensor<1x1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<1xi64>, %c: tensor<1xf32>, %d: tensor<1xi64>) {
  // expected-error @+1 {{operand 'end' (tensor<1xf32>) must have int elements}}
  %r = "relax.dynamic_strided_slice"(%a, %b, %c, %d) : (tensor<2xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>, %c: tensor<2xi64>, %d: tensor<2xi64>) {
  // expected-error @+1 {{must have 1 elements, one for each dimension}}
  %r = "relax.dynamic_strided_slice"(%a, %b, %c, %d) : (tensor<2xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{operand 'indices' (tensor<2xf32>) must have int elements}}
  %r = "relax.gather_elements"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2x2xi64>) {
  // expected-error @+1 {{operand 'indices' (tensor<2x2xi64>) must be 1-D, as operand 'data'}}
  %r = "relax.gather_elements"(%a, %b) : (tensor<2xf32>, tensor<2x2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>) {
  // expected-error @+1 {{attribute 'axis' (1) is out of range}}
  %r = "relax.gather_elements"(%a, %b) {axis = 1 : i64} : (tensor<2xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x?xf32, #relax.sym<[2, "n"]>>, %b: tensor<1x?xi64, #relax.sym<[1, "n + 1"]>>) {
  // expected-error @+1 {{must not be larger than operand 'data' (tensor<2x?xf32}}
  %r = "relax.gather_elements"(%a, %b) : (tensor<2x?xf32, #relax.sym<[2, "n"]>>, tensor<1x?xi64, #relax.sym<[1, "n + 1"]>>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<1xf32>) {
  // expected-error @+1 {{operand 'indices' (tensor<1xf32>) must have int elements}}
  %r = "relax.gather_nd"(%a, %b) : (tensor<2xf32>, tensor<1xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<1xi64>) {
  // expected-error @+1 {{attribute 'batch_dims' (-1) cannot be negative}}
  %r = "relax.gather_nd"(%a, %b) {batch_dims = -1 : i64} : (tensor<2xf32>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<i64>) {
  // expected-error @+1 {{operand 'indices' (tensor<i64>) must have at least 1 dimensions for batch_dims = 0}}
  %r = "relax.gather_nd"(%a, %b) : (tensor<2xf32>, tensor<i64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2x2x2xi64>) {
  // expected-error @+1 {{operand 'data' (tensor<2xf32>) must have at least 2 dimensions}}
  %r = "relax.gather_nd"(%a, %b) {batch_dims = 2 : i64} : (tensor<2xf32>, tensor<2x2x2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x2xf32>, %b: tensor<2x2xi64>) {
  // expected-error @+1 {{its last dimension must be at most 1, as many as operand 'data'}}
  %r = "relax.gather_nd"(%a, %b) {batch_dims = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x2xf32>, %b: tensor<3x1xi64>) {
  // expected-error @+1 {{must have the same size in batch dimension 0}}
  %r = "relax.gather_nd"(%a, %b) {batch_dims = 1 : i64} : (tensor<2x2xf32>, tensor<3x1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand 'indices' is empty}}
  %r = "relax.index_tensor"(%a) : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>, %c: tensor<2xi64>) {
  // expected-error @+1 {{operand 'indices' holds 2 tensors, but operand 'data' (tensor<2xf32>) is 1-D}}
  %r = "relax.index_tensor"(%a, %b, %c) : (tensor<2xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi1>) {
  // expected-error @+1 {{operand 'indices' #0 (tensor<2xi1>) must have int elements}}
  %r = "relax.index_tensor"(%a, %b) : (tensor<2xf32>, tensor<2xi1>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x2xf32>, %b: tensor<2xi64>, %c: tensor<3xi64>) {
  // expected-error @+1 {{dimension -1 is 3 against 2}}
  %r = "relax.index_tensor"(%a, %b, %c) : (tensor<2x2xf32>, tensor<2xi64>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{operand 'seq_lengths' (tensor<2xf32>) must have int elements}}
  %r = "relax.reverse_sequence"(%a, %b) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x1xi64>) {
  // expected-error @+1 {{operand 'seq_lengths' (tensor<2x1xi64>) must be 1-D}}
  %r = "relax.reverse_sequence"(%a, %b) : (tensor<2x3xf32>, tensor<2x1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xi64>) {
  // expected-error @+1 {{must have one element for each of dimension 0 of operand 'data'}}
  %r = "relax.reverse_sequence"(%a, %b) : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>) {
  // expected-error @+1 {{attribute 'seq_axis' (1) is out of range for 1 dimensions}}
  %r = "relax.reverse_sequence"(%a, %b) : (tensor<2xf32>, tensor<2xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xi64>) {
  // expected-error @+1 {{attribute 'batch_axis' (2) is out of range}}
  %r = "relax.reverse_sequence"(%a, %b) {batch_axis = 2 : i64} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xi64>) {
  // expected-error @+1 {{attribute 'seq_axis' (1) and attribute 'batch_axis' (-1) must differ}}
  %r = "relax.reverse_sequence"(%a, %b) {batch_axis = -1 : i64} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'end' expects a list of integers and expressions over symbols, got ["k +"]}}
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = array<i64: 0>, end = ["k +"]} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'begin' ((k + 3,)): k + 3 is outside of dimension 0}}
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = ["k + 3"], end = array<i64: 9>, assume_inbound = true} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

// An array of f80 is one that MLIR's bindings do not hand out.
func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'begin' expects a list of integers, got None}}
  %r = "relax.strided_slice"(%a) {axes = array<i64: 0>, begin = array<f80>, end = array<i64: 1>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}
