// RUN: relax-opt %s --tir-outline-parallel --split-input-file --verify-diagnostics

func.func private @no_number(%n: index, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{attribute 'tir.parallel' must be a number of steps, 0 or more, got unit}}
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %y[%i] : memref<?xf32>
  } {tir.parallel}
  return
}

// -----

func.func private @negative(%n: index, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{attribute 'tir.parallel' must be a number of steps, 0 or more, got -1 : i64}}
  scf.for %i = %c0 to %n step %c1 {
    memref.store %zero, %y[%i] : memref<?xf32>
  } {tir.parallel = -1 : i64}
  return
}
