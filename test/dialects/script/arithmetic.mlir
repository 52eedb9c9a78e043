// RUN: relax-opt %s --allow-unregistered-dialect --print-script -o %t.py && FileCheck %s --input-file=%t.py
// RUN: relax-opt %t.py --allow-unregistered-dialect --print-script | diff %t.py -
// Numbers and signs: each number comes back bit for bit; signs bind as in Python.

func.func @numbers(%x: f32, %i: i32, %v: vector<4xf32>) -> (f32, i32, i1, vector<4xf32>) {
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

func.func @floats()  {

  %0 = arith.constant 0x7FC00000 : f32
  %1 = arith.constant 0x7FC00001 : f32
  %2 = arith.constant 0xFFC00000 : f32
  %3 = arith.constant 0x7F800000 : f32
  %4 = arith.constant 0xFF800000 : f32
  %5 = arith.constant -0.0 : f32
  %6 = arith.constant 1.0e-45 : f32
  %7 = arith.constant 3.4028235e38 : f32
  %8 = arith.constant 0x7E00 : f16
  %9 = arith.constant 0x7C00 : f16
  %10 = arith.constant 0x0001 : f16
  %11 = arith.constant 0x7FC0 : bf16
  %12 = arith.constant 0x7FC1 : bf16
  %13 = arith.constant 3.3895314e38 : bf16
  %14 = arith.constant 0x7F : f8E4M3FN
  %15 = arith.constant 4.48e2 : f8E4M3FN
  %16 = arith.constant -0.0 : f8E5M2
  %17 = arith.constant 0x7C : f8E5M2
  %18 = arith.constant 5.0e-324 : f64
  %19 = arith.constant 0x7FF8000000000001 : f64
  %20 = arith.constant 1.7976931348623157e308 : f64
  %21 = arith.constant 0x7FA00000 : f32
  %22 = arith.constant 0.1 : f16
  %23 = arith.constant 0.1 : bf16
  %24 = arith.constant 0.1 : f64
  %25 = arith.constant 0.1 : f32
  %26 = arith.constant 0.5 : tf32
  %27 = arith.constant 1.0 : f128
  %28 = arith.constant 1.0 : f80
  %29 = arith.constant 0x80 : f8E4M3FNUZ
  "t.use"(%0) : (f32) -> ()
  "t.use"(%1) : (f32) -> ()
  "t.use"(%2) : (f32) -> ()
  "t.use"(%3) : (f32) -> ()
  "t.use"(%4) : (f32) -> ()
  "t.use"(%5) : (f32) -> ()
  "t.use"(%6) : (f32) -> ()
  "t.use"(%7) : (f32) -> ()
  "t.use"(%8) : (f16) -> ()
  "t.use"(%9) : (f16) -> ()
  "t.use"(%10) : (f16) -> ()
  "t.use"(%11) : (bf16) -> ()
  "t.use"(%12) : (bf16) -> ()
  "t.use"(%13) : (bf16) -> ()
  "t.use"(%14) : (f8E4M3FN) -> ()
  "t.use"(%15) : (f8E4M3FN) -> ()
  "t.use"(%16) : (f8E5M2) -> ()
  "t.use"(%17) : (f8E5M2) -> ()
  "t.use"(%18) : (f64) -> ()
  "t.use"(%19) : (f64) -> ()
  "t.use"(%20) : (f64) -> ()
  "t.use"(%21) : (f32) -> ()
  "t.use"(%22) : (f16) -> ()
  "t.use"(%23) : (bf16) -> ()
  "t.use"(%24) : (f64) -> ()
  "t.use"(%25) : (f32) -> ()
  "t.use"(%26) : (tf32) -> ()
  "t.use"(%27) : (f128) -> ()
  "t.use"(%28) : (f80) -> ()
  "t.use"(%29) : (f8E4M3FNUZ) -> ()
  return
}

func.func @integers()  {

  %0 = arith.constant true
  %1 = arith.constant false
  %2 = arith.constant -8 : i4
  %3 = arith.constant 7 : i4
  %4 = arith.constant -9223372036854775808 : i64
  %5 = arith.constant 9223372036854775807 : i64
  %6 = arith.constant -9223372036854775808 : index
  %7 = arith.constant 170141183460469231731687303715884105727 : i128
  %8 = arith.constant -1 : i8
  %9 = arith.constant -170141183460469231731687303715884105728 : i128
  %10 = arith.constant 0 : i0
  %11 = arith.constant 5 : i23
  %12 = arith.constant 0 : i1
  "t.use"(%0) : (i1) -> ()
  "t.use"(%1) : (i1) -> ()
  "t.use"(%2) : (i4) -> ()
  "t.use"(%3) : (i4) -> ()
  "t.use"(%4) : (i64) -> ()
  "t.use"(%5) : (i64) -> ()
  "t.use"(%6) : (index) -> ()
  "t.use"(%7) : (i128) -> ()
  "t.use"(%8) : (i8) -> ()
  "t.use"(%9) : (i128) -> ()
  "t.use"(%11) : (i23) -> ()
  "t.use"(%12) : (i1) -> ()
  "t.use"(%10) : (i0) -> ()
  return
}

func.func @order() -> i32  {

  %c5 = arith.constant 5 : i32
  %true = arith.constant true
  %0 = "t.x"() : () -> i32
  %1 = "t.y"() : () -> i32
  %2 = arith.subi %1, %0 : i32
  %3 = "t.x"() : () -> i32
  %4 = arith.addi %2, %3 : i32
  %5 = arith.muli %4, %4 : i32
  %6 = arith.addi %5, %2 : i32
  %7 = arith.shrsi %6, %5 : i32
  %8 = arith.shrui %6, %5 : i32
  %9 = arith.floordivsi %8, %7 : i32
  %10 = arith.ceildivsi %8, %7 : i32
  %11 = arith.cmpi ult, %9, %10 : i32
  %12 = arith.select %11, %9, %10 : i32
  %13 = arith.addi %12, %c5 overflow<nsw, nuw> : i32
  %14 = arith.addi %c5, %c5 : i32
  %15 = arith.cmpi eq, %c5, %c5 : i32
  %16 = arith.xori %15, %true : i1
  %17, %18 = arith.addui_extended %13, %14 : i32, i1
  return %17 : i32
}

func.func @floats_of_signs(%x: f32, %y: f32) -> (f32, f32, i1, i1)  {
  %c = arith.constant 2.0 : f32
  %m = arith.constant -1.5 : f32
  %inf = arith.constant 0x7F800000 : f32
  %nan = arith.constant 0x7FC00000 : f32

  %0 = arith.addf %x, %y fastmath<fast> : f32
  %1 = arith.negf %0 : f32
  %2 = arith.negf %1 : f32
  %3 = arith.subf %2, %1 : f32
  %4 = arith.cmpf ueq, %3, %x : f32
  %5 = arith.cmpf one, %3, %x : f32
  %6 = arith.cmpf une, %3, %x : f32
  %7 = arith.cmpf olt, %3, %x fastmath<nnan> : f32
  %8 = arith.mulf %x, %c : f32
  %9 = arith.mulf %c, %x : f32
  %10 = arith.divf %m, %m : f32
  %11 = arith.subf %10, %m : f32
  %12 = arith.negf %m : f32
  %13 = arith.cmpi ne, %4, %5 : i1
  %14 = arith.cmpi eq, %13, %6 : i1
  %15 = arith.subf %9, %8 : f32
  %16 = arith.remf %15, %11 : f32
  %17 = math.exp %16 : f32
  %18 = math.fma %17, %c, %m : f32
  %19 = arith.addf %18, %inf : f32
  %20 = arith.addf %19, %nan : f32
  return %20, %12, %14, %7 : f32, f32, i1, i1
}

func.func @with_attributes(%x: f32) -> (f32 {t.a}, f32) attributes {llvm.emit_c_interface, t.b = [@order], no_inline} { %0 = arith.addf %x, %x {t.attr = 1} : f32
  %1 = math.exp %0 fastmath<nnan,ninf> : f32
  %2 = arith.addf %0, %1 {fastmath = #arith.fastmath<nnan>} : f32
  %3 = arith.cmpf olt, %0, %1 {t.c} : f32
  %4 = arith.constant {t.d} 1.0 : f32
  %5 = arith.addf %4, %2 : f32
  return {t.ret} %5, %1 : f32, f32 }

// CHECK: @I.ir_module(ssa=True)
// CHECK-NEXT: class Module:
// CHECK-NEXT:     @R.function(named=False)
// CHECK-NEXT:     def numbers(
// CHECK-NEXT:         arg0: T.float32,
// CHECK-NEXT:         arg1: T.int32,
// CHECK-NEXT:         arg2: T.float32x4,
// CHECK-NEXT:     ) -> R.Tuple(T.float32, T.int32, T.bool, T.float32x4):
// CHECK-NEXT:         return 0.1 * arg0 - 2.0 * (arg0 - -1.5), arg1 + -3, (arg1 == 7) ^ True, 0.5 * arg2
// CHECK:     @R.function
// CHECK-NEXT:     def floats():
// CHECK-NEXT:         t.use(T.float32("nan"))
// CHECK-NEXT:         t.use(I.const("0x7FC00001 : f32"))
// CHECK-NEXT:         t.use(I.const("0xFFC00000 : f32"))
// CHECK-NEXT:         t.use(T.float32("inf"))
// CHECK-NEXT:         t.use(T.float32("-inf"))
// CHECK-NEXT:         t.use(T.float32(-0.0))
// CHECK-NEXT:         t.use(T.float32(1.4013e-45))
// CHECK-NEXT:         t.use(T.float32(3.4028235e+38))
// CHECK-NEXT:         t.use(T.float16("nan"))
// CHECK-NEXT:         t.use(T.float16("inf"))
// CHECK-NEXT:         t.use(T.float16(5.960464477539063e-08))
// CHECK-NEXT:         t.use(T.bfloat16("nan"))
// CHECK-NEXT:         t.use(I.const("0x7FC1 : bf16"))
// CHECK-NEXT:         t.use(T.bfloat16(3.3895313892515355e+38))
// CHECK-NEXT:         t.use(T.float8_e4m3fn("nan"))
// CHECK-NEXT:         t.use(T.float8_e4m3fn(448.0))
// CHECK-NEXT:         t.use(T.float8_e5m2(-0.0))
// CHECK-NEXT:         t.use(T.float8_e5m2("inf"))
// CHECK-NEXT:         t.use(T.float64(5e-324))
// CHECK-NEXT:         t.use(I.const("0x7FF8000000000001 : f64"))
// CHECK-NEXT:         t.use(T.float64(1.7976931348623157e+308))
// CHECK-NEXT:         t.use(I.const("0x7FA00000 : f32"))
// CHECK-NEXT:         t.use(T.float16(0.0999755859375))
// CHECK-NEXT:         t.use(T.bfloat16(0.10009765625))
// CHECK-NEXT:         t.use(T.float64(0.1))
// CHECK-NEXT:         t.use(T.float32(0.1))
// CHECK-NEXT:         t.use(T.tf32(0.5))
// CHECK-NEXT:         t.use(I.const(I.attr("1.000000e+00 : f128")))
// CHECK-NEXT:         t.use(I.const(I.attr("1.000000e+00 : f80")))
// CHECK-NEXT:         t.use(T.float8_e4m3fnuz("nan"))
// CHECK-NEXT:         return
// CHECK:     @R.function
// CHECK-NEXT:     def integers():
// CHECK-NEXT:         t.use(T.bool(True))
// CHECK-NEXT:         t.use(T.bool(False))
// CHECK-NEXT:         t.use(T.int4(-8))
// CHECK-NEXT:         t.use(T.int4(7))
// CHECK-NEXT:         t.use(T.int64(-9223372036854775808))
// CHECK-NEXT:         t.use(T.int64(9223372036854775807))
// CHECK-NEXT:         t.use(T.index(-9223372036854775808))
// CHECK-NEXT:         t.use(T.i128(170141183460469231731687303715884105727))
// CHECK-NEXT:         t.use(T.int8(-1))
// CHECK-NEXT:         t.use(T.i128(-170141183460469231731687303715884105728))
// CHECK-NEXT:         t.use(T.i23(5))
// CHECK-NEXT:         t.use(T.bool(False))
// CHECK-NEXT:         t.use(I.const(I.attr("0 : i0")))
// CHECK-NEXT:         return
// CHECK:     @R.function
// CHECK-NEXT:     def order() -> T.int32:
// CHECK-NEXT:         v0 = t.x(T.int32)
// CHECK-NEXT:         v1 = t.y(T.int32)
// CHECK-NEXT:         v2 = v1 - v0
// CHECK-NEXT:         v3 = v2 + t.x(T.int32)
// CHECK-NEXT:         v4 = v3 * v3
// CHECK-NEXT:         v5 = v4 + v2
// CHECK-NEXT:         v6 = v5 >> v4
// CHECK-NEXT:         v7 = arith.shrui(v5, v4)
// CHECK-NEXT:         v8 = v7 // v6
// CHECK-NEXT:         v9 = arith.ceildivsi(v7, v6)
// CHECK-NEXT:         v10 = arith.addi(arith.select(arith.cmpi(v8, v9, T.bool, predicate=6), v8, v9), 5, overflowFlags="nsw, nuw")
// CHECK-NEXT:         v11 = T.int32(5) + 5
// CHECK-NEXT:         v12 = (T.int32(5) == 5) ^ True
// CHECK-NEXT:         v13, v14 = arith.addui_extended(v10, v11, T.int32, T.bool)
// CHECK-NEXT:         return v13
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def floats_of_signs(arg0: T.float32, arg1: T.float32) -> R.Tuple(T.float32, T.float32, T.bool, T.bool):
// CHECK-NEXT:         v0 = -arith.addf(arg0, arg1, fastmath="fast")
// CHECK-NEXT:         v1 = -v0 - v0
// CHECK-NEXT:         v2 = arith.cmpf(v1, arg0, T.bool, predicate=8)
// CHECK-NEXT:         v3 = arith.cmpf(v1, arg0, T.bool, predicate=6)
// CHECK-NEXT:         v4 = v1 != arg0
// CHECK-NEXT:         v5 = arith.cmpf(v1, arg0, T.bool, fastmath="nnan", predicate=4)
// CHECK-NEXT:         v6 = arg0 * 2.0
// CHECK-NEXT:         v7 = 2.0 * arg0
// CHECK-NEXT:         v8 = T.float32(-1.5) / -1.5 - -1.5
// CHECK-NEXT:         v9 = -T.float32(-1.5)
// CHECK-NEXT:         v10 = (v2 != v3) == v4
// CHECK-NEXT:         v11 = math.fma(math.exp(arith.remf(v7 - v6, v8)), 2.0, -1.5) + T.float32("inf")
// CHECK-NEXT:         return v11 + T.float32("nan"), v9, v10, v5
// CHECK:     @R.function(named=False, attrs={"llvm.emit_c_interface": I.unit, "no_inline": I.unit, "t.b": [cls.order]})
// CHECK-NEXT:     def with_attributes(arg0: T.float32) -> R.Tuple(I.annotated(T.float32, {"t.a": I.unit}), T.float32):
// CHECK-NEXT:         v0 = arith.addf(arg0, arg0, attrs={"t.attr": 1})
// CHECK-NEXT:         v1 = math.exp(v0, fastmath="nnan,ninf")
// CHECK-NEXT:         v2 = arith.addf(v0, v1, fastmath="nnan")
// CHECK-NEXT:         v3 = arith.cmpf(v0, v1, T.bool, predicate=4, attrs={"t.c": I.unit})
// CHECK-NEXT:         v4 = arith.constant(T.float32, value=I.attr("1.000000e+00 : f32"), attrs={"t.d": I.unit})
// CHECK-NEXT:         func.return_(v4 + v2, v1, attrs={"t.ret": I.unit})
