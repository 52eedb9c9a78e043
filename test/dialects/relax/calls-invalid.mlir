// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{'relax.call_tir' op misses attribute 'func' (a symbol)}}
  %r = "relax.call_tir"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'func' expects a symbol, got "dps"}}
  %r = "relax.call_tir"(%a) {func = "dps"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{'relax.call_tir' op attribute 'func': there is no function @missing in the module}}
  %r = "relax.call_tir"(%a) {func = @missing} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{there is no function @dsp in the module; did you mean 'dps'?}}
  %r = "relax.call_tir"(%a) {func = @dsp} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

module @library {
  func.func private @inner(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}
}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{there is no function @outer in @library}}
  %r = "relax.call_tir"(%a) {func = @library::@outer} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'func': @dps is a func.func, which holds no functions}}
  %r = "relax.call_tir"(%a) {func = @dps::@inner} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

module @library {
  func.func private @inner(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}
}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'func': @library is a builtin.module, not a function}}
  %r = "relax.call_tir"(%a) {func = @library} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @plain(tensor<4xf32>, tensor<4xf32>)

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'func': @plain is no PrimFunc (it has no attribute tir.prim_func)}}
  %r = "relax.call_tir"(%a) {func = @plain} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{'relax.call_tir' op has no result for the function to write to}}
  "relax.call_tir"(%a) {func = @dps} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result #0 must be a tensor of known rank, because the caller allocates it, got tensor<*xf32>}}
  %r = "relax.call_tir"(%a) {func = @dps} : (tensor<4xf32>) -> tensor<*xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result #0 must be a tensor of known rank, because the caller allocates it, got f32}}
  %r = "relax.call_tir"(%a) {func = @dps} : (tensor<4xf32>) -> f32
  return
}

// -----

func.func private @scale(tensor<4xf32>, f32, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{@scale takes 3 parameters, but the call passes 1 arguments and 1 results}}
  %r = "relax.call_tir"(%a) {func = @scale} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @scale(tensor<4xf32>, f32, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>, %b: f64) {
  // expected-error @+1 {{argument #1 (f64) does not fit parameter #1 of @scale (f32)}}
  %r = "relax.call_tir"(%a, %b) {func = @scale} : (tensor<4xf32>, f64) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<5xf32>) {
  // expected-error @+1 {{argument #0 (tensor<5xf32>) does not fit parameter #0 of @dps (tensor<4xf32>)}}
  %r = "relax.call_tir"(%a) {func = @dps} : (tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf16>) {
  // expected-error @+1 {{argument #0 (tensor<4xf16>) does not fit parameter #0 of @dps (tensor<4xf32>)}}
  %r = "relax.call_tir"(%a) {func = @dps} : (tensor<4xf16>) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: vector<4xf32>) {
  // expected-error @+1 {{argument #0 (vector<4xf32>) does not fit parameter #0 of @dps (tensor<4xf32>)}}
  %r = "relax.call_tir"(%a) {func = @dps} : (vector<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @mem(memref<4xf32>, memref<4x1xf32>) attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result #0 (tensor<4xf32>) does not fit parameter #1 of @mem (memref<4x1xf32>)}}
  %r = "relax.call_tir"(%a) {func = @mem} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @two(tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{@two returns 2 values, but the call has 1 results}}
  %r = "relax.call_tir"(%a) {func = @two} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @narrow(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf16> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result #0 (tensor<4xf32>) is not what @narrow returns (tensor<4xf16>)}}
  %r = "relax.call_tir"(%a) {func = @narrow} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{'relax.call_tir' op has no attribute 'inplace_indices' (known: func)}}
  %r = "relax.call_tir"(%a) {func = @dps, inplace_indices = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{misses attribute 'inplace_indices' (a list of integers)}}
  %r = "relax.call_tir_inplace"(%a) {func = @dps} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'inplace_indices' has 2 entries for 1 results}}
  %r = "relax.call_tir_inplace"(%a) {func = @dps, inplace_indices = array<i64: 0, -1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'inplace_indices' names no argument: use relax.call_tir}}
  %r = "relax.call_tir_inplace"(%a) {func = @dps, inplace_indices = array<i64: -1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'inplace_indices': 1 is no argument (there are 1) nor -1}}
  %r = "relax.call_tir_inplace"(%a) {func = @dps, inplace_indices = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'inplace_indices': argument 0 is named for two results}}
  %r:2 = "relax.call_tir_inplace"(%a) {func = @dps, inplace_indices = array<i64: 0, 0>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result #0 (tensor<5xf32>) cannot take the place of argument #0 (tensor<4xf32>)}}
  %r = "relax.call_tir_inplace"(%a) {func = @dps, inplace_indices = array<i64: 0>} : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func private @dps(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tir.prim_func}

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{@dps takes 2 parameters, but the call passes 1 arguments and 0 results}}
  %r = "relax.call_tir_inplace"(%a) {func = @dps, inplace_indices = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{there is no function @missing in the module}}
  %r = "relax.call_tir_inplace"(%a) {func = @missing, inplace_indices = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'func' expects a string, got @f}}
  %r = "relax.call_dps_packed"(%a) {func = @f} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'func' is empty: name the external function}}
  %r = "relax.call_dps_packed"(%a) {func = ""} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{'relax.call_dps_packed' op has no result for the function to write to}}
  "relax.call_dps_packed"(%a) {func = "f"} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result #0 must be a tensor of known rank, because the caller allocates it, got !relax.object}}
  %r = "relax.call_dps_packed"(%a) {func = "f"} : (tensor<4xf32>) -> !relax.object
  return
}

// -----

func.func @f(%a: memref<4xf32>) {
  // expected-error @+1 {{operand 'args' #0 (memref<4xf32>) is nothing that packed functions can pass}}
  %r = "relax.call_dps_packed"(%a) {func = "f"} : (memref<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'func' is empty: name the packed function}}
  %r = "relax.call_pure_packed"(%a) {func = ""} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: vector<4xf32>) {
  // expected-error @+1 {{operand 'args' #0 (vector<4xf32>) is nothing that packed functions can pass}}
  %r = "relax.call_pure_packed"(%a) {func = "f"} : (vector<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result #0 (memref<4xf32>) is nothing that packed functions can pass}}
  %r = "relax.call_pure_packed"(%a) {func = "f"} : (tensor<4xf32>) -> memref<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{'relax.call_packed' op misses attribute 'func' (a string)}}
  %r = "relax.call_packed"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: memref<4xf32>) {
  // expected-error @+1 {{operand 'args' #1 (memref<4xf32>) is nothing that packed functions can pass}}
  %r = "relax.call_packed"(%a, %b) {func = "f"} : (tensor<4xf32>, memref<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'inplace_indices' names no argument: use relax.call_pure_packed}}
  %r = "relax.call_inplace_packed"(%a) {func = "f", inplace_indices = array<i64: -1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{attribute 'inplace_indices': 2 is no argument (there are 1) nor -1}}
  %r = "relax.call_inplace_packed"(%a) {func = "f", inplace_indices = array<i64: 2>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result #0 (i64) cannot take the place of argument #0 (tensor<4xf32>)}}
  %r = "relax.call_inplace_packed"(%a) {func = "f", inplace_indices = array<i64: 0>} : (tensor<4xf32>) -> i64
  return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{result #0 is a tensor<2xvector<4xf32>>: 'vector<4xf32>' is not an element type}}
  %r = "relax.call_dps_packed"(%a) {func = "f"} : (tensor<4xf32>) -> tensor<2xvector<4xf32>>
  return
}

// -----

func.func @f(%a: tensor<4xi1000>) {
  // expected-error @+1 {{a tensor<4xi1000>: 'i1000' is not an element type}}
  %r = "relax.call_dps_packed"(%a) {func = "f"} : (tensor<4xi1000>) -> tensor<4xf32>
  return
}
