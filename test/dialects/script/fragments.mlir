// RUN: relax-opt %s --allow-unregistered-dialect --print-script -o %t.py && FileCheck %s --input-file=%t.py
// RUN: relax-opt %t.py --allow-unregistered-dialect --print-script | diff %t.py -
// Operations that use values without a script form are written as MLIR text together with them.

%x = "t.x"() : () -> i32
%y = "t.y"(%x) {a = dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>} : (i32) -> i32
"t.z"(%y) : (i32) -> ()

// CHECK: class Module:
// CHECK-NEXT: I.mlir(r"""module {
// CHECK-NEXT: %0 = "t.x"() : () -> i32
// CHECK-NEXT: %1 = "t.y"(%0) {a = dense<(1.000000e+00,2.000000e+00)> : tensor<2xcomplex<f32>>} : (i32) -> i32
// CHECK-NEXT: "t.z"(%1) : (i32) -> ()
// CHECK-NEXT: }""")
