// RUN: relax-opt %s --print-script | FileCheck %s

func.func @loops(%a: memref<16xf32>, %n: index) -> (f32, i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %true = arith.constant true
  %sum, %any = scf.for %i = %c0 to %n step %c4 iter_args(%acc = %zero, %flag = %true) -> (f32, i1) {
    %0 = memref.load %a[%i] : memref<16xf32>
    %1 = arith.addf %acc, %0 : f32
    %2 = arith.cmpf ogt, %1, %zero : f32
    %3 = scf.if %2 -> f32 {
      scf.for %j = %c0 to %i step %c1 {
        memref.store %1, %a[%j] : memref<16xf32>
      }
      scf.yield %zero : f32
    } else {
      scf.yield %1 : f32
    }
    scf.for %j = %c1 to %n step %c1 {
    }
    %4 = arith.andi %2, %flag : i1
    scf.yield %3, %4 : f32, i1
  }
  return %sum, %any : f32, i1
}
// CHECK: def loops(arg0: Buffer((16,), "float32"), arg1: index) -> (float32, bool):
// CHECK-NEXT: {{^}}    v0 = 0.0
// CHECK-NEXT: {{^}}    v1 = True
// CHECK-NEXT: {{^}}    for i in range(0, arg1, 4):
// CHECK-NEXT: {{^}}        v2 = v0 + arg0[i]
// CHECK-NEXT: {{^}}        v3 = v2 > 0.0
// CHECK-NEXT: {{^}}        if v3:
// CHECK-NEXT: {{^}}            for j in range(i):
// CHECK-NEXT: {{^}}                arg0[j] = v2
// CHECK-NEXT: {{^}}            v4 = 0.0
// CHECK-NEXT: {{^}}        else:
// CHECK-NEXT: {{^}}            v4 = v2
// CHECK-NEXT: {{^}}        for j in range(1, arg1):
// CHECK-NEXT: {{^}}            pass
// CHECK-NEXT: {{^}}        v0, v1 = v4, v3 and v1
// CHECK-NEXT: {{^}}    return v0, v1

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
// The state of the first loop is its result; the second one passes on something else.
// CHECK: def while(arg0: int64, arg1: Buffer((4,), "int64")) -> (int64, int32):
// CHECK-NEXT: {{^}}    state_0 = 1
// CHECK-NEXT: {{^}}    while state_0 < arg0:
// CHECK-NEXT: {{^}}        state_0 = state_0 + 1
// CHECK-NEXT: {{^}}    state_1 = state_0
// CHECK-NEXT: {{^}}    while True:
// CHECK-NEXT: {{^}}        arg1[0] = state_1
// CHECK-NEXT: {{^}}        v0 = int32(state_1)
// CHECK-NEXT: {{^}}        if not unsigned(state_1) < unsigned(arg0): break
// CHECK-NEXT: {{^}}        state_1 = int64(unsigned(v0))
// CHECK-NEXT: {{^}}    return state_0, v0

func.func @parallel(%a: memref<8x8xf32>, %n: index, %t: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1.0 : f32
  scf.parallel (%i, %j) = (%c0, %c1) to (%n, %n) step (%c1, %c2) {
    memref.store %one, %a[%i, %j] : memref<8x8xf32>
  }
  %0 = scf.forall (%i) in (%n) shared_outs(%out = %t) -> tensor<8xf32> {
    %1 = tensor.extract_slice %out[%i] [2] [1] : tensor<8xf32> to tensor<2xf32>
    %2 = linalg.fill ins(%one : f32) outs(%1 : tensor<2xf32>) -> tensor<2xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %2 into %out[%i] [2] [1] : tensor<2xf32> into tensor<8xf32>
    }
  }
  return %0 : tensor<8xf32>
}
// CHECK: def parallel(
// CHECK: {{^}}    for i, j in parallel(arg1, range(1, arg1, 2)):
// CHECK-NEXT: {{^}}        arg0[i, j] = 1.0
// CHECK-NEXT: {{^}}    loop_0 = copy(arg2)
// CHECK-NEXT: {{^}}    for i in forall(arg1):
// CHECK-NEXT: {{^}}        fill_0 = copy(loop_0[i:i + 2])
// CHECK-NEXT: {{^}}        fill_0[:] = 1.0
// CHECK-NEXT: {{^}}        loop_0[i:i + 2] = fill_0
// CHECK-NEXT: {{^}}    return loop_0

func.func @affine(%a: memref<64x4xf32>, %n: index) {
  affine.for %i = 0 to min affine_map<()[s0] -> (s0 floordiv 2, 32)>()[%n] step 2 {
    %x = affine.apply affine_map<(d0)[s0] -> ((d0 + s0) mod 8)>(%i)[%n]
    %0 = affine.load %a[%i + symbol(%n), 3] : memref<64x4xf32>
    affine.store %0, %a[%x * 2, 0] : memref<64x4xf32>
    affine.if affine_set<(d0)[s0] : (d0 - 1 >= 0, s0 - 4 == 0)>(%i)[%n] {
      affine.store %0, %a[0, 0] : memref<64x4xf32>
    }
  }
  return
}
// CHECK: def affine(arg0: Buffer((64, 4), "float32"), arg1: index):
// CHECK-NEXT: {{^}}    for i in range(0, min(arg1 // 2, 32), 2):
// CHECK-NEXT: {{^}}        v0 = arg0[i + arg1, 3]
// CHECK-NEXT: {{^}}        arg0[((i + arg1) % 8) * 2, 0] = v0
// CHECK-NEXT: {{^}}        if i - 1 >= 0 and arg1 - 4 == 0:
// CHECK-NEXT: {{^}}            arg0[0, 0] = v0

func.func @blocks(%flag: i1, %x: f32) -> f32 {
  cf.cond_br %flag, ^bb1(%x : f32), ^bb2
^bb1(%y: f32):
  %0 = arith.negf %y : f32
  cf.br ^bb3(%0 : f32)
^bb2:
  cf.br ^bb1(%x : f32)
^bb3(%z: f32):
  return %z : f32
}
// CHECK: def blocks(arg0: bool, arg1: float32) -> float32:
// CHECK-NEXT: {{^}}    bb0:
// CHECK-NEXT: {{^}}        if arg0: goto bb1(arg1) else: goto bb2
// CHECK-NEXT: {{^}}    bb1(arg2: float32):
// CHECK-NEXT: {{^}}        goto bb3(-arg2)
// CHECK-NEXT: {{^}}    bb2:
// CHECK-NEXT: {{^}}        goto bb1(arg1)
// CHECK-NEXT: {{^}}    bb3(arg3: float32):
// CHECK-NEXT: {{^}}        return arg3
