// RUN: relax-opt %s --print-script | FileCheck %s

// Upstream operations with regions, bounds and masks that have no short form: the call form holds all of them.
func.func @f(%a: memref<8x8xf32>, %i: index, %t: tensor<8x8xf32>, %v: memref<4xvector<4xf32>>, %m: vector<4xi1>) -> index {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %r = scf.parallel (%j) = (%c0) to (%i) step (%i) init (%one) -> f32 {
    %x = memref.load %a[%j, %j] : memref<8x8xf32>
    scf.reduce(%x : f32) {
    ^bb0(%l: f32, %q: f32):
      %s = arith.addf %l, %q : f32
      scf.reduce.return %s : f32
    }
  }
  %sw = scf.index_switch %i -> index
  case 2 {
    scf.yield %c0 : index
  }
  default {
    scf.yield %i : index
  }
  affine.parallel (%p, %q) = (0, 0) to (8, 8) {
    affine.store %one, %a[%p, %q] : memref<8x8xf32>
  }
  %vv = vector.load %v[%i] : memref<4xvector<4xf32>>, vector<4xf32>
  %g = tensor.generate %i {
  ^bb0(%x: index):
    %y = tensor.extract %t[%x, %c0] : tensor<8x8xf32>
    tensor.yield %y : f32
  } : tensor<?xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %mm = linalg.map { arith.addf } ins(%t, %t : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>)
  %tr = vector.transfer_read %t[%i, %i], %one, %m {in_bounds = [true]} : tensor<8x8xf32>, vector<4xf32>
  %tw = vector.transfer_write %tr, %t[%i, %i] {in_bounds = [true]} : vector<4xf32>, tensor<8x8xf32>
  %sum:2 = arith.addui_extended %i, %i : index, i1
  %fast = arith.addf %tr, %tr fastmath<fast> : vector<4xf32>
  vector.print %fast : vector<4xf32>
  %al = memref.alloc(%i)[%i] {alignment = 64 : i64} : memref<?xf32, affine_map<(d0)[s0] -> (d0 + s0)>>
  %al2 = memref.alloca(%i) {alignment = 64 : i64} : memref<?xf32, 3>
  memref.copy %a, %a : memref<8x8xf32> to memref<8x8xf32>
  %wrap = arith.addi %i, %i overflow<nsw> : index
  %diff = arith.divui %wrap, %sum#0 : index
  return %diff : index
}
// CHECK: ) -> index:
// CHECK-NEXT: {{^}}    v0 = scf.parallel(0, arg1, arg1, 1.0) with (arg5: index):
// CHECK-NEXT: {{^}}        scf.reduce(arg0[arg5, arg5]) with (arg6: float32, arg7: float32):
// CHECK-NEXT: {{^}}            scf.reduce.return(arg6 + arg7)
// CHECK-NEXT: {{^}}    v1 = scf.index_switch(arg1, cases=(2,)):
// CHECK-NEXT: {{^}}        region:
// CHECK-NEXT: {{^}}            scf.yield(arg1)
// CHECK-NEXT: {{^}}        region:
// CHECK-NEXT: {{^}}            scf.yield(0)
// CHECK-NEXT: {{^}}    affine.parallel(
// CHECK: {{^}}    ) with (arg5: index, arg6: index):
// CHECK-NEXT: {{^}}        arg0[arg5, arg6] = 1.0
// CHECK-NEXT: {{^}}        affine.yield()
// CHECK-NEXT: {{^}}    v2 = vector.load(arg3, arg1) # Vector((4,), "float32")
// CHECK-NEXT: {{^}}    generate_0 = tensor.generate(arg1) with (arg5: index): # Tensor((?,), "float32")
// CHECK-NEXT: {{^}}        tensor.yield(arg2[arg5, 0])
// CHECK-NEXT: {{^}}    empty_0 = empty((8, 8), "float32")
// CHECK-NEXT: {{^}}    linalg.map(arg2, arg2, out=empty_0) with (arg5: float32, arg6: float32, arg7: float32):
// CHECK-NEXT: {{^}}        linalg.yield(arg5 + arg6)
// CHECK-NEXT: {{^}}    v3 = vector.transfer_read(
// CHECK-NEXT: {{^}}        arg2, arg1, arg1, 1.0, arg4, in_bounds=[True], permutation_map=affine_map<(d0, d1) -> (d1)>,
// CHECK-NEXT: {{^}}    ) # Vector((4,), "float32")
// CHECK-NEXT: {{^}}    transfer_write_0 = copy(arg2)
// CHECK-NEXT: {{^}}    transfer_write_0[arg1, arg1:arg1 + 4] = v3
// CHECK-NEXT: {{^}}    v4, v5 = arith.addui_extended(arg1, arg1)
// CHECK-NEXT: {{^}}    v6 = v3 + v3 {fastmath="fast"} # Vector((4,), "float32")
// CHECK-NEXT: {{^}}    vector.print(v6, punctuation="newline")
// CHECK-NEXT: {{^}}    alloc_0 = memref.alloc(arg1, arg1, alignment=64) #
// CHECK-NEXT: {{^}}    alloca_0 = alloca((arg1,), "float32", scope="3") {alignment=64}
// CHECK-NEXT: {{^}}    arg0[:] = arg0
// CHECK-NEXT: {{^}}    return unsigned(arg1 + arg1) // unsigned(v4)
