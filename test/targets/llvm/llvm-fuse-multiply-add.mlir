// RUN: relax-opt %s --llvm-fuse-multiply-add=target=llvm{cpu=x86-64-v3} | FileCheck %s
// RUN: relax-opt %s --llvm-fuse-multiply-add=target=llvm{cpu=x86-64} | FileCheck %s --check-prefix=WITHOUT

// A CPU without the instruction keeps both operations.
// WITHOUT-NOT: math.fma

// CHECK-LABEL: func.func @vectors(
// CHECK: %[[A:.*]] = vector.load
// CHECK: %[[F:.*]] = math.fma %[[A]], %[[A]], %[[A]] : vector<8xf32>
// CHECK-NOT: arith.
// CHECK: vector.store %[[F]]
func.func @vectors(%m: memref<8xf32>) attributes {tir.prim_func} {
  %0 = arith.constant 0 : index
  %a = vector.load %m[%0] : memref<8xf32>, vector<8xf32>
  %p = arith.mulf %a, %a fastmath<contract> : vector<8xf32>
  %r = arith.addf %a, %p fastmath<contract> : vector<8xf32>
  vector.store %r, %m[%0] : memref<8xf32>, vector<8xf32>
  return
}

// A product with two uses, operations without the flag and f16 stay.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: math.fma
// CHECK: return
func.func @others(%m: memref<8xf32>, %h: memref<8xf16>) attributes {tir.prim_func} {
  %0 = arith.constant 0 : index
  %a = memref.load %m[%0] : memref<8xf32>
  %p = arith.mulf %a, %a fastmath<contract> : f32
  %r = arith.addf %p, %a fastmath<contract> : f32
  %q = arith.mulf %r, %p : f32
  %s = arith.addf %q, %a fastmath<contract> : f32
  memref.store %s, %m[%0] : memref<8xf32>
  %b = memref.load %h[%0] : memref<8xf16>
  %i = arith.mulf %b, %b fastmath<contract> : f16
  %j = arith.addf %i, %b fastmath<contract> : f16
  memref.store %j, %h[%0] : memref<8xf16>
  return
}
