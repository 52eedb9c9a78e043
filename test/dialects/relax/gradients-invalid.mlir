// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{'relax.grad.no_grad' op result 'result' is stated as tensor<4xf64>, but tensor<4xf32> is inferred}}
  %r = "relax.grad.no_grad"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}
