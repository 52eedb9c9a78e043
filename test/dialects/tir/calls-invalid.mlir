// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @+1 {{'tir.call_extern' op attribute 'func' is empty: name the external function}}
  "tir.call_extern"() {func = ""} : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tir.call_extern' op attribute 'func' ('my function') must be a name without blanks}}
  "tir.call_extern"() {func = "my function"} : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tir.call_extern' op attribute 'func' expects a string, got @f}}
  "tir.call_extern"() {func = @f} : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tir.call_extern' op misses attribute 'func' (a string)}}
  "tir.call_extern"() : () -> ()
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{'tir.call_extern' op operand 'args' #0 (tensor<4xf32>) has no address yet: bufferize first, or call from the graph with relax.call_dps_packed}}
  "tir.call_extern"(%t) {func = "f"} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @f(%o: !relax.object) {
  // expected-error @+1 {{'tir.call_extern' op operand 'args' #0 (!relax.object) is nothing a C function can take}}
  "tir.call_extern"(%o) {func = "f"} : (!relax.object) -> ()
  return
}

// -----

func.func @f(%s: !relax.shape<[4]>) {
  // expected-error @+1 {{'tir.call_extern' op operand 'args' #0 (!relax.shape<[4]>) is nothing a C function can take}}
  "tir.call_extern"(%s) {func = "f"} : (!relax.shape<[4]>) -> ()
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.call_extern' op result (memref<4xf32>) cannot be returned: pass a buffer for it as an argument}}
  %0 = "tir.call_extern"(%x) {func = "f"} : (f32) -> memref<4xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.call_pure_extern' op result (tensor<4xf32>) cannot be returned: pass a buffer for it as an argument}}
  %0 = "tir.call_pure_extern"(%x) {func = "f"} : (f32) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.call_extern' op gives at most one result, but 2 are stated}}
  %0:2 = "tir.call_extern"(%x) {func = "f"} : (f32) -> (f32, f32)
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.call_pure_extern' op must give a result: without one and without effects it would do nothing (use tir.call_extern)}}
  "tir.call_pure_extern"(%x) {func = "f"} : (f32) -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tir.call_packed' op attribute 'func' is empty: name the packed function}}
  "tir.call_packed"() {func = ""} : () -> ()
  return
}

// -----

func.func @f(%v: vector<4xf32>) {
  // expected-error @+1 {{'tir.call_packed' op operand 'args' #0 (vector<4xf32>) is nothing a packed function can take}}
  "tir.call_packed"(%v) {func = "f"} : (vector<4xf32>) -> ()
  return
}

// -----

func.func @f(%t: tensor<4xf32>) {
  // expected-error @+1 {{'tir.call_packed' op operand 'args' #0 (tensor<4xf32>) has no address yet}}
  "tir.call_packed"(%t) {func = "f"} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.call_packed' op result (vector<4xf32>) is nothing a packed function can return}}
  %0 = "tir.call_packed"(%x) {func = "f"} : (f32) -> vector<4xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tir.call_packed' op result (memref<f32>) cannot be returned}}
  %0 = "tir.call_packed"(%x) {func = "f"} : (f32) -> memref<f32>
  return
}
