// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%q: tensor<3x4x8xf64>, %k: tensor<5x16x2x8xf32>, %v: tensor<5x16x2x8xf32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>) {
  // expected-error @+1 {{operand 'q' (tensor<3x4x8xf64>) must have elements of type f32 or f16 or bf16}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<3x4x8xf64>, tensor<5x16x2x8xf32>, tensor<5x16x2x8xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x32xf32>, %k: tensor<5x16x2x8xf32>, %v: tensor<5x16x2x8xf32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>) {
  // expected-error @+1 {{operand 'q' (tensor<3x32xf32>) must be 3-D, but is 2-D}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<3x32xf32>, tensor<5x16x2x8xf32>, tensor<5x16x2x8xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xf16>, %v: tensor<5x16x2x8xf32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>) {
  // expected-error @+1 {{operand 'k_pages' (tensor<5x16x2x8xf16>) and operand 'v_pages' (tensor<5x16x2x8xf32>) must have the same element type}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<3x4x8xf32>, tensor<5x16x2x8xf16>, tensor<5x16x2x8xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xi32>, %v: tensor<5x16x2x8xi32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>) {
  // expected-error @+1 {{operand 'k_pages' (tensor<5x16x2x8xi32>) must have elements of type f32 or f16 or bf16 or i8}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<3x4x8xf32>, tensor<5x16x2x8xi32>, tensor<5x16x2x8xi32>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x5x8xf32>, %k: tensor<5x16x2x8xf32>, %v: tensor<5x16x2x8xf32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>) {
  // expected-error @+1 {{operand 'q' (tensor<3x5x8xf32>) must have a multiple of the heads of operand 'k_pages' (tensor<5x16x2x8xf32>), got 5 and 2}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<3x5x8xf32>, tensor<5x16x2x8xf32>, tensor<5x16x2x8xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xf32>, %v: tensor<5x8x2x8xf32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>) {
  // expected-error @+1 {{must have the same number of places in a page, got 16 and 8}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<3x4x8xf32>, tensor<5x16x2x8xf32>, tensor<5x8x2x8xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x6xf32>, %v: tensor<5x16x2x8xf32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>) {
  // expected-error @+1 {{must have the same size of a head, got 8 and 6}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<3x4x8xf32>, tensor<5x16x2x6xf32>, tensor<5x16x2x8xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xf32>, %v: tensor<5x16x2x8xf32>, %table: tensor<2x3xi64>, %seq: tensor<3xi32>, %len: tensor<3xi32>) {
  // expected-error @+1 {{operand 'table' (tensor<2x3xi64>) must have elements of type i32}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<3x4x8xf32>, tensor<5x16x2x8xf32>, tensor<5x16x2x8xf32>, tensor<2x3xi64>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xf32>, %v: tensor<5x16x2x8xf32>, %table: tensor<6xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>) {
  // expected-error @+1 {{operand 'table' (tensor<6xi32>) must be 2-D, but is 1-D}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<3x4x8xf32>, tensor<5x16x2x8xf32>, tensor<5x16x2x8xf32>, tensor<6xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xf32>, %v: tensor<5x16x2x8xf32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<4xi32>) {
  // expected-error @+1 {{must have the same number of tokens, got 3 and 4}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<3x4x8xf32>, tensor<5x16x2x8xf32>, tensor<5x16x2x8xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<4xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xi8>, %v: tensor<5x16x2x8xi8>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>) {
  // expected-error @+1 {{operand 'k_scale' is missing: operand 'k_pages' (tensor<5x16x2x8xi8>) needs scales}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<3x4x8xf32>, tensor<5x16x2x8xi8>, tensor<5x16x2x8xi8>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xf32>, %v: tensor<5x16x2x8xf32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>, %ks: tensor<5x16x2xf32>, %vs: tensor<5x16x2xf32>) {
  // expected-error @+1 {{operand 'k_scale' (tensor<5x16x2xf32>) is for pages of i8, not for operand 'k_pages' (tensor<5x16x2x8xf32>)}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len, %ks, %vs) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 0>} : (tensor<3x4x8xf32>, tensor<5x16x2x8xf32>, tensor<5x16x2x8xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<5x16x2xf32>, tensor<5x16x2xf32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xi8>, %v: tensor<5x16x2x8xi8>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>, %ks: tensor<5x16x2xf32>, %vs: tensor<5x16x2xf16>) {
  // expected-error @+1 {{operand 'v_scale' (tensor<5x16x2xf16>) must have elements of type f32}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len, %ks, %vs) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 0>} : (tensor<3x4x8xf32>, tensor<5x16x2x8xi8>, tensor<5x16x2x8xi8>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<5x16x2xf32>, tensor<5x16x2xf16>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xi8>, %v: tensor<5x16x2x8xi8>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>, %ks: tensor<5x16x2xf32>, %vs: tensor<5x16x3xf32>) {
  // expected-error @+1 {{operand 'v_scale' (tensor<5x16x3xf32>) must have size 2 in dimension 2 (heads), got 3}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len, %ks, %vs) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 1, 0>} : (tensor<3x4x8xf32>, tensor<5x16x2x8xi8>, tensor<5x16x2x8xi8>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<5x16x2xf32>, tensor<5x16x3xf32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xf32>, %v: tensor<5x16x2x8xf32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>, %sinks: tensor<2xf32>) {
  // expected-error @+1 {{operand 'sinks' (tensor<2xf32>) must have size 4 in dimension 0 (heads), got 2}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len, %sinks) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 1>} : (tensor<3x4x8xf32>, tensor<5x16x2x8xf32>, tensor<5x16x2x8xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<2xf32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xf32>, %v: tensor<5x16x2x8xf32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>, %sinks: tensor<4xf16>) {
  // expected-error @+1 {{operand 'sinks' (tensor<4xf16>) must have elements of type f32}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len, %sinks) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 1>} : (tensor<3x4x8xf32>, tensor<5x16x2x8xf32>, tensor<5x16x2x8xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<4xf16>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xf32>, %v: tensor<5x16x2x8xf32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>) {
  // expected-error @+1 {{attribute 'window_size' (0) must be positive}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>, window_size = 0 : i64} : (tensor<3x4x8xf32>, tensor<5x16x2x8xf32>, tensor<5x16x2x8xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%q: tensor<3x4x8xf32>, %k: tensor<5x16x2x8xf32>, %v: tensor<5x16x2x8xf32>, %table: tensor<2x3xi32>, %seq: tensor<3xi32>, %len: tensor<3xi32>) {
  // expected-error @+1 {{attribute 'softcap' (-1.0) must be positive}}
  %r = "relax.paged_attention"(%q, %k, %v, %table, %seq, %len) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>, softcap = -1.0 : f64} : (tensor<3x4x8xf32>, tensor<5x16x2x8xf32>, tensor<5x16x2x8xf32>, tensor<2x3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @f(%pages: tensor<5x4x2x8xi8>, %rows: tensor<3x2x8xf32>, %slots: tensor<3xi32>) {
  // expected-error @+1 {{operand 'pages' (tensor<5x4x2x8xi8>) must have elements of type f32 or f16 or bf16; relax.append_pages_quantized writes pages of i8}}
  %r = "relax.append_pages"(%pages, %rows, %slots) : (tensor<5x4x2x8xi8>, tensor<3x2x8xf32>, tensor<3xi32>) -> tensor<5x4x2x8xi8>
  return
}

// -----

func.func @f(%pages: tensor<5x4x2x8xf32>, %rows: tensor<3x2x8xi32>, %slots: tensor<3xi32>) {
  // expected-error @+1 {{operand 'rows' (tensor<3x2x8xi32>) must have float elements}}
  %r = "relax.append_pages"(%pages, %rows, %slots) : (tensor<5x4x2x8xf32>, tensor<3x2x8xi32>, tensor<3xi32>) -> tensor<5x4x2x8xf32>
  return
}

// -----

func.func @f(%pages: tensor<5x4x2x8xf32>, %rows: tensor<3x3x8xf32>, %slots: tensor<3xi32>) {
  // expected-error @+1 {{must have the same number of heads, got 2 and 3}}
  %r = "relax.append_pages"(%pages, %rows, %slots) : (tensor<5x4x2x8xf32>, tensor<3x3x8xf32>, tensor<3xi32>) -> tensor<5x4x2x8xf32>
  return
}

// -----

func.func @f(%pages: tensor<5x4x2x8xf32>, %rows: tensor<3x2x9xf32>, %slots: tensor<3xi32>) {
  // expected-error @+1 {{must have the same size of a head, got 8 and 9}}
  %r = "relax.append_pages"(%pages, %rows, %slots) : (tensor<5x4x2x8xf32>, tensor<3x2x9xf32>, tensor<3xi32>) -> tensor<5x4x2x8xf32>
  return
}

// -----

func.func @f(%pages: tensor<5x4x2x8xf32>, %rows: tensor<3x2x8xf32>, %slots: tensor<4xi32>) {
  // expected-error @+1 {{must have the same number of tokens, got 3 and 4}}
  %r = "relax.append_pages"(%pages, %rows, %slots) : (tensor<5x4x2x8xf32>, tensor<3x2x8xf32>, tensor<4xi32>) -> tensor<5x4x2x8xf32>
  return
}

// -----

func.func @f(%pages: tensor<5x4x2x8xf32>, %rows: tensor<3x2x8xf32>, %slots: tensor<3xi64>) {
  // expected-error @+1 {{operand 'slots' (tensor<3xi64>) must have elements of type i32}}
  %r = "relax.append_pages"(%pages, %rows, %slots) : (tensor<5x4x2x8xf32>, tensor<3x2x8xf32>, tensor<3xi64>) -> tensor<5x4x2x8xf32>
  return
}

// -----

func.func @f(%pages: tensor<5x4x2x8xf32>, %scales: tensor<5x4x2xf32>, %rows: tensor<3x2x8xf32>, %slots: tensor<3xi32>) {
  // expected-error @+1 {{operand 'pages' (tensor<5x4x2x8xf32>) must have elements of type i8}}
  %r:2 = "relax.append_pages_quantized"(%pages, %scales, %rows, %slots) : (tensor<5x4x2x8xf32>, tensor<5x4x2xf32>, tensor<3x2x8xf32>, tensor<3xi32>) -> (tensor<5x4x2x8xf32>, tensor<5x4x2xf32>)
  return
}

// -----

func.func @f(%pages: tensor<5x4x2x8xi8>, %scales: tensor<5x4x1xf32>, %rows: tensor<3x2x8xf32>, %slots: tensor<3xi32>) {
  // expected-error @+1 {{operand 'scales' (tensor<5x4x1xf32>) must have size 2 in dimension 2 (heads), got 1}}
  %r:2 = "relax.append_pages_quantized"(%pages, %scales, %rows, %slots) : (tensor<5x4x2x8xi8>, tensor<5x4x1xf32>, tensor<3x2x8xf32>, tensor<3xi32>) -> (tensor<5x4x2x8xi8>, tensor<5x4x1xf32>)
  return
}
