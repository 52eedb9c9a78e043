// RUN: relax-opt %s --allow-unregistered-dialect --print-script -o %t.py && FileCheck %s --input-file=%t.py
// RUN: relax-opt %t.py --allow-unregistered-dialect --print-script | diff %t.py -
// Modules and functions: names that are none in Python, attributes of arguments and results, declarations.

func.func @arguments(%a: tensor<4xf32> {relax.name = "x"}, %b: tensor<4xf32> {relax.name = "x"}, %c: tensor<4xf32> {relax.name = "if"}, %d: tensor<4xf32> {relax.name = "a b"}, %e: tensor<4xf32> {relax.name = "é"}, %g: tensor<4xf32> {relax.name = "I"}, %h: tensor<4xf32>, %i : tensor<4xf32> {relax.name="\FF"}) -> tensor<4xf32> { return %a : tensor<4xf32> }

func.func @annotated(%a: tensor<4xf32> {relax.name = "x", t.y = 1}, %b: tensor<4xf32> {relax.name = "y"}) -> (tensor<4xf32> {t.r = "z"}, f32 {}) { %0 = arith.constant 1.0 : f32
  return %a, %0 : tensor<4xf32>, f32 }
func.func private @decl(i32 {t.x}, tensor<?xf32>) -> (i32 {t.y})
func.func nested @public_decl_like() attributes {t.z = 1} { return }
func.func private @d2()

func.func @types(%a: memref<4xf32, strided<[2], offset: ?>>, %b: memref<?xf32, 1>, %c: memref<4x4xf32, affine_map<(i,j)->(j,i)>>, %d: memref<*xf32>, %e: tuple<i32,f32>, %g: none, %h: !t.x<1>, %i: (i32)->f32, %j: vector<2x[4]xf32>, %k: memref<4xvector<4xf32>>, %l: tensor<4x!t.y>, %m: tensor<?x?xf32, #relax.sym<["n","2*n"]>>, %n: tensor<4xui8>, %o: si4, %p: ui8, %q: !llvm.ptr, %r: memref<f32>, %s: vector<4xindex>, %t: vector<2x2xi1>, %u: tensor<4xf32, "enc">, %v: memref<?x?xcomplex<f32>>, %w: !relax.shape<["n", 4]>, %x: !relax.object, %y: complex<f64>, %z: tensor<4xvector<4xf32>>)  {
  return
}

func.func @numbers(%a: tensor<4x?xf32, #relax.sym<[4,"n*m"]>>, %b: tensor<?xi4>, %c: tensor<2xf8E5M2>, %d: tensor<2xsi8>, %e: tensor<2xf80>, %f: vector<2xbf16>, %g: i7, %h: f8E4M3FN, %i: vector<3x!llvm.ptr>, %j: tensor<2xtf32>, %k: memref<2xf8E4M3FN>, %l: vector<4xf8E4M3FN>, %m: memref<2xi1>, %n: vector<4xui8>, %o: i1000, %p: tensor<9223372036854775807xf32>, %q: memref<0xf32>, %r: vector<4xi128>, %s: vector<f32>, %t: tensor<2xcomplex<f64>>) { return }

func.func @locations(%a: tensor<4xf32> loc("x y"), %b: tensor<4xf32> loc("x y")) -> tensor<4xf32> {
  %0 = "relax.add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("class")
  %1 = "relax.add"(%0, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("class")
  %2 = "relax.add"(%1, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("1/2é")
  %3 = "relax.add"(%2, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("R")
  %4 = "relax.add"(%3, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc(fused["add_0","cls"])
  %5 = "relax.add"(%4, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("n")
  %6 = "relax.add"(%5, %b) {t.x = 1} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("中文")
  return %6 : tensor<4xf32> }

func.func @def(%a: i32) -> i32 {
  %0 = func.call @def(%a) : (i32) -> i32
  return %0 : i32
}

func.func @"a b"(%a: i32) -> i32 {
  %0 = func.call @"a b"(%a) : (i32) -> i32
  return %0 : i32
}

func.func @cls(%a: i32) -> i32 {
  %0 = func.call @cls(%a) : (i32) -> i32
  return %0 : i32
}

func.func @"é"(%a: i32) -> i32 {
  %0 = func.call @"é"(%a) : (i32) -> i32
  return %0 : i32
}

func.func @"1x"(%a: i32) -> i32 {
  %0 = func.call @"1x"(%a) : (i32) -> i32
  return %0 : i32
}

func.func @"a.b"(%a: i32) -> i32 {
  %0 = func.call @"a.b"(%a) : (i32) -> i32
  return %0 : i32
}

func.func @if_(%a: i32) -> i32 {
  %0 = func.call @if_(%a) : (i32) -> i32
  return %0 : i32
}

module @outer { module @inner { func.func @f() { return } module { func.func @g(%x: i32) -> i32 { return %x : i32 } } module @"a b" attributes {t.x = 1} {} } module @f {} module @Module {} module @class {} func.func @g() {return} }

// CHECK: @I.ir_module(ssa=True)
// CHECK-NEXT: class Module:
// CHECK-NEXT:     @R.function(named=False)
// CHECK-NEXT:     def arguments(
// CHECK-NEXT:         x: I.annotated(R.Tensor((4,), "float32"), {"relax.name": "x"}),
// CHECK-NEXT:         x_1: I.annotated(R.Tensor((4,), "float32"), {"relax.name": "x"}),
// CHECK-NEXT:         if_: I.annotated(R.Tensor((4,), "float32"), {"relax.name": "if"}),
// CHECK-NEXT:         a_b: I.annotated(R.Tensor((4,), "float32"), {"relax.name": "a b"}),
// CHECK-NEXT:         arg4: I.annotated(R.Tensor((4,), "float32"), {"relax.name": "é"}),
// CHECK-NEXT:         I_1: I.annotated(R.Tensor((4,), "float32"), {"relax.name": "I"}),
// CHECK-NEXT:         arg6: R.Tensor((4,), "float32"),
// CHECK-NEXT:         arg7: I.annotated(R.Tensor((4,), "float32"), {"relax.name": I.attr("\"\\FF\"")}),
// CHECK-NEXT:     ) -> R.Tensor((4,), "float32"):
// CHECK-NEXT:         return x
// CHECK:     @R.function
// CHECK-NEXT:     def annotated(
// CHECK-NEXT:         x: I.annotated(R.Tensor((4,), "float32"), {"t.y": 1}),
// CHECK-NEXT:         y: R.Tensor((4,), "float32"),
// CHECK-NEXT:     ) -> R.Tuple(I.annotated(R.Tensor((4,), "float32"), {"t.r": "z"}), T.float32):
// CHECK-NEXT:         return x, T.float32(1.0)
// CHECK:     @R.function(named=False, private=True)
// CHECK-NEXT:     def decl(
// CHECK-NEXT:         arg0: I.annotated(T.int32, {"t.x": I.unit}),
// CHECK-NEXT:         arg1: R.Tensor(("?",), "float32"),
// CHECK-NEXT:     ) -> I.annotated(T.int32, {"t.y": I.unit}): ...
// CHECK:     @R.function(attrs={"sym_visibility": "nested", "t.z": 1})
// CHECK-NEXT:     def public_decl_like():
// CHECK-NEXT:         return
// CHECK:     @R.function(private=True)
// CHECK-NEXT:     def d2(): ...
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def types(
// CHECK-NEXT:         arg0: I.type("memref<4xf32, strided<[2], offset: ?>>"),
// CHECK-NEXT:         arg1: I.type("memref<?xf32, 1>"),
// CHECK-NEXT:         arg2: I.type("memref<4x4xf32, affine_map<(d0, d1) -> (d1, d0)>>"),
// CHECK-NEXT:         arg3: I.type("memref<*xf32>"),
// CHECK-NEXT:         arg4: I.type("tuple<i32, f32>"),
// CHECK-NEXT:         arg5: I.type("none"),
// CHECK-NEXT:         arg6: I.type("!t.x<1>"),
// CHECK-NEXT:         arg7: I.type("(i32) -> f32"),
// CHECK-NEXT:         arg8: I.type("vector<2x[4]xf32>"),
// CHECK-NEXT:         arg9: I.type("memref<4xvector<4xf32>>"),
// CHECK-NEXT:         arg10: I.type("tensor<4x!t.y>"),
// CHECK-NEXT:         arg11: R.Tensor(("n", "2*n"), "float32"),
// CHECK-NEXT:         arg12: R.Tensor((4,), "uint8"),
// CHECK-NEXT:         arg13: T.si4,
// CHECK-NEXT:         arg14: T.uint8,
// CHECK-NEXT:         arg15: I.type("!llvm.ptr"),
// CHECK-NEXT:         arg16: T.Buffer((), "float32"),
// CHECK-NEXT:         arg17: T.indexx4,
// CHECK-NEXT:         arg18: T.Vector((2, 2), "bool"),
// CHECK-NEXT:         arg19: I.type("tensor<4xf32, \"enc\">"),
// CHECK-NEXT:         arg20: T.Buffer(("?", "?"), "complex<f32>"),
// CHECK-NEXT:         arg21: R.Shape(("n", 4)),
// CHECK-NEXT:         arg22: R.Object,
// CHECK-NEXT:         arg23: I.type("complex<f64>"),
// CHECK-NEXT:         arg24: I.type("tensor<4xvector<4xf32>>"),
// CHECK-NEXT:     ):
// CHECK-NEXT:         return
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def numbers(
// CHECK-NEXT:         arg0: R.Tensor((4, "m*n"), "float32"),
// CHECK-NEXT:         arg1: R.Tensor(("?",), "int4"),
// CHECK-NEXT:         arg2: R.Tensor((2,), "float8_e5m2"),
// CHECK-NEXT:         arg3: R.Tensor((2,), "si8"),
// CHECK-NEXT:         arg4: I.type("tensor<2xf80>"),
// CHECK-NEXT:         arg5: T.bfloat16x2,
// CHECK-NEXT:         arg6: T.i7,
// CHECK-NEXT:         arg7: T.float8_e4m3fn,
// CHECK-NEXT:         arg8: I.type("vector<3x!llvm.ptr>"),
// CHECK-NEXT:         arg9: R.Tensor((2,), "tf32"),
// CHECK-NEXT:         arg10: T.Buffer((2,), "float8_e4m3fn"),
// CHECK-NEXT:         arg11: T.float8_e4m3fnx4,
// CHECK-NEXT:         arg12: T.Buffer((2,), "bool"),
// CHECK-NEXT:         arg13: T.uint8x4,
// CHECK-NEXT:         arg14: T.i1000,
// CHECK-NEXT:         arg15: R.Tensor((9223372036854775807,), "float32"),
// CHECK-NEXT:         arg16: T.Buffer((0,), "float32"),
// CHECK-NEXT:         arg17: T.i128x4,
// CHECK-NEXT:         arg18: T.Vector((), "float32"),
// CHECK-NEXT:         arg19: R.Tensor((2,), "complex<f64>"),
// CHECK-NEXT:     ):
// CHECK-NEXT:         return
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def locations(
// CHECK-NEXT:         x_y: R.Tensor((4,), "float32"),
// CHECK-NEXT:         x_y_1: R.Tensor((4,), "float32"),
// CHECK-NEXT:     ) -> R.Tensor((4,), "float32"):
// CHECK-NEXT:         class_: R.Tensor((4,), "float32") = R.add(x_y, x_y_1)
// CHECK-NEXT:         class__1: R.Tensor((4,), "float32") = R.add(class_, x_y_1)
// CHECK-NEXT:         _1_2: R.Tensor((4,), "float32") = R.add(class__1, x_y_1)
// CHECK-NEXT:         R_1: R.Tensor((4,), "float32") = R.add(_1_2, x_y_1)
// CHECK-NEXT:         add_0_cls: R.Tensor((4,), "float32") = R.add(R_1, x_y_1)
// CHECK-NEXT:         n: R.Tensor((4,), "float32") = R.add(add_0_cls, x_y_1)
// CHECK-NEXT:         add_0: R.Tensor((4,), "float32") = R.add(n, x_y_1, attrs={"t.x": 1})
// CHECK-NEXT:         return add_0
// CHECK:     @R.function(name="def", named=False)
// CHECK-NEXT:     def def_(arg0: T.int32) -> T.int32:
// CHECK-NEXT:         return func.call(arg0, callee=I.attr("@def"))
// CHECK:     @R.function(name="a b", named=False)
// CHECK-NEXT:     def a_b(arg0: T.int32) -> T.int32:
// CHECK-NEXT:         return func.call(arg0, callee=I.attr("@\"a b\""))
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def cls(arg0: T.int32) -> T.int32:
// CHECK-NEXT:         v0 = cls.cls(arg0)
// CHECK-NEXT:         return v0
// CHECK:     @R.function(name="é", named=False)
// CHECK-NEXT:     def function(arg0: T.int32) -> T.int32:
// CHECK-NEXT:         return func.call(arg0, callee=I.attr("@\"\\C3\\A9\""))
// CHECK:     @R.function(name="1x", named=False)
// CHECK-NEXT:     def _1x(arg0: T.int32) -> T.int32:
// CHECK-NEXT:         return func.call(arg0, callee=I.attr("@\"1x\""))
// CHECK:     @R.function(name="a.b", named=False)
// CHECK-NEXT:     def a_b(arg0: T.int32) -> T.int32:
// CHECK-NEXT:         return func.call(arg0, callee=I.attr("@a.b"))
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def if_(arg0: T.int32) -> T.int32:
// CHECK-NEXT:         v0 = cls.if_(arg0)
// CHECK-NEXT:         return v0
// CHECK:     @I.ir_module
// CHECK-NEXT:     class outer:
// CHECK:         @I.ir_module
// CHECK-NEXT:         class inner:
// CHECK-NEXT:             @R.function
// CHECK-NEXT:             def f():
// CHECK-NEXT:                 return
// CHECK:             @I.ir_module(name=None)
// CHECK-NEXT:             class Module:
// CHECK-NEXT:                 @R.function(named=False)
// CHECK-NEXT:                 def g(arg0: T.int32) -> T.int32:
// CHECK-NEXT:                     return arg0
// CHECK:             @I.ir_module(name="a b", attrs={"t.x": 1})
// CHECK-NEXT:             class Module:
// CHECK-NEXT:                 pass
// CHECK:         @I.ir_module
// CHECK-NEXT:         class f:
// CHECK-NEXT:             pass
// CHECK:         @I.ir_module
// CHECK-NEXT:         class Module:
// CHECK-NEXT:             pass
// CHECK:         @I.ir_module(name="class")
// CHECK-NEXT:         class Module:
// CHECK-NEXT:             pass
// CHECK:         @R.function
// CHECK-NEXT:         def g():
// CHECK-NEXT:             return
