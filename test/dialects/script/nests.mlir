// RUN: relax-opt %s --allow-unregistered-dialect --print-script -o %t.py && FileCheck %s --input-file=%t.py
// RUN: relax-opt %t.py --allow-unregistered-dialect --print-script | diff %t.py -
// linalg as loops. Inputs are listed if the text of the body does not determine them.

#id=affine_map<(d0)->(d0)>
#id2=affine_map<(d0,d1)->(d0,d1)>
func.func @elements(%A: tensor<4x4xf32>, %B: tensor<4x4xf32>, %x: f32, %C: tensor<4xf32>, %M: memref<4x4xf32>) -> (tensor<4x4xf32>,tensor<4x4xf32>,tensor<4x4xf32>,tensor<4x4xf32>,tensor<4x4xf32>) {
  %0 = linalg.generic {indexing_maps=[#id2,#id2],iterator_types=["parallel","parallel"]} ins(%A: tensor<4x4xf32>) outs(%B: tensor<4x4xf32>) { ^bb0(%a: f32, %b: f32):
   %i = linalg.index 0 : index
   %j = linalg.index 1 : index
   %e = tensor.extract %A[%i, %j] : tensor<4x4xf32>
   %s = arith.addf %e, %a : f32
   linalg.yield %s : f32 } -> tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps=[#id2,#id2],iterator_types=["parallel","parallel"]} ins(%A: tensor<4x4xf32>) outs(%B: tensor<4x4xf32>) { ^bb0(%a: f32, %b: f32):
   %i = linalg.index 0 : index
   %j = linalg.index 1 : index
   %e = tensor.extract %B[%j, %i] : tensor<4x4xf32>
   %ij = arith.muli %i, %j : index
   %e2 = tensor.extract %C[%ij] : tensor<4xf32>
   %s = arith.addf %e, %a : f32
   %s2 = arith.addf %s, %e2 : f32
   memref.store %s2, %M[%i, %j] : memref<4x4xf32>
   linalg.yield %s : f32 } -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps=[#id2,#id2,#id2],iterator_types=["parallel","parallel"]} ins(%A, %A: tensor<4x4xf32>,tensor<4x4xf32>) outs(%B: tensor<4x4xf32>) { ^bb0(%a: f32, %a2: f32, %b: f32):
   %s = arith.addf %a2, %a : f32
   linalg.yield %s : f32 } -> tensor<4x4xf32>
  %3 = linalg.generic {indexing_maps=[affine_map<(i,j)->(i,j)>,affine_map<(i,j)->()>, affine_map<(i,j)->(j, i)>],iterator_types=["parallel","parallel"]} ins(%A, %x: tensor<4x4xf32>,f32) outs(%B: tensor<4x4xf32>) { ^bb0(%a: f32, %a2: f32, %b: f32):
   %s = arith.addf %x, %a : f32
   %s2 = arith.addf %s, %a2 : f32
   linalg.yield %s2 : f32 } -> tensor<4x4xf32>
  %4 = linalg.generic {indexing_maps=[affine_map<(i,j)->((i * 2 + j) mod 4,-i + 3)>,affine_map<(i,j)->(j, i)>],iterator_types=["parallel","parallel"]} ins(%A: tensor<4x4xf32>) outs(%B: tensor<4x4xf32>) { ^bb0(%a: f32, %b: f32):
   linalg.yield %b : f32 } -> tensor<4x4xf32>
  return %0, %1, %2, %3, %4: tensor<4x4xf32>,tensor<4x4xf32>,tensor<4x4xf32>,tensor<4x4xf32>,tensor<4x4xf32>
}

func.func @several(%A: tensor<4xf32>, %B: tensor<4xf32>, %D: tensor<4xi32>, %x: f32, %s: tensor<f32>, %n: index, %Q: tensor<?xf32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<f32>) {
  %0:2 = linalg.generic {indexing_maps=[#id,#id,#id],iterator_types=["parallel"]} ins(%A: tensor<4xf32>) outs(%B, %D: tensor<4xf32>, tensor<4xi32>) { ^bb0(%a: f32, %b: f32, %d: i32):
   %i = linalg.index 0 : index
   %k = arith.index_cast %i : index to i32
   %c = arith.constant 3 : i32
   linalg.yield %a, %c : f32, i32 } -> (tensor<4xf32>, tensor<4xi32>)
  %1 = linalg.generic {indexing_maps=[affine_map<()->()>,affine_map<()->()>],iterator_types=[]} ins(%x: f32) outs(%s: tensor<f32>) { ^bb0(%a: f32, %b: f32):
   linalg.yield %a : f32 } -> tensor<f32>
  %2 = linalg.generic {indexing_maps=[affine_map<(i)->(i)>,affine_map<(i)->()>],iterator_types=["reduction"]} ins(%A: tensor<4xf32>) outs(%1: tensor<f32>) { ^bb0(%a: f32, %b: f32):
   %q = arith.addf %b, %a : f32
   %z = arith.cmpf olt, %q, %x : f32
   %w = scf.if %z -> f32 { %e = tensor.extract %A[%n] : tensor<4xf32>
     scf.yield %e : f32 } else { scf.yield %b : f32 }
   linalg.yield %w : f32 } -> tensor<f32>
  %3 = linalg.generic {indexing_maps=[affine_map<(i)->()>,affine_map<(i)->(i)>],iterator_types=["parallel"]} ins(%x: f32) outs(%Q: tensor<?xf32>) { ^bb0(%a: f32, %b: f32):
   linalg.yield %a : f32 } -> tensor<?xf32>
  %4 = linalg.generic {indexing_maps=[affine_map<(i)->(i)>,affine_map<(i)->(i)>],iterator_types=["parallel"],library_call="x", doc="y"} ins(%3: tensor<?xf32>) outs(%3: tensor<?xf32>) { ^bb0(%a: f32, %b: f32):
   linalg.yield %a : f32 } -> tensor<?xf32>
  %5 = linalg.fill ins(%x : f32) outs(%A : tensor<4xf32>) -> tensor<4xf32>
  %6 = linalg.generic {indexing_maps=[affine_map<(i)->(i)>,affine_map<(i)->(i)>],iterator_types=["parallel"]} ins(%5: tensor<4xf32>) outs(%5: tensor<4xf32>) { ^bb0(%a: f32, %b: f32):
   linalg.yield %a : f32 } -> tensor<4xf32>
  return %6, %0#1, %1, %2: tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<f32>
}

func.func @ceiling(%A: tensor<4xf32>, %B: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps=[affine_map<(i)->(i ceildiv 2)>,affine_map<(i)->(i)>],iterator_types=["parallel"]} ins(%A: tensor<4xf32>) outs(%B: tensor<4xf32>) { ^bb0(%a: f32, %b: f32):
   linalg.yield %a : f32 } -> tensor<4xf32>
  return %0 : tensor<4xf32> }

func.func @nest_in_nest(%A: tensor<4xf32>, %B: tensor<4xf32>, %C: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps=[#id,#id],iterator_types=["parallel"]} ins(%A: tensor<4xf32>) outs(%B: tensor<4xf32>) { ^bb0(%a: f32, %b: f32):
   %k = linalg.index 0 : index
   %1 = linalg.generic {indexing_maps=[#id,#id],iterator_types=["parallel"]} ins(%C: tensor<4xf32>) outs(%B: tensor<4xf32>) { ^bb0(%c: f32, %d: f32):
     %l = linalg.index 0 : index
     %x = tensor.extract %A[%l] : tensor<4xf32>
     %x2 = tensor.extract %C[%k] : tensor<4xf32>
     %s = arith.addf %a, %x : f32
     %s2 = arith.addf %s, %x2 : f32
     linalg.yield %s2 : f32 } -> tensor<4xf32>
   %y = tensor.extract %1[%k] : tensor<4xf32>
   %c1 = arith.constant 1 : index
   %kk = arith.addi %k, %c1 : index
   %y2 = tensor.extract %C[%kk] : tensor<4xf32>
   %y3 = arith.addf %y, %y2 : f32
   %i = tensor.insert %y3 into %1[%k] : tensor<4xf32>
   %y4 = tensor.extract %i[%k] : tensor<4xf32>
   linalg.yield %y4 : f32 } -> tensor<4xf32>
  return %0 : tensor<4xf32> }

func.func @in_memory(%A: memref<4xf32>, %B: memref<4xf32>) {
  linalg.generic {indexing_maps=[#id,#id],iterator_types=["parallel"]} ins(%A: memref<4xf32>) outs(%A: memref<4xf32>) { ^bb0(%a: f32, %b: f32):
   %s = arith.addf %a, %b : f32
   linalg.yield %s : f32 }
  linalg.generic {indexing_maps=[#id],iterator_types=["parallel"]} outs(%A: memref<4xf32>) { ^bb0(%b: f32):
   %i = linalg.index 0 : index
   memref.store %b, %B[%i] : memref<4xf32>
   %q = memref.load %B[%i] : memref<4xf32>
   %r = memref.load %A[%i] : memref<4xf32>
   %s = arith.addf %q, %r : f32
   linalg.yield %s : f32 }
  linalg.generic {indexing_maps=[#id, affine_map<(d0)->(-d0 + 3)>],iterator_types=["parallel"]} ins(%A: memref<4xf32>) outs(%A: memref<4xf32>) { ^bb0(%a: f32, %b: f32):
   %s = arith.addf %a, %b : f32
   linalg.yield %s : f32 }
  return }

// CHECK: @I.ir_module(ssa=True)
// CHECK-NEXT: class Module:
// CHECK-NEXT:     @R.function(named=False)
// CHECK-NEXT:     def elements(
// CHECK-NEXT:         arg0: R.Tensor((4, 4), "float32"),
// CHECK-NEXT:         arg1: R.Tensor((4, 4), "float32"),
// CHECK-NEXT:         arg2: T.float32,
// CHECK-NEXT:         arg3: R.Tensor((4,), "float32"),
// CHECK-NEXT:         arg4: T.Buffer((4, 4), "float32"),
// CHECK-NEXT:     ) -> R.Tuple(R.Tensor((4, 4), "float32"), R.Tensor((4, 4), "float32"), R.Tensor((4, 4), "float32"), R.Tensor((4, 4), "float32"), R.Tensor((4, 4), "float32")):
// CHECK-NEXT:         generic_0 = arg1
// CHECK-NEXT:         for i, j in T.grid(4, 4, reads=[arg0[i, j]]):
// CHECK-NEXT:             generic_0[i, j] = tensor.extract(arg0, i, j, T.float32) + arg0[i, j]
// CHECK-NEXT:         generic_1 = arg1
// CHECK-NEXT:         for i, j in T.grid(4, 4, reads=[arg0[i, j]]):
// CHECK-NEXT:             v0 = tensor.extract(arg1, j, i, T.float32)
// CHECK-NEXT:             v1 = arg3[i * j]
// CHECK-NEXT:             v2 = v0 + arg0[i, j]
// CHECK-NEXT:             arg4[i, j] = v2 + v1
// CHECK-NEXT:             generic_1[i, j] = v2
// CHECK-NEXT:         with linalg.generic(arg0, arg0, arg1, indexing_maps=[I.attr("affine_map<(d0, d1) -> (d0, d1)>"), I.attr("affine_map<(d0, d1) -> (d0, d1)>"), I.attr("affine_map<(d0, d1) -> (d0, d1)>")], iterator_types=[I.attr("#linalg.iterator_type<parallel>"), I.attr("#linalg.iterator_type<parallel>")], segments=(2, 1)) as generic_2:
// CHECK-NEXT:             def bb0(arg5: T.float32, arg6: T.float32, arg7: T.float32):
// CHECK-NEXT:                 linalg.yield_(arg6 + arg5)
// CHECK-NEXT:         v0 = arg2
// CHECK-NEXT:         generic_3 = arg1
// CHECK-NEXT:         for i, j in T.grid(4, 4, reads=[arg0[i, j], v0]): generic_3[j, i] = arg2 + arg0[i, j] + v0
// CHECK-NEXT:         for i, j in T.grid(4, 4, reads=[arg0[(i * 2 + j) % 4, -i + 3]]): arg1[j, i] = arg1[j, i]
// CHECK-NEXT:         return generic_0, generic_1, generic_2, generic_3, arg1
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def several(
// CHECK-NEXT:         arg0: R.Tensor((4,), "float32"),
// CHECK-NEXT:         arg1: R.Tensor((4,), "float32"),
// CHECK-NEXT:         arg2: R.Tensor((4,), "int32"),
// CHECK-NEXT:         arg3: T.float32,
// CHECK-NEXT:         arg4: R.Tensor((), "float32"),
// CHECK-NEXT:         arg5: T.index,
// CHECK-NEXT:         arg6: R.Tensor(("?",), "float32"),
// CHECK-NEXT:     ) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "int32"), R.Tensor((), "float32"), R.Tensor((), "float32")):
// CHECK-NEXT:         for i in T.grid(4):
// CHECK-NEXT:             v0 = arith.index_cast(i, T.int32)
// CHECK-NEXT:             arg1[i], arg2[i] = arg0[i], T.int32(3)
// CHECK-NEXT:         arg4[:] = arg3
// CHECK-NEXT:         generic_0 = arg4
// CHECK-NEXT:         for i in T.grid(T.reduce(4)):
// CHECK-NEXT:             if generic_0[()] + arg0[i] < arg3:
// CHECK-NEXT:                 v0 = arg0[arg5]
// CHECK-NEXT:             else:
// CHECK-NEXT:                 v0 = generic_0[()]
// CHECK-NEXT:             generic_0[()] = v0
// CHECK-NEXT:         arg6[:] = arg3
// CHECK-NEXT:         generic_1 = arg6
// CHECK-NEXT:         for i in T.grid(arg6.shape[0], annotations={"doc": "y", "library_call": "x"}):
// CHECK-NEXT:             generic_1[i] = arg6[i]
// CHECK-NEXT:         with linalg.fill(arg3, arg0, segments=(1, 1)) as fill_0:
// CHECK-NEXT:             def bb0(arg7: T.float32, arg8: T.float32):
// CHECK-NEXT:                 linalg.yield_(arg7)
// CHECK-NEXT:         generic_2 = fill_0
// CHECK-NEXT:         for i in T.grid(4): generic_2[i] = fill_0[i]
// CHECK-NEXT:         return generic_2, arg2, arg4, generic_0
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def ceiling(
// CHECK-NEXT:         arg0: R.Tensor((4,), "float32"),
// CHECK-NEXT:         arg1: R.Tensor((4,), "float32"),
// CHECK-NEXT:     ) -> R.Tensor((4,), "float32"):
// CHECK-NEXT:         with linalg.generic(arg0, arg1, indexing_maps=[I.attr("affine_map<(d0) -> (d0 ceildiv 2)>"), I.attr("affine_map<(d0) -> (d0)>")], iterator_types=[I.attr("#linalg.iterator_type<parallel>")], segments=(1, 1)) as generic_0:
// CHECK-NEXT:             def bb0(arg2: T.float32, arg3: T.float32):
// CHECK-NEXT:                 linalg.yield_(arg2)
// CHECK-NEXT:         return generic_0
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def nest_in_nest(
// CHECK-NEXT:         arg0: R.Tensor((4,), "float32"),
// CHECK-NEXT:         arg1: R.Tensor((4,), "float32"),
// CHECK-NEXT:         arg2: R.Tensor((4,), "float32"),
// CHECK-NEXT:     ) -> R.Tensor((4,), "float32"):
// CHECK-NEXT:         generic_0 = arg1
// CHECK-NEXT:         for i in T.grid(4, reads=[arg0[i]]):
// CHECK-NEXT:             with linalg.generic(arg2, arg1, indexing_maps=[I.attr("affine_map<(d0) -> (d0)>"), I.attr("affine_map<(d0) -> (d0)>")], iterator_types=[I.attr("#linalg.iterator_type<parallel>")], segments=(1, 1)) as generic_1:
// CHECK-NEXT:                 def bb0(arg3: T.float32, arg4: T.float32):
// CHECK-NEXT:                     v0 = arg0[linalg.index(T.index, dim=0)]
// CHECK-NEXT:                     v1 = arg2[i]
// CHECK-NEXT:                     linalg.yield_(arg0[i] + v0 + v1)
// CHECK-NEXT:             generic_1[i] = generic_1[i] + arg2[i + 1]
// CHECK-NEXT:             generic_0[i] = generic_1[i]
// CHECK-NEXT:         return generic_0
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def in_memory(arg0: T.Buffer((4,), "float32"), arg1: T.Buffer((4,), "float32")):
// CHECK-NEXT:         with linalg.generic(arg0, arg0, indexing_maps=[I.attr("affine_map<(d0) -> (d0)>"), I.attr("affine_map<(d0) -> (d0)>")], iterator_types=[I.attr("#linalg.iterator_type<parallel>")], segments=(1, 1)):
// CHECK-NEXT:             def bb0(arg2: T.float32, arg3: T.float32):
// CHECK-NEXT:                 linalg.yield_(arg2 + arg3)
// CHECK-NEXT:         for i in T.grid(4, reads=[]):
// CHECK-NEXT:             arg1[i] = arg0[i]
// CHECK-NEXT:             arg0[i] = arg1[i] + memref.load(arg0, i, T.float32)
// CHECK-NEXT:         for i in T.grid(4): arg0[-i + 3] = arg0[i] + arg0[-i + 3]
// CHECK-NEXT:         return
