// RUN: relax-opt %s --allow-unregistered-dialect --print-script -o %t.py && FileCheck %s --input-file=%t.py
// RUN: relax-opt %t.py --allow-unregistered-dialect --print-script | diff %t.py -
// Operations without a form of their own: operands, types, attributes; regions and blocks below `with`.

func.func @unregistered(%x: i32)  {

  %0 = "t.a"(%x) {to = 1, attrs = 2, segments = 3, mask = 4, class = 5, "a-b" = 6, loc = 7} : (i32) -> i32
  %1:2 = "t.if.else"(%0, %x) : (i32, i32) -> (i32, f32)
  "t-x.y z"(%0) : (i32) -> ()
  %2 = "t.none"() : () -> i32
  %3 = "t.tens"(%x) : (i32) -> tensor<*xf32>
  "cls.f"() : () -> ()
  %4 = "I.x"() : () -> i32
  %5 = "R.x"() : () -> i32
  %6 = "T.y"(%x) : (i32) -> i32
  "range.x"(%x) : (i32) -> ()
  "é.ü"(%x) : (i32) -> ()
  "nodot"(%x) : (i32) -> ()
  "t.vstore"(%x) : (i32) -> ()
  "A.vstore"(%x) : (i32) -> ()
  "t.shape"(%x) : (i32) -> ()
  "I.op"(%x) : (i32) -> ()
  "I.const"(%x) : (i32) -> ()
  "R.const"(%x) : (i32) -> ()
  "T.float32"(%x) : (i32) -> ()
  return
}

func.func @regions(%x: i32, %c: i1, %n: index) -> (i32)  {

  %r = scf.execute_region -> i32 {
   cf.cond_br %c, ^a, ^b(%x : i32)
  ^a:
   cf.br ^b(%x : i32)
  ^b(%y: i32):
   scf.yield %y : i32
  }
  %0:2 = "t.r"(%x) ({ ^bb0(%q: i32): "t.end"(%q) : (i32) -> () }, {}, { "t.end"() : () -> () }) {k = 1} : (i32) -> (i32, f32)
  "t.r2"() ({}) : () -> ()
  "t.r3"() ({ ^bb0(%q: i32): "t.br"(%q)[^bb1] : (i32) -> ()
  ^bb1: "t.br"()[^bb1, ^bb1] : () -> () }) : () -> ()
  %w:2 = scf.while (%i = %x, %j = %x) : (i32, i32) -> (i32, i32) { %cc = arith.cmpi slt, %i, %j : i32
   scf.condition(%cc) %i, %j : i32, i32 } do { ^bb0(%i2: i32, %j2: i32): scf.yield %j2, %i2 : i32, i32 }
  scf.index_switch %n case 2 { scf.yield } case 5 { scf.yield } default { scf.yield }
  return %0#0 : i32
}

memref.global "private" constant @c : memref<2xf32> = dense<[1.0, 2.0]>
memref.global @d : memref<2xf32>
"t.x"() {a = 1} : () -> ()
%y = "t.y"() : () -> i32
"t.z"(%y) : (i32) -> ()
func.func @f() -> memref<2xf32> { %0 = memref.get_global @c : memref<2xf32>
  return %0 : memref<2xf32> }
func.func @g() { func.call @f() : () -> memref<2xf32>
  %f = func.constant @g : () -> ()
  func.call_indirect %f() : () -> ()
  return }

func.func @unwritable(%x: i32)  {
  %0 = "t.a"(%x) {b = dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>} : (i32) -> i32
  return
}

"t.m"() ({ ^bb0: }) : () -> ()
"t.m"() ({}) : () -> ()
"t.m"() ({ %k = arith.constant 1 : i32 }) : () -> ()

func.func @nest(%A: tensor<4xf32>, %B: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps=[affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],iterator_types=["parallel"]} ins(%A: tensor<4xf32>) outs(%B: tensor<4xf32>) { ^bb0(%a: f32, %b: f32):
   %1 = "t.a"(%a) {c = dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>} : (f32) -> f32
   linalg.yield %1 : f32 } -> tensor<4xf32>
  return %0 : tensor<4xf32> }
func.func @behind(%A: tensor<4xf32>, %B: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps=[affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],iterator_types=["parallel"]} ins(%A: tensor<4xf32>) outs(%B: tensor<4xf32>) { ^bb0(%a: f32, %b: f32):
   linalg.yield %a : f32 } -> tensor<4xf32>
  return %0 : tensor<4xf32> }

"t.m"() ({ %0 = "t.a"(%1) : (i32) -> i32
  %1 = "t.b"(%0) : (i32) -> i32 }) : () -> ()

func.func @argument(%a: i32 {t.a = dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>}) { return }

// CHECK: @I.ir_module(ssa=True)
// CHECK-NEXT: class Module:
// CHECK-NEXT:     @R.function(named=False)
// CHECK-NEXT:     def unregistered(arg0: T.int32):
// CHECK-NEXT:         v0 = t.a(arg0, loc=7, mask=4, attrs={"a-b": 6, "attrs": 2, "class": 5, "segments": 3, "to": 1})
// CHECK-NEXT:         v1, v2 = t.if_.else_(v0, arg0, T.int32, T.float32)
// CHECK-NEXT:         I.op("t-x.y z", v0)
// CHECK-NEXT:         v3 = t.none(T.int32)
// CHECK-NEXT:         tens_0 = t.tens(arg0, R.Tensor("float32"))
// CHECK-NEXT:         I.op("cls.f")
// CHECK-NEXT:         v4 = I.op("I.x", T.int32)
// CHECK-NEXT:         v5 = I.op("R.x", T.int32)
// CHECK-NEXT:         v6 = I.op("T.y", arg0)
// CHECK-NEXT:         range.x(arg0)
// CHECK-NEXT:         I.op("é.ü", arg0)
// CHECK-NEXT:         I.op("nodot", arg0)
// CHECK-NEXT:         I.op("t.vstore", arg0)
// CHECK-NEXT:         I.op("A.vstore", arg0)
// CHECK-NEXT:         t.shape(arg0)
// CHECK-NEXT:         I.op("I.op", arg0)
// CHECK-NEXT:         I.op("I.const", arg0)
// CHECK-NEXT:         I.op("R.const", arg0)
// CHECK-NEXT:         I.op("T.float32", arg0)
// CHECK-NEXT:         return
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def regions(arg0: T.int32, arg1: T.bool, arg2: T.index) -> T.int32:
// CHECK-NEXT:         with scf.execute_region(T.int32) as v0:
// CHECK-NEXT:             def bb0():
// CHECK-NEXT:                 cf.cond_br(arg1, arg0, segments=(1, 0, 1), to=(bb1, bb2))
// CHECK-NEXT:             def bb1():
// CHECK-NEXT:                 cf.br(arg0, to=(bb2,))
// CHECK-NEXT:             def bb2(arg3: T.int32):
// CHECK-NEXT:                 scf.yield_(arg3)
// CHECK-NEXT:         with t.r(arg0, T.int32, T.float32, k=1) as (v1, v2):
// CHECK-NEXT:             with I.region():
// CHECK-NEXT:                 def bb0(arg3: T.int32):
// CHECK-NEXT:                     t.end(arg3)
// CHECK-NEXT:             with I.region():
// CHECK-NEXT:                 pass
// CHECK-NEXT:             with I.region():
// CHECK-NEXT:                 t.end()
// CHECK-NEXT:         with t.r2():
// CHECK-NEXT:             pass
// CHECK-NEXT:         with t.r3():
// CHECK-NEXT:             def bb0(arg3: T.int32):
// CHECK-NEXT:                 t.br(arg3, to=(bb1,))
// CHECK-NEXT:             def bb1():
// CHECK-NEXT:                 t.br(to=(bb1, bb1))
// CHECK-NEXT:         with scf.while_(arg0, arg0, T.int32, T.int32) as (v3, v4):
// CHECK-NEXT:             with I.region():
// CHECK-NEXT:                 def bb0(arg3: T.int32, arg4: T.int32):
// CHECK-NEXT:                     scf.condition(arg3 < arg4, arg3, arg4)
// CHECK-NEXT:             with I.region():
// CHECK-NEXT:                 def bb0(arg3: T.int32, arg4: T.int32):
// CHECK-NEXT:                     scf.yield_(arg4, arg3)
// CHECK-NEXT:         with scf.index_switch(arg2, cases=(2, 5)):
// CHECK-NEXT:             with I.region():
// CHECK-NEXT:                 scf.yield_()
// CHECK-NEXT:             with I.region():
// CHECK-NEXT:                 scf.yield_()
// CHECK-NEXT:             with I.region():
// CHECK-NEXT:                 scf.yield_()
// CHECK-NEXT:         return v1
// CHECK:     memref.global_(constant=I.unit, initial_value=I.attr("dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>"), sym_name="c", sym_visibility="private", type=T.Buffer((2,), "float32"))
// CHECK-NEXT:     memref.global_(sym_name="d", type=T.Buffer((2,), "float32"))
// CHECK-NEXT:     t.x(a=1)
// CHECK-NEXT:     v0 = t.y(T.int32)
// CHECK-NEXT:     t.z(v0)
// CHECK-EMPTY:
// CHECK-NEXT:     @R.function
// CHECK-NEXT:     def f() -> T.Buffer((2,), "float32"):
// CHECK-NEXT:         v0 = memref.get_global(T.Buffer((2,), "float32"), name=cls.c)
// CHECK-NEXT:         return v0
// CHECK:     @R.function
// CHECK-NEXT:     def g():
// CHECK-NEXT:         v0 = cls.f()
// CHECK-NEXT:         func.call_indirect(func.constant(I.type("() -> ()"), value=cls.g))
// CHECK-NEXT:         return
// CHECK:     I.mlir(r"""module {
// CHECK-NEXT:   func.func @unwritable(%arg0: i32) {
// CHECK-NEXT:     %0 = "t.a"(%arg0) {b = dense<(1.000000e+00,2.000000e+00)> : tensor<2xcomplex<f32>>} : (i32) -> i32
// CHECK-NEXT:     return
// CHECK-NEXT:   }
// CHECK-NEXT: }""")
// CHECK:     with t.m():
// CHECK-NEXT:         def bb0():
// CHECK-NEXT:             pass
// CHECK-NEXT:     with t.m():
// CHECK-NEXT:         pass
// CHECK-NEXT:     with t.m():
// CHECK-NEXT:         def bb0():
// CHECK-NEXT:             pass
// CHECK-NEXT:     I.mlir(r"""#map = affine_map<(d0) -> (d0)>
// CHECK-NEXT: module {
// CHECK-NEXT:   func.func @nest(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:     %0 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xf32>) outs(%arg1 : tensor<4xf32>) {
// CHECK-NEXT:     ^bb0(%in: f32, %out: f32):
// CHECK-NEXT:       %1 = "t.a"(%in) {c = dense<(1.000000e+00,2.000000e+00)> : tensor<2xcomplex<f32>>} : (f32) -> f32
// CHECK-NEXT:       linalg.yield %1 : f32
// CHECK-NEXT:     } -> tensor<4xf32>
// CHECK-NEXT:     return %0 : tensor<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }""")
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def behind(arg0: R.Tensor((4,), "float32"), arg1: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
// CHECK-NEXT:         for i in T.grid(4): arg1[i] = arg0[i]
// CHECK-NEXT:         return arg1
// CHECK:     I.mlir(r"""module {
// CHECK-NEXT:   "t.m"() ({
// CHECK-NEXT:     %0 = "t.a"(%1) : (i32) -> i32
// CHECK-NEXT:     %1 = "t.b"(%0) : (i32) -> i32
// CHECK-NEXT:   }) : () -> ()
// CHECK-NEXT: }""")
// CHECK:     I.mlir(r"""module {
// CHECK-NEXT:   func.func @argument(%arg0: i32 {t.a = dense<(1.000000e+00,2.000000e+00)> : tensor<2xcomplex<f32>>}) {
// CHECK-NEXT:     return
// CHECK-NEXT:   }
// CHECK-NEXT: }""")
