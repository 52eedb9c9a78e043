// Schedules that functions name and that cannot run, and options that make no sense.

// RUN: relax-opt %s --tir-plan --split-input-file --verify-diagnostics
// RUN: not relax-opt %s --tir-plan=target=lvm 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: unknown target 'lvm'; did you mean 'llvm'?

// expected-error @+1 {{schedule @nowhere is not in the module}}
func.func @missing(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32>
    attributes {tir.prim_func, tir.schedule = @nowhere} {
  return %x : tensor<4xf32>
}

// -----

func.func @other() {
  return
}
// expected-error @+1 {{schedule @other is a 'func.func', expected a 'transform.named_sequence'}}
func.func @no_sequence(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32>
    attributes {tir.prim_func, tir.schedule = @other} {
  return %x : tensor<4xf32>
}

// -----

module attributes {transform.with_named_sequence} {
  // expected-error @+1 {{transform.named_sequence @two must take the PrimFunc that it schedules and nothing else, and return nothing}}
  transform.named_sequence @two(%f: !transform.any_op {transform.readonly}, %g: !transform.any_op {transform.readonly}) {
    transform.yield
  }
  func.func @too_many(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32>
      attributes {tir.prim_func, tir.schedule = @two} {
    return %x : tensor<4xf32>
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @fails(%function: !transform.any_op {transform.readonly}) {
    %g = transform.structured.match ops{["linalg.generic"]} in %function : (!transform.any_op) -> !transform.any_op
    transform.structured.vectorize %g vector_sizes [8, 8] : !transform.any_op
    transform.yield
  }
  // expected-error @+1 {{schedule @fails failed: Failed to apply named transform sequence}}
  func.func @fails_at_run_time(%x: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32>
      attributes {tir.prim_func, tir.schedule = @fails} {
    %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%x : tensor<64xf32>) outs(%out : tensor<64xf32>) {
      ^bb0(%a: f32, %old: f32):
        %c = arith.negf %a : f32
        linalg.yield %c : f32
    } -> tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}
