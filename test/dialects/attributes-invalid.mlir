// RUN: relax-opt %s --split-input-file --verify-diagnostics
// Attributes of other types and in other places than docs/attributes.md says.

func.func @grain(%n: index, %zero: index, %one: index) {
  // expected-error @+1 {{'scf.for' op has attribute 'tir.parallel' that must be a number of steps, a unit attribute on calls, got "all"}}
  scf.for %i = %zero to %n step %one {
  } {tir.parallel = "all"}
  return
}

// -----

func.func @place(%x: i32) -> i32 {
  // expected-error @+1 {{'arith.addi' op has attribute 'relax.group', which belongs on calls of PrimFuncs (relax.call_tir)}}
  %y = arith.addi %x, %x {relax.group = 1} : i32
  return %y : i32
}

// -----

// expected-error @+1 {{'func.func' op @f has attribute 'relax.result_names' that must be an array of strings, got ["a", 1]}}
func.func @f(%x: i32) -> (i32, i32) attributes {relax.result_names = ["a", 1]} {
  return %x, %x : i32, i32
}

// -----

// expected-error @+1 {{'func.func' op @f argument #1 has attribute 'relax.name' that must be a string, got 1 : i64}}
func.func @f(%x: i32 {relax.name = "x"}, %y: i32 {relax.name = 1}) -> i32 {
  return %x : i32
}

// -----

// expected-error @+1 {{'builtin.module' op has attribute 'relax.any_order' that must be a unit attribute, got 1 : i64}}
module attributes {relax.any_order = 1} {
}

// -----

// Attributes of a kernel. Upstream has its own attributes that begin with gpu.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    // expected-error @+1 {{'gpu.func' op has attribute 'gpu.dynamic_shared' that must be an integer, got unit}}
    gpu.func @k() kernel attributes {gpu.dynamic_shared} {
      gpu.return
    }
  }
}
