// Small PrimFuncs become a part of the loops that call them.

// RUN: relax-opt %s --tir-inline-into-loops --symbol-dce | FileCheck %s

// CHECK-NOT: func.func private @small
func.func private @small(%x: memref<4xf32>, %out: memref<4xf32>) attributes {tir.prim_func, relax.operator = "relax.exp"} {
  %c0 = arith.constant 0 : index
  %scratch = memref.alloc() : memref<4xf32>
  %e = memref.load %x[%c0] : memref<4xf32>
  memref.store %e, %scratch[%c0] : memref<4xf32>
  %f = memref.load %scratch[%c0] : memref<4xf32>
  %zero = arith.constant 0.0 : f32
  %ok = arith.cmpf ogt, %f, %zero : f32
  "tir.assert"(%ok) {kind = "ValueError", message = "no"} : (i1) -> ()
  memref.store %f, %out[%c0] : memref<4xf32>
  memref.dealloc %scratch : memref<4xf32>
  return
}
// CHECK: func.func private @large
func.func private @large(%x: memref<4096xf32>) attributes {tir.prim_func} {
  return
}
// CHECK: func.func private @any
func.func private @any(%x: memref<?xf32>) attributes {tir.prim_func} {
  return
}
// CHECK: func.func private @outside
func.func private @outside(%x: memref<4xf32>) attributes {tir.prim_func} {
  return
}

// Scratch memory is the stack's, and errors still name the operator.
// CHECK-LABEL: func.func @main(
// CHECK: call @outside
// CHECK: scf.for
// CHECK-NEXT: %{{.*}} = arith.constant 0 : index
// CHECK-NEXT: %[[SCRATCH:[a-z_0-9]+]] = memref.alloca()
// CHECK-NEXT: %{{.*}} = memref.load %arg0
// CHECK: "tir.assert"({{.*}} relax.operator = "relax.exp"
// CHECK-NOT: memref.dealloc
// CHECK: call @large
// CHECK-NEXT: call @any
func.func @main(%a: memref<4xf32>, %b: memref<4096xf32>, %c: memref<?xf32>) attributes {relax.inputs = [tensor<4xf32>, tensor<4096xf32>, tensor<?xf32>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 9 : index
  func.call @outside(%a) : (memref<4xf32>) -> ()
  scf.for %i = %c0 to %n step %c1 {
    func.call @small(%a, %a) : (memref<4xf32>, memref<4xf32>) -> ()
    func.call @large(%b) : (memref<4096xf32>) -> ()
    func.call @any(%c) : (memref<?xf32>) -> ()
  }
  return
}
