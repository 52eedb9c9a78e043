// RUN: relax-opt %s --print-script | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func @elementwise(%a: memref<?x10xf32>, %s: f32, %b: memref<?x10xf32>) attributes {tir.prim_func} {
  linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> ()>, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %s : memref<?x10xf32>, f32) outs(%b : memref<?x10xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %0 = "tir.exp"(%x) : (f32) -> f32
    %1 = arith.mulf %0, %y : f32
    linalg.yield %1 : f32
  }
  return
}
// CHECK: @tir.prim_func
// CHECK-NEXT: def elementwise(A: Buffer((?, 10), "float32"), arg1: float32, B: Buffer((?, 10), "float32")):
// CHECK-NEXT: for i, j in grid(A.shape[0], 10): B[i, j] = tir.exp(A[i, j]) * arg1{{$}}

// Each result on tensors takes its output's name, which is written over: nobody else uses it.
func.func @row_sum(%a: tensor<16x8xf32>, %b: tensor<16xf32>) -> tensor<16xf32> attributes {tir.prim_func} {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%b : tensor<16xf32>) -> tensor<16xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<16x8xf32>) outs(%0 : tensor<16xf32>) {
  ^bb0(%x: f32, %acc: f32):
    %2 = arith.addf %acc, %x : f32
    linalg.yield %2 : f32
  } -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
// CHECK: def row_sum(A: Tensor((16, 8), "float32"), B: Tensor((16,), "float32")) -> Tensor((16,), "float32"):
// CHECK-NEXT: B[:] = 0.0
// CHECK-NEXT: for i, j in grid(16, reduce(8)): B[i] = B[i] + A[i, j]
// CHECK-NEXT: return B

// A copy where it is used again, and in functions that do not own their arguments.
func.func @copies(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %0 = tensor.insert %one into %a[%c0] : tensor<4xf32>
  %1 = linalg.fill ins(%one : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
// CHECK: def copies(arg0:
// CHECK-NEXT: insert_0 = copy(arg0)
// CHECK-NEXT: insert_0[0] = 1.0
// CHECK-NEXT: fill_0 = copy(insert_0)
// CHECK-NEXT: fill_0[:] = 1.0
// CHECK-NEXT: return insert_0, fill_0

func.func @bodies(%a: memref<10xi32>, %b: memref<4x4xi32>, %c: memref<i32>, %n: index) attributes {tir.prim_func} {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j * 2)>, #id], iterator_types = ["parallel", "parallel"]} ins(%a : memref<10xi32>) outs(%b : memref<4x4xi32>) attrs = {tir.unroll = 4} {
  ^bb0(%x: i32, %out: i32):
    %i = linalg.index 0 : index
    %0 = arith.index_cast %i : index to i32
    %1 = arith.cmpi slt, %x, %0 : i32
    %2 = arith.xori %1, %1 : i1
    %3 = arith.select %2, %x, %0 : i32
    linalg.yield %3 : i32
  }
  linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%c : memref<i32>) {
  ^bb0(%x: i32):
    %0 = arith.muli %x, %x : i32
    linalg.yield %0 : i32
  }
  linalg.matmul ins(%b, %b : memref<4x4xi32>, memref<4x4xi32>) outs(%b : memref<4x4xi32>)
  linalg.transpose ins(%b : memref<4x4xi32>) outs(%b : memref<4x4xi32>) permutation = [1, 0]
  linalg.reduce {arith.addi} ins(%a : memref<10xi32>) outs(%c : memref<i32>) dimensions = [0]
  return
}
// CHECK: def bodies(A: Buffer((10,), "int32"), B: Buffer((4, 4), "int32"), C: Buffer((), "int32"), arg3: index):
// CHECK-NEXT: {{^}}    for i, j in grid(4, 4): # {tir.unroll=4}
// CHECK-NEXT: {{^}}        v0 = int32(i)
// CHECK-NEXT: {{^}}        v1 = A[i + j * 2] < v0
// CHECK-NEXT: {{^}}        B[i, j] = select(v1 ^ v1, A[i + j * 2], v0)
// CHECK-NEXT: {{^}}    C[()] = C[()] * C[()]
// CHECK-NEXT: {{^}}    linalg.matmul(B, B, out=B)
// CHECK-NEXT: {{^}}    linalg.transpose(B, out=B, permutation=(1, 0))
// CHECK-NEXT: {{^}}    linalg.reduce(A, out=C, dimensions=(0,)) with (arg0: int32, arg1: int32):
// CHECK-NEXT: {{^}}        linalg.yield(arg1 + arg0)

// What reads memory stays before what writes it.
func.func @order(%a: memref<4xf32>, %i: index, %j: index) -> f32 {
  %0 = memref.load %a[%i] : memref<4xf32>
  %1 = math.exp %0 : f32
  %2 = memref.load %a[%j] : memref<4xf32>
  memref.store %2, %a[%i] : memref<4xf32>
  return %1 : f32
}
// CHECK: def order(arg0: Buffer((4,), "float32"), arg1: index, arg2: index) -> float32:
// CHECK-NEXT: v0 = math.exp(arg0[arg1])
// CHECK-NEXT: arg0[arg1] = arg0[arg2]
// CHECK-NEXT: return v0

func.func @parts(%a: memref<8x16xf32>, %b: tensor<8x16xf32>, %i: index, %n: index) -> tensor<8x16xf32> {
  %0 = memref.subview %a[%i, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<16xf32, strided<[1], offset: ?>>
  %1 = memref.subview %a[2, %i] [4, %n] [1, 2] : memref<8x16xf32> to memref<4x?xf32, strided<[16, 2], offset: ?>>
  %2 = tensor.extract_slice %b[0, 4] [8, 4] [1, 1] : tensor<8x16xf32> to tensor<8x4xf32>
  %3 = tensor.insert_slice %2 into %b[0, %i] [8, 4] [1, 1] : tensor<8x4xf32> into tensor<8x16xf32>
  %v = vector.load %a[%i, %n] : memref<8x16xf32>, vector<4xf32>
  %w = arith.addf %v, %v : vector<4xf32>
  vector.store %w, %a[%n, %i] : memref<8x16xf32>, vector<4xf32>
  %4 = memref.alloc(%n) : memref<?x4xi8>
  %5 = tensor.empty(%n) : tensor<?x4xi8>
  memref.dealloc %4 : memref<?x4xi8>
  %pad = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %x = vector.transfer_read %a[%i, %c0], %pad {in_bounds = [true]} : memref<8x16xf32>, vector<16xf32>
  %y = vector.transfer_read %a[%i, %c0], %pad : memref<8x16xf32>, vector<4xf32>
  %s = vector.reduction <add>, %x : vector<16xf32> into f32
  memref.store %s, %a[%c0, %c0] : memref<8x16xf32>
  return %3 : tensor<8x16xf32>
}
// CHECK: def parts(
// CHECK: subview_0 = arg0[arg2, :] # Buffer((16,), "float32", strides=(1,), offset=?)
// CHECK-NEXT: subview_1 = arg0[2:6, arg2:arg2 + arg3 * 2:2] #
// CHECK-NEXT: insert_slice_0 = copy(arg1)
// CHECK-NEXT: insert_slice_0[:, arg2:arg2 + 4] = arg1[:, 4:8]
// CHECK-NEXT: v0 = arg0[arg2, arg3:arg3 + 4]
// CHECK-NEXT: arg0[arg3, arg2:arg2 + 4] = v0 + v0
// CHECK-NEXT: alloc_0 = alloc((arg3, 4), "int8")
// CHECK-NEXT: empty_0 = empty((arg3, 4), "int8")
// CHECK-NEXT: dealloc(alloc_0)
// CHECK-NEXT: v1 = arg0[arg2, 0:16]
// CHECK-NEXT: v2 = vector.transfer_read(
// CHECK-NEXT: arg0, arg2, 0, 0.0, in_bounds=[False], permutation_map=affine_map<(d0, d1) -> (d1)>,
// CHECK-NEXT: ) #
// CHECK-NEXT: arg0[0, 0] = vector.reduction(v1, kind="add")
