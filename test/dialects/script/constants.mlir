// RUN: relax-opt %s --print-script | FileCheck %s

// CHECK: def constants():
func.func @constants() {
  // CHECK-NEXT: const_0 = const([[1.0, -0.5], [0.1, 1e+08]], "float32"){{$}}
  %0 = arith.constant dense<[[1.0, -0.5], [0.1, 1.0e8]]> : tensor<2x2xf32>
  // CHECK-NEXT: const_1 = const(0.0, "float32", shape=(512, 512))
  %1 = arith.constant dense<0.0> : tensor<512x512xf32>
  // CHECK-NEXT: const_2 = const([1, 2, 3, 4, ...], "int64", shape=(17,)) # table
  %2 = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]> : tensor<17xi64> loc("table")
  // CHECK-NEXT: const_3 = const([0.0999755, 4.0], "float16")
  %3 = arith.constant dense<[0.1, 4.0]> : tensor<2xf16>
  // CHECK-NEXT: const_4 = const([0.1, 0.3], "float64")
  %4 = arith.constant dense<[0.1, 0.3]> : tensor<2xf64>
  // CHECK-NEXT: const_5 = const([True, False], "bool")
  %5 = arith.constant dense<[true, false]> : tensor<2xi1>
  // CHECK-NEXT: const_6 = const([(1.000000e+00,2.000000e+00), (3.000000e+00,4.000000e+00)], "complex<f32>")
  %6 = arith.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
  // CHECK-NEXT: const_7 = const(resource("weights"), "float32", shape=(4,))
  %7 = arith.constant dense_resource<weights> : tensor<4xf32>
  // CHECK-NEXT: const_8 = const(..., "int32", shape=(3, 4))
  %8 = arith.constant sparse<[[0, 0], [1, 2]], [1, 5]> : tensor<3x4xi32>
  // CHECK-NEXT: const_9 = const([], "int8", shape=(0, 3))
  %9 = arith.constant dense<> : tensor<0x3xi8>
  // CHECK-NEXT: const_10 = const([nan, inf, -inf], "float32")
  %10 = arith.constant dense<[0x7FC00000, 0x7F800000, 0xFF800000]> : tensor<3xf32>
  // CHECK-NEXT: const_11 = const([1, -1], "int4")
  %11 = arith.constant dense<[1, -1]> : tensor<2xi4>
  // CHECK-NEXT: const_12 = const([...], "float16", shape=(20,))
  %12 = arith.constant dense<"0x00112233001122330011223300112233001122330011223300112233001122330011223300112233"> : tensor<20xf16>
  // CHECK-NEXT: const_13 = const([1, 2], "int32", shape=(1, 1, 1, 1, 2))
  %13 = arith.constant dense<[[[[[1, 2]]]]]> : tensor<1x1x1x1x2xi32>
  // CHECK-EMPTY:
  return
}

// Numbers stand where they are used.
// CHECK: def numbers(
// CHECK: ) -> (float32, int32, bool, Vector((4,), "float32")):
func.func @numbers(%x: f32, %i: i32, %v: vector<4xf32>) -> (f32, i32, i1, vector<4xf32>) {
  // CHECK-NEXT: return 0.1 * arg0 - 2.0 * (arg0 - -1.5), arg1 - 3, not arg1 == 7, const(0.5, "float32", shape=(4,)) * arg2
  %a = arith.constant 0.1 : f32
  %b = arith.constant 2.0 : f32
  %c = arith.constant -1.5 : f32
  %d = arith.constant -3 : i32
  %e = arith.constant 7 : i32
  %true = arith.constant true
  %h = arith.constant dense<0.5> : vector<4xf32>
  %0 = arith.mulf %a, %x : f32
  %1 = arith.subf %x, %c : f32
  %2 = arith.mulf %b, %1 : f32
  %3 = arith.subf %0, %2 : f32
  %4 = arith.addi %i, %d : i32
  %5 = arith.cmpi eq, %i, %e : i32
  %6 = arith.xori %5, %true : i1
  %7 = arith.mulf %h, %v : vector<4xf32>
  return %3, %4, %6, %7 : f32, i32, i1, vector<4xf32>
}
