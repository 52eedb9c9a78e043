// RUN: relax-opt %s --split-input-file --verify-diagnostics
// The verifier checks #relax.sym and !relax.shape in signatures, whether or not they are used.

// expected-error @+1 {{'func.func' op @f parameter 1: tensor<3xf32, #relax.sym<[4]>>: dimension 0 is 3 in the tensor but 4 in #relax.sym}}
func.func @f(%a: tensor<4xf32>, %b: tensor<3xf32, #relax.sym<[4]>>) {
  return
}

// -----

// expected-error @+1 {{'func.func' op @f parameter 0: tensor<3x?xf32, #relax.sym<["n"]>>: #relax.sym names 1 dimensions, but the tensor has 2}}
func.func private @f(tensor<3x?xf32, #relax.sym<["n"]>>)

// -----

// expected-error @+1 {{'func.func' op @f result 0: tensor<?xf32, #relax.sym<["n +"]>>: bad dimension "n +"}}
func.func private @f() -> tensor<?xf32, #relax.sym<["n +"]>>

// -----

// expected-error @+1 {{'func.func' op @f parameter 0: !relax.shape<[-1]>: a dimension cannot be -1}}
func.func @f(%a: !relax.shape<[-1]>) {
  return
}

// -----

// expected-error @+1 {{'func.func' op @f parameter 0: tensor<1099511627776x1099511627776xf32> has 1208925819614629174706176 elements, more than 2**63 - 1}}
func.func @f(%a: tensor<1099511627776x1099511627776xf32>) {
  return
}

// -----

module {
  module @nested {
    // expected-error @+1 {{'func.func' op @f parameter 0: tensor<?xf32, #relax.sym<[4]>>: dimension 0 is ? in the tensor but 4 in #relax.sym}}
    func.func private @f(tensor<?xf32, #relax.sym<[4]>>)
  }
}

// -----

// An array without elements may be as long as it likes.
func.func private @empty(tensor<1099511627776x1099511627776x0xf32>)
func.func private @unknown(tensor<1099511627776x1099511627776x?xf32>)

// -----

// Elements keep the type that they are written with.
func.func @f() -> tensor<2xf32, #relax.sym<[2]>> {
  // expected-error @+1 {{'arith.constant' op is of tensor<2xf32, #relax.sym<[2]>>: write it as tensor<2xf32>}}
  %0 = arith.constant dense<1.0> : tensor<2xf32, #relax.sym<[2]>>
  return %0 : tensor<2xf32, #relax.sym<[2]>>
}
