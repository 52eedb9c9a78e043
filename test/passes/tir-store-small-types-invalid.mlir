// An operation that neither moves elements nor computes element by element is refused, and unchanged.

// RUN: relax-opt %s --tir-store-small-types --split-input-file --verify-diagnostics

func.func @named(%x: tensor<2x2xi4>, %y: tensor<2x2xi32>) -> tensor<2x2xi32> {
  // expected-error @+1 {{tir-store-small-types: 'linalg.matmul' op (tensor<2x2xi4>) does more than move elements; make it a linalg.generic first (linalg-generalize-named-ops)}}
  %z = linalg.matmul ins(%x, %x : tensor<2x2xi4>, tensor<2x2xi4>) outs(%y : tensor<2x2xi32>) -> tensor<2x2xi32>
  return %z : tensor<2x2xi32>
}

// -----

func.func @elementwise(%x: tensor<2xf8E5M2>) -> tensor<2xf8E5M2> {
  // expected-error @+1 {{'arith.addf' op (tensor<2xf8E5M2>) does more than move elements; make loops over the elements first}}
  %z = arith.addf %x, %x : tensor<2xf8E5M2>
  return %z : tensor<2xf8E5M2>
}

// -----

func.func @atomic(%x: memref<2xf8E5M2>, %y: f8E5M2, %i: index) {
  // expected-error @+1 {{'memref.atomic_rmw' op (f8E5M2) does more than move elements; convert the elements before}}
  %z = memref.atomic_rmw addf %y, %x[%i] : (f8E5M2, memref<2xf8E5M2>) -> f8E5M2
  return
}

// -----

// Callees expect elements of the declared types, so their buffers keep their layout.
func.func @extern(%x: memref<2xf8E5M2>, %y: f8E5M2) {
  "tir.call_extern"(%x) {func = "f"} : (memref<2xf8E5M2>) -> ()
  // expected-error @+1 {{'tir.call_extern' op (f8E5M2) does more than move elements; convert the elements before}}
  "tir.call_extern"(%y) {func = "f"} : (f8E5M2) -> ()
  return
}

// -----

func.func @graph(%x: tensor<2xf8E5M2>) -> tensor<2xf8E5M2> {
  // expected-error @+1 {{'relax.add' op (tensor<2xf8E5M2>) does more than move elements; lower it to loops over elements first}}
  %z = "relax.add"(%x, %x) : (tensor<2xf8E5M2>, tensor<2xf8E5M2>) -> tensor<2xf8E5M2>
  return %z : tensor<2xf8E5M2>
}
