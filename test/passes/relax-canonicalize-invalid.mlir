// RUN: relax-opt %s --split-input-file --verify-diagnostics --relax-canonicalize='max-iterations=1'

// One iteration is too few to detect that the patterns have converged.
func.func @no_end(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+2 {{relax-canonicalize: patterns still apply after 1 round; last applied: 'keep_idempotent' to 'relax.abs' (1 in all)}}
  %0 = "relax.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.abs"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @nothing_to_do(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.abs"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
