// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @missing() {
  // expected-error @+1 {{'relax.constant' op misses attribute 'value' (an elements attribute)}}
  %0 = "relax.constant"() : () -> tensor<2xui8>
  return
}

// -----

func.func @no_elements() {
  // expected-error @+1 {{attribute 'value' expects an elements attribute, got 3 : i64}}
  %0 = "relax.constant"() {value = 3} : () -> tensor<2xui8>
  return
}

// -----

func.func @other_type() {
  // expected-error @+1 {{result 'result' is stated as tensor<3xui8>, but tensor<2xui8> is inferred}}
  %0 = "relax.constant"() {value = dense<1> : tensor<2xui8>} : () -> tensor<3xui8>
  return
}
