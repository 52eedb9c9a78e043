// RUN: relax-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{'func.func' op @f has attribute 'tir.op_pattern' but is no PrimFunc (it has no attribute 'tir.prim_func')}}
func.func @f(%x: memref<f32>) attributes {tir.op_pattern = "opaque"} {
  return
}

// -----

// expected-error @+1 {{'func.func' op @f has unknown attribute 'tir.op_patern'; did you mean 'tir.op_pattern'? (known: tir.prim_func, tir.op_pattern, tir.noalias, tir.target, tir.schedule, tir.schedule_places, tir.loops, tir.engine, tir.read_only)}}
func.func @f(%x: memref<f32>) attributes {tir.prim_func, tir.op_patern = "opaque"} {
  return
}

// -----

// expected-error @+1 {{'func.func' op @f has attribute 'tir.op_pattern' that must be one of "elemwise", "broadcast", "injective", "comm_reduce", "out_ewise_fusable", "tuple", "opaque", got "elementwise"}}
func.func @f(%x: memref<f32>) attributes {tir.prim_func, tir.op_pattern = "elementwise"} {
  return
}

// -----

// expected-error @+1 {{'func.func' op @f has attribute 'tir.op_pattern' that must be one of}}
func.func @f(%x: memref<f32>) attributes {tir.prim_func, tir.op_pattern = 0} {
  return
}

// -----

// expected-error @+1 {{'func.func' op @f has attribute 'tir.prim_func' that must be a unit attribute, got true}}
func.func @f(%x: memref<f32>) attributes {tir.prim_func = true} {
  return
}

// -----

// expected-error @+1 {{'func.func' op @f has attribute 'tir.noalias' that must be a unit attribute, got 1 : i64}}
func.func @f(%x: memref<f32>) attributes {tir.prim_func, tir.noalias = 1} {
  return
}

// -----

// expected-error @+1 {{'func.func' op @f has attribute 'tir.target' that must be the name of a target, got ""}}
func.func @f(%x: memref<f32>) attributes {tir.prim_func, tir.target = ""} {
  return
}

// -----

// expected-error @+1 {{'func.func' op @f has attribute 'tir.schedule' that must be a symbol or lines of text, got "tile"}}
func.func @f(%x: memref<f32>) attributes {tir.prim_func, tir.schedule = "tile"} {
  return
}

// -----

// expected-error @+1 {{'func.func' op @f takes tensors and memrefs (parameter #0 is tensor<f32>, #1 is memref<f32>): it must be on either}}
func.func @f(%x: tensor<f32>, %y: memref<f32>) attributes {tir.prim_func} {
  return
}

// -----

// expected-error @+1 {{'func.func' op @f returns nothing: on tensors it must return its outputs, which are its trailing parameters}}
func.func @f(%x: tensor<f32>, %y: tensor<f32>) attributes {tir.prim_func} {
  return
}

// -----

// expected-error @+1 {{'func.func' op @f returns 1 outputs but has 0 parameters: each output is one too}}
func.func @f() -> tensor<f32> attributes {tir.prim_func} {
  %y = arith.constant dense<0.0> : tensor<f32>
  return %y : tensor<f32>
}

// -----

// expected-error @+1 {{'func.func' op @f has result #0 (f32) that must be a tensor, of rank 0 for a scalar}}
func.func @f(%x: tensor<f32>, %y: f32) -> f32 attributes {tir.prim_func} {
  return %y : f32
}

// -----

// expected-error @+1 {{'func.func' op @f has result #0 (tensor<4xf32>) that must have the type of its output, parameter #1 (tensor<8xf32>)}}
func.func @f(%x: tensor<4xf32>, %y: tensor<8xf32>) -> tensor<4xf32> attributes {tir.prim_func} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op @f has result #1 (tensor<i32>) that must have the type of its output, parameter #2 (tensor<f32>)}}
func.func @f(%x: tensor<i64>, %y: tensor<i64>, %z: tensor<f32>) -> (tensor<i64>, tensor<i32>) attributes {tir.prim_func} {
  %i = arith.constant dense<0> : tensor<i32>
  return %y, %i : tensor<i64>, tensor<i32>
}

// -----

// expected-error @+1 {{'func.func' op @f has result #0 (memref<4xf32>) that must have the type of its output, parameter #1 (memref<8xf32>)}}
func.func @f(%x: memref<4xf32>, %y: memref<8xf32>) -> memref<4xf32> attributes {tir.prim_func} {
  return %x : memref<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op @f has result #0 (memref<4xf32>) that must have the type of its output, parameter #1 (i64)}}
func.func @f(%x: memref<4xf32>, %n: i64) -> memref<4xf32> attributes {tir.prim_func} {
  return %x : memref<4xf32>
}

// -----

// In a nested module, two problems of one function.
module @outer {
  module @inner {
    // expected-error @+2 {{'func.func' op @f has attribute 'tir.target' that must be the name of a target, got 1 : i64}}
    // expected-error @+1 {{'func.func' op @f returns nothing}}
    func.func @f(%x: tensor<f32>) attributes {tir.prim_func, tir.target = 1} {
      return
    }
  }
}
