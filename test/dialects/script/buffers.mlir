// RUN: relax-opt %s --allow-unregistered-dialect --print-script -o %t.py && FileCheck %s --input-file=%t.py
// RUN: relax-opt %t.py --allow-unregistered-dialect --print-script | diff %t.py -
// Elements and parts of tensors and memory, in the order of the operations.

func.func @memory(%a: memref<4xf32>, %b: memref<f32>, %n: index) -> (f32, index, f32, f32, f32)  {

  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = memref.load %a[%c0] : memref<4xf32>
  memref.store %0, %a[%c1] : memref<4xf32>
  %1 = memref.load %a[%c0] : memref<4xf32>
  %2 = memref.load %a[%c1] : memref<4xf32>
  %3 = arith.subf %2, %1 : f32
  memref.store %3, %a[%c0] : memref<4xf32>
  %4 = arith.addf %1, %1 : f32
  memref.store %4, %b[] : memref<f32>
  %5 = memref.load %b[] : memref<f32>
  %6 = memref.load %a[%c0] {nontemporal = true} : memref<4xf32>
  %7 = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
  %8 = memref.alloca(%n) : memref<?xf32>
  %9 = memref.subview %a[%n] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: ?>>
  %10 = memref.dim %8, %c0 : memref<?xf32>
  %11 = memref.dim %8, %n : memref<?xf32>
  memref.dealloc %7 : memref<4xf32>
  %12 = memref.atomic_rmw addf %5, %a[%c0] : (f32, memref<4xf32>) -> f32
  %13 = memref.cast %a : memref<4xf32> to memref<?xf32>
  %14 = memref.load %13[%10] : memref<?xf32>
  %15 = memref.load %9[%c0] : memref<2xf32, strided<[1], offset: ?>>
  %16 = memref.generic_atomic_rmw %a[%c0] : memref<4xf32> { ^bb0(%cur: f32): %z = arith.addf %cur, %cur : f32
   memref.atomic_yield %z : f32 }
  return %12, %11, %14, %15, %6 : f32, index, f32, f32, f32
}

func.func @vectors(%A: tensor<4x8xf32>, %B: memref<4x8xf32>, %i: index, %k: vector<8xi1>) -> (tensor<4x8xf32>, f32, vector<8xf32>, f32)  {
  %vc = arith.constant dense<2.0> : vector<8xf32>
  %vd = arith.constant dense<[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0]> : vector<8xf32>

  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %o = arith.constant 1.0 : f32
  %0 = vector.transfer_read %A[%c0, %i], %z {in_bounds=[true]} : tensor<4x8xf32>, vector<8xf32>
  %1 = vector.transfer_read %A[%c0, %i], %o {in_bounds=[true]} : tensor<4x8xf32>, vector<8xf32>
  %2 = vector.transfer_read %A[%c0, %i], %z : tensor<4x8xf32>, vector<8xf32>
  %3 = vector.transfer_read %A[%c0, %i], %z, %k {in_bounds=[true]} : tensor<4x8xf32>, vector<8xf32>
  %4 = arith.addf %0, %1 : vector<8xf32>
  %5 = arith.addf %4, %vc : vector<8xf32>
  %6 = arith.cmpf olt, %5, %vc : vector<8xf32>
  %7 = arith.select %6, %5, %3 : vector<8xi1>, vector<8xf32>
  %8 = vector.transfer_write %7, %A[%c0, %i] {in_bounds=[true]} : vector<8xf32>, tensor<4x8xf32>
  %9 = vector.transfer_write %2, %8[%c0, %i], %6 {in_bounds=[true]} : vector<8xf32>, tensor<4x8xf32>
  vector.transfer_write %2, %B[%c0, %i], %6 {in_bounds=[true]} : vector<8xf32>, memref<4x8xf32>
  %10 = vector.broadcast %z : f32 to vector<8xf32>
  %11 = vector.extract %10[0] : f32 from vector<8xf32>
  %12 = vector.contract {indexing_maps=[affine_map<(i)->(i)>,affine_map<(i)->(i)>,affine_map<(i)->()>],iterator_types=["reduction"], kind=#vector.kind<add>} %10, %5, %11 : vector<8xf32>, vector<8xf32> into f32
  %13 = vector.reduction <maximumf>, %5 : vector<8xf32> into f32
  %14 = vector.shuffle %5, %5 [0, 1, 8, 9] : vector<8xf32>, vector<8xf32>
  %15 = arith.addf %vd, %5 : vector<8xf32>
  %16 = vector.fma %15, %vc, %vd : vector<8xf32>
  %17 = vector.load %B[%c0, %i] : memref<4x8xf32>, vector<8xf32>
  return %9, %13, %16, %12 : tensor<4x8xf32>, f32, vector<8xf32>, f32
}

func.func @slices(%A: tensor<4x8xf32>, %i: index, %z: f32) -> (tensor<4x8xf32>, tensor<2xf32>, tensor<2xf32>)  {

  %c3 = arith.constant 3 : index
  %0 = tensor.extract_slice %A[%i, 0] [2, %i] [1, 1] : tensor<4x8xf32> to tensor<2x?xf32>
  %1 = tensor.extract_slice %A[%c3, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<8xf32>
  %2 = tensor.insert_slice %1 into %A[%i, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<4x8xf32>
  %3 = tensor.insert_slice %0 into %2[%i, %i] [2, %i] [1, %c3] {t.x = 1} : tensor<2x?xf32> into tensor<4x8xf32>
  %4 = tensor.expand_shape %A [[0], [1, 2]] output_shape [4, 2, 4] : tensor<4x8xf32> into tensor<4x2x4xf32>
  %5 = tensor.pad %A low[0, %i] high[1, 2] { ^bb0(%p: index, %q: index): tensor.yield %z : f32 } : tensor<4x8xf32> to tensor<5x?xf32>
  %6 = tensor.empty(%i) : tensor<?xf32>
  %7 = tensor.generate %i { ^bb0(%p: index): tensor.yield %z : f32 } : tensor<?xf32>
  %8 = tensor.from_elements %z, %z : tensor<2xf32>
  %9 = tensor.cast %8 : tensor<2xf32> to tensor<?xf32>
  %10 = tensor.extract %8[%c3] : tensor<2xf32>
  %11 = tensor.insert %10 into %8[%c3] : tensor<2xf32>
  %12 = tensor.insert %10 into %8[%i] : tensor<2xf32>
  %13 = tensor.insert %10 into %12[%i] : tensor<2xf32>
  %14 = scf.forall (%p) in (4) shared_outs(%o = %A) -> (tensor<4x8xf32>) { scf.forall.in_parallel { tensor.parallel_insert_slice %1 into %o[%p, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<4x8xf32> } }
  return %14, %13, %11 : tensor<4x8xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK: @I.ir_module(ssa=True)
// CHECK-NEXT: class Module:
// CHECK-NEXT:     @R.function(named=False)
// CHECK-NEXT:     def memory(
// CHECK-NEXT:         arg0: T.Buffer((4,), "float32"),
// CHECK-NEXT:         arg1: T.Buffer((), "float32"),
// CHECK-NEXT:         arg2: T.index,
// CHECK-NEXT:     ) -> R.Tuple(T.float32, T.index, T.float32, T.float32, T.float32):
// CHECK-NEXT:         arg0[1] = arg0[0]
// CHECK-NEXT:         v0 = arg0[0]
// CHECK-NEXT:         arg0[0] = arg0[1] - v0
// CHECK-NEXT:         arg1[()] = v0 + v0
// CHECK-NEXT:         v1 = arg1[()]
// CHECK-NEXT:         v2 = memref.load(arg0, T.index(0), T.float32, nontemporal=True)
// CHECK-NEXT:         v3 = memref.alloc(T.Buffer((4,), "float32"), alignment=64, segments=(0, 0))
// CHECK-NEXT:         v4 = memref.alloca(arg2, T.Buffer(("?",), "float32"), segments=(1, 0))
// CHECK-NEXT:         v5 = memref.subview(arg0, [arg2], [2], [1], I.type("memref<2xf32, strided<[1], offset: ?>>"))
// CHECK-NEXT:         v6 = v4.shape[0]
// CHECK-NEXT:         v7 = memref.dim(v4, arg2)
// CHECK-NEXT:         memref.dealloc(v3)
// CHECK-NEXT:         v8 = memref.atomic_rmw(v1, arg0, T.index(0), T.float32, kind=0)
// CHECK-NEXT:         v9 = memref.cast(arg0, T.Buffer(("?",), "float32"))
// CHECK-NEXT:         v10 = v9[v6]
// CHECK-NEXT:         v11 = v5[0]
// CHECK-NEXT:         with memref.generic_atomic_rmw(arg0, T.index(0), T.float32) as v12:
// CHECK-NEXT:             def bb0(arg3: T.float32):
// CHECK-NEXT:                 memref.atomic_yield(arg3 + arg3)
// CHECK-NEXT:         return v8, v7, v10, v11, v2
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def vectors(
// CHECK-NEXT:         arg0: R.Tensor((4, 8), "float32"),
// CHECK-NEXT:         arg1: T.Buffer((4, 8), "float32"),
// CHECK-NEXT:         arg2: T.index,
// CHECK-NEXT:         arg3: T.boolx8,
// CHECK-NEXT:     ) -> R.Tuple(R.Tensor((4, 8), "float32"), T.float32, T.float32x8, T.float32):
// CHECK-NEXT:         v0 = I.const(I.attr("dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00]> : vector<8xf32>"))
// CHECK-NEXT:         v1 = arg0.vload([0, arg2], T.float32x8)
// CHECK-NEXT:         v2 = vector.transfer_read(arg0, 0, arg2, T.float32(1.0), T.float32x8, in_bounds=[True], segments=(1, 2, 1, 0), permutation_map=I.attr("affine_map<(d0, d1) -> (d1)>"))
// CHECK-NEXT:         v3 = vector.transfer_read(arg0, 0, arg2, T.float32(0.0), T.float32x8, in_bounds=[False], segments=(1, 2, 1, 0), permutation_map=I.attr("affine_map<(d0, d1) -> (d1)>"))
// CHECK-NEXT:         v4 = arg0.vload([0, arg2], T.float32x8, mask=arg3)
// CHECK-NEXT:         v5 = v1 + v2 + 2.0
// CHECK-NEXT:         v6 = v5 < 2.0
// CHECK-NEXT:         arg0.vstore(arith.select(v6, v5, v4), [0, arg2])
// CHECK-NEXT:         arg0.vstore(v3, [0, arg2], mask=v6)
// CHECK-NEXT:         arg1.vstore(v3, [0, arg2], mask=v6)
// CHECK-NEXT:         v7 = vector.broadcast(T.float32(0.0), T.float32x8)
// CHECK-NEXT:         v8 = vector.contract(v7, v5, vector.extract(v7, T.float32, static_position=(0,)), indexing_maps=[I.attr("affine_map<(d0) -> (d0)>"), I.attr("affine_map<(d0) -> (d0)>"), I.attr("affine_map<(d0) -> ()>")], iterator_types=[I.attr("#vector.iterator_type<reduction>")], kind="add")
// CHECK-NEXT:         v9 = vector.reduction(v5, T.float32, kind="maximumf")
// CHECK-NEXT:         v10 = vector.shuffle(v5, v5, T.float32x4, mask=(0, 1, 8, 9))
// CHECK-NEXT:         v11 = vector.fma(v0 + v5, 2.0, v0)
// CHECK-NEXT:         v12 = vector.load(arg1, 0, arg2, T.float32x8)
// CHECK-NEXT:         return arg0, v9, v11, v8
// CHECK:     @R.function(named=False)
// CHECK-NEXT:     def slices(
// CHECK-NEXT:         arg0: R.Tensor((4, 8), "float32"),
// CHECK-NEXT:         arg1: T.index,
// CHECK-NEXT:         arg2: T.float32,
// CHECK-NEXT:     ) -> R.Tuple(R.Tensor((4, 8), "float32"), R.Tensor((2,), "float32"), R.Tensor((2,), "float32")):
// CHECK-NEXT:         extract_slice_0 = tensor.extract_slice(arg0, [arg1, 0], [2, arg1], [1, 1], R.Tensor((2, "?"), "float32"))
// CHECK-NEXT:         extract_slice_1 = tensor.extract_slice(arg0, [T.index(3), 0], [1, 8], [1, 1], R.Tensor((8,), "float32"))
// CHECK-NEXT:         insert_slice_0 = tensor.insert_slice(extract_slice_1, arg0, [arg1, 0], [1, 8], [1, 1])
// CHECK-NEXT:         insert_slice_1 = tensor.insert_slice(extract_slice_0, insert_slice_0, [arg1, arg1], [2, arg1], [1, T.index(3)], attrs={"t.x": 1})
// CHECK-NEXT:         expand_shape_0 = tensor.expand_shape(arg0, [4, 2, 4], R.Tensor((4, 2, 4), "float32"), reassociation={{\[\[}}0], [1, 2]])
// CHECK-NEXT:         with tensor.pad(arg0, arg1, R.Tensor((5, "?"), "float32"), segments=(1, 1, 0), static_high=(1, 2), static_low=(0, -9223372036854775808)) as pad_0:
// CHECK-NEXT:             def bb0(arg3: T.index, arg4: T.index):
// CHECK-NEXT:                 tensor.yield_(arg2)
// CHECK-NEXT:         empty_0 = tensor.empty(arg1, R.Tensor(("?",), "float32"))
// CHECK-NEXT:         with tensor.generate(arg1, R.Tensor(("?",), "float32")) as generate_0:
// CHECK-NEXT:             def bb0(arg3: T.index):
// CHECK-NEXT:                 tensor.yield_(arg2)
// CHECK-NEXT:         from_elements_0 = tensor.from_elements(arg2, arg2, R.Tensor((2,), "float32"))
// CHECK-NEXT:         cast_0 = tensor.cast(from_elements_0, R.Tensor(("?",), "float32"))
// CHECK-NEXT:         v0 = from_elements_0[3]
// CHECK-NEXT:         insert_0 = from_elements_0
// CHECK-NEXT:         insert_0[3] = v0
// CHECK-NEXT:         from_elements_0[arg1] = v0
// CHECK-NEXT:         from_elements_0[arg1] = v0
// CHECK-NEXT:         with scf.forall(arg0, segments=(0, 0, 0, 1), staticLowerBound=(0,), staticStep=(1,), staticUpperBound=(4,)) as loop_0:
// CHECK-NEXT:             def bb0(arg3: T.index, arg4: R.Tensor((4, 8), "float32")):
// CHECK-NEXT:                 with scf.forall.in_parallel():
// CHECK-NEXT:                     tensor.parallel_insert_slice(extract_slice_1, arg4, [arg3, 0], [1, 8], [1, 1])
// CHECK-NEXT:         return loop_0, from_elements_0, insert_0
