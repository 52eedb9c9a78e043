// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<2xi1>) {
  // expected-error @+1 {{operand 'condition' (tensor<2xi1>) must be a bool, as a scalar or as a 0-D tensor}}
  "relax.assert_op"(%a) : (tensor<2xi1>) -> ()
  return
}

// -----

func.func @f(%a: i64) {
  // expected-error @+1 {{operand 'condition' (i64) must be a bool}}
  "relax.assert_op"(%a) : (i64) -> ()
  return
}

// -----

func.func @f(%a: !relax.object) {
  // expected-error @+1 {{operand 'condition' (!relax.object) must be a bool}}
  "relax.assert_op"(%a) : (!relax.object) -> ()
  return
}

// -----

func.func @f(%a: i1, %b: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'format' ('{} {}') needs 2 values, got 1}}
  "relax.assert_op"(%a, %b) {format = "{} {}"} : (i1, tensor<2xf32>) -> ()
  return
}

// -----

func.func @f(%a: i1, %b: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'format' ('{0} {2}') needs 3 values, got 1}}
  "relax.assert_op"(%a, %b) {format = "{0} {2}"} : (i1, tensor<2xf32>) -> ()
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'format' ('{') is no format string: }}
  "relax.print"(%a) {format = "{"} : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'format' ('{x}'): fields are {} or a value's number, as {0}}}
  "relax.print"(%a) {format = "{x}"} : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{fields are numbered either all or none}}
  "relax.print"(%a) {format = "{} {0}"} : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{attribute 'format' ('{:{}}') needs 2 values, got 1}}
  "relax.print"(%a) {format = "{:{}}"} : (tensor<2xf32>) -> ()
  return
}

// -----

func.func @f(%a: tensor<2xf32>) {
  // expected-error @+1 {{is no format string: fields nest too deep}}
  "relax.print"(%a) {format = "{:{:{}}}"} : (tensor<2xf32>) -> ()
  return
}
