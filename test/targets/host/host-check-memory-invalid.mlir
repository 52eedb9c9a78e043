// RUN: relax-opt %s --host-check-memory --split-input-file --verify-diagnostics

func.func @leaves(%c: i1, %n: index, %x: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %r = scf.if %c -> (memref<?xf32>) {
    // expected-error @+1 {{'memref.alloca' op (memref<?xf32>) is too large for the stack, and used outside of its block: take it by memref.alloc and give it back by memref.dealloc}}
    %a = memref.alloca(%n) : memref<?xf32>
    scf.yield %a : memref<?xf32>
  } else {
    scf.yield %x : memref<?xf32>
  }
  memref.store %v, %r[%c0] : memref<?xf32>
  return
}

// -----

func.func @absurd() {
  // expected-error @+1 {{'memref.alloc' op: a tensor of 9223372036854775808 bytes is needed, which no memory can hold}}
  %a = memref.alloc() : memref<1073741824x2147483648xf32>
  memref.dealloc %a : memref<1073741824x2147483648xf32>
  return
}
