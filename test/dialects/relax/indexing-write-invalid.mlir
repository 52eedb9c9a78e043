// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>, %c: tensor<2xi8>) {
  // expected-error @+1 {{must have the same element type}}
  %r = "relax.index_put"(%a, %b, %c) : (tensor<2xf32>, tensor<2xi64>, tensor<2xi8>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>, %c: tensor<3xf32>) {
  // expected-error @+1 {{operand 'values' (tensor<3xf32>) cannot be broadcast to}}
  %r = "relax.index_put"(%a, %b, %c) : (tensor<2xf32>, tensor<2xi64>, tensor<3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{operand 'indices' is empty}}
  %r = "relax.index_put"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) {
  // expected-error @+1 {{operand 'indices' (tensor<2xf32>) must have int elements}}
  %r = "relax.scatter_elements"(%a, %b, %c) : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>, %c: tensor<2xf64>) {
  // expected-error @+1 {{must have the same element type}}
  %r = "relax.scatter_elements"(%a, %b, %c) : (tensor<2xf32>, tensor<2xi64>, tensor<2xf64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>, %c: tensor<1xf32>) {
  // expected-error @+1 {{operand 'updates' (tensor<1xf32>) must have the shape of operand 'indices'}}
  %r = "relax.scatter_elements"(%a, %b, %c) : (tensor<2xf32>, tensor<2xi64>, tensor<1xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>, %c: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'axis' (1) is out of range}}
  %r = "relax.scatter_elements"(%a, %b, %c) {axis = 1 : i64} : (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x2xf32>, %b: tensor<2x3xi64>, %c: tensor<2x3xf32>) {
  // expected-error @+1 {{must not be larger than operand 'data'}}
  %r = "relax.scatter_elements"(%a, %b, %c) : (tensor<2x2xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xi64>, %c: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'reduction' expects one of 'update', 'add'}}
  %r = "relax.scatter_elements"(%a, %b, %c) {reduction = "sum"} : (tensor<2xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<1x1xf32>, %c: tensor<1xf32>) {
  // expected-error @+1 {{operand 'indices' (tensor<1x1xf32>) must have int elements}}
  %r = "relax.scatter_nd"(%a, %b, %c) : (tensor<2xf32>, tensor<1x1xf32>, tensor<1xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<1x1xi64>, %c: tensor<1xi64>) {
  // expected-error @+1 {{must have the same element type}}
  %r = "relax.scatter_nd"(%a, %b, %c) : (tensor<2xf32>, tensor<1x1xi64>, tensor<1xi64>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<i64>, %c: tensor<1xf32>) {
  // expected-error @+1 {{operand 'indices' (tensor<i64>) must have at least one dimension}}
  %r = "relax.scatter_nd"(%a, %b, %c) : (tensor<2xf32>, tensor<i64>, tensor<1xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<1x2xi64>, %c: tensor<1xf32>) {
  // expected-error @+1 {{its last dimension must be at most 1, as many as operand 'data'}}
  %r = "relax.scatter_nd"(%a, %b, %c) : (tensor<2xf32>, tensor<1x2xi64>, tensor<1xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<5x1xi64>, %c: tensor<5x2xf32>) {
  // expected-error @+1 {{operand 'updates' (tensor<5x2xf32>) must have shape (5, 3): indices.shape[:-1] + data.shape[1:]}}
  %r = "relax.scatter_nd"(%a, %b, %c) : (tensor<2x3xf32>, tensor<5x1xi64>, tensor<5x2xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<1x1xi64>, %c: tensor<1xf32>) {
  // expected-error @+1 {{attribute 'reduction' expects one of}}
  %r = "relax.scatter_nd"(%a, %b, %c) {reduction = "mean"} : (tensor<2xf32>, tensor<1x1xi64>, tensor<1xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<2xi8>) {
  %c = arith.constant 0 : i64
  %d = arith.constant 2 : i64
  %e = arith.constant 1 : i64
  // expected-error @+1 {{must have the same element type}}
  %r = "relax.slice_scatter"(%a, %b, %c, %d, %e) : (tensor<4xf32>, tensor<2xi8>, i64, i64, i64) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>) {
  %c = arith.constant 5.000000e-01 : f64
  %d = arith.constant 2 : i64
  %e = arith.constant 1 : i64
  // expected-error @+1 {{operand 'start' (f64) must be an integer}}
  %r = "relax.slice_scatter"(%a, %b, %c, %d, %e) : (tensor<4xf32>, tensor<2xf32>, f64, i64, i64) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>) {
  %c = arith.constant 0 : i64
  %d = arith.constant 2 : i64
  %e = arith.constant 0 : i64
  // expected-error @+1 {{operand 'step' must be positive, got 0}}
  %r = "relax.slice_scatter"(%a, %b, %c, %d, %e) : (tensor<4xf32>, tensor<2xf32>, i64, i64, i64) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<2xf32>) {
  %c = arith.constant 0 : i64
  %d = arith.constant 3 : i64
  %e = arith.constant 1 : i64
  // expected-error @+1 {{operand 'src' (tensor<2xf32>) must have shape (3), as the slice of}}
  %r = "relax.slice_scatter"(%a, %b, %c, %d, %e) : (tensor<4xf32>, tensor<2xf32>, i64, i64, i64) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<?x4xf32, #relax.sym<["n", 4]>>, %b: tensor<4x4xf32>) {
  %c = arith.constant 0 : i64
  %d = arith.constant 3 : i64
  %e = arith.constant 1 : i64
  // expected-error @+1 {{must have shape (min(n, 3), 4)}}
  %r = "relax.slice_scatter"(%a, %b, %c, %d, %e) : (tensor<?x4xf32, #relax.sym<["n", 4]>>, tensor<4x4xf32>, i64, i64, i64) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  %c = arith.constant 0 : i64
  %d = arith.constant 4 : i64
  %e = arith.constant 1 : i64
  // expected-error @+1 {{attribute 'axis' (1) is out of range}}
  %r = "relax.slice_scatter"(%a, %b, %c, %d, %e) {axis = 1 : i64} : (tensor<4xf32>, tensor<4xf32>, i64, i64, i64) -> tensor<*xf32>
  return
}

// -----

func.func @f(%a: tensor<?x4xf32>, %b: tensor<4xf32>) {
  %c = arith.constant 0 : i64
  %d = arith.constant 4 : i64
  %e = arith.constant 1 : i64
  // expected-error @+1 {{must have shape (?, 4)}}
  %r = "relax.slice_scatter"(%a, %b, %c, %d, %e) : (tensor<?x4xf32>, tensor<4xf32>, i64, i64, i64) -> tensor<*xf32>
  return
}
