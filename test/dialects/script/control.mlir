// RUN: relax-opt %s --allow-unregistered-dialect --print-script -o %t.py && FileCheck %s --input-file=%t.py
// RUN: relax-opt %t.py --allow-unregistered-dialect --print-script | diff %t.py -
// Loops name what they carry; branches give what both sides assign last; blocks are functions.

func.func @loops(%n: index, %x: f32, %y: f32, %m0: i32, %m1: i32, %m2: i32, %mem: memref<4xf32>) -> (f32, f32, f32, f32, f32, f32, f32, f32)  {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %cst = arith.constant 1.0 : f32

  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (f32, f32) {
   scf.yield %b, %a : f32, f32 }
  %s:3 = scf.for %i = %c0 to %n step %c4 iter_args(%a = %x, %b = %x, %c = %x) -> (f32, f32, f32) {
   %0 = arith.addf %a, %b : f32
   %t:2 = scf.for %j = %i to %n step %c1 iter_args(%p = %c, %q = %0) -> (f32, f32) {
     %1 = arith.mulf %q, %p : f32
     scf.yield %p, %1 : f32, f32 }
   scf.yield %t#1, %0, %c : f32, f32, f32 }
  %u = scf.for %k = %m0 to %m1 step %m2 iter_args(%a = %x) -> f32 : i32 { scf.yield %a : f32 }
  scf.for %k = %c0 to %n step %c1 { }
  %v = scf.for %k = %c0 to %n step %c1 iter_args(%a = %cst) -> f32 { %q = arith.addf %cst, %a : f32
   scf.yield %cst : f32 } {t.attr = 1}
  %w:2 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %mem, %b = %x) -> (memref<4xf32>, f32) { memref.store %b, %a[%k] : memref<4xf32>
   scf.yield %mem, %b : memref<4xf32>, f32 }
  %z = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x) -> f32 { %q = scf.for %l = %c0 to %n step %c1 iter_args(%aa = %x) -> f32 { %o = arith.addf %aa, %x : f32
   scf.yield %o : f32 }
   scf.yield %q : f32 }
  return %r#0, %r#1, %s#0, %s#2, %u, %v, %z, %x : f32, f32, f32, f32, f32, f32, f32, f32
}

func.func @branches(%c: i1, %x: f32, %i: i32, %t: tensor<4xf32>, %n: index) -> (f32, i32)  {
  %k = arith.constant 3 : i32

  %0:2 = scf.if %c -> (f32, i32) { scf.yield %x, %i : f32, i32 } else { %y = arith.addf %x, %x : f32
   scf.yield %y, %k : f32, i32 }
  scf.if %c { "t.a"() : () -> () }
  scf.if %c { } else { "t.a"() : () -> () }
  scf.if %c { %q = arith.addf %x, %x : f32
   %q2 = arith.addf %x, %x : f32 } else { %q = arith.addf %x, %x : f32
   %q2 = arith.addf %x, %x : f32 }
  scf.if %c { %q = "t.a"() : () -> f32 } else { %q = "t.a"() : () -> f32 }
  %1 = scf.if %c -> f32 { %2 = scf.if %c -> f32 { scf.yield %x : f32 } else { scf.yield %0#0 : f32 }
   scf.yield %2 : f32 } else { scf.yield %x : f32 }
  scf.if %c { %s = tensor.insert %x into %t[%n] : tensor<4xf32> } else { %s = tensor.insert %x into %t[%n] : tensor<4xf32> }
  return %1, %0#1 : f32, i32
}

func.func @blocks(%x: i32, %n: i32) -> (i32)  {

  cf.br ^a(%x : i32)
^a(%0: i32):
  %c = arith.cmpi slt, %0, %n : i32
  cf.cond_br %c, ^b(%0, %x : i32, i32), ^c
^b(%1: i32, %2: i32):
  %3 = arith.addi %1, %2 : i32
  cf.switch %3 : i32, [ default: ^a(%3 : i32), 1: ^c, 2: ^c ]
^c:
  return %0 : i32
}

func.func @above()  {

  cf.br ^b
^a:
  "t.use"(%0) : (i32) -> ()
  return
^b:
  %0 = "t.x"() : () -> i32
  cf.br ^a
}

func.func @while(%n: i64, %a: memref<4xi64>) -> (i64, i32) {
  %c1 = arith.constant 1 : i64
  %c0 = arith.constant 0 : index
  %0 = scf.while (%x = %c1) : (i64) -> i64 {
    %1 = arith.cmpi slt, %x, %n : i64
    scf.condition(%1) %x : i64
  } do {
  ^bb0(%x: i64):
    %1 = arith.addi %x, %c1 : i64
    scf.yield %1 : i64
  }
  %2 = scf.while (%x = %0) : (i64) -> i32 {
    memref.store %x, %a[%c0] : memref<4xi64>
    %3 = arith.cmpi ult, %x, %n : i64
    %4 = arith.trunci %x : i64 to i32
    scf.condition(%3) %4 : i32
  } do {
  ^bb0(%x: i32):
    %3 = arith.extui %x : i32 to i64
    scf.yield %3 : i64
  }
  return %0, %2 : i64, i32
}

// CHECK: @I.ir_module(ssa=True)
// CHECK-NEXT: class Module:
// CHECK-NEXT:     @R.function(named=False)
// CHECK-NEXT:     def loops(
// CHECK-NEXT:         arg0: T.index,
// CHECK-NEXT:         arg1: T.float32,
// CHECK-NEXT:         arg2: T.float32,
// CHECK-NEXT:         arg3: T.int32,
// CHECK-NEXT:         arg4: T.int32,
// CHECK-NEXT:         arg5: T.int32,
// CHECK-NEXT:         arg6: T.Buffer((4,), "float32"),
// CHECK-NEXT:     ) -> R.Tuple(T.float32, T.float32, T.float32, T.float32, T.float32, T.float32, T.float32, T.float32):
// CHECK-NEXT:         v0 = arg1
// CHECK-NEXT:         for i in range(arg0):
// CHECK-NEXT:             v0, arg2 = arg2, v0
// CHECK-NEXT:         v1 = arg1
// CHECK-NEXT:         v2 = arg1
// CHECK-NEXT:         v3 = arg1
// CHECK-NEXT:         for i in range(0, arg0, 4, carry=[v1, v2, v3]):
// CHECK-NEXT:             v4 = v1 + v2
// CHECK-NEXT:             v5 = v3
// CHECK-NEXT:             v6 = v4
// CHECK-NEXT:             for j in range(i, arg0, carry=[v5, v6]):
// CHECK-NEXT:                 v6 = v6 * v5
// CHECK-NEXT:             v1, v2 = v6, v4
// CHECK-NEXT:         v4 = arg1
// CHECK-NEXT:         for i in range(arg3, arg4, arg5, carry=[v4]):
// CHECK-NEXT:             pass
// CHECK-NEXT:         for i in range(arg0):
// CHECK-NEXT:             pass
// CHECK-NEXT:         with scf.for_(0, arg0, 1, T.float32(1.0), attrs={"t.attr": 1}) as v5:
// CHECK-NEXT:             def bb0(arg7: T.index, arg8: T.float32):
// CHECK-NEXT:                 v6 = 1.0 + arg8
// CHECK-NEXT:                 scf.yield_(T.float32(1.0))
// CHECK-NEXT:         v6 = arg6
// CHECK-NEXT:         v7 = arg1
// CHECK-NEXT:         for i in range(arg0, carry=[v6, v7]):
// CHECK-NEXT:             v6[i] = v7
// CHECK-NEXT:             v6 = arg6
// CHECK-NEXT:         v8 = arg1
// CHECK-NEXT:         for i in range(arg0):
// CHECK-NEXT:             v9 = arg1
// CHECK-NEXT:             for j in range(arg0):
// CHECK-NEXT:                 v9 = v9 + arg1
// CHECK-NEXT:             v8 = v9
// CHECK-NEXT:         return v0, arg2, v1, v3, v4, v5, v8, arg1
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def branches(
// CHECK-NEXT:         arg0: T.bool,
// CHECK-NEXT:         arg1: T.float32,
// CHECK-NEXT:         arg2: T.int32,
// CHECK-NEXT:         arg3: R.Tensor((4,), "float32"),
// CHECK-NEXT:         arg4: T.index,
// CHECK-NEXT:     ) -> R.Tuple(T.float32, T.int32):
// CHECK-NEXT:         if arg0:
// CHECK-NEXT:             v0, v1 = arg1, arg2
// CHECK-NEXT:         else:
// CHECK-NEXT:             v0, v1 = arg1 + arg1, T.int32(3)
// CHECK-NEXT:         if arg0:
// CHECK-NEXT:             t.a()
// CHECK-NEXT:         if arg0:
// CHECK-NEXT:             pass
// CHECK-NEXT:         else:
// CHECK-NEXT:             t.a()
// CHECK-NEXT:         if arg0:
// CHECK-NEXT:             v2 = arg1 + arg1
// CHECK-NEXT:             v3 = arg1 + arg1
// CHECK-NEXT:         else:
// CHECK-NEXT:             v2 = arg1 + arg1
// CHECK-NEXT:             v3 = arg1 + arg1
// CHECK-NEXT:             pass
// CHECK-NEXT:         if arg0:
// CHECK-NEXT:             v2 = t.a(T.float32)
// CHECK-NEXT:         else:
// CHECK-NEXT:             v2 = t.a(T.float32)
// CHECK-NEXT:             pass
// CHECK-NEXT:         if arg0:
// CHECK-NEXT:             if arg0:
// CHECK-NEXT:                 v3 = arg1
// CHECK-NEXT:             else:
// CHECK-NEXT:                 v3 = v0
// CHECK-NEXT:             v2 = v3
// CHECK-NEXT:         else:
// CHECK-NEXT:             v2 = arg1
// CHECK-NEXT:         if arg0:
// CHECK-NEXT:             insert_0 = arg3
// CHECK-NEXT:             insert_0[arg4] = arg1
// CHECK-NEXT:         else:
// CHECK-NEXT:             insert_0 = arg3
// CHECK-NEXT:             insert_0[arg4] = arg1
// CHECK-NEXT:             pass
// CHECK-NEXT:         return v2, v1
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def blocks(arg0: T.int32, arg1: T.int32) -> T.int32:
// CHECK-NEXT:         cf.br(arg0, to=(bb0,))
// CHECK-NEXT:         def bb0(arg2: T.int32):
// CHECK-NEXT:             cf.cond_br(arg2 < arg1, arg2, arg0, segments=(1, 2, 0), to=(bb1, bb2))
// CHECK-NEXT:         def bb1(arg3: T.int32, arg4: T.int32):
// CHECK-NEXT:             v0 = arg3 + arg4
// CHECK-NEXT:             cf.switch(v0, v0, case_operand_segments=I.attr("array<i32: 0, 0>"), case_values=I.attr("dense<[1, 2]> : vector<2xi32>"), segments=(1, 1, 0), to=(bb0, bb2, bb2))
// CHECK-NEXT:         def bb2():
// CHECK-NEXT:             return arg2
// CHECK:     I.mlir(r"""module {
// CHECK-NEXT:   func.func @above() {
// CHECK-NEXT:     cf.br ^bb2
// CHECK-NEXT:   ^bb1:  // pred: ^bb2
// CHECK-NEXT:     "t.use"(%0) : (i32) -> ()
// CHECK-NEXT:     return
// CHECK-NEXT:   ^bb2:  // pred: ^bb0
// CHECK-NEXT:     %0 = "t.x"() : () -> i32
// CHECK-NEXT:     cf.br ^bb1
// CHECK-NEXT:   }
// CHECK-NEXT: }""")
// CHECK:     @R.function(name="while", named=False)
// CHECK-NEXT:     def while_(arg0: T.int64, arg1: T.Buffer((4,), "int64")) -> R.Tuple(T.int64, T.int32):
// CHECK-NEXT:         with scf.while_(T.int64(1)) as v0:
// CHECK-NEXT:             with I.region():
// CHECK-NEXT:                 def bb0(arg2: T.int64):
// CHECK-NEXT:                     scf.condition(arg2 < arg0, arg2)
// CHECK-NEXT:             with I.region():
// CHECK-NEXT:                 def bb0(arg2: T.int64):
// CHECK-NEXT:                     scf.yield_(arg2 + 1)
// CHECK-NEXT:         with scf.while_(v0, T.int32) as v1:
// CHECK-NEXT:             with I.region():
// CHECK-NEXT:                 def bb0(arg2: T.int64):
// CHECK-NEXT:                     arg1[0] = arg2
// CHECK-NEXT:                     scf.condition(arith.cmpi(arg2, arg0, T.bool, predicate=6), arith.trunci(arg2, T.int32))
// CHECK-NEXT:             with I.region():
// CHECK-NEXT:                 def bb0(arg2: T.int32):
// CHECK-NEXT:                     scf.yield_(arith.extui(arg2, T.int64))
// CHECK-NEXT:         return v0, v1
