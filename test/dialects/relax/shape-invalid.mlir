// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @+1 {{'relax.shape_expr' op misses attribute 'dims' (a list of sizes)}}
  %r = "relax.shape_expr"() : () -> !relax.shape<[1]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{attribute 'dims' expects a list of sizes, got 3 : i64}}
  %r = "relax.shape_expr"() {dims = 3 : i64} : () -> !relax.shape<[1]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{attribute 'dims' expects a list of sizes: a dimension cannot be -1}}
  %r = "relax.shape_expr"() {dims = [-1]} : () -> !relax.shape<[1]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{attribute 'dims' expects a list of sizes: a dimension is an integer or a string, not 1.000000e+00 : f64}}
  %r = "relax.shape_expr"() {dims = [1.0]} : () -> !relax.shape<[1]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{attribute 'dims' expects a list of sizes, got ["?"]}}
  %r = "relax.shape_expr"() {dims = ["?"]} : () -> !relax.shape<["?"]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{attribute 'dims' expects a list of sizes: bad dimension "n +"}}
  %r = "relax.shape_expr"() {dims = ["n +"]} : () -> !relax.shape<["n"]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{is inferred}}
  %r = "relax.shape_expr"() {dims = ["m + 1"]} : () -> !relax.shape<["m"]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{result 'result' is stated as !relax.shape<[1]>, but !relax.shape<[1, 2]> is inferred}}
  %r = "relax.shape_expr"() {dims = [1, 2]} : () -> !relax.shape<[1]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{result 'result' is stated as tensor<1xi64>, but !relax.shape<[1]> is inferred}}
  %r = "relax.shape_expr"() {dims = [1]} : () -> tensor<1xi64>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'relax.prim_value' op misses attribute 'value' (an expression over symbols)}}
  %r = "relax.prim_value"() : () -> i64
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{attribute 'value' expects an expression over symbols, got 3 : i64}}
  %r = "relax.prim_value"() {value = 3 : i64} : () -> i64
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{attribute 'value' expects an expression over symbols: column 4: expected}}
  %r = "relax.prim_value"() {value = "n +"} : () -> i64
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{result 'result' is stated as i32, but i64 is inferred}}
  %r = "relax.prim_value"() {value = "n"} : () -> i32
  return
}

// -----

func.func @f(%a: memref<2xf32>) {
  // expected-error @+1 {{operand 'input' must be a tensor, got memref<2xf32>}}
  %r = "relax.shape_of"(%a) : (memref<2xf32>) -> !relax.shape<[2]>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{result 'result' is stated as !relax.shape<[3]>, but !relax.shape<[2]> is inferred}}
  %r = "relax.shape_of"(%a) : (tensor<2xf32>) -> !relax.shape<[3]>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{operand 'input' (tensor<2xf32>) must have elements of type i64}}
  %r = "relax.tensor_to_shape"(%a) : (tensor<2xf32>) -> !relax.shape<unit>
  return
}

// -----

func.func @f(%a: tensor<2x1xi64>) {
  // expected-error @+1 {{operand 'input' (tensor<2x1xi64>) must be 1-D}}
  %r = "relax.tensor_to_shape"(%a) : (tensor<2x1xi64>) -> !relax.shape<unit>
  return
}

// -----

func.func @f(%a: tensor<4000000000xi64>) {
  // expected-error @+1 {{operand 'input' (tensor<4000000000xi64>) must list 64 sizes at most}}
  %r = "relax.tensor_to_shape"(%a) : (tensor<4000000000xi64>) -> !relax.shape<unit>
  return
}

// -----

func.func @f(%a: tensor<2xi64>) {
  // expected-error @+1 {{operand 'input' must be a shape (!relax.shape), got tensor<2xi64>}}
  %r = "relax.shape_to_tensor"(%a) : (tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

func.func @f(%a: !relax.shape<[1, 2]>) {
  // expected-error @+1 {{result 'result' is stated as tensor<3xi64>, but tensor<2xi64> is inferred}}
  %r = "relax.shape_to_tensor"(%a) : (!relax.shape<[1, 2]>) -> tensor<3xi64>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{result 'result' is stated as tensor<1xi64>, but tensor<i64> is inferred}}
  %r = "relax.size"(%a) : (tensor<2xf32>) -> tensor<1xi64>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{'relax.match_cast' op can never hold: operand 'value' (tensor<2xf32>) is not a tensor<3xf32>}}
  %r = "relax.match_cast"(%a) : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{can never hold: operand 'value' (tensor<2xf32>) is not a tensor<2x1xf32>}}
  %r = "relax.match_cast"(%a) : (tensor<2xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{cannot cast tensor<2xf32> to tensor<2xf16>: use relax.astype to convert elements}}
  %r = "relax.match_cast"(%a) : (tensor<2xf32>) -> tensor<2xf16>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{can never hold: operand 'value' (tensor<2xf32>) is not a memref<2xf32>}}
  %r = "relax.match_cast"(%a) : (tensor<2xf32>) -> memref<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{gives one result, but 0 are stated}}
  "relax.match_cast"(%a) : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{gives one result, but 2 are stated}}
  %r:2 = "relax.match_cast"(%a) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%a: tensor<f32>) {
  // expected-error @+1 {{operand 'value' must be a scalar, got tensor<f32>}}
  %r = "relax.scalar_to_tensor"(%a) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a: f32) {
  // expected-error @+1 {{result 'result' is stated as tensor<f64>, but tensor<f32> is inferred}}
  %r = "relax.scalar_to_tensor"(%a) : (f32) -> tensor<f64>
  return
}
