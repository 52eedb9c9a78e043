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

// -----

func.func @shape_to_function(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %s = "relax.shape_of"(%x) : (tensor<4x4xf32>) -> !relax.shape<[4, 4]>
  // expected-error@+1 {{'func.call' op passes a shape, which has no place in memory}}
  %r = func.call @taken(%s, %x) : (!relax.shape<[4, 4]>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

func.func private @taken(%s: !relax.shape<[4, 4]>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  return %x : tensor<4x4xf32>
}

// -----

// The callee would read the elements as numbers of another type.
func.func @tensor_as_object(%x: tensor<4x4xf32>) -> !relax.object {
  // expected-error@+1 {{'relax.match_cast' op makes !relax.object of tensor<4x4xf32>: nothing would tell any more what it is}}
  %t = "relax.match_cast"(%x) : (tensor<4x4xf32>) -> !relax.object
  %o = "relax.call_packed"(%t) {func = "f"} : (!relax.object) -> !relax.object
  return %o : !relax.object
}

// -----

func.func private @f(%x: memref<4xf32>, %y: memref<4xf32>) attributes {tir.prim_func}

func.func @made_as_object(%x: tensor<4xf32>) -> !relax.object {
  %y = "relax.call_tir"(%x) {func = @f} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'relax.match_cast' op makes !relax.object of tensor<4xf32>: nothing would tell any more what it is}}
  %t = "relax.match_cast"(%y) : (tensor<4xf32>) -> !relax.object
  return %t : !relax.object
}

// -----

func.func @object_as_shape(%x: tensor<4x4xf32>) -> !relax.shape<[4, 4]> {
  %o = "relax.call_packed"(%x) {func = "f"} : (tensor<4x4xf32>) -> !relax.object
  // expected-error@+1 {{'relax.match_cast' op makes !relax.shape<[4, 4]> of !relax.object: state what a function returns where it is called}}
  %u = "relax.match_cast"(%o) : (!relax.object) -> !relax.shape<[4, 4]>
  return %u : !relax.shape<[4, 4]>
}

// -----

module @part attributes {relax.codegen = "npu"} {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'relax.call_external' op of @part::f is still to be compiled: run its codegen first (relax-run-codegen)}}
  %0 = "relax.call_external"(%x) {func = @part::@f} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
