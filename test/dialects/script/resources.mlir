// RUN: relax-opt %s --allow-unregistered-dialect --print-script -o %t.py && FileCheck %s --input-file=%t.py
// RUN: relax-opt %t.py --allow-unregistered-dialect --print-script | diff %t.py -
// Large constants stand at the end, under their names; small ones where they are.

func.func @constants(%a: tensor<*xf32>, %b: tensor<f32>, %c: complex<f32>)  {

  %0 = arith.constant dense<> : tensor<0xf32>
  %1 = arith.constant dense<1.0> : tensor<f32>
  %2 = arith.constant dense<[[1,2],[3,4]]> : tensor<2x2xi64>
  %3 = arith.constant dense<[true,false]> : tensor<2xi1>
  %4 = arith.constant dense<[1.0, 0x7FC00000]> : tensor<2xf32>
  %5 = arith.constant dense<0x7F800000> : tensor<2xf32>
  %7 = arith.constant dense<[-8, 7]> : tensor<2xi4>
  %8 = arith.constant dense<[1,2]> : tensor<2xindex>
  %9 = arith.constant dense<3> : tensor<2x3xi8>
  %10 = arith.constant dense<-0.0> : tensor<2xf16>
  %11 = arith.constant dense<[0.1, -0.0, 1.0e-8]> : tensor<3xf16>
  %12 = arith.constant dense<[0.1, 3.0e38]> : tensor<2xbf16>
  %13 = arith.constant dense<[0.1, 4.0]> : tensor<2xf8E4M3FN>
  %14 = arith.constant dense<> : tensor<2x0x3xi32>
  %15 = arith.constant dense<1.0> : tensor<2xf32, #relax.sym<[2]>>
  %16 = arith.constant dense<5> : vector<4xi32>
  %17 = arith.constant dense<[1,2,3,4]> : vector<4xi32>
  %18 = arith.constant dense<1.0> : vector<f32>
  %19 = arith.constant dense<1> : vector<[4]xi32>
  %20 = arith.constant sparse<[[0]], [1.0]> : tensor<3xf32>
  %21 = arith.constant dense<0.1> : tensor<3x3xf32>
  %22 = arith.constant dense<0x7FC00001> : vector<4xf32>
  %23 = arith.constant dense_resource<foo> : tensor<2xf32>
  %24 = arith.constant dense<[9223372036854775807, -9223372036854775808]> : tensor<2xi64>
  "t.use"(%0) : (tensor<0xf32>) -> ()
  "t.use"(%1) : (tensor<f32>) -> ()
  "t.use"(%2) : (tensor<2x2xi64>) -> ()
  "t.use"(%3) : (tensor<2xi1>) -> ()
  "t.use"(%4) : (tensor<2xf32>) -> ()
  "t.use"(%5) : (tensor<2xf32>) -> ()
  "t.use"(%7) : (tensor<2xi4>) -> ()
  "t.use"(%8) : (tensor<2xindex>) -> ()
  "t.use"(%9) : (tensor<2x3xi8>) -> ()
  "t.use"(%10) : (tensor<2xf16>) -> ()
  "t.use"(%11) : (tensor<3xf16>) -> ()
  "t.use"(%12) : (tensor<2xbf16>) -> ()
  "t.use"(%13) : (tensor<2xf8E4M3FN>) -> ()
  "t.use"(%14) : (tensor<2x0x3xi32>) -> ()
  "t.use"(%15) : (tensor<2xf32, #relax.sym<[2]>>) -> ()
  "t.use"(%16) : (vector<4xi32>) -> ()
  "t.use"(%17) : (vector<4xi32>) -> ()
  "t.use"(%18) : (vector<f32>) -> ()
  "t.use"(%19) : (vector<[4]xi32>) -> ()
  "t.use"(%20) : (tensor<3xf32>) -> ()
  "t.use"(%21) : (tensor<3x3xf32>) -> ()
  "t.use"(%22) : (vector<4xf32>) -> ()
  "t.use"(%23) : (tensor<2xf32>) -> ()
  "t.use"(%24) : (tensor<2xi64>) -> ()
  "t.use"(%a) : (tensor<*xf32>) -> ()
  "t.use"(%b) : (tensor<f32>) -> ()
  "t.use"(%c) : (complex<f32>) -> ()
  return
}

func.func @resources() {
  %0 = arith.constant dense_resource<a> : tensor<4xf16>
  %1 = arith.constant dense_resource<b> : tensor<16xi1>
  %2 = arith.constant dense_resource<"c d"> : tensor<8xi4>
  %3 = arith.constant dense_resource<e> : tensor<2xcomplex<f32>>
  %4 = arith.constant dense_resource<f> : tensor<4xindex>
  %5 = arith.constant dense_resource<g> : tensor<4xf8E4M3FN>
  %6 = arith.constant dense_resource<h> : tensor<4xf32, "enc">
  %7 = arith.constant dense_resource<i> : vector<4xf32>
  %8 = arith.constant dense_resource<j> : tensor<2xi128>
  %9 = arith.constant dense_resource<k> : tensor<0xf32>
  %10 = arith.constant dense_resource<l> : tensor<f32>
  %11 = arith.constant dense_resource<nobytes> : tensor<4xf32>
  %12 = arith.constant dense_resource<a> : tensor<2xi32>
  %13 = arith.constant dense_resource<"é"> : tensor<2xi32>
  %14 = arith.constant dense_resource<"q\22u"> : tensor<2xi32>
  "t.u"() {a = dense_resource<a> : tensor<4xf16>, b = [dense_resource<b> : tensor<16xi1>]} : () -> ()
  return }

func.func @large() -> (tensor<40xi64>, tensor<40xi64>, tensor<512xf32>) {
  %0 = arith.constant dense<"0x00000000000000000100000000000000020000000000000003000000000000000400000000000000050000000000000006000000000000000700000000000000080000000000000009000000000000000A000000000000000B000000000000000C000000000000000D000000000000000E000000000000000F0000000000000010000000000000001100000000000000120000000000000013000000000000001400000000000000150000000000000016000000000000001700000000000000180000000000000019000000000000001A000000000000001B000000000000001C000000000000001D000000000000001E000000000000001F0000000000000020000000000000002100000000000000220000000000000023000000000000002400000000000000250000000000000026000000000000002700000000000000"> : tensor<40xi64>
  %1 = arith.constant dense_resource<weights> : tensor<40xi64>
  %2 = arith.constant dense<1.0> : tensor<512xf32>
  "t.use"() {a = dense_resource<foo> : tensor<2xf32>} : () -> ()
  return %0, %1, %2 : tensor<40xi64>, tensor<40xi64>, tensor<512xf32>
}

{-# dialect_resources: { builtin: { a: "0x0800000000254A6F94B9DE08", b: "0x0800000000254A6F94B9DE082D52779CC1E61035", "c d": "0x0800000000254A6F94B9DE08", e: "0x0800000000254A6F94B9DE082D52779CC1E61035", f: "0x0800000000254A6F94B9DE082D52779CC1E610355A7FA4C9EE183D6287ACD1F620456A8F", g: "0x0800000000254A6F", h: "0x0800000000254A6F94B9DE082D52779CC1E61035", i: "0x0800000000254A6F94B9DE082D52779CC1E61035", j: "0x0800000000254A6F94B9DE082D52779CC1E610355A7FA4C9EE183D6287ACD1F620456A8F", k: "0x08000000", l: "0x0800000000254A6F", "é": "0x0800000000254A6F94B9DE08", wrongsize: "0x0800000000254A", n: "0x0800000000254A6F94B9DE082D52779CC1E61035", o: "0x0800000000254A6F94B9DE082D52779CC1E610355A7FA4C9EE183D6287ACD1F620456A8F", foo: "0x040000000000803F00000040", weights: "0x0800000000000000000000000300000000000000060000000000000009000000000000000C000000000000000F000000000000001200000000000000150000000000000018000000000000001B000000000000001E000000000000002100000000000000240000000000000027000000000000002A000000000000002D0000000000000030000000000000003300000000000000360000000000000039000000000000003C000000000000003F000000000000004200000000000000450000000000000048000000000000004B000000000000004E000000000000005100000000000000540000000000000057000000000000005A000000000000005D0000000000000060000000000000006300000000000000660000000000000069000000000000006C000000000000006F0000000000000072000000000000007500000000000000" } } #-}

// CHECK: @I.ir_module(ssa=True)
// CHECK-NEXT: class Module:
// CHECK-NEXT:     @R.function(named=False)
// CHECK-NEXT:     def constants(arg0: R.Tensor("float32"), arg1: R.Tensor((), "float32"), arg2: I.type("complex<f32>")):
// CHECK-NEXT:         const_0 = I.const(I.attr("dense<[9.997550e-02, -0.000000e+00, 0.000000e+00]> : tensor<3xf16>"))
// CHECK-NEXT:         const_1 = I.const(I.attr("dense<[1.015630e-01, 4.000000e+00]> : tensor<2xf8E4M3FN>"))
// CHECK-NEXT:         const_2 = I.const(I.resource("foo"))
// CHECK-NEXT:         t.use(R.const([], R.Tensor((0,), "float32")))
// CHECK-NEXT:         t.use(R.const(1.0, "float32"))
// CHECK-NEXT:         t.use(R.const({{\[\[}}1, 2], [3, 4]], "int64"))
// CHECK-NEXT:         t.use(R.const([True, False], "bool"))
// CHECK-NEXT:         t.use(I.const(I.attr("dense<[1.000000e+00, 0x7FC00000]> : tensor<2xf32>")))
// CHECK-NEXT:         t.use(I.const(I.attr("dense<0x7F800000> : tensor<2xf32>")))
// CHECK-NEXT:         t.use(R.const([-8, 7], "int4"))
// CHECK-NEXT:         t.use(R.const([1, 2], "index"))
// CHECK-NEXT:         t.use(R.const(3, R.Tensor((2, 3), "int8")))
// CHECK-NEXT:         t.use(R.const(-0.0, R.Tensor((2,), "float16")))
// CHECK-NEXT:         t.use(const_0)
// CHECK-NEXT:         t.use(I.const(I.attr("dense<[1.000980e-01, 3.004060e+38]> : tensor<2xbf16>")))
// CHECK-NEXT:         t.use(const_1)
// CHECK-NEXT:         t.use(R.const([], R.Tensor((2, 0, 3), "int32")))
// CHECK-NEXT:         t.use(I.const(I.attr("dense<1.000000e+00> : tensor<2xf32, #relax.sym<[2]>>")))
// CHECK-NEXT:         t.use(I.const(I.attr("dense<5> : vector<4xi32>")))
// CHECK-NEXT:         t.use(I.const(I.attr("dense<[1, 2, 3, 4]> : vector<4xi32>")))
// CHECK-NEXT:         t.use(I.const(I.attr("dense<1.000000e+00> : vector<f32>")))
// CHECK-NEXT:         t.use(I.const(I.attr("dense<1> : vector<[4]xi32>")))
// CHECK-NEXT:         t.use(I.const(I.attr("sparse<0, 1.000000e+00> : tensor<3xf32>")))
// CHECK-NEXT:         t.use(R.const(0.1, R.Tensor((3, 3), "float32")))
// CHECK-NEXT:         t.use(I.const(I.attr("dense<0x7FC00001> : vector<4xf32>")))
// CHECK-NEXT:         t.use(const_2)
// CHECK-NEXT:         t.use(R.const([9223372036854775807, -9223372036854775808], "int64"))
// CHECK-NEXT:         t.use(arg0)
// CHECK-NEXT:         t.use(arg1)
// CHECK-NEXT:         t.use(arg2)
// CHECK-NEXT:         return
// CHECK:     @R.function
// CHECK-NEXT:     def resources():
// CHECK-NEXT:         const_0 = I.const(I.resource("a"))
// CHECK-NEXT:         const_1 = I.const(I.resource("b"))
// CHECK-NEXT:         const_2 = I.const(I.resource("c d"))
// CHECK-NEXT:         const_3 = I.const(I.resource("e"))
// CHECK-NEXT:         const_4 = I.const(I.resource("f"))
// CHECK-NEXT:         const_5 = I.const(I.resource("g"))
// CHECK-NEXT:         const_6 = I.const(I.resource("h"))
// CHECK-NEXT:         v0 = I.const(I.resource("i"))
// CHECK-NEXT:         const_7 = I.const(I.resource("j"))
// CHECK-NEXT:         const_8 = I.const(I.resource("k"))
// CHECK-NEXT:         const_9 = I.const(I.resource("l"))
// CHECK-NEXT:         const_10 = I.const(I.resource("nobytes"))
// CHECK-NEXT:         const_11 = I.const(I.resource("a_"))
// CHECK-NEXT:         const_12 = I.const(I.resource("é"))
// CHECK-NEXT:         const_13 = I.const(I.resource("q\"u"))
// CHECK-NEXT:         t.u(a=I.resource("a"), b=[I.resource("b")])
// CHECK-NEXT:         return
// CHECK:     @R.function
// CHECK-NEXT:     def large() -> R.Tuple(R.Tensor((40,), "int64"), R.Tensor((40,), "int64"), R.Tensor((512,), "float32")):
// CHECK-NEXT:         const_0 = I.const(I.resource("c16"))
// CHECK-NEXT:         const_1 = I.const(I.resource("weights"))
// CHECK-NEXT:         t.use(a=I.resource("foo"))
// CHECK-NEXT:         return const_0, const_1, R.const(1.0, R.Tensor((512,), "float32"))
// CHECK:     I.resource("foo", "tensor<2xf32>", "AACAPwAAAEA=")
// CHECK-NEXT:     I.resource("a", "tensor<4xf16>", "ACVKb5S53gg=")
// CHECK-NEXT:     I.resource("b", "tensor<16xi1>", "ACVKb5S53ggtUnecweYQNQ==")
// CHECK-NEXT:     I.resource("c d", "tensor<8xi4>", "ACVKb5S53gg=")
// CHECK-NEXT:     I.resource("e", "tensor<2xcomplex<f32>>", "ACVKb5S53ggtUnecweYQNQ==")
// CHECK-NEXT:     I.resource("f", "tensor<4xindex>", "ACVKb5S53ggtUnecweYQNVp/pMnuGD1ih6zR9iBFao8=")
// CHECK-NEXT:     I.resource("g", "tensor<4xf8E4M3FN>", "ACVKbw==")
// CHECK-NEXT:     I.resource("h", "tensor<4xf32, \"enc\">", "ACVKb5S53ggtUnecweYQNQ==")
// CHECK-NEXT:     I.resource("i", "vector<4xf32>", "ACVKb5S53ggtUnecweYQNQ==")
// CHECK-NEXT:     I.resource("j", "tensor<2xi128>", "ACVKb5S53ggtUnecweYQNVp/pMnuGD1ih6zR9iBFao8=")
// CHECK-NEXT:     I.resource("k", "tensor<0xf32>", "")
// CHECK-NEXT:     I.resource("l", "tensor<f32>", "ACVKbw==")
// CHECK-NEXT:     I.resource("nobytes", "dense_resource<nobytes> : tensor<4xf32>")
// CHECK-NEXT:     I.resource("a_", "tensor<2xi32>", "ACVKb5S53gg=")
// CHECK-NEXT:     I.resource("é", "tensor<2xi32>", "ACVKb5S53gg=")
// CHECK-NEXT:     I.resource("q\"u", "dense_resource<\"q\\22u\"> : tensor<2xi32>")
// CHECK-NEXT:     I.resource("c16", "dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39]> : tensor<40xi64>")
// CHECK-NEXT:     I.resource("weights", "tensor<40xi64>", "AAAAAAAAAAADAAAAAAAAAAYAAAAAAAAACQAAAAAAAAAMAAAAAAAAAA8AAAAAAAAAEgAAAAAAAAAVAAAAAAAAABgAAAAAAAAAGwAAAAAAAAAeAAAAAAAAACEAAAAAAAAAJAAAAAAAAAAnAAAAAAAAACoAAAAAAAAALQAAAAAAAAAwAAAAAAAAADMAAAAAAAAANgAAAAAAAAA5AAAAAAAAADwAAAAAAAAAPwAAAAAAAABCAAAAAAAAAEUAAAAAAAAASAAAAAAAAABLAAAAAAAAAE4AAAAAAAAAUQAAAAAAAABUAAAAAAAAAFcAAAAAAAAAWgAAAAAAAABdAAAAAAAAAGAAAAAAAAAAYwAAAAAAAABmAAAAAAAAAGkAAAAAAAAAbAAAAAAAAABvAAAAAAAAAHIAAAAAAAAAdQAAAAAAAAA=")
