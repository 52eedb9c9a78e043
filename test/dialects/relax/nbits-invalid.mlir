// RUN: relax-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>) {
  // expected-error @+1 {{attribute 'bits' (3) must be one of 2, 4, 6, 8}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {bits = 3 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>) {
  // expected-error @+1 {{attribute 'block_size' (12) must be a multiple of 8, with 4 bits}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {block_size = 12 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>) {
  // expected-error @+1 {{attribute 'block_size' (0) must be a multiple of 8}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {block_size = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf64>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>) {
  // expected-error @+1 {{operand 'x' (tensor<3x40xf64>) must have elements of f16, bf16 or f32}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf64>, tensor<9x2x16xui8>, tensor<9x2xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xi32>) {
  // expected-error @+1 {{operand 'scale' (tensor<9x2xi32>) must have elements of f16, bf16 or f32}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xi32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xi8>, %scale: tensor<9x2xf32>) {
  // expected-error @+1 {{operand 'codes' (tensor<9x2x16xi8>) must have elements of ui8}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xi8>, tensor<9x2xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x8xui8>, %scale: tensor<9x2xf32>) {
  // expected-error @+1 {{operand 'codes' (tensor<9x2x8xui8>) must have the shape (9, 2, 16), the bytes of a block at last}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x8xui8>, tensor<9x2xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x72xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>) {
  // expected-error @+1 {{operand 'x' (tensor<3x72xf32>) has rows of 72 elements, which are 3 blocks of 32, not 2}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x72xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>) {
  // expected-error @+1 {{operand 'x' (tensor<f32>) must be at least 1-D}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<f32>, tensor<9x2x16xui8>, tensor<9x2xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x3xf32>) {
  // expected-error @+1 {{operand 'scale' (tensor<9x3xf32>) must have the shape (9, 2), a number for each column's blocks}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x3xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>, %zero: tensor<9x2xi8>) {
  // expected-error @+1 {{operand 'zero_point' (tensor<9x2xi8>) must have elements of ui8 or a float}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale, %zero) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>, tensor<9x2xi8>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>, %zero: tensor<9x1xui8>) {
  // expected-error @+1 {{operand 'zero_point' (tensor<9x1xui8>) must have the shape (9, 2)}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale, %zero) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>, tensor<9x1xui8>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>, %bias: tensor<8xf32>) {
  // expected-error @+1 {{operand 'bias' (tensor<8xf32>) must have the shape (9), a number for each column}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale, %bias) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>, tensor<8xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>, %bias: tensor<9xi32>) {
  // expected-error @+1 {{operand 'bias' (tensor<9xi32>) must have float elements}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale, %bias) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>, tensor<9xi32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<2x8x16xui8>, %scale: tensor<2x2x8xf32>) {
  // expected-error @+1 {{operand 'codes' (tensor<2x8x16xui8>) must have the shape (2, 8, 32), 4 bytes for each column}}
  %r = "relax.matmul_nbits_panels"(%x, %codes, %scale) {columns = 9 : i64, lanes = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<2x8x16xui8>, tensor<2x2x8xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<2x6x32xui8>, %scale: tensor<2x2x8xf32>) {
  // expected-error @+1 {{operand 'codes' (tensor<2x6x32xui8>) must have 2 blocks of 4 words}}
  %r = "relax.matmul_nbits_panels"(%x, %codes, %scale) {columns = 9 : i64, lanes = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<2x6x32xui8>, tensor<2x2x8xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<2x8x32xui8>, %scale: tensor<2x2x8xf32>) {
  // expected-error @+1 {{attribute 'lanes' (3) must divide the columns of a panel, 8}}
  %r = "relax.matmul_nbits_panels"(%x, %codes, %scale) {columns = 9 : i64, lanes = 3 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<2x8x32xui8>, tensor<2x2x8xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<2x8x32xui8>, %scale: tensor<2x2x8xf32>) {
  // expected-error @+1 {{attribute 'rows' (0) must be positive}}
  %r = "relax.matmul_nbits_panels"(%x, %codes, %scale) {columns = 9 : i64, lanes = 4 : i64, rows = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<2x8x32xui8>, tensor<2x2x8xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<2x8x32xui8>, %scale: tensor<2x2x8xf32>) {
  // expected-error @+1 {{attribute 'columns' (8) must be those of 2 panels of 8}}
  %r = "relax.matmul_nbits_panels"(%x, %codes, %scale) {columns = 8 : i64, lanes = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<2x8x32xui8>, tensor<2x2x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<2x8x32xui8>, %scale: tensor<2x2x8xf32>, %bias: tensor<9xf32>) {
  // expected-error @+1 {{operand 'bias' (tensor<9xf32>) must be 2-D, but is 1-D}}
  %r = "relax.matmul_nbits_panels"(%x, %codes, %scale, %bias) {columns = 9 : i64, lanes = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 0>} : (tensor<3x40xf32>, tensor<2x8x32xui8>, tensor<2x2x8xf32>, tensor<9xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x18xui8>, %scale: tensor<9x2xf32>) {
  // expected-error @+1 {{attribute 'block_size' (24) must be a multiple of 16, with 6 bits}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {bits = 6 : i64, block_size = 24 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x18xui8>, tensor<9x2xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>, %zero: tensor<9x2xui8>, %offset: tensor<9x2xf32>) {
  // expected-error @+1 {{operand 'offset' (tensor<9x2xf32>) takes the place of zero_point: add -zero_point * scale to the offset, or leave one of both out}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale, %zero, %offset) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>, tensor<9x2xui8>, tensor<9x2xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xui8>) {
  // expected-error @+1 {{operand 'scale' (tensor<9x2xui8>) must have elements of f16, bf16 or f32; integers need the operand outer_scale}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xui8>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xi32>, %outer: tensor<9x1xf32>) {
  // expected-error @+1 {{operand 'scale' (tensor<9x2xi32>) must have elements of a float, ui8 or i8}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale, %outer) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xi32>, tensor<9x1xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>, %outer: tensor<9x1xf32>) {
  // expected-error @+1 {{operand 'outer_offset' (tensor<9x1xf32>) needs the operand offset}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale, %outer) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>, tensor<9x1xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>, %offset: tensor<9x3xf32>) {
  // expected-error @+1 {{operand 'offset' (tensor<9x3xf32>) must have the shape (9, 2)}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale, %offset) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>, tensor<9x3xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>, %outer: tensor<9x3xf32>) {
  // expected-error @+1 {{operand 'outer_scale' (tensor<9x3xf32>) must have a number for each part of equal size of the 2 blocks}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale, %outer) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>, tensor<9x3xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>, %outer: tensor<9x1xi8>) {
  // expected-error @+1 {{operand 'outer_scale' (tensor<9x1xi8>) must have elements of f16, bf16 or f32}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale, %outer) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>, tensor<9x1xi8>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x2x16xui8>, %scale: tensor<9x2xf32>) {
  // expected-error @+1 {{attribute 'activation_bits' (4) must be 8, or 0 for x as it is}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {activation_bits = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x2x16xui8>, tensor<9x2xf32>) -> tensor<3x9xf32>
  return
}

// -----

func.func @f(%x: tensor<3x40xf32>, %codes: tensor<9x1x512xui8>, %scale: tensor<9x1xf32>) {
  // expected-error @+1 {{attribute 'block_size' (1024) must be at most 512 with activation_bits}}
  %r = "relax.matmul_nbits"(%x, %codes, %scale) {activation_bits = 8 : i64, block_size = 1024 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x40xf32>, tensor<9x1x512xui8>, tensor<9x1xf32>) -> tensor<3x9xf32>
  return
}
