// RUN: relax-opt %s --relax-lower-calls --split-input-file --verify-diagnostics

func.func @operator(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'relax.exp' op (tensor<4xf32>) is still an operator: legalize it first (relax-legalize-ops)}}
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @foreign(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'tosa.const' op () has no place in a graph function: put it into a PrimFunc}}
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  return %x : tensor<4xf32>
}

// -----

func.func @double(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func} {
  return %x : tensor<4xf32>
}
func.func @early(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'relax.call_tir' op calls a PrimFunc on tensors: bufferize it first (tir-bufferize)}}
  %0 = "relax.call_tir"(%x) {func = @double} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{@rank takes a tensor of unknown rank}}
func.func @rank(%x: tensor<*xf32>) {
  return
}

// -----

// expected-error @+1 {{@scalar returns f32: only tensors, shapes and objects can be returned (relax.scalar_to_tensor makes a scalar a tensor)}}
func.func @scalar(%x: f32) -> f32 {
  return %x : f32
}
