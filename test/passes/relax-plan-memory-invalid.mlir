// RUN: relax-opt %s --relax-plan-memory --verify-diagnostics

// Operators of relax are verified; what upstream's operations make is first asked for its elements here.
func.func private @made() -> tensor<2xvector<4xf32>>
func.func @f(%x: tensor<?xf32, #relax.sym<["n"]>>) -> tensor<2xvector<4xf32>> {
  // expected-error @+1 {{no memory for tensor<2xvector<4xf32>>: 'vector<4xf32>' is not an element type}}
  %r = func.call @made() : () -> tensor<2xvector<4xf32>>
  return %r : tensor<2xvector<4xf32>>
}
