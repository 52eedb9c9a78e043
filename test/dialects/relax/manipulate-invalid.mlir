// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<4xf32>, %b: !relax.shape<[3]>) {
  // expected-error @+1 {{operand 'x' (tensor<4xf32>) does not have as many elements as operand 'shape'}}
  %r = "relax.reshape"(%a, %b) : (tensor<4xf32>, !relax.shape<[3]>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<?x4xf32>, %b: !relax.shape<[6]>) {
  // expected-error @+1 {{does not have as many elements}}
  %r = "relax.reshape"(%a, %b) : (tensor<?x4xf32>, !relax.shape<[6]>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<?x0xf32>, %b: !relax.shape<[6]>) {
  // expected-error @+1 {{does not have as many elements}}
  %r = "relax.reshape"(%a, %b) : (tensor<?x0xf32>, !relax.shape<[6]>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32, #relax.sym<["n"]>>, %b: !relax.shape<["n + 1"]>) {
  // expected-error @+1 {{does not have as many elements}}
  %r = "relax.reshape"(%a, %b) : (tensor<?xf32, #relax.sym<["n"]>>, !relax.shape<["n + 1"]>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'axis' ((0, -3)) names axis 0 twice}}
  %r = "relax.expand_dims"(%a) {axis = array<i64: 0, -3>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'axis' (2) is out of range for 2 dimensions}}
  %r = "relax.expand_dims"(%a) {axis = array<i64: 2>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{misses attribute 'axis' (a list of integers)}}
  %r = "relax.expand_dims"(%a) : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x1xf32>) {
  // expected-error @+1 {{attribute 'axis' ((0,)): dimension 0 of operand 'x' (tensor<2x1xf32>) is not 1}}
  %r = "relax.squeeze"(%a) {axis = array<i64: 0>} : (tensor<2x1xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32, #relax.sym<["n + 2"]>>) {
  // expected-error @+1 {{is not 1}}
  %r = "relax.squeeze"(%a) {axis = array<i64: 0>} : (tensor<?xf32, #relax.sym<["n + 2"]>>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<1xf32>) {
  // expected-error @+1 {{names axis 0 twice}}
  %r = "relax.squeeze"(%a) {axis = array<i64: 0, 0>} : (tensor<1xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: !relax.shape<[3]>) {
  // expected-error @+1 {{operand 'x' (tensor<2x3xf32>) has more dimensions than operand 'shape'}}
  %r = "relax.broadcast_to"(%a, %b) : (tensor<2x3xf32>, !relax.shape<[3]>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: !relax.shape<[2, 4]>) {
  // expected-error @+1 {{dimension -1 is 3 against 4}}
  %r = "relax.broadcast_to"(%a, %b) : (tensor<2x3xf32>, !relax.shape<[2, 4]>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: !relax.shape<[2, 2]>) {
  // expected-error @+1 {{operand 'shape' (!relax.shape<[2, 2]>) cannot be broadcast to}}
  %r = "relax.collapse_sum_to"(%a, %b) : (tensor<2x3xf32>, !relax.shape<[2, 2]>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<3xf32>, %b: tensor<2x3xf32>) {
  // expected-error @+1 {{operand 'collapse_target' (tensor<2x3xf32>) has more dimensions}}
  %r = "relax.collapse_sum_like"(%a, %b) : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'axis' (1) is out of range for 1 dimensions}}
  %r = "relax.flip"(%a) {axis = 1 : i64} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{attribute 'axes' ((0,)) must name each of the 2 dimensions}}
  %r = "relax.permute_dims"(%a) {axes = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{names axis 0 twice}}
  %r = "relax.permute_dims"(%a) {axes = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<*xf32>) {
  // expected-error @+1 {{is out of range for 2 dimensions}}
  %r = "relax.permute_dims"(%a) {axes = array<i64: 0, 2>} : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'repeats' (-1) cannot be negative}}
  %r = "relax.repeat"(%a) {repeats = -1 : i64} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'axis' (1) is out of range}}
  %r = "relax.repeat"(%a) {axis = 1 : i64, repeats = 1 : i64} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'repeats' ((1, -1)) cannot be negative}}
  %r = "relax.tile"(%a) {repeats = array<i64: 1, -1>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{operand 'tensors' is empty}}
  %r = "relax.concat"() : () -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi8>) {
  // expected-error @+1 {{operand 'tensors' #1 (tensor<2xi8>) must have f32 elements, as #0}}
  %r = "relax.concat"(%a, %b) : (tensor<2xf32>, tensor<2xi8>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2x2xf32>) {
  // expected-error @+1 {{operand 'tensors' #1 (tensor<2x2xf32>) must be 1-D, as #0 is}}
  %r = "relax.concat"(%a, %b) : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x2xf32>, %b: tensor<*xf32>, %c: tensor<2x3xf32>) {
  // expected-error @+1 {{operand 'tensors' #2 (tensor<2x3xf32>) must have size 2 in dimension 1}}
  %r = "relax.concat"(%a, %b, %c) : (tensor<2x2xf32>, tensor<*xf32>, tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<f32>) {
  // expected-error @+1 {{a 0-D tensor has no axes}}
  %r = "relax.concat"(%a) : (tensor<f32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<?xf32, #relax.sym<["n"]>>, %b: tensor<?xf32, #relax.sym<["n + 1"]>>) {
  // expected-error @+1 {{must have size n in dimension 0}}
  %r = "relax.stack"(%a, %b) : (tensor<?xf32, #relax.sym<["n"]>>, tensor<?xf32, #relax.sym<["n + 1"]>>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'axis' (2) is out of range for 2 dimensions}}
  %r = "relax.stack"(%a) {axis = 2 : i64} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x2xf32>) {
  // expected-error @+1 {{operand 'tensors' #0 (tensor<2x2xf32>) must be 1-D or 0-D}}
  %r = "relax.meshgrid"(%a) : (tensor<2x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'indexing' expects one of 'ij', 'xy', got 'yx'}}
  %r = "relax.meshgrid"(%a) {indexing = "yx"} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'indices_or_sections' (0): the number of sections must be positive}}
  %r = "relax.split"(%a) {indices_or_sections = 0 : i64} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{((2, 1)): indices must not be negative and must not decrease}}
  %r = "relax.split"(%a) {indices_or_sections = array<i64: 2, 1>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{indices must not be negative}}
  %r = "relax.split"(%a) {indices_or_sections = array<i64: -1>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{no more than 65536 results are allowed}}
  %r = "relax.split"(%a) {indices_or_sections = 1000000000000 : i64} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<f32>) {
  // expected-error @+1 {{a 0-D tensor has no axes}}
  %r = "relax.split"(%a) {indices_or_sections = 1 : i64} : (tensor<f32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{must map 1 dimensions, as operand 'x'}}
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x2xf32>) {
  // expected-error @+1 {{maps several elements of operand 'x'}}
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0, d1) -> (d0)>} : (tensor<2x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x2xf32>) {
  // expected-error @+1 {{result 0 (d0 - d1) may be negative}}
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0, d1) -> (d0 - d1, d1)>} : (tensor<2x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{result 0 (d0 + 1) never is 0}}
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0) -> (d0 + 1)>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{cannot have symbols}}
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0)[s0] -> (d0 + s0)>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{divides by -1}}
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0) -> (d0, d0 floordiv -1)>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{nests more than 64 levels deep}}
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0) -> ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((d0 mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0) mod 9 + d0)>} : (tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xi8>) {
  // expected-error @+1 {{attribute 'pad_value' (0.5) must be an integer, as the elements of operand 'x' (tensor<2xi8>)}}
  %r = "relax.layout_transform"(%a) {index_map = affine_map<(d0) -> (d0)>, pad_value = 5.000000e-01 : f64} : (tensor<2xi8>) -> tensor<*xi8>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'indices_or_sections' expects an integer or a list of integers, got "a"}}
  %r = "relax.split"(%a) {indices_or_sections = "a"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'index_map' expects an affine map, got 3 : i64}}
  %r = "relax.layout_transform"(%a) {index_map = 3 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{gives 2 results here, but 3 are stated}}
  %r:3 = "relax.split"(%a) {indices_or_sections = 2 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<1xf32>, tensor<1xf32>)
  return
}
